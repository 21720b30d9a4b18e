//! A box in the middle of a path, with loss before it. Only the server can repair that; the flow stays governed all the same.

use windlass_engine::{AlgorithmId, Limits, Verdict};
use windlass_sim::link::Loss;
use windlass_sim::{EngineBox, Outcome, Scenario, run};

const MILLISECOND: u64 = 1_000_000;
const BYTES: u64 = 20_000_000;

/// 20 Mbit/s, 40 ms before the box and 40 ms behind it.
fn path(seed: u64, before: f64, behind: f64) -> Scenario {
    let loss = |ratio| match ratio > 0.0 {
        true => Loss::Bernoulli { ratio },
        false => Loss::None,
    };
    let mut scenario = Scenario::download(BYTES, 20.0, 40.0);
    scenario.seed = seed;
    scenario.inside.delay += 20 * MILLISECOND;
    scenario.inside.rate_bytes_per_s = Some(2_500_000);
    scenario.inside.queue_bytes = 150_000;
    scenario.inside.loss = loss(before);
    scenario.down.queue_bytes = 150_000;
    scenario.down.loss = loss(behind);
    scenario
}

fn governed(scenario: &Scenario, algorithm: &str) -> Outcome {
    let algorithm: AlgorithmId = algorithm.parse().expect("it is registered");
    let verdict = Verdict::enforce(algorithm);
    let mut middle = EngineBox::new(Box::new(verdict), Limits::default(), scenario.seed);
    let outcome = run(scenario, &mut middle);
    outcome.assert_intact(scenario);
    outcome
}

fn mbit_per_s(outcome: &Outcome) -> f64 {
    BYTES as f64 * 8e-6 / outcome.seconds
}

/// The server takes its reductions back, because the box's algorithm answers for the whole path. Alone it has 1.1 and 0.7 Mbit/s.
#[test]
fn a_cubic_server_behind_a_lossy_link_is_many_times_as_fast() {
    for (before, behind) in [(0.02, 0.0), (0.02, 0.02)] {
        let mut rates: Vec<f64> = (1..=5)
            .map(|seed| {
                let outcome = governed(&path(seed, before, behind), "bbr");
                assert!(outcome.counter("gaps") > 0, "{outcome:?}");
                mbit_per_s(&outcome)
            })
            .collect();
        rates.sort_by(f64::total_cmp);
        println!("{before} before, {behind} behind: {rates:.2?} Mbit/s");
        assert!(rates[2] >= 14.0, "{before}, {behind}: {rates:?}");
    }
}

/// An algorithm that slows down for loss hears of this loss, too: it is as slow as if the loss were behind the box.
#[test]
fn a_law_that_answers_loss_hears_of_it() {
    let before = mbit_per_s(&governed(&path(1, 0.02, 0.0), "reno"));
    let behind = mbit_per_s(&governed(&path(1, 0.0, 0.02), "reno"));
    println!("Reno in the box: loss before it {before:.2}, behind it {behind:.2} Mbit/s");
    assert!(before <= 1.25 * behind, "{before} beside {behind}");
}

/// What is overtaken before the box is no loss.
#[test]
fn what_was_overtaken_costs_nothing() {
    let mut scenario = path(1, 0.0, 0.0);
    scenario.inside.reorder_ratio = 0.01;
    scenario.inside.reorder_extra = 3 * MILLISECOND;
    let outcome = governed(&scenario, "bbr");
    assert_eq!(outcome.counter("handed_back"), 0);
    assert!(mbit_per_s(&outcome) >= 16.0, "{}", outcome.seconds);
}
