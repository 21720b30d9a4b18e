//! Medians with their spread, and how they compare with the reference.

use maud::{Markup, html};
use windlass_experiment::check::Grouped;
use windlass_experiment::metric::Part;
use windlass_experiment::paper::figures;
use windlass_experiment::statistics::{Spread, Statistic};

use crate::Results;
use crate::chart::mark;
use crate::ratio::{class, to_reference};

/// From so many cells on, the table waits to be opened.
const OPEN_MAX: usize = 40;

/// What a contestant's ratios to the reference amount to, over all cells.
pub(crate) fn summary(results: &Results<'_>, rows: &Grouped<'_>) -> Markup {
    let Some(reference) = results.experiment.charts.reference else {
        return html! {};
    };
    let names = &results.experiment.contestants;
    let metric = results.experiment.main_metric();
    let better = if metric.more_is_better() {
        "Above"
    } else {
        "Below"
    };
    let of = |contestant: usize| -> Vec<f64> {
        let cells = results.cells().into_iter();
        cells
            .filter_map(|c| to_reference(results, rows, c, contestant, metric))
            .collect()
    };
    let compared = results.contestants().into_iter().map(|c| (c, of(c)));
    let compared: Vec<_> = compared.filter(|(_, ratios)| !ratios.is_empty()).collect();
    html! {
        @if !compared.is_empty() {
            h2 { (metric.name()) " compared with " (names[reference]) }
            div.scroll { table {
                thead { tr { th.text { "contestant" } th { "geometric mean" } th { "least" } th { "median" } th { "most" } th { "cells" } } }
                tbody { @for (contestant, ratios) in &compared { tr {
                    td.text { (mark(*contestant)) (names[*contestant]) }
                    @for statistic in [Statistic::GeometricMean, Statistic::Min, Statistic::Median, Statistic::Max] {
                        @let value = statistic.of(ratios).unwrap_or(f64::NAN);
                        td class=(class(value, metric)) { (format!("{value:.3}")) }
                    }
                    td { (ratios.len()) }
                } } }
            } }
            p.soft { "Medians of the repetitions, divided cell by cell. " (better) " 1 is better." }
        }
    }
}

/// A line for each cell, a column for each contestant.
pub(crate) fn table(results: &Results<'_>, rows: &Grouped<'_>) -> Markup {
    let (cells, contestants) = (results.cells(), results.contestants());
    let experiment = results.experiment;
    let metric = experiment.main_metric();
    html! {
        details open[cells.len() <= OPEN_MAX] {
            summary { h2 { (metric.name()) ", cell by cell" } }
            p.soft {
                "Median of the flows and repetitions, and least to most."
                @if let Some(reference) = experiment.charts.reference {
                    " Below it: divided by " (experiment.contestants[reference]) "."
                }
            }
            div.scroll { table.dense {
                thead { tr {
                    @if has_cases(results) { th.text { "case" } }
                    @for name in &experiment.parameters { th.text { (name) } }
                    @for contestant in &contestants { th { (mark(*contestant)) (experiment.contestants[*contestant]) } }
                } }
                tbody { @for cell in &cells { tr {
                    @if has_cases(results) { td.text { (experiment.cells[*cell].case) } }
                    @for value in &experiment.cells[*cell].values { td.text { (value) } }
                    @for contestant in &contestants { (entry(results, rows, *cell, *contestant)) }
                } } }
            } }
        }
    }
}

fn has_cases(results: &Results<'_>) -> bool {
    results
        .experiment
        .cells
        .iter()
        .any(|cell| !cell.case.is_empty())
}

fn entry(results: &Results<'_>, rows: &Grouped<'_>, cell: usize, contestant: usize) -> Markup {
    let metric = results.experiment.main_metric();
    let parts = metric.parts(rows.of(cell, contestant), &[]);
    let failed = rows
        .of(cell, contestant)
        .iter()
        .filter(|row| row.failed())
        .count();
    let spread = Spread::of(parts.into_iter().map(Part::value));
    let ratio = to_reference(results, rows, cell, contestant, metric);
    html! {
        td class=[ratio.map(|r| class(r, metric))] {
            @if let Some(spread) = spread {
                b { (figures(spread.median)) }
                @if spread.count > 1 {
                    br; small { (figures(spread.min)) "–" (figures(spread.max)) }
                }
                @if let Some(ratio) = ratio { br; (format!("{ratio:.3}")) " ×" }
            } @else { "–" }
            @if failed > 0 { br; small.fail { (failed) " failed" } }
        }
    }
}
