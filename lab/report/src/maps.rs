//! Maps of quantities as they are, coloured by how good they are.

use maud::{Markup, html};
use windlass_experiment::check::Grouped;
use windlass_experiment::map::{Map, Scale, Shade, Sheet};
use windlass_experiment::paper::figures;

use crate::Results;

/// All of them, side by side.
pub(crate) fn maps(results: &Results<'_>, rows: &Grouped<'_>) -> Markup {
    let maps = &results.experiment.charts.maps;
    html! {
        @if !maps.is_empty() {
            h2 { "Maps" }
            p.soft { "Medians of the repetitions and flows. Green is as it should be." }
            div.maps { @for map in maps {
                @for sheet in map.sheets(results.experiment, rows) { (table(map, &sheet)) }
            } }
        }
    }
}

fn table(map: &Map, sheet: &Sheet) -> Markup {
    html! {
        table.map {
            caption {
                (map.title)
                @if !sheet.title.is_empty() { br; small { (sheet.title) } }
                br; (legend(&map.scale))
            }
            thead {
                tr { th {} @for x in &sheet.xs { th { (x) } } }
                tr { td.axes colspan=(sheet.xs.len() + 1) {
                    (map.x.key()) " →, " (map.y.key()) " ↓"
                } }
            }
            tbody { @for (y, fields) in sheet.ys.iter().zip(&sheet.fields) { tr {
                th { (y) }
                @for field in fields {
                    @match field {
                        Some(value) => td class=(class(map.scale.shade(*value))) { (figures(*value)) },
                        None => td { "–" },
                    }
                }
            } } }
        }
    }
}

fn legend(scale: &Scale) -> Markup {
    let ends = [Some(scale.bad), Some(scale.good), scale.other_bad];
    let mut ends: Vec<f64> = ends.into_iter().flatten().collect();
    ends.sort_by(f64::total_cmp);
    html! {
        small.ends { @for end in ends { span class=(class(scale.shade(end))) { (end) } } }
    }
}

/// Of the style sheet.
fn class(shade: Shade) -> &'static str {
    match (shade.level, shade.below) {
        (0, _) => "b2",
        (1, false) => "w1",
        (2, false) => "w2",
        (3, false) => "w3",
        (_, false) => "w4",
        (1, true) => "l1",
        (2, true) => "l2",
        (3, true) => "l3",
        (_, true) => "l4",
    }
}
