//! `[report]` and `[[paper]]`.

use windlass_policy::Wrong;
use windlass_policy::read::{Section, Value};

use super::{conditions, maps};
use crate::experiment::{Axes, Charts, Experiment};
use crate::metric::Metric;
use crate::paper::{Paper, Published};
use crate::statistics::Statistic;

/// Columns of the time series that can be drawn.
const SERIES: [(&str, &str); 10] = [
    ("cwnd_packets", "cwnd_packets"),
    ("ssthresh_packets", "ssthresh_packets"),
    ("inflight_packets", "inflight_packets"),
    ("srtt_ms", "srtt_ms"),
    ("delivery_mbit_s", "delivery_mbit_s"),
    ("pacing_mbit_s", "pacing_mbit_s"),
    ("acked_bytes", "acked_bytes"),
    ("held_packets", "held_packets"),
    ("queued_packets", "queued_packets"),
    ("throughput_mbit_s", "throughput_mbit_s"),
];
const SERIES_DEFAULT: [&str; 4] = [
    "cwnd_packets",
    "inflight_packets",
    "srtt_ms",
    "delivery_mbit_s",
];
const SERIES_CELLS_DEFAULT: usize = 6;

/// Reads `[report]`; without one, tables, distributions, and series where they were kept.
pub(super) fn read(value: Option<Value<'_>>, experiment: &Experiment) -> Result<Charts, Wrong> {
    let mut charts = Charts {
        cdf: vec![experiment.main_metric()],
        series: SERIES_DEFAULT.to_vec(),
        series_cells: SERIES_CELLS_DEFAULT,
        ..Charts::default()
    };
    let Some(value) = value else {
        return Ok(charts);
    };
    let mut section = value.section("[report]")?;
    if let Some(value) = section.take("reference") {
        charts.reference = Some(conditions::contestant(&value, experiment)?);
    }
    if let Some(value) = section.take("heatmap") {
        let span = value.span();
        charts.heatmap = Some(axes(value, "heatmap", true, experiment)?);
        if charts.reference.is_none() {
            let what = "a heatmap compares with a contestant";
            return Err(Wrong::new(
                span,
                what,
                "write for example reference = \"native-bbr\"",
            ));
        }
    }
    if let Some(value) = section.take("lines") {
        charts.lines = Some(axes(value, "lines", false, experiment)?);
    }
    if let Some(value) = section.take("cdf") {
        charts.cdf.clear();
        for of in conditions::one_or_more(value, "[\"seconds\"]", distribution)? {
            match of {
                Distribution::Rows(metric) => charts.cdf.push(metric),
                Distribution::Samples(column) => charts.cdf_series.push(column),
            }
        }
    }
    if let Some(value) = section.take("series") {
        charts.series = conditions::one_or_more(value, "[\"cwnd_packets\"]", |v| v.word(&SERIES))?;
    }
    if let Some(value) = section.take("map") {
        charts.maps = maps::read(value, experiment)?;
    }
    if let Some(value) = section.take("command") {
        charts.command = value.text("make compete")?.to_owned();
    }
    if let Some(value) = section.take("series_cells") {
        charts.series_cells = value.integer(0..=100, "cells")? as usize;
    }
    section.finish()?;
    Ok(charts)
}

