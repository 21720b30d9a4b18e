//! `windlass-lab` from outside.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

fn lab(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_windlass-lab"))
        .args(arguments)
        // Whatever plugins this machine has.
        .env("WINDLASS_PLUGINS", "/nowhere")
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn experiments() -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    folder.canonicalize().unwrap().display().to_string()
}

#[test]
fn every_experiment_that_comes_along_is_without_mistake_and_listed() {
    let list = lab(&["list", "-j", &experiments()]);
    assert!(list.status.success(), "{}", stderr(&list));
    let all: serde_json::Value = serde_json::from_slice(&list.stdout).unwrap();
    let all = all.as_array().unwrap();
    let grid = all.iter().find(|e| e["name"] == "grid").unwrap();
    // 3 rates × 5 RTTs × 5 losses × 2 sizes × 3 repetitions × 9 contestants.
    assert_eq!(grid["runs"], 4050);
    for entry in all {
        // `windlass-lab run experiments/<name>.toml` is what one would type.
        let file = format!("{}.toml", entry["name"].as_str().unwrap());
        assert!(entry["file"].as_str().unwrap().ends_with(&file), "{entry}");
    }
    let text = stdout(&lab(&["list", &experiments()]));
    assert_eq!(text.lines().count(), all.len());
}

#[test]
fn a_file_is_checked_without_running() {
    let smoke = format!("{}/smoke.toml", experiments());
    let check = lab(&["check", &smoke]);
    assert!(check.status.success());
    assert_eq!(
        stdout(&check),
        "smoke: 6 runs (2 cells, 3 contestants), 2 checks; runs on sim\n"
    );
}

#[test]
fn a_mistake_is_told_with_its_place_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.toml");
    let file = file.to_str().unwrap();
    fs::write(
        file,
        "version = 1\nname = \"bad\"\n[link]\nrate_mbit = 0\nrtt_ms = 1\n[[flows]]\nmb = 1\n",
    )
    .unwrap();
    for command in ["run", "check"] {
        let output = lab(&[command, file]);
        assert_eq!(output.status.code(), Some(2), "{command}");
        let told = stderr(&output);
        assert!(
            told.contains("bad.toml:4:13: rate_mbit is out of range: 0"),
            "{told}"
        );
        assert!(told.contains("help: use 0.01 to 100000 Mbit/s"), "{told}");
    }
    let list = lab(&["list", folder.path().to_str().unwrap()]);
    assert_eq!(list.status.code(), Some(2));
}

#[test]
fn a_selection_that_leaves_nothing_is_refused() {
    let smoke = format!("{}/smoke.toml", experiments());
    for (flags, told) in [
        (["--only", "native-bbrr"], "no contestant is called"),
        (["--where", "rtt=3"], "no parameter is called"),
        (["--where", "loss_percent=9"], "no cell has loss_percent 9"),
        (["--where", "loss_percent>9"], "no run is left"),
        (["--where", "nonsense"], "write for example"),
    ] {
        let output = lab(&[&["run", &smoke], &flags[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{flags:?}");
        assert!(stderr(&output).contains(told), "{}", stderr(&output));
    }
}

#[test]
fn the_smoke_test_runs_on_the_simulator_and_gives_the_same_bytes_again() {
    let smoke = format!("{}/smoke.toml", experiments());
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let run = |json: &str| {
        lab(&[
            "run",
            &smoke,
            "--backend",
            "sim",
            "--json",
            json,
            "--report",
            &path("report"),
        ])
    };
    let (first, second) = (path("first.json"), path("second.json"));
    let output = run(&first);
    assert!(
        output.status.success(),
        "{}{}",
        stdout(&output),
        stderr(&output)
    );
    assert!(stdout(&output).contains("pass  every transfer arrives intact"));
    assert!(stderr(&output).contains("6/6 runs"));
    assert!(run(&second).status.success());
    assert_eq!(fs::read(&first).unwrap(), fs::read(&second).unwrap());
    for file in ["report.html", "rows.csv", "series.csv"] {
        assert!(
            fs::metadata(path("report").clone() + "/" + file)
                .unwrap()
                .len()
                > 0,
            "{file}"
        );
    }
}

#[test]
fn a_check_that_fails_is_told_and_so_is_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("strict.toml");
    let smoke = fs::read_to_string(format!("{}/smoke.toml", experiments())).unwrap();
    fs::write(&file, smoke.replace("at_most = 1.1", "at_most = 0.01")).unwrap();
    let json = folder.path().join("out.json");
    let (file, out) = (file.to_str().unwrap(), json.to_str().unwrap());
    let output = lab(&["run", file, "--backend", "sim", "--json", out]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stdout(&output).contains("FAIL  the box is no slower"),
        "{}",
        stdout(&output)
    );
    let written: serde_json::Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    assert_eq!(written["checks"][1]["pass"], false);
}
