//! `windlass lab`.

mod list;
mod machine;
mod progress;
mod run;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use windlass_experiment::{Experiment, Settings};

use crate::print;

/// What a file with a mistake exits with.
const BAD_FILE: u8 = 2;

/// Experiments as files: run them, list them, look for mistakes in them.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    Run(run::Args),
    List(list::Args),
    Check(CheckArgs),
    #[command(hide = true)]
    Guest(GuestArgs),
    #[command(hide = true)]
    Switch(SwitchArgs),
}

/// Look for mistakes in an experiment file, and say how much it would run.
#[derive(clap::Args)]
pub(crate) struct CheckArgs {
    /// The experiment.
    file: PathBuf,
}

/// The half of the `vm` back end that is inside the guest.
#[derive(clap::Args)]
pub(crate) struct GuestArgs {
    /// What to run.
    file: PathBuf,
}

/// A box for experiments: Open vSwitch between two interfaces.
#[derive(clap::Args)]
pub(crate) struct SwitchArgs {
    inside: String,
    outside: String,
    /// No windlass in it.
    #[arg(long)]
    alone: bool,
    /// For `windlass run`.
    #[arg(last = true)]
    arguments: Vec<String>,
}

pub(crate) fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Run(args) => run::run(args),
        Command::List(args) => list::run(&args),
        Command::Check(args) => check(&args),
        Command::Guest(args) => guest(&args),
        Command::Switch(args) => switch(&args),
    }
}

fn check(args: &CheckArgs) -> Result<ExitCode> {
    let Some(experiment) = read(&args.file, Settings::default())? else {
        return Ok(ExitCode::from(BAD_FILE));
    };
    print(&format!(
        "{}: {} runs ({} cells, {} contestants), {} checks; runs on {}\n",
        experiment.name,
        experiment.runs.len(),
        experiment.cells.len(),
        experiment.contestants.len(),
        experiment.checks.len(),
        experiment.backend.name(),
    ))
}

/// The experiment in a file; `None` when it has a mistake, which has been told.
fn read(file: &Path, settings: Settings) -> Result<Option<Experiment>> {
    let name = file.display().to_string();
    let text = fs::read_to_string(file).with_context(|| format!("experiment {name}"))?;
    match Experiment::parse(&text, &name, settings) {
        Ok(experiment) => Ok(Some(experiment)),
        Err(mistake) => {
            eprintln!("{mistake}");
            Ok(None)
        }
    }
}

fn guest(args: &GuestArgs) -> Result<ExitCode> {
    windlass_lab::backend::vm::inside(&args.file)?;
    Ok(ExitCode::SUCCESS)
}

fn switch(args: &SwitchArgs) -> Result<ExitCode> {
    let program = std::env::current_exe().context("finding this program's own file")?;
    let program = (!args.alone).then_some(program.as_path());
    windlass_lab::switch::join([&args.inside, &args.outside], program, &args.arguments)?;
    Ok(ExitCode::SUCCESS)
}
