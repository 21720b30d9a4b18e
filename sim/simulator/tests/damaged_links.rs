//! Links that flip bits: no end believes what is damaged, the box does not either, and a transfer is as fast as over links that lose
//! as much.

use windlass_cc::SECOND;
use windlass_engine::{AlgorithmId, Limits, Redundancy, Verdict};
use windlass_sim::link::{LinkConfig, Loss};
use windlass_sim::{EngineBox, NoBox, Outcome, Scenario, run};

const SEEDS: u64 = 200;
const BYTES: u64 = 8_000_000;
const RATIO: f64 = 0.003;

fn governed(scenario: &Scenario, redundancy: Redundancy) -> Outcome {
    let algorithm: AlgorithmId = "bbr".parse().expect("it is registered");
    let verdict = Verdict {
        redundancy,
        ..Verdict::enforce(algorithm)
    };
    let mut middle = EngineBox::new(Box::new(verdict), Limits::default(), scenario.seed);
    let outcome = run(scenario, &mut middle);
    outcome.assert_intact(scenario);
    outcome
}

/// Over adverse networks, damage on any link in addition.
#[test]
fn every_transfer_completes_intact() {
    let (mut damaged, mut passed) = (0, 0);
    for seed in 1..=SEEDS {
        let mut scenario = Scenario::adverse(seed);
        scenario.limit = 24 * 3600 * SECOND;
        let ratio = [0.001, 0.01, 0.05][seed as usize % 3];
        scenario.down.damage_ratio = ratio;
        scenario.up.damage_ratio = ratio;
        if seed % 4 == 0 {
            scenario.inside.damage_ratio = ratio;
            // Two bits of one packet leave its checksum as it was one time in 32, and no end could know.
            scenario.down.damage_ratio = 0.0;
        }
        let outcome = governed(
            &scenario,
            [Redundancy::OFF, Redundancy::EARLY][seed as usize % 2],
        );
        damaged += outcome.down.damaged + outcome.up.damaged;
        passed += outcome.counter("passed_bad_checksum");
    }
    println!("{damaged} damaged outside the box, {passed} refused by it");
    assert!(damaged > 1000 && passed > 300, "{damaged} {passed}");
}

#[test]
fn a_wire_that_damages_is_a_wire_that_loses() {
    let mut scenario = Scenario::download(1_000_000, 50.0, 20.0);
    scenario.down.damage_ratio = 0.01;
    scenario.up.damage_ratio = 0.01;
    let outcome = run(&scenario, &mut NoBox::default());
    outcome.assert_intact(&scenario);
    let refused = outcome.connections[0].client.refused.bad_frames;
    assert!(outcome.down.damaged > 3 && outcome.down.lost == 0);
    assert!((1..=outcome.down.damaged).contains(&refused), "{refused}");
    let again = run(&scenario, &mut NoBox::default());
    assert_eq!(outcome.connections, again.connections);
}

#[test]
fn damage_costs_no_more_than_loss() {
    for redundancy in [Redundancy::OFF, Redundancy::EARLY] {
        let mean = |harm: fn(&mut LinkConfig)| {
            let seconds = (1..=10).map(|seed| {
                let mut scenario = Scenario::download(BYTES, 50.0, 20.0);
                scenario.seed = seed;
                harm(&mut scenario.down);
                harm(&mut scenario.up);
                governed(&scenario, redundancy).seconds
            });
            seconds.sum::<f64>() / 10.0
        };
        let lost = mean(|link| link.loss = Loss::Bernoulli { ratio: RATIO });
        let damaged = mean(|link| link.damage_ratio = RATIO);
        println!("{redundancy:?}: {lost:.3} s with loss, {damaged:.3} s with damage");
        assert!(damaged < 1.1 * lost, "{redundancy:?}: {damaged} {lost}");
    }
}
