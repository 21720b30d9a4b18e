//! Figures of the manual, as `claims.toml` names them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::outcome::{Source, statistic_of};
use crate::page::{self, Place};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Claims {
    group: Vec<Group>,
}

/// Figures of one page that one command makes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    /// From the top of the sources.
    page: PathBuf,
    /// The experiment that makes them.
    experiment: String,
    /// More words for `windlass lab run`.
    #[serde(default)]
    select: Vec<String>,
    /// It takes minutes by itself: `make soak` looks at it, and `make claims` does not.
    #[serde(default)]
    slow: bool,
    /// What all figures have.
    #[serde(default)]
    all: Fields,
    figures: Vec<Fields>,
}

/// What is said of a figure, or of all figures of a group.
#[derive(Deserialize, Clone, Default)]
#[serde(deny_unknown_fields)]
struct Fields {
    table: Option<String>,
    row: Option<String>,
    column: Option<String>,
    columns: Option<BTreeMap<String, Fields>>,
    part: Option<usize>,
    check: Option<String>,
    metric: Option<String>,
    of: Option<String>,
    to: Option<String>,
    over: Option<String>,
    #[serde(rename = "where")]
    only: Option<BTreeMap<String, Value>>,
    times: Option<f64>,
    tolerance: Option<f64>,
    tolerance_percent: Option<f64>,
}

/// A figure in a table of the manual.
pub struct Claim {
    pub page: PathBuf,
    pub place: Place,
    pub experiment: String,
    pub select: Vec<String>,
    pub slow: bool,
    pub source: Source,
    tolerance: Tolerance,
}

/// How far an outcome may be from its figure.
enum Tolerance {
    /// In the figure's own unit.
    Absolute(f64),
    Percent(f64),
}

/// All claims, in their order.
pub fn all() -> Vec<Claim> {
    let text = include_str!("claims.toml");
    let claims: Claims = toml::from_str(text).unwrap_or_else(|e| panic!("claims.toml: {e}"));
    let of_group = |group: &Group| {
        let figures = group.figures.iter();
        let figures = figures.flat_map(|own| own.over(&group.all).in_columns());
        figures.map(|own| own.claim(group)).collect::<Vec<_>>()
    };
    claims.group.iter().flat_map(of_group).collect()
}

impl Fields {
    /// One figure for each of its columns.
    fn in_columns(mut self) -> Vec<Fields> {
        let Some(columns) = self.columns.take() else {
            return vec![self];
        };
        let of_column = |(head, own): (String, Fields)| Fields {
            column: Some(head),
            ..own.over(&self)
        };
        columns.into_iter().map(of_column).collect()
    }

    /// This of one figure, and of all where it says nothing. `where` is what both say.
    fn over(&self, all: &Fields) -> Fields {
        let (own, all) = (self.clone(), all.clone());
        Fields {
            table: own.table.or(all.table),
            row: own.row.or(all.row),
            column: own.column.or(all.column),
            columns: own.columns.or(all.columns),
            part: own.part.or(all.part),
            check: own.check.or(all.check),
            metric: own.metric.or(all.metric),
            of: own.of.or(all.of),
            to: own.to.or(all.to),
            over: own.over.or(all.over),
            only: match (own.only, all.only) {
                (Some(own), Some(all)) => Some(all.into_iter().chain(own).collect()),
                (own, all) => own.or(all),
            },
            times: own.times.or(all.times),
            tolerance: own.tolerance.or(all.tolerance),
            tolerance_percent: own.tolerance_percent.or(all.tolerance_percent),
        }
    }

    fn claim(self, group: &Group) -> Claim {
        let place = format!("claims.toml, {}, {:?}", group.experiment, self.row);
        let of_name =
            |name: String| statistic_of(&name).unwrap_or_else(|| panic!("{place}: {name}"));
        let source = match (self.check, self.metric) {
            (Some(check), None) => Source::Check { check },
            (None, Some(metric)) => Source::Rows {
                metric,
                of: known(self.of, "of", &place),
                to: self.to,
                over: of_name(known(self.over, "over", &place)),
                only: self.only.unwrap_or_default(),
                times: self.times.unwrap_or(1.0),
            },
            _ => panic!("{place}: say either check or metric"),
        };
        let tolerance = match (self.tolerance, self.tolerance_percent) {
            (Some(tolerance), None) => Tolerance::Absolute(tolerance),
            (None, Some(percent)) => Tolerance::Percent(percent),
            _ => panic!("{place}: say either tolerance or tolerance_percent"),
        };
        Claim {
            page: group.page.clone(),
            place: Place {
                table: self.table,
                row: known(self.row, "row", &place),
                column: known(self.column, "column", &place),
                part: self.part.unwrap_or(0),
            },
            experiment: group.experiment.clone(),
            select: group.select.clone(),
            slow: group.slow,
            source,
            tolerance,
        }
    }
}

fn known<T>(value: Option<T>, what: &str, place: &str) -> T {
    value.unwrap_or_else(|| panic!("{place}: no {what}"))
}

impl Claim {
    /// What the manual says.
    pub fn figure(&self) -> f64 {
        let text = fs::read_to_string(root().join(&self.page)).unwrap();
        page::figure(&text, &self.place).unwrap_or_else(|e| panic!("{}: {e}", self.page.display()))
    }

    /// How far the outcome may be from the figure, in the figure's own unit.
    pub fn tolerance(&self) -> f64 {
        match self.tolerance {
            Tolerance::Absolute(tolerance) => tolerance,
            Tolerance::Percent(percent) => self.figure() * percent / 100.0,
        }
    }

    pub fn names_its_experiment(&self) {
        let file = root().join(format!("experiments/{}.toml", self.experiment));
        let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        for name in self.source.names() {
            assert!(
                text.contains(&format!("\"{name}\"")),
                "{}: {name}",
                file.display()
            );
        }
    }
}

/// The top of the sources.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
