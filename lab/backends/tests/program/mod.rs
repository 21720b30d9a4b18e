//! The program that the tests of this crate put in the path.

use std::path::PathBuf;

/// `WINDLASS_BIN`, or the program beside the folder of this test.
pub fn program() -> PathBuf {
    if let Some(named) = std::env::var_os("WINDLASS_BIN") {
        return named.into();
    }
    let test = std::env::current_exe().expect("a path");
    let built = test.ancestors().nth(2).expect("a folder").join("windlass");
    assert!(
        built.is_file(),
        "no {}: cargo build -p windlass-cli, or name another with WINDLASS_BIN",
        built.display()
    );
    built
}
