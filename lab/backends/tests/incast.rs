//! 47 senders to one, in virtual time, by the bars of experiments/acdc-incast.toml: windows of one segment swing neither alone nor together.

use windlass_cc::Catalog;
use windlass_experiment::{Experiment, Settings, Setup, check, rows};
use windlass_lab::backend::Backend;
use windlass_lab::backend::sim::Sim;

const FILE: &str = include_str!("../../../experiments/acdc-incast.toml");

#[test]
fn many_senders_to_one_keep_a_queue_of_half_of_dctcps() {
    let settings = Settings::default();
    let read = Experiment::parse(FILE, "acdc-incast.toml", settings, &Catalog::new());
    let mut experiment = read.unwrap_or_else(|e| panic!("{e}"));
    let contestants = ["dctcp", "windlass"].map(str::to_owned);
    experiment.select(&contestants, &[]).expect("contestants");
    let setups: Vec<Setup> = experiment.runs.iter().map(|r| r.setup.clone()).collect();
    let mut lines = Vec::new();
    let mut take = |run: usize, came| lines.extend(rows::of(&experiment, run, &came));
    Sim.run(&setups, &Catalog::new(), &mut take)
        .expect("simulated");
    let verdicts = check::all(&experiment, &lines);
    assert_eq!(verdicts.len(), 2);
    for verdict in verdicts {
        println!("{}: {:?}", verdict.name, verdict.value);
        assert!(verdict.pass, "{verdict:?}");
    }
}
