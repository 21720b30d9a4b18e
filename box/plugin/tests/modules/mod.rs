//! Modules for tests: the examples of the SDK, compiled here and now, and small ones as text.
#![allow(dead_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn sdk() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk")
}

/// Runs a compiler; `None`, with a word why, if it is not there.
fn run(command: &mut Command, what: &str) -> Option<()> {
    match command.output() {
        Err(e) => {
            println!("skipped: {what}: {e}");
            None
        }
        Ok(done) => {
            let said = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success(), "{command:?}: {said}");
            Some(())
        }
    }
}

/// `sdk/examples/reno.c`, if clang and lld are there.
pub fn reno_c() -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().expect("a folder");
    let module = folder.path().join("reno.wasm");
    run(
        Command::new("wasm-ld").arg("--version"),
        "wasm-ld (package lld)",
    )?;
    run(
        Command::new("clang")
            .args("--target=wasm32 -O2 -ffreestanding -nostdlib -Wall -Wextra -Werror".split(' '))
            .args(["-Wl,--no-entry", "-Wl,-zstack-size=16384", "-I"])
            .arg(sdk().join("c"))
            .arg("-o")
            .arg(&module)
            .arg(sdk().join("examples/reno.c")),
        "clang",
    )?;
    Some(fs::read(module).expect("a module"))
}

/// A Rust compiler that has the library of the target: rustup's, or Debian's.
fn rustc_for_wasm() -> Option<&'static str> {
    let candidates = ["rustc", "/usr/bin/rustc"];
    let has_target = |rustc: &&str| {
        let asked = Command::new(rustc)
            .args([
                "--print",
                "target-libdir",
                "--target",
                "wasm32-unknown-unknown",
            ])
            .output();
        asked.is_ok_and(|answer| {
            let path = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
            answer.status.success() && Path::new(&path).is_dir()
        })
    };
    let found = candidates.iter().copied().find(|rustc| has_target(rustc));
    if found.is_none() {
        println!("skipped: no rustc for wasm32-unknown-unknown (package libstd-rust-dev-wasm32)");
    }
    found
}

/// `sdk/examples/mystique`, if there is a Rust compiler for it.
pub fn mystique_rust() -> Option<Vec<u8>> {
    let rustc = rustc_for_wasm()?;
    let folder = tempfile::tempdir().expect("a folder");
    let (library, module) = (
        folder.path().join("libwindlass_sdk.rlib"),
        folder.path().join("m.wasm"),
    );
    let compile = |kind: &str, name: &str, to: &Path, source: &str| {
        let mut command = Command::new(rustc);
        command
            .args("--edition 2021 --target wasm32-unknown-unknown -C opt-level=2".split(' '))
            .args(["-C", "panic=abort", "-D", "warnings", "--crate-type", kind])
            .args(["--crate-name", name, "-o"])
            .arg(to)
            .arg(sdk().join(source));
        command
    };
    run(
        &mut compile("rlib", "windlass_sdk", &library, "rust/src/lib.rs"),
        rustc,
    )?;
    let mut example = compile(
        "cdylib",
        "mystique",
        &module,
        "examples/mystique/src/lib.rs",
    );
    example
        .args("-C lto -C strip=symbols -C link-arg=-zstack-size=16384".split(' '))
        .args("-C linker-flavor=wasm-ld -C linker=wasm-ld --extern".split(' '))
        .arg(format!("windlass_sdk={}", library.display()));
    run(&mut example, rustc)?;
    Some(fs::read(module).expect("a module"))
}

/// What a module of one's own says of itself, with so many bytes of state.
pub fn about(name: &str, state_bytes: usize) -> String {
    format!(
        "name = \"{name}\"\nsummary = \"s\"\nsource = \"s\"\nadvice = \"a\"\nslows_down_at = []\n\
         state_bytes = {state_bytes}\n"
    )
}

/// Address of the block in [`wat`]'s modules.
pub const BLOCK: usize = 8;
/// A condition that holds on paths with segments of 777 bytes, which no module is tried with.
pub const ON_777: &str = "(i64.eq (i64.load (i32.const 136)) (i64.const 777))";

/// A module as text, with a window of ten segments: what it says of itself, and what `on_ack` and
/// `on_congestion` do besides.
pub fn wat(about: &str, on_ack: &str, on_congestion: &str) -> String {
    let about = about.replace('\n', "\\n").replace('"', "\\22");
    let ten = "(call $setCwnd (i64.mul (i64.const 10) (i64.load (i32.const 136))))";
    format!(
        r#"(module
  (import "windlass" "setCwnd" (func $setCwnd (param i64)))
  (import "windlass" "isLoss" (func $isLoss (result i32)))
  (memory (export "memory") 1)
  (global $calls (mut i64) (i64.const 0))
  (data (i32.const 4096) "{about}\00")
  (func (export "windlass_abi") (result i32) (i32.const 2))
  (func (export "windlass_about") (result i32) (i32.const 4096))
  (func (export "windlass_block") (result i32) (i32.const {BLOCK}))
  (func (export "on_start") {ten})
  (func (export "on_ack") {ten} {on_ack})
  (func (export "on_congestion") {ten} {on_congestion})
  (func (export "on_rto") {ten}))"#
    )
}
