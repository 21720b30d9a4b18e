//! The packages of `make packages`, installed and removed again.

use std::process::Command;

#[test]
fn the_packages_can_be_installed_upgraded_removed_and_purged() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/test-packages");
    let done = Command::new(script).output().expect("it is there");
    let said = String::from_utf8_lossy(&done.stdout);
    let failed = String::from_utf8_lossy(&done.stderr);
    println!("{said}");
    assert!(done.status.success(), "{said}{failed}");
    let skipped = said.contains("skipped: ");
    assert!(
        skipped || said.ends_with("installed, tried, upgraded, removed and purged\n"),
        "{said}"
    );
}
