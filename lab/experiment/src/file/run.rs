//! `[run]`: how long a run is, and what of it counts.

use windlass_policy::Wrong;
use windlass_policy::read::Value;

use super::base::seconds;
use crate::setup::{LIMIT_DEFAULT_NS, Measure, Record};

const LIMIT_MAX_S: f64 = 86_400.0;
const WINDOW_MIN_S: f64 = 0.001;
const REACH_MIN_MBIT: f64 = 0.001;
const REACH_MAX_MBIT: f64 = 100_000.0;

/// What of the table concerns each run; the rest is the experiment's.
pub(super) struct Run {
    pub limit_ns: u64,
    pub fixed_length: bool,
    pub measure: Measure,
    pub simulated: bool,
}

/// Reads the table.
pub(super) fn read(value: Option<Value<'_>>, record: Record) -> Result<Run, Wrong> {
    let mut run = Run {
        limit_ns: LIMIT_DEFAULT_NS,
        fixed_length: false,
        measure: Measure::default(),
        simulated: false,
    };
    let Some(value) = value else {
        return Ok(run);
    };
    let mut section = value.section("[run]")?;
    for whole in ["repetitions", "seed", "backend"] {
        section.take(whole);
    }
    let (limit, duration) = (section.take("limit_s"), section.take("duration_s"));
    let measure_from = section.take("measure_from_s");
    let reach = section.take("reach_mbit");
    let window = section.take("window_s");
    if let Some(value) = section.take("simulated") {
        run.simulated = value.boolean()?;
    }
    section.finish()?;
    match (limit, duration) {
        (Some(_), Some(value)) => {
            let what = "limit_s and duration_s exclude each other";
            let help = "keep limit_s for runs that end with their flows, duration_s for others";
            return Err(Wrong::new(value.span(), what, help));
        }
        (limit, duration) => {
            run.fixed_length = duration.is_some();
            if let Some(value) = limit.or(duration) {
                run.limit_ns = seconds(value.number(0.1..=LIMIT_MAX_S, "s")?);
            }
        }
    }
    if let Some(value) = measure_from {
        run.measure.from_ns = measured(&value, &run, record)?;
    }
    if let Some(value) = reach {
        needs_arrivals(&value, "reach_mbit", &run, record)?;
        let rate = value.number(REACH_MIN_MBIT..=REACH_MAX_MBIT, "Mbit/s")?;
        run.measure.reach_bits_per_s = (rate * 1e6).round() as u64;
    }
    if let Some(value) = window {
        needs_arrivals(&value, "window_s", &run, record)?;
        let longest_s = run.limit_ns as f64 / 1e9;
        run.measure.window_ns = seconds(value.number(WINDOW_MIN_S..=longest_s, "s")?);
    }
    Ok(run)
}

/// From when on a run of fixed length is measured.
fn measured(value: &Value<'_>, run: &Run, record: Record) -> Result<u64, Wrong> {
    let from_ns = seconds(value.number(0.0..=LIMIT_MAX_S, "s")?);
    if run.fixed_length && from_ns >= run.limit_ns {
        let what = "nothing of the run would be measured";
        return Err(Wrong::new(
            value.span(),
            what,
            "make it less than duration_s",
        ));
    }
    needs_arrivals(value, "measure_from_s", run, record)?;
    Ok(from_ns)
}

/// Refuses `key` where nothing says what has arrived by when.
fn needs_arrivals(
    value: &Value<'_>,
    key: &'static str,
    run: &Run,
    record: Record,
) -> Result<(), Wrong> {
    let wrong = |what: String, help: String| Err(Wrong::new(value.span(), what, help));
    if !run.fixed_length {
        let help = format!("write duration_s below [run], or leave {key} out");
        return wrong(format!("{key} is for runs of a fixed length"), help);
    }
    if record.series_interval_ns == 0 {
        let help = "write [record] and series_ms = 100".to_owned();
        return wrong(
            format!("{key} needs to know what had arrived by then"),
            help,
        );
    }
    Ok(())
}
