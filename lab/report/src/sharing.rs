//! Runs with several flows: who got how much.

use maud::{Markup, html};
use windlass_experiment::Row;
use windlass_experiment::check::Grouped;
use windlass_experiment::metric::{Metric, Part};
use windlass_experiment::statistics::Statistic;

use crate::Results;

/// From so many cells on, the table waits to be opened.
const OPEN_MAX: usize = 40;

/// Shares by group of flows, and Jain's index over the flows of the foreground.
pub(crate) fn table(results: &Results<'_>, rows: &Grouped<'_>) -> Markup {
    let many = |row: &&Row| row.index > 0 || row.flow != results.rows[0].flow;
    if results.rows.iter().find(many).is_none() {
        return html! {};
    }
    let experiment = results.experiment;
    html! {
        details open[results.cells().len() <= OPEN_MAX] {
            summary { h2 { "Who got how much" } }
            p.soft { "Means over the repetitions. Jain's index: 1 when all foreground flows got the same." }
            div.scroll { table.dense {
                thead { tr {
                    th.text { "cell" } th.text { "contestant" } th.text { "flows" } th { "number" }
                    th { "Mbit/s each" } th { "share, %" } th { "Jain's index" }
                } }
                tbody {
                    @for cell in results.cells() { @for contestant in results.contestants() {
                        @let ours = rows.of(cell, contestant);
                        @for (number, flow) in groups(ours).iter().enumerate() { tr {
                            td.text { @if number == 0 { (experiment.describe(cell)) } }
                            td.text { @if number == 0 { (experiment.contestants[contestant]) } }
                            td.text { (flow) }
                            td { (count(ours, flow)) }
                            td { (mean(ours, Metric::GoodputMbitS, flow, 2)) }
                            td { (mean(ours, Metric::SharePercent, flow, 1)) }
                            td { @if count(ours, flow) > 1 { (mean(ours, Metric::Jain, flow, 3)) } }
                        } }
                    } }
                }
            } }
        }
    }
}

fn groups(rows: &[&Row]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for row in rows {
        if !names.contains(&row.flow) {
            names.push(row.flow.clone());
        }
    }
    names
}

/// Flows of a group in one run.
fn count(rows: &[&Row], flow: &str) -> u32 {
    let indices = rows
        .iter()
        .filter(|row| row.flow == flow)
        .map(|row| row.index + 1);
    indices.max().unwrap_or(0)
}

fn mean(rows: &[&Row], metric: Metric, flow: &str, digits: usize) -> String {
    let parts = metric.parts(rows, &[flow.to_owned()]);
    let values: Vec<f64> = parts.into_iter().map(Part::value).collect();
    let mean = Statistic::Mean.of(&values);
    mean.map_or("–".to_owned(), |value| format!("{value:.digits$}"))
}
