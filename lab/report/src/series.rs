//! Flows over time: native contestants as their server saw them, the others as the box did, over
//! the same axes; and where a box only watched, what it computed over what the server had.

use maud::{Markup, html};
use windlass_experiment::observed::{Observed, Sample, Series, Source};
use windlass_experiment::setup::PathBox;

use crate::Results;
use crate::chart::{Chart, Line};

/// The column that is made of another one, that of what was acknowledged.
const THROUGHPUT: &str = "throughput_mbit_s";
const SPAN_S: f64 = 0.25;
/// More changes of algorithm than this are counted, and not told one by one.
const CHANGES_TOLD_MAX: usize = 6;
/// More than this would be a wall.
const MARKS_MAX: usize = 60;

/// Charts of the first repetition of some cells.
pub(crate) fn charts(results: &Results<'_>) -> Markup {
    let charts = &results.experiment.charts;
    let cells = results
        .cells()
        .into_iter()
        .map(|cell| (cell, traces(results, cell)));
    let cells: Vec<_> = cells.filter(|(_, traces)| !traces.is_empty()).collect();
    let mut sections = Vec::new();
    for (number, (cell, traces)) in cells.iter().take(charts.series_cells).enumerate() {
        let mut drawn = Vec::new();
        for column in &charts.series {
            drawn.push(chart(traces.iter().filter(|t| !t.watched), column, column));
            let title = format!("{column}, as a watching box computes it");
            drawn.push(chart(traces.iter().filter(|t| t.watched), column, &title));
        }
        let name = results.experiment.describe(*cell);
        sections.push(html! {
            details open[number == 0] {
                summary { h3 { (if name.is_empty() { "The first repetition" } else { &name }) } }
                div.charts { @for chart in &drawn { (chart) } }
            }
        });
    }
    html! {
        @if !sections.is_empty() {
            h2 { "Over time" }
            p.soft {
                "The first repetition, the first flow of each group. Native contestants as "
                code { "ss -ti" } " shows them on the server, the others as the box sees them."
                @if cells.len() > charts.series_cells {
                    " Of " (cells.len()) " cells with series, the first " (charts.series_cells)
                    "; all are in series.csv."
                }
            }
            @for section in &sections { (section) }
        }
    }
}

/// A flow's series, and how it is drawn.
struct Trace<'a> {
    label: String,
    colour: usize,
    series: &'a Series,
    /// Of a run in which the box only watches.
    watched: bool,
}

fn traces<'a>(results: &'a Results<'_>, cell: usize) -> Vec<Trace<'a>> {
    let mut traces = Vec::new();
    for (index, observed) in results.observed {
        let run = &results.experiment.runs[*index];
        if run.cell != cell || run.repetition != 1 {
            continue;
        }
        let source = match run.setup.path_box {
            PathBox::Windlass { .. } => Source::Box,
            PathBox::Nothing | PathBox::Command { .. } => Source::Server,
        };
        let many = run.setup.flows.len() > 1;
        let advice = |s: &Series| s.source == Source::Advice;
        let watched = observed.series.iter().any(advice);
        for series in first_of_groups(observed, source) {
            let contestant = &results.experiment.contestants[run.contestant];
            let mut label = contestant.clone();
            if many {
                label = format!("{label}, {}", run.setup.flows[series.group].name);
            }
            if watched {
                label = format!("{label}: {}", series.source.name());
            }
            traces.push(Trace {
                label,
                colour: run.contestant + series.group * 3 + usize::from(advice(series)),
                series,
                watched,
            });
        }
    }
    traces
}

/// A flow that the box leaves alone has a series of its server only.
fn first_of_groups(observed: &Observed, source: Source) -> impl Iterator<Item = &Series> {
    let firsts = observed.series.iter().filter(|s| s.index == 0);
    firsts.filter(move |s| {
        let governed = |o: &Series| (o.group, o.index, o.source) == (s.group, s.index, source);
        s.source == source || !observed.series.iter().any(governed)
    })
}

