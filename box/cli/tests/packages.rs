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
        skipped || said.contains("installed, tried, upgraded, removed and purged\n"),
        "{said}"
    );
}

#[test]
fn the_image_can_be_built_and_run() {
    if std::env::var("WINDLASS_IMAGE").is_err() {
        return eprintln!("skipped: it takes minutes; WINDLASS_IMAGE=1 runs it");
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/test-image");
    let done = Command::new(script).output().expect("it is there");
    let said = String::from_utf8_lossy(&done.stdout);
    let failed = String::from_utf8_lossy(&done.stderr);
    println!("{said}");
    assert!(done.status.success(), "{said}{failed}");
    let done = said.contains("skipped: ") || said.ends_with("the image: built and run\n");
    assert!(done, "{said}");
}
