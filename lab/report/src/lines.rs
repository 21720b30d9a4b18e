//! A quantity over a parameter, a line for each contestant.

use maud::{Markup, html};
use windlass_experiment::check::Grouped;
use windlass_experiment::statistics::Statistic;

use crate::Results;
use crate::chart::{Chart, Line};

/// The chart, if the experiment asks for one. Cells that differ in something else than x are
/// taken together by their median.
pub(crate) fn chart(results: &Results<'_>, rows: &Grouped<'_>) -> Markup {
    let experiment = results.experiment;
    let Some(axes) = &experiment.charts.lines else {
        return html! {};
    };
    let Some(x) = experiment.parameters.iter().position(|p| *p == axes.x) else {
        return html! {};
    };
    let line = |contestant: usize| {
        let mut points: Vec<(f64, Vec<f64>)> = Vec::new();
        for cell in results.cells() {
            let value = rows.median(cell, contestant, axes.metric, &[]);
            let (Some(at), Some(value)) = (experiment.cells[cell].values[x].number(), value) else {
                continue;
            };
            match points.iter_mut().find(|(x, _)| *x == at) {
                Some((_, values)) => values.push(value),
                None => points.push((at, vec![value])),
            }
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let middle = |(x, values): (f64, Vec<f64>)| Some((x, Statistic::Median.of(&values)?));
        Line {
            marks: Vec::new(),
            label: experiment.contestants[contestant].clone(),
            colour: contestant,
            points: points.into_iter().filter_map(middle).collect(),
        }
    };
    let lines = results.contestants().into_iter().map(line);
    let chart = Chart {
        x_label: axes.x.clone(),
        y_label: axes.metric.name().to_owned(),
        may_be_log: true,
        y_max: None,
        lines: lines.filter(|line| !line.points.is_empty()).collect(),
    };
    let title = format!("{} over {}", axes.metric.name(), axes.x);
    let drawn = chart.html("");
    html! { @if !drawn.0.is_empty() { h2 { (title) } (drawn) } }
}
