//! Programs of the host: whether they are there, and whether they did what they were asked.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// A program that the lab calls, and the Debian package that brings it.
pub type Needed = (&'static str, &'static str);

/// What network namespaces need.
pub const IP: Needed = ("ip", "iproute2");
/// Runs a program to its end and returns what it wrote to standard output.
///
/// # Errors
/// When it cannot be started or does not succeed; the message has the command and its last words.
pub fn run(command: &mut Command) -> Result<String> {
    run_with_input(command.stdin(Stdio::null()), "")
}

/// [`run`] with text on standard input.
///
/// # Errors
/// Those of [`run`].
pub fn run_with_input(command: &mut Command, input: &str) -> Result<String> {
    let text = describe(command);
    if !input.is_empty() {
        command.stdin(Stdio::piped());
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = command.spawn();
    let mut running = running.with_context(|| format!("cannot run `{text}`"))?;
    // A program that ends early says why; what it has not read does not matter then.
    let _ = running
        .stdin
        .take()
        .map(|mut pipe| pipe.write_all(input.as_bytes()));
    let output = running.wait_with_output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`{text}` failed ({}): {}", output.status, said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// [`run`] for a command line whose words have no spaces in them.
///
/// # Errors
/// Those of [`run`].
pub fn run_line(line: &str) -> Result<String> {
    let mut words = line.split_whitespace();
    let program = words.next().context("an empty command")?;
    run(Command::new(program).args(words))
}

/// The command as one would type it.
pub fn describe(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|w| w.to_string_lossy()).collect();
    words.join(" ")
}

/// Checks that the caller may make network namespaces and that these programs are installed.
///
/// # Errors
/// What is missing, and the command that brings it.
pub fn check_host(needed: &[Needed]) -> Result<()> {
    if !nix::unistd::geteuid().is_root() {
        bail!("network namespaces need root: run it with sudo");
    }
    let mut missing: Vec<&str> = Vec::new();
    let mut packages: Vec<&str> = Vec::new();
    for (program, package) in needed {
        if find(program).is_none() {
            missing.push(program);
            if !packages.contains(package) {
                packages.push(package);
            }
        }
    }
    if !missing.is_empty() {
        bail!(
            "not installed: {}; on Debian: apt-get install {}",
            missing.join(", "),
            packages.join(" ")
        );
    }
    Ok(())
}

/// Where a program is. System folders are searched even if `PATH` lacks them.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    let folders = path
        .split(':')
        .chain(["/usr/sbin", "/sbin", "/usr/bin", "/bin"]);
    folders
        .map(|folder| PathBuf::from(folder).join(program))
        .find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn success_yields_the_output() {
        assert_eq!(run_line("echo a b").expect("echo"), "a b\n");
    }

    #[test]
    fn failure_names_the_command_and_its_complaint() {
        let error = run_line("ls /nonexistent-folder").expect_err("no such folder");
        let text = error.to_string();
        assert!(text.contains("`ls /nonexistent-folder` failed"), "{text}");
        assert!(text.contains("No such file"), "{text}");
        assert!(run_line("no-such-program-here").is_err());
    }

    #[test]
    fn programs_are_found_by_name() {
        assert!(find("sh").is_some());
        assert!(find("no-such-program-here").is_none());
    }
}
