//! What both versions are tried for.

use windlass_cc::{AlgorithmId, Nanos, Phase, SECOND};

use crate::LINK;
use crate::link::{Flow, Link, MSS, Snapshot, run_until, utilisation};

pub fn in_probe_bw(phase: Phase) -> bool {
    matches!(
        phase,
        Phase::ProbeBw
            | Phase::ProbeBwDown
            | Phase::ProbeBwCruise
            | Phase::ProbeBwRefill
            | Phase::ProbeBwUp
    )
}

/// The bandwidth found is within a part of the link's when Startup ends. It shows in the pacing rate of
/// Drain, which has this gain, less the margin of 1 %.
pub fn startup_finds_the_bandwidth(id: AlgorithmId, drain_gain: f64, within: f64) {
    let mut flow = Flow::new(id, LINK, 1);
    let drain = run_until(&mut flow, Phase::Drain, 5 * SECOND).expect("Drain is reached");
    let bw = drain.control.pacing_rate.unwrap() as f64 / drain_gain / 0.99;
    let error = (bw - LINK.rate as f64).abs() / LINK.rate as f64;
    assert!(error < within, "{bw} B/s");
    assert!(drain.now < SECOND + 20 * LINK.rtt, "{}", drain.now);
}

/// What is in flight when Drain has ended. The slack is the room for bursts: three quanta of what
/// the rate sends in 1 ms.
pub fn drain_ends_with_a_bdp_in_flight(id: AlgorithmId) {
    let mut flow = Flow::new(id, LINK, 2);
    run_until(&mut flow, Phase::Drain, 5 * SECOND).expect("Drain is reached");
    let mut first: Option<Snapshot> = None;
    flow.run(SECOND, |_, s| {
        if in_probe_bw(s.control.phase) {
            first.get_or_insert(s);
        }
    });
    let inflight = first.expect("ProbeBW is reached").inflight;
    let slack = 3 * LINK.rate / 1000 + 2 * MSS;
    assert!(inflight <= flow.bdp() * 102 / 100 + slack, "{inflight}");
}

pub fn probe_bw_holds_the_link_without_loss(id: AlgorithmId) {
    let mut flow = Flow::new(id, LINK, 3);
    flow.run(2 * SECOND, |_, _| {});
    let share = utilisation(&mut flow, 30 * SECOND, |_| {});
    assert!(share >= 950, "{share}");
}

pub fn share_at_random_loss(id: AlgorithmId, loss_per_million: u64) -> u64 {
    let link = Link {
        loss_per_million,
        ..LINK
    };
    let mut flow = Flow::new(id, link, 4);
    flow.run(3 * SECOND, |_, _| {});
    utilisation(&mut flow, 60 * SECOND, |_| {})
}

/// Also where the path holds less than a packet.
pub fn the_window_never_falls_below_four_segments(id: AlgorithmId) {
    for (rate, loss_per_million) in [(LINK.rate, 150_000), (20_000, 0), (20_000, 50_000)] {
        let link = Link {
            rate,
            loss_per_million,
            queue: 30_000,
            ..LINK
        };
        let mut flow = Flow::new(id, link, 5);
        let mut least = u64::MAX;
        flow.run(30 * SECOND, |_, s| least = least.min(s.control.cwnd));
        assert!(least >= 4 * MSS, "at {rate} B/s: {least}");
    }
}

/// Times at which ProbeRTT began, and the smallest window in it.
pub fn probe_rtts(id: AlgorithmId, span: Nanos) -> (Vec<Nanos>, u64, u64) {
    let mut flow = Flow::new(id, LINK, 6);
    let (mut starts, mut least, mut inside) = (Vec::new(), u64::MAX, false);
    flow.run(span, |_, s| {
        let probing = s.control.phase == Phase::ProbeRtt;
        if probing && !inside {
            starts.push(s.now);
        }
        if probing {
            least = least.min(s.control.cwnd);
        }
        inside = probing;
    });
    (starts, least, flow.bdp())
}

/// With a queue of a tenth of a BDP: packets lost of those delivered, and the share of the link.
pub fn loss_in_a_shallow_queue(id: AlgorithmId) -> f64 {
    let shallow = Link {
        queue: 25_000,
        ..LINK
    };
    let mut flow = Flow::new(id, shallow, 7);
    flow.run(5 * SECOND, |_, _| {});
    let (drops, before) = (flow.drops, flow.path.delivered);
    let share = utilisation(&mut flow, 30 * SECOND, |_| {});
    assert!(share >= 800, "{share}");
    (flow.drops - drops) as f64 / ((flow.path.delivered - before) / MSS) as f64
}

pub fn startup_goes_on_while_the_source_is_the_limit(id: AlgorithmId) {
    let link = Link {
        supply: LINK.rate / 10,
        ..LINK
    };
    let mut flow = Flow::new(id, link, 8);
    let mut left = None;
    flow.run(4 * SECOND, |_, s| {
        if s.control.phase != Phase::Startup {
            left.get_or_insert(s.now);
        }
    });
    assert_eq!(left, None);
    flow.link.supply = 0;
    run_until(&mut flow, Phase::Drain, 3 * SECOND).expect("Drain is reached");
    let share = utilisation(&mut flow, 5 * SECOND, |_| {});
    assert!(share >= 900, "{share}");
}

/// Ten times as much, and back.
pub fn the_model_follows_the_link_up_and_down(id: AlgorithmId) {
    let mut flow = Flow::new(id, LINK, 9);
    flow.run(5 * SECOND, |_, _| {});
    flow.link.rate = LINK.rate * 10;
    flow.run(30 * SECOND, |_, _| {});
    let up = utilisation(&mut flow, 5 * SECOND, |_| {});
    assert!(up >= 900, "up: {up}");
    flow.link.rate = LINK.rate;
    flow.run(20 * SECOND, |_, _| {});
    let mut worst = 0;
    let down = utilisation(&mut flow, 3 * SECOND, |s| worst = worst.max(s.rtt));
    assert!(down >= 950, "down: {down}");
    assert!(worst < 4 * LINK.rtt, "down: RTT {worst}");
}

/// A policer of 10 Mbit/s with a small bucket, seen as a link without a queue worth the name: the share
/// of it, in thousandths, and packets lost of those delivered.
pub fn behind_a_policer(id: AlgorithmId) -> (u64, f64) {
    let policed = Link {
        rate: 1_250_000,
        queue: 4 * MSS,
        ..LINK
    };
    let mut flow = Flow::new(id, policed, 12);
    flow.run(5 * SECOND, |_, _| {});
    let (drops, before) = (flow.drops, flow.path.delivered);
    let share = utilisation(&mut flow, 20 * SECOND, |_| {});
    let delivered = (flow.path.delivered - before) / MSS;
    (share, (flow.drops - drops) as f64 / delivered as f64)
}

pub fn the_same_seed_gives_the_same_run(id: AlgorithmId) {
    let trace = |seed| {
        let mut flow = Flow::new(id, LINK, seed);
        let mut trace = Vec::new();
        flow.run(8 * SECOND, |_, s| trace.push((s.now, s.control)));
        trace
    };
    assert_eq!(trace(10), trace(10));
    assert_ne!(trace(10), trace(11));
}
