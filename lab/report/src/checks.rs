//! Checks, and what failed.

use maud::{Markup, html};
use windlass_experiment::check::{Limit, Verdict};
use windlass_experiment::paper::figures;
use windlass_experiment::{Late, Row};

use crate::Results;

/// More of them say nothing more.
const FAILURES_MAX: usize = 50;

/// The first thing to read.
pub(crate) fn lead(results: &Results<'_>) -> Markup {
    let failed = results.rows.iter().filter(|row| row.failed()).count();
    let (total, runs) = (results.experiment.runs.len(), results.observed.len());
    let bad = results.verdicts.iter().filter(|v| !v.pass).count();
    let all = results.verdicts.len();
    html! {
        p.headline {
            @if all > 0 {
                @if bad == 0 { b.pass { "All " (all) " checks hold. " } }
                @else { b.fail { (bad) " of " (all) " checks fail. " } }
            }
            (runs) " of " (total) " runs done"
            @if failed > 0 { ", " b.fail { (failed) " flows failed" } }
            "."
        }
        @if let Some(late) = Late::of(results.rows) { p { b.fail { "Marked: " } (late.sentence(runs)) "." } }
    }
}

/// The checks, those that fail first.
pub(crate) fn checks(results: &Results<'_>) -> Markup {
    let mut verdicts: Vec<&Verdict> = results.verdicts.iter().collect();
    verdicts.sort_by_key(|v| v.pass);
    html! {
        @if !verdicts.is_empty() {
            h2 { "Checks" }
            div.scroll { table {
                thead { tr { th {} th.text { "check" } th { "value" } th { "limit" } th.text { "nearest to the limit, or beyond it" } } }
                tbody { @for verdict in verdicts { (line(verdict)) } }
            } }
        }
    }
}

fn line(verdict: &Verdict) -> Markup {
    let (class, word) = if verdict.pass {
        ("pass", "pass")
    } else {
        ("fail", "FAIL")
    };
    let sign = match verdict.limit {
        Limit::AtMost(_) => "≤",
        Limit::AtLeast(_) => "≥",
    };
    html! {
        tr {
            td { b class=(class) { (word) } }
            td.text.wrap { (verdict.name) }
            td { (verdict.value.map_or("–".to_owned(), figures)) }
            td { (sign) " " (verdict.limit.number()) }
            td.text.wrap.soft {
                @if let Some(reason) = &verdict.reason { b { (reason) ". " } }
                @if let Some(worst) = &verdict.worst { (worst) }
            }
        }
    }
}

/// Flows that failed, and why.
pub(crate) fn failures(results: &Results<'_>) -> Markup {
    let failed: Vec<&Row> = results.rows.iter().filter(|row| row.failed()).collect();
    let experiment = results.experiment;
    html! {
        @if !failed.is_empty() {
            details {
                summary { h2 { "What failed" } }
                div.scroll { table.dense {
                    thead { tr { th.text { "cell" } th.text { "contestant" } th { "repetition" } th.text { "flow" } th.text { "why" } } }
                    tbody { @for row in failed.iter().take(FAILURES_MAX) { tr {
                        td.text { (experiment.describe(row.cell)) }
                        td.text { (experiment.contestants[row.contestant]) }
                        td { (row.repetition) }
                        td.text { (row.flow) " " (row.index) }
                        td.text.wrap { (row.error.as_deref().unwrap_or("it did not end intact")) }
                    } } }
                } }
                @if failed.len() > FAILURES_MAX {
                    p.soft { "… and " (failed.len() - FAILURES_MAX) " more: see rows.csv." }
                }
            }
        }
    }
}
