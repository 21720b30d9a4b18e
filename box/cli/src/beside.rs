//! Commands that are programs of their own, so that what stands in the path has no laboratory in it.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, anyhow};

/// What that program is told. It alone knows what the words mean, `--help` among them.
#[derive(clap::Args)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub(crate) struct Words {
    #[arg(
        value_name = "ARGUMENT",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    words: Vec<OsString>,
}

/// Becomes `program`, which is looked for beside this one and then on `PATH`. It is told `first` and then
/// `words`. `command` is what the operator has typed.
///
/// # Errors
/// The program is not installed, or cannot be run.
pub(crate) fn hand_over(
    command: &str,
    program: &str,
    first: &[&str],
    words: &Words,
) -> Result<ExitCode> {
    let own = std::env::current_exe().context("finding this program's own file")?;
    let folder = own.parent().unwrap_or(Path::new("/"));
    let beside = folder.join(program);
    // A name without a slash is looked up on PATH.
    let mut other = match beside.is_file() {
        true => Command::new(beside),
        false => Command::new(program),
    };
    let error = other.args(first).args(&words.words).exec();
    Err(match error.kind() {
        ErrorKind::NotFound => anyhow!(
            "`windlass {command}` is the program {program}, which is neither in {} nor on PATH: install it there \
             (`make build` makes it in target/release)",
            folder.display()
        ),
        _ => anyhow!(error).context(format!("cannot run {program}")),
    })
}
