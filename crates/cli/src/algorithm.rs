//! `windlass algorithm`.

use std::process::ExitCode;

use anyhow::Result;
use serde::Serialize;
use windlass_cc::AlgorithmId;

use crate::{print, print_json};

/// The congestion control algorithms.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// List them, with where they come from.
    List {
        /// As JSON.
        #[arg(short, long)]
        json: bool,
    },
}

#[derive(Serialize)]
struct Entry {
    name: &'static str,
    summary: &'static str,
}

pub(crate) fn run(command: Command) -> Result<ExitCode> {
    let Command::List { json } = command;
    let all = AlgorithmId::ALL.iter().map(|id| Entry {
        name: id.name(),
        summary: id.summary(),
    });
    let all: Vec<Entry> = all.collect();
    if json {
        return print_json(&all);
    }
    let width = all.iter().map(|e| e.name.len()).max().unwrap_or(0);
    let lines = all
        .iter()
        .map(|e| format!("{:width$}  {}\n", e.name, e.summary));
    print(&lines.collect::<String>())
}
