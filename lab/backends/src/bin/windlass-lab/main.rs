//! The `windlass-lab` command: experiments, and a demonstration.
//!
//! Exit codes: 0 done; 1 failed, with the reason on stderr; 2 wrong usage, or a file with a mistake.
#![forbid(unsafe_code)]

mod demo;
mod done;
mod list;
mod machine;
mod progress;
mod run;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use windlass_cc::Catalog;
use windlass_experiment::{Experiment, Settings};
use windlass_lab::programs::Programs;
use windlass_terminal::shipped::EXPERIMENTS;
use windlass_terminal::{CompletionsArgs, ManualArgs, print};

/// What a file with a mistake exits with.
const BAD_FILE: u8 = 2;

/// The laboratory of Windlass: experiments as files, and a demonstration.
#[derive(Parser)]
#[command(name = "windlass-lab", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Demo(demo::Args),
    Run(run::Args),
    List(list::Args),
    Check(CheckArgs),
    #[command(hide = true)]
    Guest(GuestArgs),
    #[command(hide = true)]
    Switch(SwitchArgs),
    #[command(hide = true)]
    Completions(CompletionsArgs),
    #[command(hide = true)]
    Manual(ManualArgs),
}

/// Look for mistakes in an experiment file, and say how much it would run.
#[derive(clap::Args)]
struct CheckArgs {
    /// The experiment: a file, or a name that `windlass lab list` shows.
    file: PathBuf,
}

/// The half of the `vm` back end that is inside the guest.
#[derive(clap::Args)]
struct GuestArgs {
    /// What to run.
    file: PathBuf,
}

/// A box for experiments: Open vSwitch between two interfaces.
#[derive(clap::Args)]
struct SwitchArgs {
    inside: String,
    outside: String,
    /// No windlass in it.
    #[arg(long)]
    alone: bool,
    /// For `windlass run`.
    #[arg(last = true)]
    arguments: Vec<String>,
}

fn main() -> ExitCode {
    let mut catalog = Catalog::new();
    for wrong in windlass_plugin::load_installed(&mut catalog) {
        eprintln!("windlass: plugin: {wrong}");
    }
    windlass_terminal::end(match Cli::parse().command {
        Command::Demo(args) => demo::run(args, &catalog),
        Command::Run(args) => run::run(args, &catalog),
        Command::List(args) => list::run(&args, &catalog),
        Command::Check(args) => check(&args, &catalog),
        Command::Guest(args) => guest(&args, &catalog),
        Command::Switch(args) => switch(&args),
        Command::Completions(args) => args.run(Cli::command()),
        Command::Manual(args) => args.run(Cli::command()),
    })
}

/// Ends the program as clap does where a value of a flag is wrong.
fn wrong_usage(what: &str) -> ! {
    let error = Cli::command().error(ErrorKind::ValueValidation, what);
    error.exit()
}

fn check(args: &CheckArgs, catalog: &Catalog) -> Result<ExitCode> {
    let Some(experiment) = read(&args.file, Settings::default(), catalog)? else {
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

/// The experiment in a file, or of a name; `None` when it has a mistake, which has been told.
fn read(file: &Path, settings: Settings, catalog: &Catalog) -> Result<Option<Experiment>> {
    let file = EXPERIMENTS.file(file);
    let name = file.display().to_string();
    let text = fs::read_to_string(&file).with_context(|| format!("experiment {name}"))?;
    match Experiment::parse(&text, &name, settings, catalog) {
        Ok(experiment) => Ok(Some(experiment)),
        Err(mistake) => {
            eprintln!("{mistake}");
            Ok(None)
        }
    }
}

fn guest(args: &GuestArgs, catalog: &Catalog) -> Result<ExitCode> {
    windlass_lab::backend::vm::inside(&args.file, catalog)?;
    Ok(ExitCode::SUCCESS)
}

fn switch(args: &SwitchArgs) -> Result<ExitCode> {
    let program = match args.alone {
        true => None,
        false => Some(Programs::installed()?.windlass()?),
    };
    let sides = [args.inside.as_str(), &args.outside];
    windlass_lab::switch::join(sides, program.as_deref(), &args.arguments)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod usage_tests;
