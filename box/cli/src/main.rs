//! The `windlass` command: what an operator types.
//!
//! Exit codes: 0 done; 1 failed, with the reason on stderr; 2 wrong usage.
#![forbid(unsafe_code)]

mod algorithm;
mod ask;
mod attach;
mod auto;
mod beside;
mod capabilities;
mod doctor;
mod events;
mod flow;
mod guard;
mod kernel;
mod path;
mod place;
mod plugins;
mod policy;
mod record;
mod run;
mod setup;
mod top;
mod trial;
mod upgrade;
mod values;
mod verdict;
mod web;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use windlass_cc::Catalog;
use windlass_daemon::log;
use windlass_terminal::{CompletionsArgs, ManualArgs};

/// Governs the congestion control of TCP servers that nobody may touch.
///
/// Windlass stands as a bridge between two interfaces and drives each flow with the algorithm that
/// its policy names, while both ends keep their own unmodified stacks.
#[derive(Parser)]
#[command(name = "windlass", version, propagate_version = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Setup(setup::Args),
    Run(run::Args),
    Attach(attach::AttachArgs),
    Detach(attach::DetachArgs),
    Doctor(doctor::Args),
    #[command(subcommand)]
    Flow(flow::Command),
    #[command(subcommand)]
    Algorithm(algorithm::Command),
    #[command(subcommand)]
    Policy(policy::Command),
    #[command(subcommand)]
    Auto(auto::Command),
    #[command(subcommand)]
    Guard(guard::Command),
    #[command(subcommand)]
    Trial(trial::Command),
    Reload(upgrade::ReloadArgs),
    Upgrade(upgrade::Args),
    #[command(subcommand)]
    Record(record::Command),
    Verdict(verdict::Args),
    Bypass(ask::BypassArgs),
    Counters(ask::Args),
    Tenants(ask::TenantsArgs),
    Status(ask::StatusArgs),
    Events(events::Args),
    Top(top::Args),
    /// Compare downloads with and without Windlass on a long lossy link (windlass-lab).
    Demo(beside::Words),
    /// Run experiments, list them, look for mistakes in them (windlass-lab).
    Lab(beside::Words),
    /// Send a file over QUIC with any of the algorithms (windlass-transfer).
    Send(beside::Words),
    /// Receive what `windlass send` sends (windlass-transfer).
    Recv(beside::Words),
    Completions(CompletionsArgs),
    Manual(ManualArgs),
}

/// Ends the program as clap does where a value of a flag is wrong.
fn wrong_usage(what: &str) -> ! {
    let error = Cli::command().error(ErrorKind::ValueValidation, what);
    error.exit()
}

fn main() -> ExitCode {
    let mut catalog = Catalog::new();
    for wrong in windlass_plugin::load_installed(&mut catalog) {
        log::warning(format_args!("plugin: {wrong}"));
    }
    let matches = values::with_algorithms(Cli::command(), &catalog).get_matches();
    let Cli { command } = Cli::from_arg_matches(&matches).unwrap_or_else(|e| e.exit());
    windlass_terminal::end(match command {
        Command::Run(args) => run::run(args, catalog).or_else(|error| {
            log::critical(format_args!("{error:#}"));
            Ok(ExitCode::FAILURE)
        }),
        Command::Setup(args) => setup::run(&args, &catalog),
        Command::Attach(args) => attach::attach(args),
        Command::Detach(args) => attach::detach(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Flow(command) => flow::run(command),
        Command::Algorithm(command) => algorithm::run(command, catalog),
        Command::Policy(command) => policy::run(command, &catalog),
        Command::Auto(command) => auto::run(command),
        Command::Guard(command) => guard::run(command),
        Command::Trial(command) => trial::run(command, &catalog),
        Command::Reload(args) => upgrade::reload(&args),
        Command::Upgrade(args) => upgrade::upgrade(&args),
        Command::Record(command) => record::run(command),
        Command::Verdict(args) => verdict::run(&args),
        Command::Bypass(args) => ask::bypass(&args),
        Command::Counters(args) => ask::counters(&args),
        Command::Tenants(args) => ask::tenants(&args),
        Command::Status(args) => ask::status(&args),
        Command::Events(args) => events::run(&args),
        Command::Top(args) => top::run(args),
        Command::Demo(words) => beside::hand_over("demo", "windlass-lab", &["demo"], &words),
        Command::Lab(words) => beside::hand_over("lab", "windlass-lab", &[], &words),
        Command::Send(words) => beside::hand_over("send", "windlass-transfer", &["send"], &words),
        Command::Recv(words) => beside::hand_over("recv", "windlass-transfer", &["recv"], &words),
        Command::Completions(args) => args.run(values::with_algorithms(Cli::command(), &catalog)),
        Command::Manual(args) => args.run(values::with_algorithms(Cli::command(), &catalog)),
    })
}

#[cfg(test)]
mod usage_tests;
