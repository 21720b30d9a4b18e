//! Results as JSON and CSV: the same bytes for the same results.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::check::Verdict;
use crate::experiment::Experiment;
use crate::observed::{Observed, Series};
use crate::rows::{COLUMNS, Row};
use crate::scalar::Scalar;

/// What a column of a row holds; `None`: not known.
type Field = Option<Scalar>;

/// The fields beside those of the parameters, in the order of [`COLUMNS`].
fn fields(experiment: &Experiment, row: &Row) -> [Field; COLUMNS.len()] {
    let text = |text: &str| Some(Scalar::Text(text.to_owned()));
    let integer = |n: u64| Some(Scalar::Integer(i64::try_from(n).unwrap_or(i64::MAX)));
    let maybe = |n: Option<u64>| n.and_then(integer);
    let float = |x: f64| Some(Scalar::Float(x));
    [
        text(&experiment.cells[row.cell].case),
        text(&experiment.contestants[row.contestant]),
        integer(u64::from(row.repetition)),
        integer(row.seed),
        text(&row.flow),
        integer(u64::from(row.index)),
        Some(Scalar::Boolean(row.background)),
        float(row.start_s),
        float(row.seconds),
        float(row.goodput_mbit_s),
        integer(row.received_bytes),
        Some(Scalar::Boolean(row.intact)),
        row.error.as_deref().and_then(text),
        maybe(row.server_retransmitted_bytes),
        maybe(row.server_timeouts),
        maybe(row.box_retransmitted_bytes),
        maybe(row.box_copied_bytes),
        maybe(row.box_spurious_bytes),
        maybe(row.held_packets_max),
        row.held_packets_median.and_then(float),
        row.srtt_ms_median.and_then(float),
        row.sender_rtt_ms.and_then(|s| float(s.median)),
        row.sender_rtt_ms.and_then(|s| float(s.p99)),
        row.box_queue_packets.and_then(|s| float(s.median)),
        row.box_queue_packets.and_then(|s| float(s.p99)),
        float(row.share_percent),
        row.convergence_s.and_then(float),
        row.jain_over_time.and_then(|j| float(j.median)),
        row.jain_over_time.and_then(|j| float(j.min)),
        row.reach_s.and_then(float),
        row.cwnd_packets_mean.and_then(float),
        row.box_limits_percent.and_then(float),
        row.response_percent.and_then(float),
        row.advice_error_percent.and_then(float),
        row.utilisation_percent.and_then(float),
        row.utilisation_left_percent.and_then(float),
        integer(row.link.offered_packets),
        integer(row.link.lost_packets),
        integer(row.link.dropped_packets),
        integer(row.link.marked_packets),
        integer(row.link.max_queue_bytes),
        row.probes.and_then(|p| float(p.median_ms)),
        row.probes.and_then(|p| float(p.p99_ms)),
        row.probes.and_then(|p| float(p.p999_ms)),
        row.machine_busy_percent.and_then(float),
        row.links_late_ms.and_then(float),
        row.cpu_percent.and_then(float),
        row.max_rss_mb.and_then(float),
    ]
}

/// A row with its parameters first.
struct Line<'a>(&'a Experiment, &'a Row);

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Line(experiment, row) = self;
        let mut map = serializer.serialize_map(None)?;
        let values = &experiment.cells[row.cell].values;
        for (name, value) in experiment.parameters.iter().zip(values) {
            map.serialize_entry(name, value)?;
        }
        for (name, value) in COLUMNS.iter().zip(fields(experiment, row)) {
            map.serialize_entry(name, &value)?;
        }
        map.end()
    }
}

#[derive(Serialize)]
struct CheckLine<'a> {
    name: &'a str,
    value: Option<f64>,
    limit: f64,
    pass: bool,
    worst: Option<&'a str>,
    reason: Option<&'a str>,
}

impl CheckLine<'_> {
    fn new(verdict: &Verdict) -> CheckLine<'_> {
        CheckLine {
            name: &verdict.name,
            value: verdict.value,
            limit: verdict.limit.number(),
            pass: verdict.pass,
            worst: verdict.worst.as_deref(),
            reason: verdict.reason.as_deref(),
        }
    }
}

