//! Another engine goes on with the connections of the first, and no end can tell.
#![allow(clippy::disallowed_methods)]

use windlass_cc::SECOND;
use windlass_engine::{AlgorithmId, Decide, Limits, Redundancy, Verdict};
use windlass_sim::{EngineBox, Outcome, Scenario, run};

const SEEDS_IN_TEST: u64 = 150;

/// The box of a seed: any algorithm, with and without copies, SACK insertion and head-room.
fn verdict(seed: u64) -> Verdict {
    let algorithms = AlgorithmId::ALL;
    let redundancy = [Redundancy::OFF, Redundancy::REPAIRS, Redundancy::EARLY];
    Verdict {
        redundancy: redundancy[(seed / 7 % 3) as usize],
        insert_sack: !seed.is_multiple_of(5),
        headroom: !seed.is_multiple_of(11),
        ..Verdict::enforce(algorithms[(seed % algorithms.len() as u64) as usize])
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|v| v.parse().ok())
}

fn boxed(seed: u64) -> EngineBox {
    EngineBox::new(Box::new(verdict(seed)), Limits::default(), seed)
}

/// What the ends and the links have seen: not what the box counts, which begins anew.
fn seen(outcome: Outcome) -> Outcome {
    Outcome {
        counters: Vec::new(),
        ..outcome
    }
}

/// `WINDLASS_SEEDS=10000` runs more, `WINDLASS_SEED=n` replays one.
#[test]
fn nobody_can_tell_that_another_engine_goes_on() {
    let seeds = number("WINDLASS_SEEDS").unwrap_or(SEEDS_IN_TEST);
    let one = number("WINDLASS_SEED");
    let mut hand_overs = 0;
    let mut failed = Vec::new();
    for seed in one.map_or(1..=seeds, |seed| seed..=seed) {
        let mut scenario = Scenario::adverse(seed);
        scenario.limit = 24 * 3600 * SECOND;
        let alone = run(&scenario, &mut boxed(seed));
        let every = 1 + (seed * 7 % 97) as u32;
        let policies = move || -> Box<dyn Decide> { Box::new(verdict(seed)) };
        let mut relay = boxed(seed).handing_over(every, Limits::default(), Box::new(policies));
        let relayed = run(&scenario, &mut relay);
        hand_overs += relay.hand_overs();
        if seen(relayed.clone()) != seen(alone.clone()) {
            println!(
                "seed {seed}, every {every} packets: {} s, {} s alone",
                relayed.seconds, alone.seconds
            );
            failed.push(seed);
        }
    }
    println!("{hand_overs} hand-overs");
    assert!(one.is_some() || hand_overs > 10 * seeds);
    assert!(
        failed.is_empty(),
        "{} seeds differ: {failed:?}",
        failed.len()
    );
}
