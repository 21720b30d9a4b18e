//! `windlass-lab run`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use windlass_experiment::check::{self, Grouped, Verdict};
use windlass_experiment::{
    BackendName, Condition, Experiment, Observed, Row, Settings, Setup, output, rows,
};
use windlass_lab::backend::Backend;
use windlass_lab::backend::netns::Netns;
use windlass_lab::backend::sim::Sim;
use windlass_lab::backend::vm::Vm;
use windlass_lab::leftovers;
use windlass_lab::programs::Programs;
use windlass_report::Results;
use windlass_terminal::print;

use crate::progress::Progress;
use crate::{BAD_FILE, machine, read, table};

/// Run an experiment and say whether its checks hold.
///
/// Exit codes: 0 all checks hold, 1 one does not or a run failed, 2 the file has a mistake.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The experiment.
    file: PathBuf,
    /// Where to run it [default: what the file says].
    #[arg(long, value_parser = backend_name())]
    backend: Option<BackendName>,
    /// Write rows and checks as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a report (HTML), the rows and the time series (CSV) into this folder.
    #[arg(long, value_name = "FOLDER")]
    report: Option<PathBuf>,
    /// Run these contestants only, separated by commas.
    #[arg(long, value_name = "CONTESTANT", value_delimiter = ',')]
    only: Vec<String>,
    /// Run only the cells of which this holds: rtt_ms=100, rtt_ms=100,200, loss_percent>=1.
    #[arg(long = "where", value_name = "CONDITION", value_parser = Condition::of_text)]
    conditions: Vec<Condition>,
    /// In place of the file's repetitions.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repetitions: Option<u32>,
    /// In place of the file's seed.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32))]
    seed: Option<u32>,
}

fn backend_name() -> impl TypedValueParser<Value = BackendName> {
    PossibleValuesParser::new(BackendName::ALL.map(|(name, _)| name)).try_map(|name| {
        let found = BackendName::ALL
            .into_iter()
            .find(|(known, _)| *known == name);
        found.map(|(_, backend)| backend).ok_or("not one of them")
    })
}

fn backend(name: BackendName) -> Result<Box<dyn Backend>> {
    let programs = Programs::installed()?;
    Ok(match name {
        BackendName::Sim => Box::new(Sim),
        BackendName::Netns => Box::new(Netns::new(programs)),
        BackendName::Vm => Box::new(Vm::new(programs)),
    })
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let settings = Settings {
        repetitions: args.repetitions,
        seed: args.seed.map(u64::from),
    };
    let Some(mut experiment) = read(&args.file, settings)? else {
        return Ok(ExitCode::from(BAD_FILE));
    };
    if let Err(mistake) = experiment.select(&args.only, &args.conditions) {
        eprintln!("windlass: {mistake}");
        return Ok(ExitCode::from(BAD_FILE));
    }
    for (file, is_folder) in [(&args.json, false), (&args.report, true)] {
        file.as_deref()
            .map_or(Ok(()), |path| writable(path, is_folder))?;
    }
    let mut backend = backend(args.backend.unwrap_or(experiment.backend))?;
    let began = Instant::now();
    let outcome = execute(backend.as_mut(), &experiment);
    let done = Done::new(experiment, backend.name(), outcome.observed);
    done.tell()?;
    done.write(&args, began)?;
    outcome.ended?;
    Ok(match done.good() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Better now than after hours.
fn writable(path: &Path, is_folder: bool) -> Result<()> {
    let folder = match is_folder {
        true => Some(path),
        false => path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty()),
    };
    let Some(folder) = folder else {
        return Ok(());
    };
    fs::create_dir_all(folder).with_context(|| format!("making the folder {}", folder.display()))
}

/// What a back end has done.
struct Outcome {
    observed: BTreeMap<usize, Observed>,
    /// Whether it came to its end.
    ended: Result<()>,
}

fn execute(backend: &mut dyn Backend, experiment: &Experiment) -> Outcome {
    let setups: Vec<Setup> = experiment
        .runs
        .iter()
        .map(|run| run.setup.clone())
        .collect();
    let mut progress = Progress::new(setups.len());
    let mut observed = BTreeMap::new();
    let ended = leftovers::catch_signals().and_then(|()| {
        backend.run(&setups, &mut |run, came| {
            progress.done(failure(experiment, run, &came).as_deref());
            observed.insert(run, came);
        })
    });
    Outcome { observed, ended }
}

/// What went wrong with a run, and where.
fn failure(experiment: &Experiment, run: usize, observed: &Observed) -> Option<String> {
    let rows = rows::of(experiment, run, observed);
    let row = rows.iter().find(|row| row.failed())?;
    let why = row.error.as_deref().unwrap_or("it did not end intact");
    let run = &experiment.runs[run];
    let contestant = &experiment.contestants[run.contestant];
    let (cell, repetition) = (experiment.describe(run.cell), run.repetition);
    Some(format!(
        "{contestant}, {cell}, #{repetition}: {}: {why}",
        row.flow
    ))
}

/// Results, as far as there are any.
struct Done {
    experiment: Experiment,
    backend: &'static str,
    observed: BTreeMap<usize, Observed>,
    rows: Vec<Row>,
    verdicts: Vec<Verdict>,
}

impl Done {
    fn new(
        experiment: Experiment,
        backend: &'static str,
        observed: BTreeMap<usize, Observed>,
    ) -> Done {
        let rows = observed
            .iter()
            .flat_map(|(run, came)| rows::of(&experiment, *run, came));
        let rows: Vec<Row> = rows.collect();
        let verdicts = check::all(&experiment, &rows);
        Done {
            experiment,
            backend,
            observed,
            rows,
            verdicts,
        }
    }

    fn good(&self) -> bool {
        let all_done = self.observed.len() == self.experiment.runs.len();
        all_done && self.verdicts.iter().all(|v| v.pass) && !self.rows.iter().any(Row::failed)
    }

    fn tell(&self) -> Result<()> {
        let mut text = table::medians(&self.experiment, &self.rows);
        let (done, planned) = (self.observed.len(), self.experiment.runs.len());
        if done < planned {
            text.push_str(&format!("\nonly {done} of {planned} runs were done\n"));
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
            text.push_str(&paper.markdown(&self.experiment, &grouped));
        }
        print(&text).map(|_| ())
    }

    fn write(&self, args: &Args, began: Instant) -> Result<()> {
        if let Some(file) = &args.json {
            let json = output::json(&self.experiment, self.backend, &self.rows, &self.verdicts)?;
            fs::write(file, json).with_context(|| format!("writing {}", file.display()))?;
        }
        if let Some(folder) = &args.report {
            let mut facts = machine::facts(self.backend);
            let runs = format!("{} of {}", self.observed.len(), self.experiment.runs.len());
            let took = format!("{:.0} s", began.elapsed().as_secs_f64());
            facts.extend([("Runs".to_owned(), runs), ("Took".to_owned(), took)]);
            let results = Results {
                experiment: &self.experiment,
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
