//! Reports of experiments for people: one HTML file with tables and charts, and CSV files.
#![forbid(unsafe_code)]

mod axis;
mod chart;
mod checks;
mod distribution;
mod findings;
mod heat;
mod lines;
mod maps;
mod medians;
mod page;
mod published;
mod ratio;
mod series;
mod sharing;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use windlass_experiment::check::{Grouped, Verdict};
use windlass_experiment::{Experiment, Observed, Row, finding, output};

/// What there is to tell.
pub struct Results<'a> {
    /// What was to run.
    pub experiment: &'a Experiment,
    /// Where it ran, by name.
    pub facts: &'a [(String, String)],
    /// What came of each flow.
    pub rows: &'a [Row],
    /// What came of each run, by its index.
    pub observed: &'a BTreeMap<usize, Observed>,
    /// What became of the checks.
    pub verdicts: &'a [Verdict],
}

impl Results<'_> {
    /// Contestants of which there are rows.
    fn contestants(&self) -> Vec<usize> {
        let all = 0..self.experiment.contestants.len();
        all.filter(|c| self.rows.iter().any(|row| row.contestant == *c))
            .collect()
    }

    /// Cells of which there are rows.
    fn cells(&self) -> Vec<usize> {
        let all = 0..self.experiment.cells.len();
        all.filter(|c| self.rows.iter().any(|row| row.cell == *c))
            .collect()
    }
}

/// Writes `report.html`, `rows.csv`, `series.csv` (where time series were kept), `paper.md` (where
/// there is something published to stand beside) and `findings.md` (where there are findings or
/// maps) into a folder. Returns the path of the page.
///
/// # Errors
/// When a file cannot be written.
pub fn write(folder: &Path, results: &Results<'_>) -> Result<PathBuf> {
    let write = |name: &str, content: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, content).with_context(|| format!("writing {}", path.display()))?;
        anyhow::Ok(path)
    };
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    let experiment = results.experiment;
    write("rows.csv", &output::rows_csv(experiment, results.rows)?)?;
    if results.observed.values().any(|o| !o.series.is_empty()) {
        let observed = results
            .observed
            .iter()
            .map(|(run, observed)| (*run, observed));
        write("series.csv", &output::series_csv(experiment, observed)?)?;
    }
    if !experiment.papers.is_empty() {
        let grouped = Grouped::new(results.rows);
        let papers = experiment
            .papers
            .iter()
            .map(|p| p.markdown(experiment, &grouped));
        write("paper.md", papers.collect::<Vec<_>>().join("\n").as_bytes())?;
    }
    if !experiment.findings.is_empty() || !experiment.charts.maps.is_empty() {
        let grouped = Grouped::new(results.rows);
        let text = finding::markdown(experiment, &grouped);
        write("findings.md", text.as_bytes())?;
    }
    write("report.html", page::page(results).as_bytes())
}
