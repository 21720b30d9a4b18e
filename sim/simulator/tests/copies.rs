//! Copies (`redundancy`) take the time of a path that would stay idle, and no other.

use windlass_engine::{AlgorithmId, Limits, Redundancy, Verdict};
use windlass_sim::link::Loss;
use windlass_sim::{EngineBox, Outcome, Scenario, run};

fn download(redundancy: Redundancy, scenario: &Scenario) -> Outcome {
    let verdict = Verdict {
        redundancy,
        ..Verdict::enforce(AlgorithmId::Bbr)
    };
    let mut middle = EngineBox::new(Box::new(verdict), Limits::default(), scenario.seed);
    let outcome = run(scenario, &mut middle);
    assert!(outcome.intact && outcome.violations.is_empty());
    outcome
}

fn counted(outcome: &Outcome, name: &str) -> u64 {
    let found = outcome.counters.iter().find(|(n, _)| *n == name);
    found.map_or(0, |(_, count)| *count)
}

/// On a path that loses nothing. What it is with copies.
fn costs_a_hundredth_at_most(bytes: u64, mbit: f64, rtt_ms: f64) -> Outcome {
    let scenario = Scenario::download(bytes, mbit, rtt_ms);
    let [without, with] =
        [Redundancy::OFF, Redundancy::EARLY].map(|policy| download(policy, &scenario));
    let ratio = with.seconds / without.seconds;
    assert!(
        ratio <= 1.01,
        "{bytes} bytes over {mbit} Mbit/s and {rtt_ms} ms: {ratio:.3}"
    );
    with
}

#[test]
fn on_a_path_that_loses_nothing_they_cost_a_hundredth_at_most() {
    for (mbit, rtt_ms) in [
        (10.0, 40.0),
        (10.0, 60.0),
        (10.0, 300.0),
        (20.0, 230.0),
        (20.0, 300.0),
        (50.0, 100.0),
        (50.0, 200.0),
    ] {
        for bytes in [500_000, 1_200_000, 3_000_000] {
            let with = costs_a_hundredth_at_most(bytes, mbit, rtt_ms);
            assert!(counted(&with, "copies") > 0);
        }
    }
}

/// There, ten segments and as many copies are more than the path holds.
#[test]
fn on_a_short_path_they_wait_until_its_rate_is_known() {
    for (mbit, rtt_ms) in [
        (5.0, 20.0),
        (5.0, 41.0),
        (5.0, 62.0),
        (5.0, 84.0),
        (10.0, 20.0),
    ] {
        for bytes in [300_000, 600_000, 1_200_000] {
            costs_a_hundredth_at_most(bytes, mbit, rtt_ms);
        }
    }
    let fast = Scenario::download(1_200_000, 50.0, 20.0);
    let outcome = download(Redundancy::EARLY, &fast);
    assert!(counted(&outcome, "copies") > 0, "once it is known");
}

#[test]
fn on_a_path_that_loses_three_of_a_hundred_they_save_a_tenth_at_least() {
    let ratios = (1..=8).map(|seed| {
        let mut scenario = Scenario::download(1_200_000, 50.0, 100.0);
        scenario.seed = seed;
        scenario.down.loss = Loss::Bernoulli { ratio: 0.03 };
        let [without, with] =
            [Redundancy::OFF, Redundancy::EARLY].map(|policy| download(policy, &scenario));
        with.seconds / without.seconds
    });
    let mean = ratios.map(f64::ln).sum::<f64>() / 8.0;
    assert!(mean.exp() <= 0.9, "{:.3}", mean.exp());
}

/// Six downloads of a browser, over a path that each of them takes for its own. `redundancy`: seconds, the mean of them.
fn six_at_once(redundancy: Redundancy, seed: u64) -> f64 {
    let mut scenario = Scenario::download(500_000, 40.0, 60.0);
    scenario.seed = seed;
    scenario.connections = vec![scenario.connections[0].clone(); 6];
    let outcome = download(redundancy, &scenario);
    let seconds = outcome.connections.iter().map(|one| one.seconds);
    seconds.sum::<f64>() / 6.0
}

/// Together they overflow the queue, and what is copied then takes the place of the others' data.
#[test]
fn six_flows_that_begin_at_once_are_not_slower_for_them() {
    let mean = |policy: Redundancy| {
        let seconds = (1..=20).map(|seed| six_at_once(policy, seed));
        seconds.sum::<f64>() / 20.0
    };
    let (without, with) = (mean(Redundancy::OFF), mean(Redundancy::EARLY));
    println!("{without:.3} s without copies, {with:.3} s with them");
    assert!(with <= 1.08 * without);
}

/// A loss costs a round trip only where nobody could know of it sooner. `most`: times the time without loss, means of ten seeds.
fn costs_at_most(most: f64, loss: f64, mbit: f64, rtt_ms: f64, bytes: u64) {
    let mut scenario = Scenario::download(bytes, mbit, rtt_ms);
    let clean = download(Redundancy::EARLY, &scenario);
    scenario.down.loss = Loss::Bernoulli { ratio: loss };
    let lossy = (1..=10).map(|seed| {
        scenario.seed = seed;
        download(Redundancy::EARLY, &scenario).seconds
    });
    let ratio = lossy.sum::<f64>() / 10.0 / clean.seconds;
    assert!(
        ratio <= most,
        "{bytes} bytes over {mbit} Mbit/s and {rtt_ms} ms, {loss} lost: {ratio:.3}"
    );
}

/// The end of a message is copied, newest first; a sender whose window is small is not kept waiting for holes; and many repairs at once
/// have copies. Without these: 1.177, 1.271 and 1.064.
#[test]
fn a_lossy_path_is_hardly_slower_than_a_clean_one() {
    costs_at_most(1.15, 0.01, 50.0, 300.0, 10_000_000);
    costs_at_most(1.23, 0.03, 50.0, 300.0, 10_000_000);
    costs_at_most(1.05, 0.01, 50.0, 200.0, 1_200_000);
    // With copies of the first 1,800 segments only: 1.177.
    costs_at_most(1.14, 0.01, 200.0, 200.0, 10_000_000);
}
