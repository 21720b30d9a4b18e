//! Published values beside ours.

use maud::{Markup, html};
use windlass_experiment::check::Grouped;
use windlass_experiment::paper::{Paper, figures};

use crate::Results;

/// A table for each paper.
pub(crate) fn papers(results: &Results<'_>, rows: &Grouped<'_>) -> Markup {
    html! {
        @for paper in &results.experiment.papers { (table(paper, results, rows)) }
    }
}

fn table(paper: &Paper, results: &Results<'_>, rows: &Grouped<'_>) -> Markup {
    let metric = paper.metric.name();
    let number = |x: Option<f64>| x.map_or("–".to_owned(), figures);
    html! {
        h2 { "Beside the paper: " (paper.title) }
        p.soft { (paper.source) }
        @if !paper.note.is_empty() { p { (paper.note) } }
        div.scroll { table {
            thead {
                tr { th {} th {} th colspan="2" { (metric) } th {} th colspan="2" { "ratio" } }
                tr {
                    th.text {} th.text { "contestant" } th { "paper" } th { "here" }
                    th.text { "compared with" } th { "paper" } th { "here" }
                }
            }
            tbody { @for row in paper.beside(results.experiment, rows) { tr {
                td.text { (row.label) }
                td.text { (row.of) }
                td { (figures(row.paper.0)) }
                td { b { (number(row.here.0)) } }
                td.text { (row.to.as_deref().unwrap_or("")) }
                td { (number(row.paper.1)) }
                td { b { (number(row.here.1)) } }
            } } }
        } }
    }
}
