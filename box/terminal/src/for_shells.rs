//! What packages bring beside a program: its manual pages and its completions.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Command;
use clap_complete::Shell;

use crate::print;

/// Write completions for a shell to stdout.
#[derive(clap::Args)]
pub struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

impl CompletionsArgs {
    /// # Errors
    /// The output cannot be written.
    pub fn run(&self, mut program: Command) -> Result<ExitCode> {
        let name = program.get_name().to_owned();
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut program, name, &mut script);
        print(&String::from_utf8_lossy(&script))
    }
}

/// Write the manual pages into a folder, one for each command.
#[derive(clap::Args)]
pub struct ManualArgs {
    /// The folder, which is made if it is not there.
    folder: PathBuf,
}

impl ManualArgs {
    /// # Errors
    /// The folder or a page cannot be written.
    pub fn run(&self, program: Command) -> Result<ExitCode> {
        let folder = &self.folder;
        let written = std::fs::create_dir_all(folder);
        let written = written.and_then(|()| clap_mangen::generate_to(program, folder));
        written.with_context(|| format!("manual pages in {}", folder.display()))?;
        Ok(ExitCode::SUCCESS)
    }
}
