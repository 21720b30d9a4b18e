//! Flows that are moved from algorithm to algorithm while they run.

use windlass_engine::{AlgorithmId, FlowInfo, Limits, Nanos, Redundancy, Verdict};
use windlass_sim::link::Loss;
use windlass_sim::{EngineBox, Middlebox, Scenario, World};

const MS: Nanos = 1_000_000;
/// An algorithm is in charge for so long.
const TERM: Nanos = 250 * MS;

fn verdict(id: AlgorithmId) -> Verdict {
    Verdict {
        redundancy: Redundancy::REPAIRS,
        ..Verdict::enforce(id)
    }
}

fn flow(middle: &EngineBox) -> FlowInfo {
    let flows = middle.flow_infos();
    *flows.first().expect("the flow is governed")
}

/// Moves a transfer over every ordered pair of algorithms (in rounds of different strides), and
/// answers with the seconds that it took.
fn transfer(loss: f64, seed: u64) -> f64 {
    let mut scenario = Scenario::download(60_000_000, 50.0, 40.0);
    scenario.seed = seed;
    scenario.down.loss = Loss::Bernoulli { ratio: loss };
    let all = AlgorithmId::ALL;
    let mut middle = EngineBox::new(Box::new(verdict(all[0])), Limits::default(), seed);
    let mut world = World::new(&scenario);
    let (mut term, mut at, mut moves) = (1, 0, 0);
    world.run_until(2 * TERM, &mut middle);
    while !world.finished() && term < 200 {
        // Strides without a common divisor with the number of algorithms visit all of them.
        at = (at + 1 + term / all.len() * 2) % all.len();
        let before = flow(&middle);
        middle.set_policy(Box::new(verdict(all[at])), (1 + term as Nanos) * TERM);
        let after = flow(&middle);
        assert_eq!(after.algorithm, all[at]);
        let most = 2 * before
            .figures
            .cwnd_bytes
            .max(before.figures.inflight_bytes)
            .max(10 * 1448);
        assert!(
            after.figures.cwnd_bytes <= most,
            "{} to {}: {} after {}, {} in flight",
            before.algorithm,
            after.algorithm,
            after.figures.cwnd_bytes,
            before.figures.cwnd_bytes,
            before.figures.inflight_bytes
        );
        let phase = format!("{:?}", after.phase);
        // BBR may look for more where loss, and no queue, has bounded the one before.
        let model = matches!(after.algorithm, AlgorithmId::Bbr | AlgorithmId::Bbr3);
        let looks = model
            && before.figures.lost_segments > 0
            && before.figures.srtt_us <= before.figures.min_rtt_us / 10 * 11;
        assert!(
            looks || !phase.contains("Start"),
            "{}: {phase}",
            after.algorithm
        );
        moves += u64::from(before.algorithm != after.algorithm);
        term += 1;
        world.run_until((1 + term as Nanos) * TERM, &mut middle);
    }
    world.run_until(600_000 * MS, &mut middle);
    let outcome = world.outcome(&middle);
    outcome.assert_intact(&scenario);
    assert_eq!(outcome.counter("flows_switched"), moves);
    assert_eq!(outcome.server().rto, 0);
    outcome.seconds
}

/// Nothing is lost, no time-out happens, and no window jumps; without loss the link stays busy.
#[test]
fn a_flow_moves_between_all_algorithms() {
    let alone = 60_000_000.0 * 8.0 * 1500.0 / 1448.0 / 50e6;
    let clean = transfer(0.0, 1);
    assert!(clean < 1.25 * alone, "{clean} s, at the least {alone} s");
    for seed in [2, 3] {
        transfer(0.005, seed);
    }
}
