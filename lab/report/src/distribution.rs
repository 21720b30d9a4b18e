//! Distributions: of the repetitions of a cell, and of the ratios over all cells.

use std::collections::BTreeSet;

use maud::{Markup, html};
use windlass_experiment::check::Grouped;
use windlass_experiment::metric::{Metric, Part};

use crate::Results;
use crate::chart::{Chart, Line};
use crate::ratio::to_reference;
use crate::series::value;

/// Of fewer values a distribution says nothing that the table does not.
const VALUES_MIN: usize = 5;
/// Charts of single cells, at most.
const CELLS_MAX: usize = 24;

/// All of them.
pub(crate) fn charts(results: &Results<'_>, rows: &Grouped<'_>) -> Markup {
    let mut charts = vec![ratios(results, rows)];
    for metric in &results.experiment.charts.cdf {
        let mut drawn = 0;
        for cell in results.cells() {
            for group in groups(results, rows, cell, *metric) {
                let lines = of_cell(results, rows, cell, *metric, group.as_slice());
                let has_many = |line: &Line| line.points.len() >= 2 * VALUES_MIN;
                if lines.iter().any(has_many) && drawn < CELLS_MAX {
                    drawn += 1;
                    let cell = results.experiment.describe(cell);
                    let names = [Some(cell), group].into_iter().flatten();
                    let names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
                    charts.push(chart(metric.name(), lines).html(&names.join(": ")));
                }
            }
        }
    }
    for column in &results.experiment.charts.cdf_series {
        for cell in results.cells().into_iter().take(CELLS_MAX) {
            let chart = chart(column, of_samples(results, cell, column));
            let title = results.experiment.describe(cell);
            charts.push(chart.html(&format!("{title}: {column}, all samples")));
        }
    }
    let charts: Vec<Markup> = charts.into_iter().filter(|c| !c.0.is_empty()).collect();
    html! {
        @if !charts.is_empty() {
            details open {
                summary { h2 { "Distributions" } }
                div.charts { @for chart in &charts { (chart) } }
            }
        }
    }
}

fn chart(x_label: &str, lines: Vec<Line>) -> Chart {
    Chart {
        x_label: x_label.to_owned(),
        y_label: "share of all".to_owned(),
        may_be_log: true,
        y_max: Some(1.0),
        lines,
    }
}

/// The groups of flows that have a chart each: mice and elephants in one would show neither. `None`: all together.
fn groups(
    results: &Results<'_>,
    rows: &Grouped<'_>,
    cell: usize,
    metric: Metric,
) -> Vec<Option<String>> {
    let contestants = results.contestants().into_iter();
    let flows = contestants.flat_map(|contestant| rows.of(cell, contestant));
    let foreground = flows.filter(|row| !row.background);
    let names: BTreeSet<&String> = foreground.map(|row| &row.flow).collect();
    match names.len() > 1 && !metric.of_runs() {
        true => names.into_iter().cloned().map(Some).collect(),
        false => vec![None],
    }
}

fn of_cell(
    results: &Results<'_>,
    rows: &Grouped<'_>,
    cell: usize,
    metric: Metric,
    flows: &[String],
) -> Vec<Line> {
    let line = |contestant: usize| {
        let parts = metric.parts(rows.of(cell, contestant), flows);
        Line {
            marks: Vec::new(),
            label: results.experiment.contestants[contestant].clone(),
            colour: contestant,
            points: cumulative(parts.into_iter().map(Part::value).collect()),
        }
    };
    let lines = results.contestants().into_iter().map(line);
    lines.filter(|line| !line.points.is_empty()).collect()
}

/// Of all repetitions and flows.
fn of_samples(results: &Results<'_>, cell: usize, column: &str) -> Vec<Line> {
    let line = |contestant: usize| {
        let ours = results.observed.iter().filter(|(run, _)| {
            let run = &results.experiment.runs[**run];
            (run.cell, run.contestant) == (cell, contestant)
        });
        let series = ours.flat_map(|(_, observed)| &observed.series);
        let samples = series.flat_map(|series| &series.samples);
        Line {
            marks: Vec::new(),
            label: results.experiment.contestants[contestant].clone(),
            colour: contestant,
            points: cumulative(samples.filter_map(|s| value(s, column)).collect()),
        }
    };
    let lines = results.contestants().into_iter().map(line);
    lines.filter(|line| !line.points.is_empty()).collect()
}

/// Of large grids: in which share of the cells a contestant needs at most so much of the
/// reference's time.
fn ratios(results: &Results<'_>, rows: &Grouped<'_>) -> Markup {
    let Some(reference) = results.experiment.charts.reference else {
        return html! {};
    };
    let metric = results.experiment.main_metric();
    let line = |contestant: usize| {
        let cells = results.cells().into_iter();
        let of = |cell| to_reference(results, rows, cell, contestant, metric);
        Line {
            marks: Vec::new(),
            label: results.experiment.contestants[contestant].clone(),
            colour: contestant,
            points: cumulative(cells.filter_map(of).collect()),
        }
    };
    let lines = results.contestants().into_iter().map(line);
    let lines: Vec<Line> = lines
        .filter(|line| line.points.len() >= 2 * VALUES_MIN)
        .collect();
    let reference = &results.experiment.contestants[reference];
    let x_label = format!("{} divided by that of {reference}", metric.name());
    let chart = Chart {
        y_label: "share of the cells".to_owned(),
        ..chart(&x_label, lines)
    };
    chart.html("All cells")
}

/// Two corners for each value, so that the line climbs in steps.
fn cumulative(mut values: Vec<f64>) -> Vec<(f64, f64)> {
    values.sort_by(f64::total_cmp);
    let count = values.len() as f64;
    let corners = values.iter().enumerate().flat_map(|(i, value)| {
        let (below, at) = (i as f64 / count, (i + 1) as f64 / count);
        [(*value, below), (*value, at)]
    });
    corners.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_climb_from_nothing_to_all() {
        let steps = cumulative(vec![3.0, 1.0]);
        assert_eq!(steps, [(1.0, 0.0), (1.0, 0.5), (3.0, 0.5), (3.0, 1.0)]);
        assert_eq!(cumulative(Vec::new()), []);
    }
}
