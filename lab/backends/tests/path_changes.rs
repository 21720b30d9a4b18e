//! Flows whose path changes while they run, under the shipped policies: the algorithm follows, within
//! the dwell, and the transfer does not stand still for it.

use windlass_cc::{AlgorithmId, Catalog, MILLISECOND, Nanos, SECOND};
use windlass_engine::FlowInfo;
use windlass_experiment::Observed;
use windlass_experiment::setup::{
    Bottleneck, Change, Direction, FlowGroup, Loss, PathBox, Record, Setup,
};
use windlass_lab::backend::sim;
use windlass_policy::Config;
use windlass_sim::EngineBox;

const ALGORITHM_1: &str = include_str!("../../../policies/algorithm-1.toml");
const DWELL: Nanos = 2 * SECOND;
/// When the path changes.
const CHANGE: Nanos = 5 * SECOND;
const SAMPLE: Nanos = 10 * MILLISECOND;

/// 50 Mbit/s each way, that loses `loss` of what goes to the client.
fn link((rtt_ms, loss): (u64, f64), queue_bytes: u64) -> (Direction, Direction) {
    let up = Direction {
        rate_bits_per_s: 50_000_000,
        delay_ns: rtt_ms * MILLISECOND / 2,
        queue_bytes,
        ..Direction::default()
    };
    let down = Direction {
        loss: Loss::Independent { ratio: loss },
        ..up
    };
    (down, up)
}

/// A download that takes more than ten seconds, over a path that becomes `after`. The queue is one
/// bandwidth-delay product of `before`.
fn setup(before: (u64, f64), after: (u64, f64)) -> Setup {
    let queue_bytes = before.0 * 50_000_000 / 8 / 1000;
    let (down, up) = link(before, queue_bytes);
    let (down_after, up_after) = link(after, queue_bytes);
    let bottleneck = Bottleneck {
        down,
        up,
        repeat_ns: 0,
        changes: vec![Change {
            at_ns: CHANGE,
            down: down_after,
            up: up_after,
        }],
    };
    let download = FlowGroup {
        name: "download".to_owned(),
        count: 1,
        bytes: 70_000_000,
        ..FlowGroup::default()
    };
    Setup {
        seed: 1,
        limit_ns: 120 * SECOND,
        path_box: PathBox::Windlass {
            policy: ALGORITHM_1.to_owned(),
        },
        record: Record {
            series_interval_ns: SAMPLE,
            usage_interval_ns: 0,
        },
        ..Setup::line(bottleneck, vec![download])
    }
}

fn run(setup: &Setup, policy: &str) -> (Observed, Vec<(Nanos, FlowInfo)>) {
    let config = Config::parse(policy, "policy", &Catalog::new()).unwrap_or_else(|e| panic!("{e}"));
    let engine = EngineBox::new(Box::new(config.policy()), config.limits, setup.seed);
    let mut engine = engine.sample_every(SAMPLE);
    let observed = sim::run(setup, &Catalog::new(), &mut engine, None);
    assert_eq!(observed.error, None);
    assert!(observed.flows[0].intact);
    (observed, engine.samples().to_vec())
}

/// The algorithms one after the other, with the time at which each was first seen.
fn terms(samples: &[(Nanos, FlowInfo)]) -> Vec<(Nanos, AlgorithmId)> {
    let mut terms: Vec<(Nanos, AlgorithmId)> = Vec::new();
    for (at, info) in samples {
        if terms.last().is_none_or(|(_, last)| *last != info.algorithm) {
            terms.push((*at, info.algorithm));
        }
    }
    terms
}

/// Longest time in which the box sends nothing, from half a second before to half a second after each
/// change of algorithm after `from`, s. (What the client gets in order also stands still when a packet
/// is lost, whatever the algorithm.)
fn longest_stall(
    samples: &[(Nanos, FlowInfo)],
    terms: &[(Nanos, AlgorithmId)],
    from: Nanos,
) -> f64 {
    let sent = |info: &FlowInfo| {
        info.figures.bytes_seen - info.figures.queued_bytes + info.figures.repaired_bytes
    };
    let changes = terms.iter().filter(|(at, _)| *at > from);
    let mut longest = 0;
    for (change, _) in changes {
        let near = samples
            .iter()
            .filter(|(at, _)| at.abs_diff(*change) < SECOND / 2);
        let mut last: Option<(Nanos, u64)> = None;
        for (at, info) in near {
            match last {
                Some((since, before)) if before == sent(info) => longest = longest.max(at - since),
                _ => last = Some((*at, sent(info))),
            }
        }
    }
    longest as f64 / 1e9
}

#[test]
fn loss_that_begins_and_a_path_that_grows_bring_another_algorithm_within_the_dwell() {
    for (before, after, first, second) in [
        (
            (20, 0.0),
            (20, 0.02),
            AlgorithmId::Hybla,
            AlgorithmId::Illinois,
        ),
        ((80, 0.0), (80, 0.02), AlgorithmId::Hybla, AlgorithmId::Bbr),
        (
            (20, 0.01),
            (200, 0.01),
            AlgorithmId::Illinois,
            AlgorithmId::Bbr,
        ),
    ] {
        let (_, samples) = run(&setup(before, after), ALGORITHM_1);
        let terms = terms(&samples);
        let at_change = terms.iter().rfind(|(at, _)| *at <= CHANGE).unwrap();
        assert_eq!(at_change.1, first, "{before:?}: {terms:?}");
        let rtt = after.0 * MILLISECOND;
        let changed = terms.iter().find(|(at, id)| *at > CHANGE && *id == second);
        let (at, _) = changed.unwrap_or_else(|| panic!("{after:?}: {terms:?}"));
        let took = at - CHANGE;
        assert!(
            took <= DWELL + 2 * rtt,
            "{after:?}: {} ms, {terms:?}",
            took / MILLISECOND
        );
        let stall = longest_stall(&samples, &terms, CHANGE);
        let near = samples
            .iter()
            .filter(|(t, _)| t.abs_diff(*at) <= SECOND / 2);
        let srtt_us = near
            .map(|(_, info)| info.figures.srtt_us)
            .max()
            .unwrap_or(0);
        let bound = (srtt_us * 1000 + 2 * SAMPLE) as f64 / 1e9;
        eprintln!(
            "{after:?}: after {} ms, stall {stall:.3} s",
            took / MILLISECOND
        );
        assert!(
            stall <= bound,
            "{after:?}: {stall} s, RTT {srtt_us} us, {terms:?}"
        );
    }
}

/// The paper's rule, asked at every ACK and followed at once, changes its mind with every lost
/// packet; the dwell makes it one change in two seconds at most.
#[test]
fn without_a_dwell_the_rule_flaps() {
    let setup = setup((80, 0.002), (80, 0.002));
    let as_published = ALGORITHM_1
        .replace("dwell_ms = 2000", "dwell_ms = 0")
        .replace("hysteresis = 0.1", "hysteresis = 0");
    assert_ne!(as_published, ALGORITHM_1);
    let changes = |policy: &str| {
        let (observed, _) = run(&setup, policy);
        let seconds = observed.flows[0].seconds;
        (
            observed.counters["flows_switched"] as f64 / seconds,
            seconds,
        )
    };
    let (flapping, with_flaps) = changes(&as_published);
    let (calm, with_dwell) = changes(ALGORITHM_1);
    eprintln!("{flapping:.1} changes a second, {with_flaps:.1} s; {calm:.2}, {with_dwell:.1} s");
    assert!(flapping > 2.0, "{flapping}");
    assert!(calm <= 0.5, "{calm}");
}
