//! Carrying out an experiment, and what came of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use windlass_cc::Catalog;
use windlass_experiment::check::{self, Grouped, Verdict};
use windlass_experiment::{Experiment, Late, Observed, Row, Setup, output, rows};
use windlass_lab::backend::Backend;
use windlass_lab::cleanup;
use windlass_report::Results;
use windlass_terminal::print;

use crate::progress::Progress;
use crate::{machine, table};

/// Where the results go.
#[derive(clap::Args)]
pub(crate) struct Files {
    /// Write rows and checks as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write a report (HTML), the rows and the time series (CSV) into this folder.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) report: Option<PathBuf>,
}

impl Files {
    /// Makes the folders that they go to.
    ///
    /// # Errors
    /// One cannot be made. Better now than after hours.
    pub(crate) fn check(&self) -> Result<()> {
        let above = |file: &PathBuf| file.parent().map(Path::to_owned);
        let folders = [self.json.as_ref().and_then(above), self.report.clone()];
        for folder in folders.into_iter().flatten() {
            if !folder.as_os_str().is_empty() {
                let context = || format!("making the folder {}", folder.display());
                fs::create_dir_all(&folder).with_context(context)?;
            }
        }
        Ok(())
    }
}

/// Results, as far as there are any.
pub(crate) struct Done<'a> {
    experiment: &'a Experiment,
    backend: &'static str,
    began: Instant,
    observed: BTreeMap<usize, Observed>,
    pub(crate) rows: Vec<Row>,
    pub(crate) verdicts: Vec<Verdict>,
}

impl<'a> Done<'a> {
    /// Runs all of an experiment, and how that ended. `tell` has a line for what came of a run, or none; whatever it
    /// tells of is also counted as failed if a flow of it has failed.
    pub(crate) fn execute(
        backend: &mut dyn Backend,
        experiment: &'a Experiment,
        catalog: &Catalog,
        tell: &mut dyn FnMut(usize, &Observed) -> Option<String>,
    ) -> (Done<'a>, Result<()>) {
        let began = Instant::now();
        let setups = experiment.runs.iter().map(|run| run.setup.clone());
        let setups: Vec<Setup> = setups.collect();
        let mut progress = Progress::new(setups.len());
        let (mut observed, mut rows) = (BTreeMap::new(), Vec::new());
        let ended = cleanup::catch_signals().and_then(|()| {
            backend.run(&setups, catalog, &mut |run, came| {
                let flows = rows::of(experiment, run, &came);
                let failed = flows.iter().any(Row::failed);
                progress.done(failed, tell(run, &came).as_deref());
                rows.push((run, flows));
                observed.insert(run, came);
            })
        });
        rows.sort_by_key(|(run, _)| *run);
        let rows: Vec<Row> = rows.into_iter().flat_map(|(_, flows)| flows).collect();
        let verdicts = check::all(experiment, &rows);
        let done = Done {
            experiment,
            backend: backend.name(),
            began,
            observed,
            rows,
            verdicts,
        };
        (done, ended)
    }

    /// 0 when all has run, nothing has failed, and every check holds.
    pub(crate) fn exit_code(&self) -> ExitCode {
        let all_done = self.observed.len() == self.experiment.runs.len();
        let good = self.verdicts.iter().all(|v| v.pass) && !self.rows.iter().any(Row::failed);
        match all_done && good {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        }
    }

    /// Prints medians, checks, and what is published beside them.
    pub(crate) fn tell(&self) -> Result<()> {
        let mut text = table::medians(self.experiment, &self.rows);
        let (done, planned) = (self.observed.len(), self.experiment.runs.len());
        if done < planned {
            text.push_str(&format!("\nonly {done} of {planned} runs were done\n"));
        }
        if let Some(late) = Late::of(&self.rows) {
            text.push_str(&format!("\nmarked: {}\n", late.sentence(done)));
        }
        if !self.verdicts.is_empty() {
            text.push('\n');
            text.push_str(&table::checks(&self.verdicts));
        }
        let left_out = self.experiment.checks.len() - self.verdicts.len();
        if left_out > 0 {
            text.push_str(&format!(
                "left out: {left_out} checks on what was not to run\n"
            ));
        }
        let grouped = Grouped::new(&self.rows);
        for paper in &self.experiment.papers {
            text.push('\n');
            text.push_str(&paper.markdown(self.experiment, &grouped));
        }
        print(&text).map(|_| ())
    }

    /// Writes what is asked for.
    pub(crate) fn write(&self, files: &Files) -> Result<()> {
        if let Some(file) = &files.json {
            let json = output::json(self.experiment, self.backend, &self.rows, &self.verdicts)?;
            fs::write(file, json).with_context(|| format!("writing {}", file.display()))?;
        }
        if let Some(folder) = &files.report {
            let mut facts = machine::facts(self.backend);
            let runs = format!("{} of {}", self.observed.len(), self.experiment.runs.len());
            let took = format!("{:.0} s", self.began.elapsed().as_secs_f64());
            facts.extend([("Runs".to_owned(), runs), ("Took".to_owned(), took)]);
            let results = Results {
                experiment: self.experiment,
                facts: &facts,
                rows: &self.rows,
                observed: &self.observed,
                verdicts: &self.verdicts,
            };
            let page = windlass_report::write(folder, &results)?;
            eprintln!("report: {}", page.display());
        }
        Ok(())
    }
}
