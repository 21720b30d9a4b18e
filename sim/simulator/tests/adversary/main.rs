//! Thousands of adverse networks with an adversary in each: what the ends deliver is what they deliver
//! without a box, in a time of the same order, and no ACK, edge or timestamp reaches an end that the
//! other has not said.
//!
//! `WINDLASS_SEEDS=100000` runs more, from `WINDLASS_FIRST_SEED=n` on; `WINDLASS_SEED=n` replays one, with
//! `WINDLASS_TRACE=1` segment by segment.
#![allow(clippy::disallowed_methods)]

mod boxes;
mod noise;
mod trace;
mod verdict;

use windlass_sim::adversary::{Adversary, Plan};
use windlass_sim::{Scenario, run};

use boxes::{bare, boxed, scenario, station};
use verdict::{judge, violations};

const SEEDS_IN_TEST: u64 = 2000;
/// Those beyond that have failed once.
const FAILED_ONCE: [u64; 16] = [
    3527, 10_959, 12_136, 14_151, 14_341, 15_217, 15_392, 26_601, 27_089, 46_367, 57_893, 73_058,
    76_627, 80_849, 88_943, 95_935,
];

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|v| v.parse().ok())
}

#[test]
fn what_the_ends_drop_changes_nothing() {
    if let Some(seed) = number("WINDLASS_SEED") {
        let plan = Plan::of_seed(seed);
        let scenario = scenario(seed, &plan);
        println!("{plan:#?}\n{scenario:#?}");
        println!("{:#?}", boxed(seed, &scenario, &plan));
        let bare = bare(seed, &scenario, &plan);
        println!(
            "without the box: {:.3} s, {:?}",
            bare.seconds, bare.violations
        );
        assert_eq!(judge(seed), None, "seed {seed}");
        return;
    }
    let first = number("WINDLASS_FIRST_SEED").unwrap_or(1);
    let seeds = number("WINDLASS_SEEDS").unwrap_or(SEEDS_IN_TEST);
    let mut failed = Vec::new();
    for seed in (first..first + seeds).chain(FAILED_ONCE) {
        if let Some(why) = judge(seed) {
            println!("seed {seed}, {:?}: {why}", Plan::of_seed(seed));
            failed.push(seed);
        }
    }
    assert!(
        failed.is_empty(),
        "{} of {seeds} seeds failed: {failed:?}",
        failed.len()
    );
}

/// The adversary is no paper tiger: what it adds reaches the box, and the box refuses it.
#[test]
fn the_box_refuses_what_is_added() {
    let alone = |blind, seeing, damage| Plan {
        blind,
        seeing,
        damage,
        ..Plan::default()
    };
    for plan in [
        alone(0.5, 0.0, 0.0),
        alone(0.0, 0.5, 0.0),
        alone(0.0, 0.0, 0.02),
    ] {
        let scenario = Scenario::download(3_000_000, 20.0, 40.0);
        let station = station(42, 0, Default::default());
        let mut middle = Adversary::new(station, plan.clone(), 1);
        let outcome = run(&scenario, &mut middle);
        assert_eq!(violations(&outcome, &plan), [""; 0], "{plan:?}");
        let engine = middle.inner().running().engine();
        let refused = engine.counters().refused();
        assert!(refused > 30, "{plan:?}: {refused}");
    }
}
