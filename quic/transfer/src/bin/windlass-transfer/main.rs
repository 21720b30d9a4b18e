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
use windlass_terminal::{CompletionsArgs, ManualArgs};

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
    #[command(hide = true)]
    Completions(CompletionsArgs),
    #[command(hide = true)]
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
        eprintln!("windlass: plugin: {wrong}");
    }
    windlass_terminal::end(match Cli::parse().command {
        Command::Send(args) => send::run(args, &catalog),
        Command::Recv(args) => recv::run(args),
        Command::Completions(args) => args.run(Cli::command()),
        Command::Manual(args) => args.run(Cli::command()),
    })
}

#[cfg(test)]
mod tests {
    use windlass_terminal::usage;

    use super::*;

    #[test]
    fn every_usage_line_can_be_typed() {
        let sha256 = "ab".repeat(32);
        let values = [
            ("HOST[:PORT]", "192.0.2.7"),
            ("FILE", "file.bin"),
            ("SHA256", sha256.as_str()),
            ("SHELL", "bash"),
            ("FOLDER", "man"),
        ];
        let commands = usage::commands(&Cli::command());
        assert_eq!(commands.len(), 4);
        for words in commands {
            usage::type_usage(&Cli::command(), &words, &values).unwrap();
        }
    }
}
