//! `[run]`: how long a run is, and what of it counts.

use windlass_policy::Wrong;
use windlass_policy::read::Value;

use super::base::seconds;
use crate::setup::{LIMIT_DEFAULT_NS, Record};

const LIMIT_MAX_S: f64 = 86_400.0;

/// What of the table concerns each run; the rest is the experiment's.
pub(super) struct Run {
    pub limit_ns: u64,
    pub fixed_length: bool,
    pub measure_from_ns: u64,
    pub simulated: bool,
}

/// Reads the table.
pub(super) fn read(value: Option<Value<'_>>, record: Record) -> Result<Run, Wrong> {
    let mut run = Run {
        limit_ns: LIMIT_DEFAULT_NS,
        fixed_length: false,
        measure_from_ns: 0,
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
        run.measure_from_ns = measured(&value, &run, record)?;
    }
    Ok(run)
}

/// From when on a run of fixed length is measured.
fn measured(value: &Value<'_>, run: &Run, record: Record) -> Result<u64, Wrong> {
    let wrong = |what: &str, help: &str| Err(Wrong::new(value.span(), what, help));
    let from_ns = seconds(value.number(0.0..=LIMIT_MAX_S, "s")?);
    if !run.fixed_length {
        let help = "write duration_s below [run], or leave measure_from_s out";
        return wrong("measure_from_s is for runs of a fixed length", help);
    }
    if from_ns >= run.limit_ns {
        let help = "make it less than duration_s";
        return wrong("nothing of the run would be measured", help);
    }
    if record.series_interval_ns == 0 {
        let what = "measure_from_s needs to know what had arrived by then";
        return wrong(what, "write [record] and series_ms = 100");
    }
    Ok(from_ns)
}
