//! The experiments about the library of algorithms have all of it.

use std::collections::BTreeSet;

use windlass_cc::{AlgorithmId, Catalog};
use windlass_experiment::{Experiment, Settings};

/// The values of the parameter `algorithm` of an experiment.
fn swept(text: &str) -> BTreeSet<String> {
    let experiment = Experiment::parse(text, "x.toml", Settings::default(), &Catalog::new());
    let experiment = experiment.unwrap_or_else(|e| panic!("{e}"));
    let at = experiment.parameters.iter().position(|p| p == "algorithm");
    let at = at.expect("algorithm is swept");
    let values = experiment.cells.iter().map(|c| c.values[at].to_string());
    values.collect()
}

/// But the one that lives on another report's path alone.
#[test]
fn every_algorithm_competes() {
    let all = AlgorithmId::ALL.iter().map(|id| id.to_string());
    let all: BTreeSet<String> = all.filter(|name| name != "sourdough").collect();
    for text in [
        include_str!("../../../experiments/compete.toml"),
        include_str!("../../../experiments/compete-box.toml"),
    ] {
        assert_eq!(swept(text), all);
    }
}

/// Debian's kernel has two more that Windlass does not: cdg and lp.
#[test]
fn every_algorithm_that_the_kernel_has_is_compared_with_it() {
    let conformance = swept(include_str!("../../../experiments/conformance.toml"));
    let laws = swept(include_str!("../../../experiments/conformance-law.toml"));
    let marks = swept(include_str!("../../../experiments/conformance-dctcp.toml"));
    let modules = [
        "bbr",
        "bic",
        "cubic",
        "dctcp",
        "highspeed",
        "htcp",
        "hybla",
        "illinois",
        "reno",
        "scalable",
        "vegas",
        "veno",
        "westwood",
        "yeah",
    ];
    for compared in [conformance, laws] {
        let compared: Vec<String> = compared.union(&marks).cloned().collect();
        assert_eq!(compared, modules);
    }
}
