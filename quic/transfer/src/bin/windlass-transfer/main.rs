//! The `windlass-transfer` command: carries files, or data that is thrown away, over QUIC with the algorithms of Windlass.
//!
//! Exit codes: 0 done; 1 failed, with the reason on stderr; 2 wrong usage.
#![forbid(unsafe_code)]

mod line;
mod recv;
mod send;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use windlass_cc::Catalog;

/// Bulk transfer over QUIC with any of Windlass' algorithms.
#[derive(Parser)]
#[command(name = "windlass-transfer", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Send(send::Args),
    Recv(recv::Args),
}

/// Ends the program as clap does where a value of a flag is wrong.
fn wrong_usage(what: &str) -> ! {
    let error = Cli::command().error(ErrorKind::ValueValidation, what);
    error.exit()
}

fn main() -> ExitCode {
    let mut catalog = Catalog::new();
    for wrong in windlass_plugin::load_installed(&mut catalog) {
        eprintln!("windlass: plugin: {wrong}");
    }
    windlass_terminal::end(match Cli::parse().command {
        Command::Send(args) => send::run(args, &catalog),
        Command::Recv(args) => recv::run(args),
    })
}
