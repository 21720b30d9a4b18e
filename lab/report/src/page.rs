//! The page as a whole: one file that needs nothing else.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use windlass_experiment::check::Grouped;

use crate::{Results, checks, distribution, findings, heat};
use crate::{lines, maps, medians, published, series, sharing};

const STYLE: &str = include_str!("style.css");

/// The page.
pub(crate) fn page(results: &Results<'_>) -> String {
    let rows = Grouped::new(results.rows);
    let experiment = results.experiment;
    let body = html! {
        h1 { (experiment.title) }
        @for paragraph in experiment.description.split("\n\n").filter(|p| !p.is_empty()) {
            p { (paragraph) }
        }
        (checks::lead(results))
        (checks::checks(results))
        (findings::findings(results, &rows))
        (maps::maps(results, &rows))
        (published::papers(results, &rows))
        (medians::summary(results, &rows))
        (heat::maps(results, &rows))
        (lines::chart(results, &rows))
        (distribution::charts(results, &rows))
        (sharing::table(results, &rows))
        (series::charts(results))
        (medians::table(results, &rows))
        (checks::failures(results))
        (facts(results))
    };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Windlass: " (experiment.title) }
                style { (PreEscaped(STYLE)) }
            }
            body { main { (body) } }
        }
    };
    page.into_string()
}

fn facts(results: &Results<'_>) -> Markup {
    html! {
        h2 { "Where it ran" }
        div.scroll { table {
            tbody { @for (name, value) in results.facts { tr {
                td.text.soft { (name) } td.text.wrap { (value) }
            } } }
        } }
        footer {
            "Experiment " code { (results.experiment.name) } ". Every row is in " code { "rows.csv" }
            " beside this page. Measured by " code { "windlass-lab run" } "."
        }
    }
}
