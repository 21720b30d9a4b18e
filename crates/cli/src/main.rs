//! The `windlass` command.
//!
//! Exit codes: 0 done, 1 failed (the reason is on stderr), 2 wrong usage.
#![forbid(unsafe_code)]

mod algorithm;
mod ask;
mod attach;
mod auto;
mod capabilities;
mod completions;
mod demo;
mod doctor;
mod flow;
mod kernel;
mod lab;
mod path;
mod place;
mod plugins;
mod policy;
mod recv;
mod run;
mod send;
mod transfer_progress;
mod trial;
mod values;

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

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
    Trial(trial::Command),
    Bypass(ask::BypassArgs),
    Counters(ask::Args),
    Tenants(ask::TenantsArgs),
    Status(ask::StatusArgs),
    Demo(demo::Args),
    Send(send::Args),
    Recv(recv::Args),
    #[command(subcommand)]
    Lab(lab::Command),
    Completions(completions::Args),
}

fn main() -> ExitCode {
    plugins::load();
    let done = match Cli::parse().command {
        Command::Run(args) => run::run(args),
        Command::Attach(args) => attach::attach(args),
        Command::Detach(args) => attach::detach(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Flow(command) => flow::run(command),
        Command::Algorithm(command) => algorithm::run(command),
        Command::Policy(command) => policy::run(command),
        Command::Auto(command) => auto::run(command),
        Command::Trial(command) => trial::run(command),
        Command::Bypass(args) => ask::bypass(&args),
        Command::Counters(args) => ask::counters(&args),
        Command::Tenants(args) => ask::tenants(&args),
        Command::Status(args) => ask::status(&args),
        Command::Demo(args) => demo::run(args),
        Command::Send(args) => send::run(args),
        Command::Recv(args) => recv::run(args),
        Command::Lab(command) => lab::run(command),
        Command::Completions(args) => completions::run(&args),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("windlass: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Writes to stdout; a reader that has gone (`| head`) is no error.
pub(crate) fn print(text: &str) -> Result<ExitCode> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(e.into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Writes JSON, readable.
pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<ExitCode> {
    print(&format!("{}\n", serde_json::to_string_pretty(value)?))
}
