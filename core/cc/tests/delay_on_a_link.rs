//! Algorithms that look for a queue by the RTT, on a simulated bottleneck.

mod link;

use link::{Flow, Link, utilisation};
use windlass_cc::{AlgorithmId, MILLISECOND, SECOND};

/// 50 Mbit/s, 40 ms and a queue of one BDP.
const LINK: Link = Link {
    rate: 6_250_000,
    rtt: 40 * MILLISECOND,
    queue: 250_000,
    loss_per_million: 0,
    supply: 0,
};

/// Vegas alone fills the link, loses nothing after slow start, and keeps two to four segments waiting (Brakmo and
/// Peterson: between alpha and beta).
#[test]
fn vegas_keeps_a_few_segments_in_the_queue() {
    let mut flow = Flow::new(AlgorithmId::Vegas, LINK, 1);
    flow.run(20 * SECOND, |_, _| {});
    // Slow start outruns the measurement of a round by one doubling.
    let drops = flow.drops;
    let (mut least, mut most) = (u64::MAX, 0);
    let share = utilisation(&mut flow, 20 * SECOND, |s| {
        let queue = (s.rtt - LINK.rtt) * LINK.rate / SECOND / link::MSS;
        (least, most) = (least.min(queue), most.max(queue));
    });
    assert!(share >= 980, "{share}");
    assert_eq!(flow.drops, drops);
    assert!(least >= 1 && most <= 6, "{least} to {most} segments");
}

/// Fu and Liew: random loss costs Veno a fifth of the window where it costs Reno half, so that the
/// mean window is sqrt((1 + 0.8) / (2 * 0.2 * p)) against sqrt(1.5 / p) segments, 1.73 times as
/// large. At 0.2 % that is 47 segments of the 172 that the path holds: no queue, no limit.
#[test]
fn veno_bears_random_loss_better_than_reno() {
    let share = |id| {
        let lossy = Link {
            loss_per_million: 2_000,
            ..LINK
        };
        let mut flow = Flow::new(id, lossy, 1);
        flow.run(10 * SECOND, |_, _| {});
        utilisation(&mut flow, 200 * SECOND, |_| {})
    };
    let (reno, veno) = (share(AlgorithmId::Reno), share(AlgorithmId::Veno));
    let gain = veno as f64 / reno as f64;
    assert!((1.5..1.95).contains(&gain), "{veno} and {reno}");
}

/// Shorten and Leith: with a queue of half a BDP the RTT falls from 60 ms to 40 ms when it drains,
/// so that a loss leaves two thirds of the window, which is the BDP: the link never runs dry.
#[test]
fn htcp_backs_off_to_what_empties_the_queue() {
    let link = Link {
        queue: 125_000,
        ..LINK
    };
    let mut flow = Flow::new(AlgorithmId::Htcp, link, 1);
    flow.run(60 * SECOND, |_, _| {});
    let drops = flow.drops;
    let (mut least, mut most) = (u64::MAX, 0);
    let share = utilisation(&mut flow, 60 * SECOND, |s| {
        let cwnd = s.control.ssthresh.min(s.control.cwnd);
        (least, most) = (least.min(cwnd), most.max(s.control.cwnd));
    });
    assert!(share >= 980, "{share}");
    assert!(flow.drops > drops);
    let left = least as f64 / flow.bdp() as f64;
    assert!((0.95..1.1).contains(&left), "{left} of the BDP");
}

/// Baiocchi et al.: alone, at 200 Mbit/s, the queue is taken out of the window at 80 segments, before
/// the 690 that the link holds are full. (Where 80 segments take more than an eighth of the base RTT,
/// as at 50 Mbit/s, slow mode lasts, and with it rises the floor under the window, `reno_count`.)
#[test]
fn yeah_drains_the_queue_before_it_overflows() {
    let link = Link {
        rate: 25_000_000,
        queue: 1_000_000,
        ..LINK
    };
    let mut flow = Flow::new(AlgorithmId::Yeah, link, 1);
    flow.run(10 * SECOND, |_, _| {});
    let drops = flow.drops;
    let mut most = 0;
    let share = utilisation(&mut flow, 20 * SECOND, |s| {
        most = most.max((s.rtt - link.rtt) * link.rate / SECOND / link::MSS);
    });
    assert!(share >= 980, "{share}");
    assert_eq!(flow.drops, drops);
    assert!((75..100).contains(&most), "{most} segments");
}

/// Tan et al. 2006: at a loss rate of 1e-4 on a long path (863 segments at 100 Mbit/s and 100 ms)
/// Reno has a mean window of 122 segments and Compound TCP one of 405 (`tests/response.rs`).
#[test]
fn compound_bears_rare_loss_better_than_reno() {
    let link = Link {
        rate: 12_500_000,
        rtt: 100 * MILLISECOND,
        queue: 1_250_000,
        loss_per_million: 100,
        supply: 0,
    };
    let share = |id| {
        let mut flow = Flow::new(id, link, 1);
        flow.run(20 * SECOND, |_, _| {});
        utilisation(&mut flow, 600 * SECOND, |_| {})
    };
    let (reno, compound) = (share(AlgorithmId::Reno), share(AlgorithmId::Compound));
    let gain = compound as f64 / reno as f64;
    assert!((2.7..4.0).contains(&gain), "{compound}, Reno {reno}");
}

/// The same on a path that stops losing: the delay window fills it and gives way when the smallest RTT
/// of a round shows more than gamma (at most 30) segments waiting. That takes up to three round trips
/// of 33 segments of growth each; the queue could hold 1700.
#[test]
fn compound_fills_a_long_path_and_keeps_its_queue_short() {
    let link = Link {
        rate: 25_000_000,
        rtt: 100 * MILLISECOND,
        queue: 2_500_000,
        loss_per_million: 500,
        supply: 0,
    };
    let mut flow = Flow::new(AlgorithmId::Compound, link, 1);
    flow.run(60 * SECOND, |_, _| {});
    flow.link.loss_per_million = 0;
    flow.run(15 * SECOND, |_, _| {});
    let mut most = 0;
    let share = utilisation(&mut flow, 20 * SECOND, |s| {
        most = most.max((s.rtt - link.rtt) * link.rate / SECOND / link::MSS);
    });
    assert!(share >= 980, "{share}");
    assert!((5..=130).contains(&most), "{most} segments");
}
