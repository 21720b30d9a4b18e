//! Where plugins are kept.

mod modules;

use std::fs;

use modules::{about, wat};
use windlass_cc::Catalog;
use windlass_plugin::Folder;

fn module(name: &str) -> String {
    wat(&about(name, 8), "", "")
}

#[test]
fn what_is_kept_is_found_and_removed_by_its_name() {
    let mut catalog = Catalog::new();
    let place = tempfile::tempdir().expect("a folder");
    let folder = Folder::new(place.path().join("kept"));
    assert_eq!(folder.names().expect("none"), [""; 0]);
    let file = place.path().join("mine");
    fs::write(&file, module("f_mine")).expect("written");
    let (added, kept) = folder.add(&mut catalog, &file).expect("a plugin");
    assert_eq!(added.id.name(), "f_mine");
    assert_eq!(fs::read(&kept).expect("kept"), module("f_mine").as_bytes());
    // Somebody has put another one beside it, by hand.
    fs::copy(&kept, kept.with_file_name("f_mine.v2.wasm")).expect("copied");
    assert_eq!(folder.names().expect("two"), ["f_mine.v2", "f_mine"]);
    let loaded = folder
        .load(&mut catalog)
        .into_iter()
        .map(|l| l.expect("fine").id.name());
    assert_eq!(loaded.collect::<Vec<_>>(), ["f_mine", "f_mine"]);
    folder.remove("f_mine.v2").expect("it is there");
    assert_eq!(folder.names().expect("one"), ["f_mine"]);
    let wrong = folder.remove("f_other").expect_err("none").to_string();
    assert!(
        wrong.contains("f_other") && wrong.contains("f_mine"),
        "{wrong}"
    );
}

/// Reading what has no end, or waits for a writer, would never end.
#[test]
fn what_is_no_file_is_not_read() {
    let mut catalog = Catalog::new();
    let folder = tempfile::tempdir().expect("a folder");
    let endless = windlass_plugin::add_file(&mut catalog, "/dev/zero".as_ref());
    let endless = endless.expect_err("no module").to_string();
    assert!(endless.contains("no regular file"), "{endless}");
    fs::create_dir(folder.path().join("x.wasm")).expect("made");
    let loaded = Folder::new(folder.path()).load(&mut catalog);
    let [Err(wrong)] = &loaded[..] else {
        panic!("{loaded:?}");
    };
    assert!(wrong.to_string().contains("x.wasm"), "{wrong}");
    let large = folder.path().join("large");
    fs::write(&large, vec![0; windlass_plugin::MODULE_BYTES_MAX + 1]).expect("written");
    let large = windlass_plugin::add_file(&mut catalog, &large)
        .expect_err("too large")
        .to_string();
    assert!(large.contains("1048577"), "{large}");
}
