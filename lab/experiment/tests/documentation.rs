//! The page about experiments says what is read.

use windlass_cc::Catalog;
use windlass_experiment::{Experiment, Settings};

const PAGE: &str = include_str!("../../../docs/experiments.md");
const KNOWN: &str = "known: ";

fn example() -> &'static str {
    let (_, rest) = PAGE.split_once("```toml\n").expect("an example");
    rest.split_once("```").expect("its end").0
}

#[test]
fn the_example_is_an_experiment() {
    let read = Experiment::parse(
        example(),
        "docs/experiments.md",
        Settings::default(),
        &Catalog::new(),
    );
    let experiment = read.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(experiment.runs.len(), 3 * 4 * 2);
}

/// The reader of files knows its own keys, and names them when one is unknown.
#[test]
fn every_key_of_a_link_is_explained() {
    let text = example().replace("rtt_ms = 100\n", "rtt_ms = 100\nnonsense = 1\n");
    let error = Experiment::parse(&text, "x.toml", Settings::default(), &Catalog::new())
        .expect_err("nonsense");
    let (_, known) = error.help.split_once(KNOWN).expect("known keys");
    let keys: Vec<&str> = known.split(", ").collect();
    assert!(keys.len() > 15, "{keys:?}");
    let missing = keys
        .iter()
        .filter(|key| !PAGE.contains(&format!("`{key}`")));
    assert_eq!(missing.count(), 0, "{keys:?}");
}