/// What a distribution is of.
#[derive(Clone, Copy)]
enum Distribution {
    Rows(Metric),
    Samples(&'static str),
}

fn distribution(value: &Value<'_>) -> Result<Distribution, Wrong> {
    let rows = Metric::ALL.map(|(name, metric)| (name, Distribution::Rows(metric)));
    let samples = SERIES.map(|(name, column)| (name, Distribution::Samples(column)));
    value.word(&[&rows[..], &samples].concat())
}

fn axes(
    value: Value<'_>,
    title: &'static str,
    two: bool,
    experiment: &Experiment,
) -> Result<Axes, Wrong> {
    let mut section = value.section(title)?;
    let x = section.need("x", "\"rtt_ms\"")?;
    let x = conditions::parameter_named(&x, experiment)?;
    let y = match two {
        true => {
            let y = section.need("y", "\"loss_percent\"")?;
            Some(conditions::parameter_named(&y, experiment)?)
        }
        false => None,
    };
    let metric = match section.take("metric") {
        Some(value) => value.word(&Metric::ALL)?,
        None => Metric::Seconds,
    };
    section.finish()?;
    Ok(Axes { x, y, metric })
}

/// Reads `[[paper]]`.
pub(super) fn papers(value: Value<'_>, experiment: &Experiment) -> Result<Vec<Paper>, Wrong> {
    let papers = value.list("[{ title = \"…\" }], or better [[paper]]")?;
    papers
        .into_iter()
        .map(|value| paper(value, experiment))
        .collect()
}

fn paper(value: Value<'_>, experiment: &Experiment) -> Result<Paper, Wrong> {
    let mut section = value.section("[[paper]]")?;
    let title = section.need("title", "\"Figure 4: mean completion time\"")?;
    let source = section.need("source", "\"Author et al., Title, Conference year\"")?;
    let note = section.take("note");
    let metric = match section.take("metric") {
        Some(value) => value.word(&Metric::ALL)?,
        None => Metric::Seconds,
    };
    let statistic = match section.take("statistic") {
        Some(value) => statistic(&value)?,
        None => Statistic::Mean,
    };
    let example = "[{ label = \"LAN\", of = \"windlass-bbr\", value = 1.653 }]";
    let rows = section.need("rows", example)?;
    let rows = rows.list(example)?;
    let rows = rows.into_iter().map(|value| published(value, experiment));
    let paper = Paper {
        title: title.text("Figure 4")?.to_owned(),
        source: source.text("Author, Title, year")?.to_owned(),
        note: match note {
            Some(note) => note.text("what is different here")?.trim().to_owned(),
            None => String::new(),
        },
        metric,
        statistic,
        rows: rows.collect::<Result<_, _>>()?,
    };
    section.finish()?;
    Ok(paper)
}

fn statistic(value: &Value<'_>) -> Result<Statistic, Wrong> {
    const WORDS: [(&str, Statistic); 4] = [
        ("mean", Statistic::Mean),
        ("median", Statistic::Median),
        ("max", Statistic::Max),
        ("p99.9", Statistic::Percentile(99.9)),
    ];
    let percent = value
        .text("mean")?
        .strip_prefix('p')
        .and_then(|n| n.parse().ok());
    match percent.filter(|p| (0.0..=100.0).contains(p)) {
        Some(percent) => Ok(Statistic::Percentile(percent)),
        None => value.word(&WORDS),
    }
}

fn published(value: Value<'_>, experiment: &Experiment) -> Result<Published, Wrong> {
    let mut section: Section<'_> = value.section("rows")?;
    let label = section.need("label", "\"LAN, 10 MB\"")?;
    let of = section.need("of", "\"windlass-bbr\"")?;
    let number = section.need("value", "1.653")?;
    let (to, to_value) = (section.take("to"), section.take("to_value"));
    let conditions = match section.take("where") {
        Some(value) => conditions::read(value, experiment)?,
        None => Vec::new(),
    };
    let read = |value: &Value<'_>| value.number(0.0..=1e12, "");
    let to = match (to, to_value) {
        (None, None) => None,
        (Some(to), Some(value)) => Some((conditions::contestant(&to, experiment)?, read(&value)?)),
        (Some(one), None) | (None, Some(one)) => {
            let what = "to and to_value go together";
            let help = "write both: the contestant compared with, and what the paper says of it";
            return Err(Wrong::new(one.span(), what, help));
        }
    };
    let published = Published {
        label: label.text("LAN, 10 MB")?.to_owned(),
        of: conditions::contestant(&of, experiment)?,
        value: read(&number)?,
        to,
        conditions,
    };
    section.finish()?;
    Ok(published)
}
