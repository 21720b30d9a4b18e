//! What an experiment has found, and a figure of it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use windlass_experiment::statistics::{Statistic, jain};

/// The file that `--json` writes.
#[derive(Deserialize)]
pub struct Outcome {
    rows: Vec<Value>,
    checks: Vec<Check>,
}

#[derive(Deserialize)]
struct Check {
    name: String,
    value: Option<f64>,
}

/// How the figure is made: the value of a check, or a statistic of rows.
pub enum Source {
    Check {
        check: String,
    },
    Rows {
        metric: String,
        of: String,
        /// It is divided by the same of this one.
        to: Option<String>,
        over: Statistic,
        /// Fields of the rows that count.
        only: BTreeMap<String, Value>,
        /// The unit of the figure in that of the rows.
        times: f64,
    },
}

/// The statistic of this name: mean, median, min, max, p95, p99.9.
pub fn statistic_of(name: &str) -> Option<Statistic> {
    Some(match name {
        "mean" => Statistic::Mean,
        "median" => Statistic::Median,
        "min" => Statistic::Min,
        "max" => Statistic::Max,
        _ => Statistic::Percentile(name.strip_prefix('p')?.parse().ok()?),
    })
}

impl Source {
    /// Names that the experiment's file must have.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Source::Check { check } => vec![check],
            Source::Rows { of, to, .. } => [Some(of), to.as_ref()]
                .into_iter()
                .flatten()
                .map(String::as_str)
                .collect(),
        }
    }

    pub fn value(&self, outcome: &Outcome) -> f64 {
        match self {
            Source::Check { check } => {
                let found = outcome.checks.iter().find(|c| c.name == *check);
                let value = found.and_then(|c| c.value);
                value.unwrap_or_else(|| panic!("no value of the check {check}"))
            }
            Source::Rows {
                metric,
                of,
                to,
                over,
                only,
                times,
            } => {
                let of = statistic(outcome, metric, of, *over, only);
                let to = to
                    .as_ref()
                    .map(|to| statistic(outcome, metric, to, *over, only));
                times * of / to.unwrap_or(1.0)
            }
        }
    }
}

fn statistic(
    outcome: &Outcome,
    metric: &str,
    of: &str,
    over: Statistic,
    only: &BTreeMap<String, Value>,
) -> f64 {
    let same = |row: &Value, (name, wanted): (&String, &Value)| match wanted.as_f64() {
        Some(number) => row[name].as_f64() == Some(number),
        None => row[name] == *wanted,
    };
    let rows = outcome.rows.iter().filter(|row| row["contestant"] == of);
    let rows = rows
        .filter(|row| row["background"] == false && only.iter().all(|wanted| same(row, wanted)));
    // These two are of all flows of the one run that is meant, and no column.
    let of_run = ["total_mbit_s", "jain"].contains(&metric);
    let column = if of_run { "goodput_mbit_s" } else { metric };
    let values: Vec<f64> = rows.filter_map(|row| row[column].as_f64()).collect();
    let found = match metric {
        "total_mbit_s" => Some(values.iter().sum()).filter(|_| !values.is_empty()),
        "jain" => jain(&values),
        _ => over.of(&values),
    };
    found.unwrap_or_else(|| panic!("no rows of {of} with {metric} and {only:?}"))
}
