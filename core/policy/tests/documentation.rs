//! The files in the documentation are files that are read.

use windlass_cc::Catalog;
use windlass_policy::{Config, GuardConfig};

/// The TOML blocks of a page.
fn blocks(page: &str) -> Vec<&str> {
    let after = page.split("```toml\n").skip(1);
    after.filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn every_example_is_accepted() {
    let pages = [
        ("README.md", include_str!("../../../README.md"), 1),
        ("docs/policy.md", include_str!("../../../docs/policy.md"), 9),
        (
            "docs/metrics.md",
            include_str!("../../../docs/metrics.md"),
            1,
        ),
        ("docs/watch.md", include_str!("../../../docs/watch.md"), 1),
    ];
    for (name, page, count) in pages {
        let blocks = blocks(page);
        assert_eq!(blocks.len(), count, "{name}");
        for block in blocks {
            Config::parse(block, name, &Catalog::new()).unwrap_or_else(|e| panic!("{e}"));
        }
    }
}

/// What the page of limits says is what holds without it.
#[test]
fn the_limits_are_the_defaults() {
    let page = include_str!("../../../docs/policy.md");
    let blocks = blocks(page);
    let limits = blocks.last().expect("the limits");
    let config = Config::parse(limits, "docs/policy.md", &Catalog::new()).unwrap();
    assert_eq!(config.limits, Config::default().limits);
}

/// And so does the section about the guard.
#[test]
fn the_guard_is_described_with_its_defaults() {
    let page = include_str!("../../../docs/policy.md");
    let block = blocks(page).into_iter().find(|b| b.contains("[guard]"));
    let config =
        Config::parse(block.expect("the guard"), "docs/policy.md", &Catalog::new()).unwrap();
    assert_eq!(config.guard, Some(GuardConfig::default()));
}

/// Every policy that is shipped is one.
#[test]
fn shipped_policies_are_accepted() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../policies");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension() != Some("toml".as_ref()) {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.display().to_string();
        Config::parse(&text, &name, &Catalog::new()).unwrap_or_else(|e| panic!("{e}"));
        count += 1;
    }
    assert!(count > 0);
}
