//! Programs of the host: where they are, and what they need to run elsewhere.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Where a program is. System folders are searched even if `PATH` lacks them.
///
/// # Errors
/// When it is not installed, with the Debian package that brings it.
pub fn find(program: &str, package: &str) -> Result<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    let folders = path
        .split(':')
        .chain(["/usr/sbin", "/sbin", "/usr/bin", "/bin"]);
    let mut files = folders.map(|folder| Path::new(folder).join(program));
    files.find(|file| file.is_file()).with_context(|| {
        format!("{program} is not installed; on Debian: apt-get install {package}")
    })
}

/// Runs a program to its end and returns what it wrote to standard output.
///
/// # Errors
/// When it cannot be started or does not succeed, with its last words.
pub fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .with_context(|| format!("cannot run {name}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let words: Vec<_> = command.get_args().map(|a| a.to_string_lossy()).collect();
        bail!("`{name} {}` failed: {}", words.join(" "), said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The shared libraries of some programs, and the loader that they name, by the paths at which the
/// loader looks for them.
///
/// # Errors
/// When one of them is not installed.
pub fn libraries(programs: &[PathBuf]) -> Result<BTreeSet<PathBuf>> {
    let mut all = BTreeSet::new();
    for program in programs {
        let listed = Command::new("ldd")
            .env("LC_ALL", "C")
            .arg(program)
            .output()
            .context("cannot run ldd")?;
        if !listed.status.success() {
            continue; // `ldd` says so: "not a dynamic executable"
        }
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        all.extend(parse_ldd(&text).with_context(|| program.display().to_string())?);
    }
    Ok(all)
}

fn parse_ldd(text: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.ends_with("not found") {
            bail!("a shared library is missing: {line}");
        }
        let path = line.split_whitespace().find(|word| word.starts_with('/'));
        found.extend(path.map(PathBuf::from));
    }
    Ok(found)
}

/// A program's bytes without what only debuggers read.
///
/// # Errors
/// When it cannot be read.
pub fn stripped(program: &Path) -> Result<Vec<u8>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("stripped");
    let strip = Command::new("strip")
        .arg("-o")
        .arg(&file)
        .arg(program)
        .output();
    // Without `strip` the image is only larger.
    let taken = match strip {
        Ok(output) if output.status.success() => file.as_path(),
        _ => program,
    };
    std::fs::read(taken).with_context(|| format!("cannot read {}", program.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paths_that_ldd_names() {
        let text = "\tlinux-vdso.so.1 (0x00007f)\n\tlibm.so.6 => /lib/x/libm.so.6 (0x00007f)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let expected = ["/lib/x/libm.so.6", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from);
        assert_eq!(parse_ldd(text).expect("all found"), expected);
        let error = parse_ldd("\tlibx.so => not found\n").expect_err("missing");
        assert!(error.to_string().contains("libx.so"), "{error}");
    }

    #[test]
    fn a_missing_program_comes_with_its_package() {
        let error = find("no-such-program", "no-such-package").expect_err("missing");
        let text = error.to_string();
        assert!(text.contains("apt-get install no-such-package"), "{text}");
        assert!(find("sh", "dash").is_ok());
    }

    #[test]
    fn failure_has_the_last_words() {
        let error = output(Command::new("ls").arg("/no-such-folder")).expect_err("missing");
        assert!(error.to_string().contains("/no-such-folder"), "{error}");
    }
}