fn chart<'a>(traces: impl Iterator<Item = &'a Trace<'a>>, column: &str, title: &str) -> Markup {
    let line = |trace: &Trace<'_>| {
        let samples = &trace.series.samples;
        let values = samples.iter();
        let values = values.filter_map(|s| Some((s.time_s, value(s, column)?)));
        let changes = trace.series.algorithms.iter().skip(1).map(|(at, _)| *at);
        Line {
            label: format!("{}{}", trace.label, changes_in_words(trace.series)),
            colour: trace.colour,
            points: match column {
                THROUGHPUT => throughput(samples),
                _ => values.collect(),
            },
            marks: changes.take(MARKS_MAX).collect(),
        }
    };
    let lines = traces.map(line).filter(|line| !line.points.is_empty());
    let chart = Chart {
        x_label: "s".to_owned(),
        y_label: column.to_owned(),
        may_be_log: false,
        y_max: None,
        lines: lines.collect(),
    };
    chart.html(title)
}

/// Which algorithms were in charge, and from when on.
fn changes_in_words(series: &Series) -> String {
    match &series.algorithms[..] {
        [] | [_] => String::new(),
        [(_, first), changes @ ..] if changes.len() <= CHANGES_TOLD_MAX => {
            let told = changes.iter();
            let told = told.map(|(at, name)| format!(", {name} from {at:.1} s"));
            format!(" ({first}{})", told.collect::<String>())
        }
        all => format!(" ({} changes of algorithm)", all.len() - 1),
    }
}

/// Mbit/s of what was acknowledged, over spans of [`SPAN_S`].
fn throughput(samples: &[Sample]) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    let mut last: Option<(f64, u64)> = None;
    for sample in samples {
        let Some(acked) = sample.acked_bytes else {
            continue;
        };
        let (since, before) = *last.get_or_insert((sample.time_s, acked));
        let span = sample.time_s - since;
        if span >= SPAN_S {
            let mbit = acked.saturating_sub(before) as f64 * 8e-6;
            points.push((sample.time_s, mbit / span));
            last = Some((sample.time_s, acked));
        }
    }
    points
}

/// A column by its name.
pub(crate) fn value(sample: &Sample, column: &str) -> Option<f64> {
    match column {
        "cwnd_packets" => sample.cwnd_packets,
        "ssthresh_packets" => sample.ssthresh_packets,
        "inflight_packets" => sample.inflight_packets,
        "srtt_ms" => sample.srtt_ms,
        "delivery_mbit_s" => sample.delivery_mbit_s,
        "pacing_mbit_s" => sample.pacing_mbit_s,
        "acked_bytes" => sample.acked_bytes.map(|n| n as f64),
        "held_packets" => sample.held_packets.map(|n| n as f64),
        "queued_packets" => sample.queued_packets,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_is_what_was_acknowledged_in_a_span() {
        let sample = |n: u32| Sample {
            time_s: f64::from(n) * 0.05,
            acked_bytes: Some(u64::from(n) * 62_500),
            ..Sample::default()
        };
        let samples: Vec<Sample> = (0..21).map(sample).collect();
        let points = throughput(&samples);
        assert!((3..=4).contains(&points.len()), "{points:?}");
        assert!(
            points.iter().all(|(_, mbit)| (mbit - 10.0).abs() < 1e-6),
            "{points:?}"
        );
    }

    #[test]
    fn changes_are_told_or_counted() {
        let mut series = Series::default();
        assert_eq!(changes_in_words(&series), "");
        for (at, name) in [(0.0, "bbr"), (0.1, "bbr"), (1.25, "hybla"), (6.0, "bbr")] {
            series.note_algorithm(at, name);
        }
        assert_eq!(
            changes_in_words(&series),
            " (bbr, hybla from 1.2 s, bbr from 6.0 s)"
        );
        for n in 0..20 {
            series.note_algorithm(7.0, ["reno", "bbr"][n % 2]);
        }
        assert_eq!(changes_in_words(&series), " (22 changes of algorithm)");
    }
}
