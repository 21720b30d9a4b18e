//! Compiles the XDP program with clang; without clang the prebuilt object is used, if it is of this source.
//!
//! Objects differ from one clang to another, so the object says of which source it was made: it contains the hash of all files
//! in `bpf/` and `bpf/wire/`, which `WINDLASS_XDP_SOURCE_HASH` tells the crate's tests too.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

const SOURCE: &str = "windlass.bpf.c";
const OBJECT: &str = "windlass.bpf.o";
/// Where sources are, in the crate's folder.
const FOLDERS: [&str; 2] = ["bpf", "bpf/wire"];

fn main() {
    println!("cargo:rerun-if-changed=bpf");
    println!("cargo:rerun-if-env-changed=CLANG");
    let crate_folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let hash = source_hash(&crate_folder);
    println!("cargo:rustc-env=WINDLASS_XDP_SOURCE_HASH={hash}");
    let folder = crate_folder.join(FOLDERS[0]);
    let object = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo")).join(OBJECT);
    let compilers = match env::var("CLANG") {
        Ok(named) => vec![named],
        Err(_) => vec!["clang-14".to_owned(), "clang".to_owned()],
    };
    if !compilers
        .iter()
        .any(|clang| compile(clang, &folder, &hash, &object))
    {
        println!(
            "cargo:warning=no working clang (Debian: clang-14 libbpf-dev): the prebuilt XDP program is used"
        );
        let prebuilt = fs::read(folder.join(OBJECT)).expect("the prebuilt XDP program is missing");
        assert!(
            prebuilt
                .windows(hash.len())
                .any(|bytes| bytes == hash.as_bytes()),
            "the prebuilt XDP program is of another source: install clang"
        );
        fs::write(&object, prebuilt).expect("OUT_DIR can be written");
    }
}

/// SHA-256 of names and contents of all sources, in hexadecimal.
fn source_hash(crate_folder: &Path) -> String {
    let mut hash = Sha256::new();
    for folder in FOLDERS {
        let entries = fs::read_dir(crate_folder.join(folder)).expect("the folder of the sources");
        let mut sources: Vec<PathBuf> = entries
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.extension().is_some_and(|end| end == "c" || end == "h"))
            .collect();
        sources.sort();
        for path in sources {
            let text = fs::read(&path).expect("a source");
            let name = path.file_name().expect("a file").to_string_lossy();
            hash.update(format!("{folder}/{name} {}\n", text.len()));
            hash.update(text);
        }
    }
    format!("{:x}", hash.finalize())
}

/// Runs in the source's folder, so that the object names no path of the building machine.
fn compile(clang: &str, folder: &Path, hash: &str, object: &Path) -> bool {
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
        .arg(format!("-DSOURCE_HASH=\"{hash}\""))
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
