//! Commands of the system.

use std::process::{Command, Output};

use anyhow::{Context, Result, bail};

/// Where programs are that not everybody has on the `PATH`.
const SYSTEM_FOLDERS: &str = "/usr/sbin:/sbin";

/// As it is typed.
pub(super) fn line(words: &[impl AsRef<str>]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    words.join(" ")
}

/// Runs it, and gives what it writes.
///
/// # Errors
/// It is not installed, or fails: with what it says.
pub(super) fn output(words: &[impl AsRef<str>]) -> Result<String> {
    let typed = line(words);
    let done = start(words).with_context(|| format!("`{typed}` cannot be run"))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        bail!("`{typed}` failed: {}", said.trim());
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// Whether it succeeds.
pub(super) fn succeeds(words: &[&str]) -> bool {
    start(words).is_ok_and(|done| done.status.success())
}

fn start(words: &[impl AsRef<str>]) -> std::io::Result<Output> {
    let path = std::env::var("PATH").unwrap_or_default();
    let (program, arguments) = words
        .split_first()
        .ok_or(std::io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program.as_ref());
    command.args(arguments.iter().map(AsRef::as_ref));
    command.env("PATH", format!("{path}:{SYSTEM_FOLDERS}"));
    command.output()
}
