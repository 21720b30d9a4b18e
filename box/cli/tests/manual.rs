//! Manual pages and completions, read by the programs that are for them.

mod program;

use std::fs;
use std::process::{Command, Stdio};

use program::{stdout, windlass};
use std::io::Write;

/// Whether a program is there.
fn is_there(name: &str) -> bool {
    let there = Command::new("sh")
        .args(["-c", &format!("command -v {name}")])
        .output();
    let there = there.is_ok_and(|o| o.status.success());
    if !there {
        eprintln!("skipped: {name} is not installed");
    }
    there
}

fn pages() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let done = windlass(&["manual", folder.path().to_str().unwrap()]);
    assert!(done.status.success(), "{}", program::stderr(&done));
    folder
}

#[test]
fn every_command_has_its_page() {
    let folder = pages();
    for name in [
        "windlass",
        "windlass-run",
        "windlass-flow-show",
        "windlass-setup",
        "windlass-policy-apply",
    ] {
        let page = fs::read_to_string(folder.path().join(format!("{name}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{name}");
    }
    let run = fs::read_to_string(folder.path().join("windlass-run.1")).unwrap();
    assert!(run.contains("\\-\\-inside"), "{run}");
}

#[test]
fn man_has_nothing_to_say_against_any_page() {
    if !is_there("man") {
        return;
    }
    let folder = pages();
    let own = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../packaging/man/windlass.toml.5"
    );
    let pages = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut read = 0;
    for page in pages.chain([own.into()]) {
        let mut man = Command::new("man");
        man.args(["--warnings", "-l"])
            .arg(&page)
            .env("MANWIDTH", "80")
            .env("LC_ALL", "C.UTF-8");
        let shown = man.stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&shown.stderr);
        assert!(
            shown.status.success() && said.is_empty(),
            "{}: {said}",
            page.display()
        );
        assert!(shown.stdout.len() > 200, "{}", page.display());
        read += 1;
    }
    assert!(read > 30, "{read}");
}

#[test]
fn completions_are_taken_by_their_shells() {
    for shell in ["bash", "zsh", "fish"] {
        let script = windlass(&["completions", shell]);
        assert!(
            script.status.success() && stdout(&script).contains("setup"),
            "{shell}"
        );
        if !is_there(shell) {
            continue;
        }
        let mut check = Command::new(shell)
            .arg("-n")
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        check
            .stdin
            .take()
            .unwrap()
            .write_all(&script.stdout)
            .unwrap();
        assert!(check.wait().unwrap().success(), "{shell}");
    }
}

#[test]
fn bash_completes_a_command() {
    if !is_there("bash") {
        return;
    }
    let script = windlass(&["completions", "bash"]);
    let ask = "\nCOMP_WORDS=(windlass se); COMP_CWORD=1; _windlass windlass se windlass; echo \"${COMPREPLY[@]}\"\n";
    let mut bash = Command::new("bash")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let text = stdout(&script) + ask;
    bash.stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let said = bash.wait_with_output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    assert_eq!(
        said.split_whitespace().collect::<Vec<_>>(),
        ["setup", "send"]
    );
}

const FILE_FORMAT: &str = include_str!("../../../packaging/man/windlass.toml.5");

/// The keys that the reader of configurations takes, from its source.
fn keys() -> Vec<String> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../core/policy/src");
    let mut keys = Vec::new();
    for file in fs::read_dir(source).unwrap() {
        let path = file.unwrap().path();
        if !path.is_file() {
            continue;
        }
        let text = fs::read_to_string(path).unwrap();
        let text = text.split("#[cfg(test)]").next().unwrap();
        for taker in [".take(\"", ".need(\""] {
            let taken = text.split(taker).skip(1);
            keys.extend(taken.map(|rest| rest.split('"').next().unwrap().to_owned()));
        }
    }
    keys
}

#[test]
fn the_page_of_the_configuration_has_every_key() {
    let keys = keys();
    assert!(keys.len() > 45, "{}", keys.len());
    let sections = [
        "box", "limits", "auto", "guard", "metrics", "standby", "web", "recorder", "default",
        "rule", "tenant",
    ];
    let missing = keys.iter().filter(|key| {
        let plain = |mark: &str| FILE_FORMAT.contains(&format!("{mark}{key}"));
        match sections.contains(&key.as_str()) {
            true => !plain("["),
            false => !plain("\\fB") && !plain(", ") && !plain("\""),
        }
    });
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn the_example_of_the_configuration_has_no_mistake() {
    let example = FILE_FORMAT
        .split(".EX\n")
        .nth(1)
        .unwrap()
        .split(".EE")
        .next()
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("w.toml");
    fs::write(&file, example).unwrap();
    let done = windlass(&["policy", "check", file.to_str().unwrap()]);
    assert!(done.status.success(), "{}", program::stderr(&done));
}
