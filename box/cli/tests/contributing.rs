//! The throw-away algorithm of CONTRIBUTING.md is what it says: one file and two lines. They are put into a
//! copy of `windlass-cc`, and the laws are tried for all algorithms there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What must be true of it in the copy, beside the laws.
const TEST: &str = r#"
use windlass_cc::{AlgorithmId, CongestionEvent, Controller, Path, Settings, Signal};

#[test]
fn the_throw_away_is_one_of_all() {
    let id: AlgorithmId = "steady".parse().expect("known by its name");
    assert!(AlgorithmId::ALL.contains(&id));
    assert!(id.about().summary.starts_with("Steady"));
    let names: Vec<&str> = id.parameters().iter().map(|p| p.name).collect();
    assert_eq!(names, ["loss_share"]);
    let path = Path { inflight: 14_000, ..Path::new(1400) };
    let mut flow = Controller::new(Settings::from(id), &path, 1);
    assert_eq!(flow.control().cwnd, 14_000);
    let loss = CongestionEvent { now: 1, signal: Signal::Loss, inflight_before: 14_000, lost: 1400 };
    flow.on_congestion(&loss, &path);
    flow.on_recovery_exit(2, &path);
    assert_eq!(flow.control().cwnd, 14_000 * 7 / 8);
}
"#;

#[test]
fn an_algorithm_is_one_file_and_two_lines() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
    let page = read(&root.join("CONTRIBUTING.md"));
    let mut code = page.split("```rust\n").skip(1);
    let mut block = || {
        let rest = code.next().expect("two blocks of Rust");
        rest.split("```").next().expect("its end")
    };
    let (file, lines) = (block(), block());
    let (module, row) = lines.trim_end().split_once('\n').expect("two lines");
    assert!(!row.contains('\n'));

    let copy = tempfile::tempdir().expect("a folder");
    let cc = copy.path().join("core/cc");
    copy_folder(&root.join("core/cc"), &cc);
    fs::copy(root.join("Cargo.lock"), copy.path().join("Cargo.lock")).expect("copied");
    change(
        &root.join("Cargo.toml"),
        &copy.path().join("Cargo.toml"),
        |s| {
            s.replace(
                "members = [\"core/*\", \"box/*\", \"sim/simulator\", \"lab/*\", \"quic/*\"]",
                "members = [\"core/cc\"]",
            )
        },
    );
    // Benchmarks are not run here.
    let manifest = cc.join("Cargo.toml");
    change(&manifest, &manifest, |s| {
        s.replace("criterion.workspace = true\n", "")
            .replace("[[bench]]\nname = \"cc\"\nharness = false\n", "")
    });
    fs::remove_dir_all(cc.join("benches")).expect("removed");
    fs::write(cc.join("src/algorithms/steady.rs"), file).expect("written");
    let table = cc.join("src/algorithms/mod.rs");
    let (last_module, last_row) = (
        "pub(crate) mod sourdough;\n",
        "            sourdough::Sourdough = \"sourdough\";\n",
    );
    change(&table, &table, |s| {
        s.replace(last_module, &format!("{last_module}{module}\n"))
            .replace(last_row, &format!("{last_row}{row}\n"))
    });
    fs::write(cc.join("tests/throw_away.rs"), TEST).expect("written");

    // Beside what the tests themselves were built from, so that the second time is quick.
    let test = std::env::current_exe().expect("a path");
    let target: PathBuf = test
        .ancestors()
        .nth(3)
        .expect("a folder")
        .join("contributing");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.args(["test", "--offline", "-p", "windlass-cc"]);
    cargo.args([
        "--test",
        "throw_away",
        "--test",
        "laws",
        "--test",
        "controller",
    ]);
    cargo
        .current_dir(copy.path())
        .env("CARGO_TARGET_DIR", target);
    let said = cargo.output().expect("cargo runs");
    let text = [said.stdout, said.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(said.status.success(), "{}\n{}", text[0], text[1]);
    assert!(text[0].contains("the_throw_away_is_one_of_all ... ok"));
}

/// Writes what `how` makes of a file.
fn change(from: &Path, to: &Path, how: impl Fn(&str) -> String) {
    let before = fs::read_to_string(from).expect("text");
    let after = how(&before);
    assert_ne!(before, after, "{} has been changed", from.display());
    fs::write(to, after).expect("written");
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        match entry.file_type().expect("a type").is_dir() {
            true => copy_folder(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).expect("copied")),
        }
    }
}
