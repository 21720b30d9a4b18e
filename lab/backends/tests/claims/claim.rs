//! Figures of the manual, as `claims.toml` names them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::outcome::{Over, Source};
use crate::page;

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
    row: Option<String>,
    column: Option<String>,
    part: Option<usize>,
    check: Option<String>,
    metric: Option<String>,
    of: Option<String>,
    to: Option<String>,
    over: Option<Over>,
    #[serde(rename = "where")]
    only: Option<BTreeMap<String, Value>>,
    times: Option<f64>,
    tolerance: Option<f64>,
}

/// A figure in a table of the manual.
pub struct Claim {
    pub page: PathBuf,
    pub row: String,
    pub column: String,
    part: usize,
    pub experiment: String,
    pub select: Vec<String>,
    pub slow: bool,
    pub source: Source,
    /// How far the outcome may be from it, in its own unit.
    pub tolerance: f64,
}

/// All claims, in their order.
pub fn all() -> Vec<Claim> {
    let text = include_str!("claims.toml");
    let claims: Claims = toml::from_str(text).unwrap_or_else(|e| panic!("claims.toml: {e}"));
    let of_group = |group: &Group| {
        let figures = group.figures.iter();
        figures.map(|own| own.claim(group)).collect::<Vec<_>>()
    };
    claims.group.iter().flat_map(of_group).collect()
}

impl Fields {
    /// This of one figure, and of all where it says nothing.
    fn over(&self, all: &Fields) -> Fields {
        let (own, all) = (self.clone(), all.clone());
        Fields {
            row: own.row.or(all.row),
            column: own.column.or(all.column),
            part: own.part.or(all.part),
            check: own.check.or(all.check),
            metric: own.metric.or(all.metric),
            of: own.of.or(all.of),
            to: own.to.or(all.to),
            over: own.over.or(all.over),
            only: own.only.or(all.only),
            times: own.times.or(all.times),
            tolerance: own.tolerance.or(all.tolerance),
        }
    }

    fn claim(&self, group: &Group) -> Claim {
        let fields = self.over(&group.all);
        let place = format!("claims.toml, {}, {:?}", group.experiment, fields.row);
        let source = match (fields.check, fields.metric) {
            (Some(check), None) => Source::Check { check },
            (None, Some(metric)) => Source::Rows {
                metric,
                of: known(fields.of, "of", &place),
                to: fields.to,
                over: known(fields.over, "over", &place),
                only: fields.only.unwrap_or_default(),
                times: fields.times.unwrap_or(1.0),
            },
            _ => panic!("{place}: say either check or metric"),
        };
        Claim {
            page: group.page.clone(),
            row: known(fields.row, "row", &place),
            column: known(fields.column, "column", &place),
            part: fields.part.unwrap_or(0),
            experiment: group.experiment.clone(),
            select: group.select.clone(),
            slow: group.slow,
            source,
            tolerance: known(fields.tolerance, "tolerance", &place),
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
        page::figure(&text, &self.row, &self.column, self.part)
            .unwrap_or_else(|e| panic!("{}: {e}", self.page.display()))
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
