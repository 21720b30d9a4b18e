//! `windlass-lab run`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use windlass_cc::Catalog;
use windlass_experiment::{BackendName, Condition, Experiment, Observed, Settings, rows};
use windlass_lab::backend::Backend;
use windlass_lab::backend::netns::Netns;
use windlass_lab::backend::sim::Sim;
use windlass_lab::backend::vm::Vm;
use windlass_lab::programs::Programs;

use crate::done::{Done, Files};
use crate::{BAD_FILE, read};

/// Run an experiment and say whether its checks hold.
///
/// Exit codes: 0 all checks hold, 1 one does not or a run failed, 2 the file has a mistake.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The experiment: a file, or a name that `windlass lab list` shows.
    file: PathBuf,
    /// Where to run it [default: what the file says].
    #[arg(long, value_parser = backend_name())]
    backend: Option<BackendName>,
    #[command(flatten)]
    files: Files,
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

pub(crate) fn run(args: Args, catalog: &Catalog) -> Result<ExitCode> {
    let settings = Settings {
        repetitions: args.repetitions,
        seed: args.seed.map(u64::from),
    };
    let Some(mut experiment) = read(&args.file, settings, catalog)? else {
        return Ok(ExitCode::from(BAD_FILE));
    };
    if let Err(mistake) = experiment.select(&args.only, &args.conditions) {
        eprintln!("windlass: {mistake}");
        return Ok(ExitCode::from(BAD_FILE));
    }
    args.files.check()?;
    let mut backend = backend(args.backend.unwrap_or(experiment.backend))?;
    let mut tell = |run, came: &Observed| failure(&experiment, run, came);
    let (done, ended) = Done::execute(backend.as_mut(), &experiment, catalog, &mut tell);
    done.tell()?;
    done.write(&args.files)?;
    ended?;
    Ok(done.exit_code())
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
        "failed: {contestant}, {cell}, #{repetition}: {}: {why}",
        row.flow
    ))
}
