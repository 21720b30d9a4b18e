//! What is left after a transfer of each kind.

use super::*;

const CONTENT: &[u8] = b"eleven byte";

fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn open(dir: &Path) -> Partial {
    Partial::open(dir, "file", CONTENT.len() as u64, false).expect("an empty folder")
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("a folder").flatten();
    let mut names: Vec<String> = entries
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_whole_file_gets_its_name() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut partial = open(dir.path());
    partial.write(&CONTENT[..4]).expect("room");
    assert_eq!(names(dir.path()), [".file.windlass-part"]);
    partial.write(&CONTENT[4..]).expect("room");
    let path = partial.finish(&sha256(CONTENT)).expect("the same");
    assert_eq!(fs::read(path).expect("there"), CONTENT);
    assert_eq!(names(dir.path()), ["file"]);
}

#[test]
fn a_part_is_kept_and_gone_on_with() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut partial = open(dir.path());
    partial.write(&CONTENT[..4]).expect("room");
    drop(partial);
    assert_eq!(names(dir.path()), [".file.windlass-part"]);
    let mut partial = open(dir.path());
    assert_eq!(
        (partial.have(), partial.sha256()),
        (4, sha256(&CONTENT[..4]))
    );
    partial.write(&CONTENT[4..]).expect("room");
    let path = partial.finish(&sha256(CONTENT)).expect("the same");
    assert_eq!(fs::read(path).expect("there"), CONTENT);
}

#[test]
fn a_part_of_another_file_is_begun_anew() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut partial = open(dir.path());
    partial.write(b"else").expect("room");
    partial.restart().expect("it can be emptied");
    partial.write(CONTENT).expect("room");
    partial.finish(&sha256(CONTENT)).expect("the same");
    fs::write(dir.path().join(".file.windlass-part"), [7; 100]).expect("room");
    fs::remove_file(dir.path().join("file")).expect("there");
    assert_eq!(open(dir.path()).have(), 0, "longer than the file can be");
}

#[test]
fn damage_leaves_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut partial = open(dir.path());
    partial.write(b"eleven bits").expect("room");
    let error = partial.finish(&sha256(CONTENT)).unwrap_err();
    assert!(
        error.to_string().contains("is not what was sent"),
        "{error}"
    );
    assert!(names(dir.path()).is_empty());
}

#[test]
fn nothing_is_overwritten_unasked() {
    let dir = tempfile::tempdir().expect("a folder");
    let target = dir.path().join("file");
    fs::write(&target, "mine").expect("room");
    let error = Partial::open(dir.path(), "file", 11, false).unwrap_err();
    assert!(error.to_string().contains("it exists already"), "{error}");
    let mut partial = Partial::open(dir.path(), "file", 11, true).expect("asked for");
    partial.write(CONTENT).expect("room");
    assert_eq!(fs::read(&target).expect("there"), b"mine");
    partial.finish(&sha256(CONTENT)).expect("the same");
    assert_eq!(fs::read(&target).expect("there"), CONTENT);
}

#[test]
fn what_came_meanwhile_is_not_replaced() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut partial = open(dir.path());
    partial.write(CONTENT).expect("room");
    fs::write(dir.path().join("file"), "mine").expect("room");
    assert!(partial.finish(&sha256(CONTENT)).is_err());
    assert_eq!(fs::read(dir.path().join("file")).expect("there"), b"mine");
}

#[test]
fn two_transfers_do_not_share_a_part() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut first = open(dir.path());
    first.write(b"elev").expect("room");
    let error = Partial::open(dir.path(), "file", 11, false).unwrap_err();
    assert!(error.to_string().contains("is under way"), "{error}");
}

#[test]
fn more_than_announced_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut partial = open(dir.path());
    partial.write(CONTENT).expect("room");
    let error = partial.write(b"!").unwrap_err();
    assert!(
        error.to_string().contains("more than the 11 bytes"),
        "{error}"
    );
}

#[test]
fn names_stay_in_the_folder() {
    for name in [
        "",
        ".",
        "..",
        "a/b",
        "/etc/passwd",
        "a\nb",
        &"x".repeat(221),
    ] {
        assert!(check_name(name).is_err(), "{name:?}");
    }
    for name in ["a", "...", "a b", "ä", &"x".repeat(220)] {
        assert!(check_name(name).is_ok(), "{name:?}");
    }
    let dir = tempfile::tempdir().expect("a folder");
    let elsewhere = dir.path().join("elsewhere");
    fs::write(&elsewhere, "mine").expect("room");
    std::os::unix::fs::symlink(&elsewhere, dir.path().join(".file.windlass-part")).expect("a link");
    assert!(
        Partial::open(dir.path(), "file", 11, true).is_err(),
        "a link"
    );
    assert_eq!(fs::read(&elsewhere).expect("there"), b"mine");
}

#[test]
fn an_empty_file_arrives_too() {
    let dir = tempfile::tempdir().expect("a folder");
    let partial = Partial::open(dir.path(), "file", 0, false).expect("an empty folder");
    let path = partial.finish(&sha256(b"")).expect("the same");
    assert_eq!(fs::read(path).expect("there"), b"");
}
