//! Maps of a grid: two parameters, and in each field how a contestant compares with the reference.

use maud::{Markup, html};
use windlass_experiment::check::Grouped;
use windlass_experiment::paper::figures;
use windlass_experiment::{Experiment, Scalar};

use crate::Results;
use crate::chart::mark;
use crate::ratio::{class, to_reference};

/// So many contestants' maps are open from the start.
const OPEN_MAX: usize = 2;

/// A row of maps for each contestant, one for each combination of what is neither x nor y.
pub(crate) fn maps(results: &Results<'_>, rows: &Grouped<'_>) -> Markup {
    let experiment = results.experiment;
    let (Some(axes), Some(reference)) = (&experiment.charts.heatmap, experiment.charts.reference)
    else {
        return html! {};
    };
    let Some((x, y)) = axes.y.as_ref().and_then(|y| {
        let at = |name: &String| experiment.parameters.iter().position(|p| p == name);
        Some((at(&axes.x)?, at(y)?))
    }) else {
        return html! {};
    };
    let contestants = results
        .contestants()
        .into_iter()
        .filter(|c| *c != reference);
    let contestants: Vec<usize> = contestants.collect();
    let groups = groups(results, x, y);
    html! {
        h2 { "Maps: " (axes.metric.name()) " compared with " (experiment.contestants[reference]) }
        (scale())
        @for (number, contestant) in opened_first(experiment, &contestants).into_iter().enumerate() {
            details open[number < OPEN_MAX] {
                summary { h3 { (mark(contestant)) (experiment.contestants[contestant]) } }
                div.maps { @for group in &groups {
                    @let map = Map { results, rows, contestant, x, y, group };
                    (map.html())
                } }
            }
        }
    }
}

/// Those that the box governs are what one has come for.
fn opened_first(experiment: &Experiment, contestants: &[usize]) -> Vec<usize> {
    let mut order = contestants.to_vec();
    order.sort_by_key(|c| experiment.contestants[*c].starts_with("native"));
    order
}

fn scale() -> Markup {
    html! {
        p.scale {
            span.b4 { "half" } span.b3 { "0.7" } span.b2 { "0.85" } span.b1 { "0.95" }
            span.even { "even" }
            span.w1 { "1.05" } span.w2 { "1.2" } span.w3 { "1.5" } span.w4 { "2" }
        }
    }
}

/// The cells of one map.
struct Group {
    title: String,
    cells: Vec<usize>,
}

fn groups(results: &Results<'_>, x: usize, y: usize) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for cell in results.cells() {
        let title = title(results.experiment, cell, x, y);
        match groups.iter_mut().find(|g| g.title == title) {
            Some(group) => group.cells.push(cell),
            None => groups.push(Group {
                title,
                cells: vec![cell],
            }),
        }
    }
    groups
}

/// What all fields of a map have in common.
fn title(experiment: &Experiment, cell: usize, x: usize, y: usize) -> String {
    let cell = &experiment.cells[cell];
    let case = (!cell.case.is_empty()).then(|| cell.case.clone());
    let rest = experiment.parameters.iter().zip(&cell.values).enumerate();
    let rest = rest.filter(|(at, _)| *at != x && *at != y);
    let rest = rest.map(|(_, (name, value))| format!("{name} {value}"));
    case.into_iter().chain(rest).collect::<Vec<_>>().join(", ")
}

struct Map<'a> {
    results: &'a Results<'a>,
    rows: &'a Grouped<'a>,
    contestant: usize,
    x: usize,
    y: usize,
    group: &'a Group,
}

impl Map<'_> {
    fn html(&self) -> Markup {
        let experiment = self.results.experiment;
        let xs = self.values(self.x);
        html! {
            table.map {
                caption { (self.group.title) }
                tbody {
                    @for y in self.values(self.y).iter().rev() { tr {
                        th { (y) }
                        @for x in &xs { (self.field(x, y)) }
                    } }
                }
                tfoot {
                    tr { th {} @for x in &xs { th { (x) } } }
                    tr { td.axes colspan=(xs.len() + 1) {
                        (experiment.parameters[self.x]) " →, " (experiment.parameters[self.y]) " ↑"
                    } }
                }
            }
        }
    }

    /// The different values of a parameter, in the order of the cells.
    fn values(&self, at: usize) -> Vec<Scalar> {
        let mut values: Vec<Scalar> = Vec::new();
        for cell in &self.group.cells {
            let value = &self.results.experiment.cells[*cell].values[at];
            if !values.iter().any(|v| v.same(value)) {
                values.push(value.clone());
            }
        }
        values
    }

    fn field(&self, x: &Scalar, y: &Scalar) -> Markup {
        let experiment = self.results.experiment;
        let metric = experiment.charts.heatmap.as_ref().map(|axes| axes.metric);
        let here = |cell: &&usize| {
            let values = &experiment.cells[**cell].values;
            values[self.x].same(x) && values[self.y].same(y)
        };
        let cell = self.group.cells.iter().find(here).copied();
        let (Some(cell), Some(metric)) = (cell, metric) else {
            return html! { td {} };
        };
        let Some(ratio) = to_reference(self.results, self.rows, cell, self.contestant, metric)
        else {
            return html! { td { "–" } };
        };
        let median = self.rows.median(cell, self.contestant, metric, &[]);
        let title = median.map(|m| format!("{} {}", metric.name(), figures(m)));
        html! { td class=(class(ratio, metric)) title=[title] { (format!("{ratio:.2}")) } }
    }
}
