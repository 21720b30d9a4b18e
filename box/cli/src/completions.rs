//! `windlass completions`.

use std::process::ExitCode;

use anyhow::Result;
use clap::CommandFactory;
use clap_complete::{Shell, generate};
use windlass_cc::Catalog;
use windlass_terminal::print;

use crate::{Cli, values};

/// Write completions for a shell to stdout.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The shell.
    shell: Shell,
}

pub(crate) fn run(args: &Args, catalog: &Catalog) -> Result<ExitCode> {
    let mut command = values::with_algorithms(Cli::command(), catalog);
    let mut script = Vec::new();
    generate(args.shell, &mut command, "windlass", &mut script);
    print(&String::from_utf8_lossy(&script))
}
