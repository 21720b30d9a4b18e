//! Reno and CUBIC on a simulated bottleneck, recovery by PRR included.

mod link;

use link::{Flow, Link, run_until, utilisation};
use windlass_cc::{AlgorithmId, MILLISECOND, Phase, SECOND};

const LINK: Link = Link {
    // 50 Mbit/s, 40 ms and a queue of one BDP.
    rate: 6_250_000,
    rtt: 40 * MILLISECOND,
    queue: 250_000,
    loss_per_million: 0,
    supply: 0,
};

/// With a queue of a BDP neither halving (Reno) nor a decrease to 0.7 (CUBIC) empties the pipe.
#[test]
fn a_queue_of_one_bdp_keeps_the_link_busy() {
    for id in [AlgorithmId::Reno, AlgorithmId::Cubic] {
        let mut flow = Flow::new(id, LINK, 1);
        flow.run(3 * SECOND, |_, _| {});
        let drops = flow.drops;
        let mut least = u64::MAX;
        let share = utilisation(&mut flow, 60 * SECOND, |s| {
            least = least.min(s.control.cwnd)
        });
        assert!(share >= 950, "{id}: {share}");
        assert!(flow.drops > drops, "{id} never fills the queue");
        assert!(least >= flow.bdp() / 2, "{id}: {least}");
    }
}

/// RFC 9406: slow start ends by the rise of the RTT, before anything is lost.
#[test]
fn hystart_ends_slow_start_without_loss() {
    let deep = Link {
        queue: 4_000_000,
        ..LINK
    };
    let mut flow = Flow::new(AlgorithmId::Cubic, deep, 1);
    let css = run_until(&mut flow, Phase::ConservativeSlowStart, 5 * SECOND);
    assert!(
        css.is_some_and(|s| s.control.cwnd < 4 * flow.bdp()),
        "{css:?}"
    );
    run_until(&mut flow, Phase::Avoidance, 5 * SECOND).expect("slow start ends");
    assert_eq!(flow.drops, 0);
}

/// A source at a tenth of the link never makes the window grow far beyond what it uses.
#[test]
fn a_short_source_does_not_inflate_the_window() {
    let link = Link {
        supply: LINK.rate / 10,
        ..LINK
    };
    for id in [AlgorithmId::Reno, AlgorithmId::Cubic] {
        let mut flow = Flow::new(id, link, 1);
        flow.run(20 * SECOND, |_, _| {});
        let used = link.supply * 40 / 1000;
        let cwnd = flow.controller.control().cwnd;
        // Slow start doubles once more after the source has fallen behind.
        assert!(cwnd <= 4 * used, "{id}: {cwnd} for {used}");
    }
}
