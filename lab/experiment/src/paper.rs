//! Published results, to stand beside what came of an experiment.

use crate::check::Grouped;
use crate::condition::Condition;
use crate::experiment::Experiment;
use crate::metric::{Metric, Part};
use crate::statistics::Statistic;

/// A table or figure of a paper.
#[derive(Clone, PartialEq, Debug)]
pub struct Paper {
    /// Which one, and what it shows.
    pub title: String,
    /// Where it was published.
    pub source: String,
    /// What is different here.
    pub note: String,
    /// What it tells.
    pub metric: Metric,
    /// Of many repetitions.
    pub statistic: Statistic,
    /// Its values.
    pub rows: Vec<Published>,
}

/// A published value.
#[derive(Clone, PartialEq, Debug)]
pub struct Published {
    /// In words.
    pub label: String,
    /// Index of the contestant that stands for what the paper measured.
    pub of: usize,
    /// What the paper says.
    pub value: f64,
    /// Index of the contestant that it compares with, and what it says of that.
    pub to: Option<(usize, f64)>,
    /// The cells that stand for the paper's conditions.
    pub conditions: Vec<Condition>,
}

/// A published value beside one of ours.
#[derive(Clone, PartialEq, Debug)]
pub struct Beside {
    /// In words.
    pub label: String,
    /// Name of the contestant.
    pub of: String,
    /// Name of the one that it is compared with.
    pub to: Option<String>,
    /// The paper's value and ratio.
    pub paper: (f64, Option<f64>),
    /// Ours, where there are rows.
    pub here: (Option<f64>, Option<f64>),
}

impl Paper {
    /// Every published value beside ours.
    pub fn beside(&self, experiment: &Experiment, rows: &Grouped<'_>) -> Vec<Beside> {
        let of = |row: &Published| {
            let here = |contestant| self.here(row, contestant, experiment, rows);
            let ours = here(row.of);
            let other = row.to.and_then(|(to, _)| here(to));
            let name = |contestant: usize| experiment.contestants[contestant].clone();
            Beside {
                label: row.label.clone(),
                of: name(row.of),
                to: row.to.map(|(to, _)| name(to)),
                paper: (row.value, row.to.map(|(_, value)| row.value / value)),
                here: (ours, ours.zip(other).map(|(a, b)| a / b)),
            }
        };
        self.rows.iter().map(of).collect()
    }

    fn here(
        &self,
        row: &Published,
        contestant: usize,
        experiment: &Experiment,
        rows: &Grouped<'_>,
    ) -> Option<f64> {
        let mut values = Vec::new();
        for (index, cell) in experiment.cells.iter().enumerate() {
            if experiment.meets(cell, &row.conditions) {
                let parts = self.metric.parts(rows.of(index, contestant), &[]);
                values.extend(parts.into_iter().map(Part::value));
            }
        }
        self.statistic.of(&values)
    }

    /// The table as Markdown.
    pub fn markdown(&self, experiment: &Experiment, rows: &Grouped<'_>) -> String {
        let metric = self.metric.name();
        let mut text = format!("### {}\n\n{}\n\n", self.title, self.source);
        if !self.note.is_empty() {
            text.push_str(&format!("{}\n\n", self.note));
        }
        text.push_str(&format!(
            "| | contestant | {metric}, paper | {metric}, here | compared with | ratio, paper | ratio, here |\n"
        ));
        text.push_str("|---|---|---:|---:|---|---:|---:|\n");
        let number = |x: Option<f64>| x.map_or("–".to_owned(), figures);
        for row in self.beside(experiment, rows) {
            text.push_str(&format!(
                "| {} | {} | {} | {} | {} | {} | {} |\n",
                row.label,
                row.of,
                figures(row.paper.0),
                number(row.here.0),
                row.to.unwrap_or("–".to_owned()),
                number(row.paper.1),
                number(row.here.1),
            ));
        }
        text
    }
}

/// A number with about four significant figures.
pub fn figures(x: f64) -> String {
    let digits = match x.abs() {
        a if a >= 1000.0 => 0,
        a if a >= 100.0 => 1,
        a if a >= 10.0 => 2,
        a if a >= 0.01 || a == 0.0 => 3,
        _ => 6,
    };
    format!("{x:.digits$}")
}
