//! An experiment in virtual time, and its bars.

use windlass_cc::Catalog;
use windlass_experiment::{Experiment, Setup, check, rows};
use windlass_lab::backend::Backend;
use windlass_lab::backend::sim::Sim;

/// Runs these contestants in the simulator. Every check of the experiment must hold.
pub fn hold(mut experiment: Experiment, contestants: &[&str]) {
    let contestants: Vec<String> = contestants.iter().map(|&name| name.to_owned()).collect();
    experiment.select(&contestants, &[]).expect("contestants");
    let setups: Vec<Setup> = experiment.runs.iter().map(|r| r.setup.clone()).collect();
    let mut lines = Vec::new();
    let mut take = |run: usize, came| lines.extend(rows::of(&experiment, run, &came));
    Sim.run(&setups, &Catalog::new(), &mut take)
        .expect("simulated");
    let verdicts = check::all(&experiment, &lines);
    assert!(!verdicts.is_empty());
    for verdict in verdicts {
        println!("{}: {:?}", verdict.name, verdict.value);
        assert!(verdict.pass, "{verdict:?}");
    }
}
