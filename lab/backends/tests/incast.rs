//! 47 senders to one, in virtual time, by the bars of experiments/acdc-incast.toml: windows of one segment swing neither alone nor together.

mod bars;

use windlass_cc::Catalog;
use windlass_experiment::{Experiment, Settings};

const FILE: &str = include_str!("../../../experiments/acdc-incast.toml");

#[test]
fn many_senders_to_one_keep_a_queue_of_half_of_dctcps() {
    let settings = Settings::default();
    let read = Experiment::parse(FILE, "acdc-incast.toml", settings, &Catalog::new());
    let experiment = read.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(experiment.checks.len(), 2);
    bars::hold(experiment, &["dctcp", "windlass"]);
}
