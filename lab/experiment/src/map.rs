//! Maps: a quantity over two of what tells runs apart.

use crate::axis::Axis;
use crate::check::{Beside, Grouped};
use crate::condition::Condition;
use crate::experiment::Experiment;
use crate::metric::Metric;
use crate::paper::figures;

/// What is good and what is bad.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scale {
    /// As it should be.
    pub good: f64,
    /// As bad as it needs to be shown; above or below `good`.
    pub bad: f64,
    /// The same on the other side, if both sides are bad.
    pub other_bad: Option<f64>,
}

/// Where a value is between good and bad.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shade {
    /// 0 is good, 4 is bad.
    pub level: u8,
    /// Of two bad sides, the one below good.
    pub below: bool,
}

impl Scale {
    /// In fifths of the way from good to bad.
    pub fn shade(&self, value: f64) -> Shade {
        let toward = |bad: f64| (value - self.good) / (bad - self.good);
        let level = |part: f64| (part * 5.0).clamp(0.0, 4.0) as u8;
        let (first, second) = (toward(self.bad), self.other_bad.map_or(0.0, toward));
        let bad = if first >= second {
            self.bad
        } else {
            self.other_bad.unwrap_or(self.bad)
        };
        Shade {
            level: level(first.max(second)),
            below: self.other_bad.is_some() && bad < self.good,
        }
    }
}

/// What to draw.
#[derive(Clone, PartialEq, Debug)]
pub struct Map {
    /// What it shows.
    pub title: String,
    /// What the values are.
    pub metric: Metric,
    /// Of which contestants.
    pub of: Vec<usize>,
    /// Compared with whose.
    pub to: Option<Beside>,
    /// Names of the groups of flows; none: all but those in the background.
    pub flows: Vec<String>,
    /// In which cells.
    pub conditions: Vec<Condition>,
    /// To the right.
    pub x: Axis,
    /// Downwards.
    pub y: Axis,
    /// What is good.
    pub scale: Scale,
}

/// One map of those that there are for what is on neither axis.
#[derive(Clone, PartialEq, Debug)]
pub struct Sheet {
    /// What all fields have in common beside the map's conditions; may be empty.
    pub title: String,
    /// Names of the columns.
    pub xs: Vec<String>,
    /// Names of the lines.
    pub ys: Vec<String>,
    /// By line and column.
    pub fields: Vec<Vec<Option<f64>>>,
}

/// A cell and a contestant of which there are rows.
type Spot = (usize, usize);

impl Map {
    /// All sheets, fields filled in where there are rows.
    pub fn sheets(&self, experiment: &Experiment, rows: &Grouped<'_>) -> Vec<Sheet> {
        let cells = 0..experiment.cells.len();
        let meant = |cell: &usize| experiment.meets(&experiment.cells[*cell], &self.conditions);
        let spots = cells
            .filter(meant)
            .flat_map(|cell| self.of.iter().map(move |c| (cell, *c)));
        let spots: Vec<Spot> = spots
            .filter(|(cell, c)| !rows.of(*cell, *c).is_empty())
            .collect();
        let rest = self.rest(experiment, &spots);
        let mut sheets: Vec<(String, Vec<Spot>)> = Vec::new();
        for spot in spots {
            let words: Vec<String> = rest.iter().map(|a| labelled(experiment, a, spot)).collect();
            let title = words.join(", ");
            match sheets.iter_mut().find(|(t, _)| *t == title) {
                Some((_, spots)) => spots.push(spot),
                None => sheets.push((title, vec![spot])),
            }
        }
        let sheet = |(title, spots): (String, Vec<Spot>)| {
            let (xs, ys) = (
                values(experiment, &self.x, &spots),
                values(experiment, &self.y, &spots),
            );
            let field = |x: &String, y: &String| {
                let here = |spot: &&Spot| {
                    value(experiment, &self.x, **spot) == *x
                        && value(experiment, &self.y, **spot) == *y
                };
                let (cell, contestant) = *spots.iter().find(here)?;
                let to = self.to.as_ref().map(|to| (to, cell));
                rows.compared(cell, contestant, to, self.metric, &self.flows)
            };
            let line = |y: &String| xs.iter().map(|x| field(x, y)).collect();
            let fields = ys.iter().map(line).collect();
            Sheet {
                title,
                xs,
                ys,
                fields,
            }
        };
        sheets.into_iter().map(sheet).collect()
    }

