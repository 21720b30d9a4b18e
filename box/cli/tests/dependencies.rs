//! What the program in the path is built from: none of the laboratory, and no QUIC.

use std::process::Command;

/// Crates below `windlass-cli`, by their names.
fn below(more: &[&str]) -> Vec<String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    let tree = ["tree", "--locked", "--offline", "-p", "windlass-cli"];
    let plain = ["--edges", "normal", "--prefix", "none", "--format", "{lib}"];
    let output = cargo.args(tree).args(plain).args(more).output();
    let output = output.expect("cargo runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let names = String::from_utf8(output.stdout).expect("text");
    let names: Vec<String> = names.lines().map(str::to_owned).collect();
    assert!(
        names.iter().any(|name| name == "windlass_engine"),
        "{names:?}"
    );
    names
}

#[test]
fn windlass_has_no_simulator_no_guest_no_report_and_no_quic_in_it() {
    let names = below(&[]);
    for own in ["experiment", "guest", "lab", "report", "sim", "transfer"] {
        let own = format!("windlass_{own}");
        assert!(!names.contains(&own), "windlass depends on {own}");
    }
    for word in ["quic", "quinn", "rustls"] {
        let found = names.iter().find(|name| name.contains(word));
        assert_eq!(found, None, "windlass depends on it");
    }
}

/// The page in the browser is the only part that needs a runtime for many connections.
#[test]
fn the_page_can_be_left_out() {
    let heavy = |names: Vec<String>| {
        let heavy = ["axum", "hyper", "tokio", "utoipa"];
        names
            .into_iter()
            .find(|name| heavy.iter().any(|word| name.contains(word)))
    };
    assert!(heavy(below(&[])).is_some());
    let without = below(&["--no-default-features", "--features", "plugins"]);
    assert_eq!(
        heavy(without),
        None,
        "windlass depends on it without the page"
    );
}

#[test]
fn the_plugin_host_can_be_left_out() {
    let wasm = |names: Vec<String>| names.iter().any(|name| name.starts_with("wasmtime"));
    assert!(wasm(below(&[])));
    assert!(!wasm(below(&["--no-default-features"])));
}

/// Whom a crate may call, also through others that it may call.
const ARROWS: [(&str, &[&str]); 23] = [
    ("core/metric", &[]),
    ("core/wire", &[]),
    ("core/cc", &[]),
    ("core/engine", &["core/cc", "core/metric", "core/wire"]),
    ("core/auto", &["core/engine"]),
    ("core/policy", &["core/auto"]),
    ("box/ovs", &[]),
    ("box/terminal", &[]),
    ("box/io", &["core/engine"]),
    ("box/plugin", &["core/cc"]),
    ("box/record", &["core/engine"]),
    (
        "box/daemon",
        &["box/io", "box/plugin", "box/record", "core/policy"],
    ),
    ("box/web", &["box/daemon"]),
    ("box/cli", &["box/ovs", "box/terminal", "box/web"]),
    ("sim/simulator", &["core/engine"]),
    ("quic/cc-quic", &["core/cc"]),
    ("quic/cc-quinn", &["quic/cc-quic"]),
    ("quic/cc-s2n-quic", &["quic/cc-quic"]),
    (
        "quic/transfer",
        &["box/plugin", "box/terminal", "quic/cc-s2n-quic"],
    ),
    ("lab/experiment", &["core/policy"]),
    ("lab/report", &["lab/experiment"]),
    ("lab/guest", &[]),
    (
        "lab/backends",
        &[
            "box/daemon",
            "box/terminal",
            "lab/guest",
            "lab/report",
            "sim/simulator",
        ],
    ),
];

/// Whom this crate may call.
fn reach(from: &str) -> Vec<&'static str> {
    let row = ARROWS.iter().find(|(crate_, _)| *crate_ == from);
    let (_, next) = row.unwrap_or_else(|| panic!("{from} has no row"));
    next.iter()
        .flat_map(|to| [vec![*to], reach(to)].concat())
        .collect()
}

/// Each folder says in its README who may call whom. Tests may call anybody.
#[test]
fn arrows_point_down() {
    let root = std::fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let root = root.expect("the workspace is there");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.args([
        "metadata",
        "--no-deps",
        "--format-version",
        "1",
        "--offline",
    ]);
    let output = cargo.current_dir(&root).output().expect("cargo runs");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let place = |path: &str| {
        let inside = std::path::Path::new(path).strip_prefix(&root);
        inside.expect("in the workspace").display().to_string()
    };
    let mut looked_at = 0;
    for package in metadata["packages"].as_array().expect("packages") {
        let here = place(package["manifest_path"].as_str().expect("a path"));
        let here = here.trim_end_matches("/Cargo.toml");
        let allowed = reach(here);
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let Some(path) = dependency["path"].as_str() else {
                continue;
            };
            if dependency["kind"] == "dev" {
                continue;
            }
            let there = place(path);
            assert!(allowed.contains(&there.as_str()), "{here} calls {there}");
            looked_at += 1;
        }
    }
    assert!(looked_at > 40, "{looked_at} arrows");
}