/// The results as one JSON object, a line for each row and each check.
///
/// # Errors
/// When a name cannot be written, which none can be.
pub fn json(
    experiment: &Experiment,
    backend: &str,
    rows: &[Row],
    checks: &[Verdict],
) -> Result<String, serde_json::Error> {
    let rows = rows.iter().map(|row| Line(experiment, row));
    let checks = checks.iter().map(CheckLine::new);
    Ok(format!(
        "{{\n\"experiment\":{},\n\"backend\":{},\n\"rows\":{},\n\"checks\":{}\n}}\n",
        serde_json::to_string(&experiment.name)?,
        serde_json::to_string(backend)?,
        list(rows)?,
        list(checks)?,
    ))
}

fn list<T: Serialize>(items: impl Iterator<Item = T>) -> Result<String, serde_json::Error> {
    let lines: Vec<String> = items
        .map(|i| serde_json::to_string(&i))
        .collect::<Result<_, _>>()?;
    Ok(match lines.is_empty() {
        true => "[]".to_owned(),
        false => format!("[\n{}\n]", lines.join(",\n")),
    })
}

fn words(field: Field) -> String {
    field.map_or(String::new(), |scalar| scalar.to_string())
}

/// The rows as CSV, with a line of names.
///
/// # Errors
/// None that memory does not have.
pub fn rows_csv(experiment: &Experiment, rows: &[Row]) -> Result<Vec<u8>, csv::Error> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    let names = experiment
        .parameters
        .iter()
        .map(String::as_str)
        .chain(COLUMNS);
    csv.write_record(names)?;
    for row in rows {
        let values = experiment.cells[row.cell]
            .values
            .iter()
            .map(Scalar::to_string);
        let fields = fields(experiment, row).into_iter().map(words);
        csv.write_record(values.chain(fields))?;
    }
    finish(csv)
}

fn finish(csv: csv::Writer<Vec<u8>>) -> Result<Vec<u8>, csv::Error> {
    csv.into_inner().map_err(|e| e.into_error().into())
}

/// The time series of all runs as CSV, with a line of names: `observed` are pairs of the index of
/// a run and what came of it.
///
/// # Errors
/// None that memory does not have.
pub fn series_csv<'a>(
    experiment: &Experiment,
    observed: impl IntoIterator<Item = (usize, &'a Observed)>,
) -> Result<Vec<u8>, csv::Error> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    let head = [
        "case",
        "contestant",
        "repetition",
        "flow",
        "index",
        "source",
    ];
    let names = experiment.parameters.iter().map(String::as_str).chain(head);
    csv.write_record(names.chain(SAMPLE_COLUMNS))?;
    for (run, observed) in observed {
        for series in &observed.series {
            write_series(&mut csv, experiment, run, series)?;
        }
    }
    finish(csv)
}

const SAMPLE_COLUMNS: [&str; 13] = [
    "time_s",
    "cwnd_packets",
    "in_recovery",
    "ssthresh_packets",
    "inflight_packets",
    "srtt_ms",
    "min_rtt_ms",
    "pacing_mbit_s",
    "delivery_mbit_s",
    "acked_bytes",
    "retransmitted_packets",
    "held_packets",
    "queued_packets",
];

fn write_series(
    csv: &mut csv::Writer<Vec<u8>>,
    experiment: &Experiment,
    run: usize,
    series: &Series,
) -> Result<(), csv::Error> {
    let run = &experiment.runs[run];
    let cell = &experiment.cells[run.cell];
    let mut head: Vec<String> = cell.values.iter().map(Scalar::to_string).collect();
    head.extend([
        cell.case.clone(),
        experiment.contestants[run.contestant].clone(),
        run.repetition.to_string(),
        run.setup.flows[series.group].name.clone(),
        series.index.to_string(),
        series.source.name().to_owned(),
    ]);
    let float = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
    let integer = |n: Option<u64>| n.map_or(String::new(), |n| n.to_string());
    for s in &series.samples {
        let fields = [
            s.time_s.to_string(),
            float(s.cwnd_packets),
            s.in_recovery.map_or(String::new(), |yes| yes.to_string()),
            float(s.ssthresh_packets),
            float(s.inflight_packets),
            float(s.srtt_ms),
            float(s.min_rtt_ms),
            float(s.pacing_mbit_s),
            float(s.delivery_mbit_s),
            integer(s.acked_bytes),
            integer(s.retransmitted_packets),
            integer(s.held_packets),
            float(s.queued_packets),
        ];
        csv.write_record(head.iter().chain(&fields))?;
    }
    Ok(())
}