    /// What is on neither axis and not the same everywhere.
    fn rest(&self, experiment: &Experiment, spots: &[Spot]) -> Vec<Axis> {
        let parameters = experiment.parameters.iter().cloned().enumerate();
        let parameters = parameters.map(|(at, name)| Axis::Parameter(at, name));
        let all = [Axis::Contestant, Axis::Case].into_iter().chain(parameters);
        let rest = all.filter(|axis| *axis != self.x && *axis != self.y);
        rest.filter(|axis| values(experiment, axis, spots).len() > 1)
            .collect()
    }

    /// All sheets as Markdown tables.
    pub fn markdown(&self, experiment: &Experiment, rows: &Grouped<'_>) -> String {
        let mut text = String::new();
        for sheet in self.sheets(experiment, rows) {
            let title = match sheet.title.is_empty() {
                true => self.title.clone(),
                false => format!("{}: {}", self.title, sheet.title),
            };
            let (x, y) = (self.x.key(), self.y.key());
            let xs = sheet.xs.join(" | ");
            text.push_str(&format!("\n## {title}\n\n| {y} ↓ {x} → | {xs} |\n"));
            text.push_str(&format!("|---{}|\n", "|---:".repeat(sheet.xs.len())));
            for (y, fields) in sheet.ys.iter().zip(&sheet.fields) {
                let fields = fields.iter().map(|f| f.map_or("–".to_owned(), figures));
                let fields: Vec<String> = fields.collect();
                text.push_str(&format!("| {y} | {} |\n", fields.join(" | ")));
            }
        }
        text
    }
}

/// As in titles: a contestant and a case stand for themselves.
fn labelled(experiment: &Experiment, axis: &Axis, spot: Spot) -> String {
    let value = value(experiment, axis, spot);
    match axis {
        Axis::Parameter(_, name) => format!("{name} {value}"),
        Axis::Case | Axis::Contestant => value,
    }
}

fn value(experiment: &Experiment, axis: &Axis, (cell, contestant): Spot) -> String {
    match axis.of_cell(&experiment.cells[cell]) {
        Some(scalar) => scalar.to_string(),
        None => experiment.contestants[contestant].clone(),
    }
}

/// The different ones, in order.
fn values(experiment: &Experiment, axis: &Axis, spots: &[Spot]) -> Vec<String> {
    let mut all = Vec::new();
    for spot in spots {
        let value = value(experiment, axis, *spot);
        if !all.contains(&value) {
            all.push(value);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_say_how_bad_and_on_which_side() {
        let fair = Scale {
            good: 50.0,
            bad: 0.0,
            other_bad: Some(100.0),
        };
        let shade = |value| (fair.shade(value).level, fair.shade(value).below);
        assert_eq!(shade(50.0).0, 0);
        assert_eq!(shade(41.0).0, 0);
        assert_eq!(shade(29.0), (2, true));
        assert_eq!(shade(1.0), (4, true));
        assert_eq!(shade(71.0), (2, false));
        assert_eq!(shade(120.0), (4, false));
        let even = Scale {
            good: 1.0,
            bad: 0.5,
            other_bad: None,
        };
        assert_eq!(
            even.shade(0.95),
            Shade {
                level: 0,
                below: false
            }
        );
        assert_eq!(
            even.shade(0.6),
            Shade {
                level: 4,
                below: false
            }
        );
        assert_eq!(
            even.shade(1.3),
            Shade {
                level: 0,
                below: false
            }
        );
    }
}
