//! An experiment, read and found without mistakes.

use std::path::Path;

use windlass_cc::Catalog;
use windlass_policy::ConfigError;

use crate::check::Check;
use crate::condition::Condition;
use crate::file;
use crate::finding::Finding;
use crate::map::Map;
use crate::metric::Metric;
use crate::paper::Paper;
use crate::scalar::Scalar;
use crate::setup::Setup;

/// A back end that an experiment can run on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BackendName {
    /// Virtual time, stacks of our own.
    #[default]
    Sim,
    /// Network namespaces of this machine.
    Netns,
    /// A guest in virtual time with Linux stacks.
    Vm,
}

impl BackendName {
    /// All of them, by name.
    pub const ALL: [(&'static str, BackendName); 3] = [
        ("sim", BackendName::Sim),
        ("netns", BackendName::Netns),
        ("vm", BackendName::Vm),
    ];

    /// As people write it.
    pub fn name(self) -> &'static str {
        match self {
            BackendName::Sim => "sim",
            BackendName::Netns => "netns",
            BackendName::Vm => "vm",
        }
    }
}

/// What a command line puts in the place of what the file says under `[run]`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// Repetitions of every cell and contestant.
    pub repetitions: Option<u32>,
    /// What the seeds of the runs are made of.
    pub seed: Option<u64>,
}

/// Conditions that all contestants meet: a case and a point of the sweep.
#[derive(Clone, PartialEq, Debug)]
pub struct Cell {
    /// Name of the case; empty in a file without cases.
    pub case: String,
    /// Values of the parameters, in their order.
    pub values: Vec<Scalar>,
}

/// One run of the list.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// Index of its cell.
    pub cell: usize,
    /// Index of its contestant.
    pub contestant: usize,
    /// From 1.
    pub repetition: u32,
    /// All that a back end needs.
    pub setup: Setup,
}

/// What the report draws.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Charts {
    /// Index of the contestant that the others are compared with.
    pub reference: Option<usize>,
    /// A map for each contestant: two parameters, and what is compared.
    pub heatmap: Option<Axes>,
    /// Maps of quantities as they are.
    pub maps: Vec<Map>,
    /// A line for each contestant over a parameter.
    pub lines: Option<Axes>,
    /// Distributions of these.
    pub cdf: Vec<Metric>,
    /// Distributions of these columns of the time series, over all samples.
    pub cdf_series: Vec<&'static str>,
    /// Columns of the time series that are drawn.
    pub series: Vec<&'static str>,
    /// Time series are drawn of so many cells at most.
    pub series_cells: usize,
    /// What one types to have it again; may be empty.
    pub command: String,
}

/// What a chart shows over what.
#[derive(Clone, PartialEq, Debug)]
pub struct Axes {
    /// Parameter to the right.
    pub x: String,
    /// Parameter upwards; of a map only.
    pub y: Option<String>,
    /// What is shown.
    pub metric: Metric,
}

/// An experiment without mistakes.
#[derive(Clone, PartialEq, Debug)]
pub struct Experiment {
    /// Short, for file names and JSON.
    pub name: String,
    /// One line.
    pub title: String,
    /// As long as it takes.
    pub description: String,
    /// Where it runs unless somebody says otherwise.
    pub backend: BackendName,
    /// Names of the parameters that are swept, as they stand in rows.
    pub parameters: Vec<String>,
    /// Conditions.
    pub cells: Vec<Cell>,
    /// Names of the contestants.
    pub contestants: Vec<String>,
    /// Everything to run; contestants innermost, then repetitions.
    pub runs: Vec<Run>,
    /// What must hold.
    pub checks: Vec<Check>,
    /// What may be said of contestants or values.
    pub findings: Vec<Finding>,
    /// What the report draws.
    pub charts: Charts,
    /// Published results to stand beside.
    pub papers: Vec<Paper>,
}

impl Experiment {
    /// Reads the text of the file called `file_name`, which names algorithms of the catalog.
    ///
    /// # Errors
    /// The first mistake, with its place and its remedy.
    pub fn parse(
        text: &str,
        file_name: &str,
        settings: Settings,
        catalog: &Catalog,
    ) -> Result<Experiment, ConfigError> {
        let folder = Path::new(file_name).parent().unwrap_or(Path::new(""));
        file::read(text, folder, settings, catalog).map_err(|wrong| wrong.locate(text, file_name))
    }

    /// Keeps only the runs of these contestants (all, if none is named) in the cells that meet
    /// all the conditions.
    ///
    /// # Errors
    /// When there is no such contestant or parameter, or nothing is left.
    pub fn select(&mut self, only: &[String], conditions: &[Condition]) -> Result<(), String> {
        for name in only {
            if !self.contestants.contains(name) {
                let known = self.contestants.join(", ");
                return Err(format!(
                    "no contestant is called \"{name}\"; there are: {known}"
                ));
            }
        }
        for Condition { key, .. } in conditions {
            if key != "case" && !self.parameters.contains(key) {
                let known = self.parameters.join(", ");
                return Err(format!(
                    "no parameter is called \"{key}\"; there are: case, {known}"
                ));
            }
        }
        for condition in conditions {
            condition.check_values(self)?;
        }
        let cells: Vec<bool> = self
            .cells
            .iter()
            .map(|cell| self.meets(cell, conditions))
            .collect();
        let contestants = &self.contestants;
        self.runs.retain(|run| {
            cells[run.cell] && (only.is_empty() || only.contains(&contestants[run.contestant]))
        });
        if self.runs.is_empty() {
            return Err("no run is left: these conditions exclude each other".to_owned());
        }
        Ok(())
    }

    /// Whether `cell` meets all the conditions.
    pub fn meets(&self, cell: &Cell, conditions: &[Condition]) -> bool {
        conditions.iter().all(|c| c.holds(&self.parameters, cell))
    }

    /// A cell in words: `rate_mbit 50, rtt_ms 100`, with the case first if it has a name.
    pub fn describe(&self, cell: usize) -> String {
        let cell = &self.cells[cell];
        let case = (!cell.case.is_empty()).then(|| cell.case.clone());
        let values = self.parameters.iter().zip(&cell.values);
        let values = values.map(|(name, value)| format!("{name} {value}"));
        case.into_iter()
            .chain(values)
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// What a flow is judged by first: its time, or its goodput where all runs have a fixed length.
    pub fn main_metric(&self) -> Metric {
        match self.runs.iter().all(|run| run.setup.fixed_length) {
            true => Metric::GoodputMbitS,
            false => Metric::Seconds,
        }
    }

    /// Index of the contestant of this name.
    pub fn contestant(&self, name: &str) -> Option<usize> {
        self.contestants.iter().position(|c| c == name)
    }
}
