//! Compiles the XDP program with clang; without clang the prebuilt object is used.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = "windlass.bpf.c";
const OBJECT: &str = "windlass.bpf.o";

fn main() {
    println!("cargo:rerun-if-changed=bpf/{SOURCE}");
    println!("cargo:rerun-if-changed=bpf/{OBJECT}");
    println!("cargo:rerun-if-env-changed=CLANG");
    let folder =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo")).join("bpf");
    let object = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo")).join(OBJECT);
    let compilers = match env::var("CLANG") {
        Ok(named) => vec![named],
        Err(_) => vec!["clang-14".to_owned(), "clang".to_owned()],
    };
    if !compilers
        .iter()
        .any(|clang| compile(clang, &folder, &object))
    {
        println!(
            "cargo:warning=no working clang (Debian: clang-14 libbpf-dev): the prebuilt XDP program is used"
        );
        std::fs::copy(folder.join(OBJECT), &object).expect("the prebuilt XDP program is missing");
    }
}

/// Runs in the source's folder, so that the object names no path of the building machine.
fn compile(clang: &str, folder: &Path, object: &Path) -> bool {
    let arch = env::var("CARGO_CFG_TARGET_ARCH").expect("set by cargo");
    let include = format!("-I/usr/include/{arch}-linux-gnu");
    let target = match env::var("CARGO_CFG_TARGET_ENDIAN").as_deref() {
        Ok("big") => "bpfeb",
        _ => "bpfel",
    };
    Command::new(clang)
        .current_dir(folder)
        .args([
            "-O2", "-g", "-Wall", "-Werror", "-target", target, "-mcpu=v3", &include,
        ])
        .args(["-fdebug-compilation-dir=.", "-c", SOURCE, "-o"])
        .arg(object)
        .output()
        .is_ok_and(|done| {
            if !done.status.success() {
                for line in String::from_utf8_lossy(&done.stderr).lines() {
                    println!("cargo:warning={clang}: {line}");
                }
            }
            done.status.success()
        })
}
