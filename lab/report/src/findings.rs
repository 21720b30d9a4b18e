//! What is said of each contestant or value in plain words, and by which numbers.

use maud::{Markup, html};
use windlass_experiment::check::{Grouped, Verdict};
use windlass_experiment::finding::{self, Said};
use windlass_experiment::paper::figures;

use crate::Results;

/// What is said, by which limits, by which numbers.
pub(crate) fn findings(results: &Results<'_>, rows: &Grouped<'_>) -> Markup {
    let experiment = results.experiment;
    let said = finding::all(experiment, rows);
    html! {
        @if !said.is_empty() {
            h2 { "In plain words" }
            div.scroll { table { tbody { @for said in &said { tr {
                td.text { b { (said.about) } }
                td.text.wrap { (said.sentence(experiment)) }
            } } } } }
            h3 { "What each finding means" }
            div.scroll { table { tbody { @for (at, finding) in experiment.findings.iter().enumerate() { tr {
                td.text.wrap { b { (finding.check.name) } }
                td.text.wrap { (finding::of_whom(&said, at)) }
                td.text.wrap { (finding.limit(experiment)) }
                td.text.wrap.soft { (finding.because) }
            } } } } }
            details {
                summary { h3 { "The numbers behind it" } }
                div.scroll { table.dense {
                    thead { tr {
                        th {}
                        @for finding in &experiment.findings { th.wrap { (finding.check.name) } }
                    } }
                    tbody { @for Said { about, verdicts } in &said { tr {
                        td.text { (about) }
                        @for verdict in verdicts { (number(verdict.as_ref())) }
                    } } }
                } }
            }
        }
    }
}

fn number(verdict: Option<&Verdict>) -> Markup {
    let value = verdict.and_then(|v| v.value).map(figures);
    let beyond = verdict.is_some_and(|v| !v.pass);
    let worst = verdict.and_then(|v| v.worst.as_deref());
    html! { td class=[beyond.then_some("w2")] title=[worst] { (value.unwrap_or("–".to_owned())) } }
}
