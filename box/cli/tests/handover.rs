//! Commands that are programs of their own: `windlass` becomes them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

/// Tests take turns. A file that one of them writes is open in a process that another one starts at that moment,
/// and cannot be run then.
static TURN: Mutex<()> = Mutex::new(());

/// A folder with `windlass` in it, and no other program.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let windlass = env!("CARGO_BIN_EXE_windlass");
    fs::copy(windlass, folder.path().join("windlass")).unwrap();
    folder
}

/// A program that prints its name and what it was told, and exits with 7.
fn install(folder: &Path, name: &str) {
    let file = folder.join(name);
    fs::write(&file, "#!/bin/sh\necho \"${0##*/}: $*\"\nexit 7\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
}

fn run(folder: &Path, path: &str, words: &[&str]) -> Output {
    let mut command = Command::new(folder.join("windlass"));
    command.args(words).env("PATH", path);
    command
        .env("WINDLASS_PLUGINS", "/nowhere")
        .output()
        .unwrap()
}

#[test]
fn the_program_beside_this_one_gets_every_word_and_its_exit_code_counts() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = folder();
    install(folder.path(), "windlass-lab");
    install(folder.path(), "windlass-transfer");
    for (words, told) in [
        (
            &["lab", "run", "x.toml", "--only", "a"][..],
            "windlass-lab: run x.toml --only a\n",
        ),
        (&["lab", "--help"], "windlass-lab: --help\n"),
        (
            &["demo", "--runs", "1", "-V"],
            "windlass-lab: demo --runs 1 -V\n",
        ),
        (
            &["send", "host", "--", "-f"],
            "windlass-transfer: send host -- -f\n",
        ),
        (&["recv"], "windlass-transfer: recv\n"),
    ] {
        let output = run(folder.path(), "/usr/bin:/bin", words);
        assert_eq!(String::from_utf8_lossy(&output.stdout), told, "{words:?}");
        assert_eq!(output.status.code(), Some(7), "{words:?}");
    }
}

#[test]
fn a_program_on_the_path_is_found() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (folder, elsewhere) = (folder(), tempfile::tempdir().unwrap());
    install(elsewhere.path(), "windlass-lab");
    let path = format!("/usr/bin:/bin:{}", elsewhere.path().display());
    let output = run(folder.path(), &path, &["lab", "list"]);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "windlass-lab: list\n"
    );
}

#[test]
fn a_program_that_is_not_installed_is_told_with_its_place_and_remedy() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = folder();
    let output = run(folder.path(), "/nowhere", &["send", "host", "file"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    let place = folder.path().display().to_string();
    for part in [
        "`windlass send`",
        "windlass-transfer",
        &place,
        "PATH",
        "make build",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}
