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
    for word in ["quic", "quinn", "rustls", "tokio"] {
        let found = names.iter().find(|name| name.contains(word));
        assert_eq!(found, None, "windlass depends on it");
    }
}

#[test]
fn the_plugin_host_can_be_left_out() {
    let wasm = |names: Vec<String>| names.iter().any(|name| name.starts_with("wasmtime"));
    assert!(wasm(below(&[])));
    assert!(!wasm(below(&["--no-default-features"])));
}
