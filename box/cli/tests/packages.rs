//! The packages of `make packages`, installed and removed again.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

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

/// Names and versions, `serde 1.0.1`.
type Parts = BTreeSet<String>;

/// What cargo builds into a program.
fn built_into(package: &str) -> Parts {
    let mut tree = Command::new(env!("CARGO"));
    tree.args(["tree", "--locked", "--offline", "--package", package]);
    tree.args(["--edges", "normal", "--prefix", "none", "--format", "{p}"]);
    let output = tree.current_dir(SOURCE).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let part = |line: &str| {
        let mut words = line.split(' ');
        let (name, version) = (words.next()?, words.next()?);
        Some(format!("{name} {}", version.trim_start_matches('v')))
    };
    text.lines().filter_map(part).collect()
}

/// What the lock file names.
fn locked() -> Parts {
    let text = std::fs::read_to_string(format!("{SOURCE}/Cargo.lock")).unwrap();
    let named = |part: &str| {
        let value = |key: &str| {
            let line = part.lines().find_map(|line| line.strip_prefix(key));
            Some(line?.trim_matches('"').to_owned())
        };
        Some(format!("{} {}", value("name = ")?, value("version = ")?))
    };
    text.split("[[package]]").filter_map(named).collect()
}

/// The parts that a bill of materials lists, each of which says where it is from, and under which licence it may be used.
fn listed(file: &Path, package: &str) -> Parts {
    let text = std::fs::read_to_string(file).unwrap();
    let here = Path::new(SOURCE).canonicalize().unwrap();
    assert!(
        !text.contains(here.to_str().unwrap()),
        "paths of this machine"
    );
    let bill: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(bill["bomFormat"], "CycloneDX");
    let own = &bill["metadata"]["component"];
    assert_eq!(own["name"], package);
    let components = bill["components"].as_array().unwrap().iter();
    let all = components.chain([own]).map(|part| {
        let word = |key: &str| part[key].as_str().unwrap_or_default();
        let (name, version) = (word("name"), word("version"));
        let from = format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"));
        assert!(
            word("purl").replace('+', "%2B").starts_with(&from),
            "{part}"
        );
        let licences = part["licenses"].as_array();
        assert!(licences.is_some_and(|all| !all.is_empty()), "{part}");
        format!("{name} {version}")
    });
    all.collect()
}

#[test]
fn the_bill_of_materials_lists_what_is_built_in() {
    let tool = Command::new("cargo-cyclonedx").arg("--version").output();
    if tool.is_err() {
        return eprintln!("skipped: cargo-cyclonedx is not here (make tools)");
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(format!("{SOURCE}/packaging/sbom"));
    let output = command
        .arg(folder.path())
        .env("CARGO", env!("CARGO"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let locked = locked();
    for (program, package) in [
        ("windlass", "windlass-cli"),
        ("windlass-lab", "windlass-lab"),
        ("windlass-transfer", "windlass-transfer"),
    ] {
        let file = folder.path().join(format!("{program}.cdx.json"));
        let listed = listed(&file, package);
        let missing: Vec<_> = built_into(package).difference(&listed).cloned().collect();
        assert!(missing.is_empty(), "{program} lacks {missing:?}");
        let unknown: Vec<_> = listed.difference(&locked).collect();
        assert!(unknown.is_empty(), "{program} has {unknown:?}");
        assert!(listed.len() > 100, "{program}: {} parts", listed.len());
        eprintln!("{program}: {} parts", listed.len());
    }
}
