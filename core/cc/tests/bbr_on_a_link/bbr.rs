//! BBR v1. Vectors are what google/quiche (f44fa9f) asserts in
//! `quiche/quic/core/congestion_control/bbr_sender_test.cc` on its link of 4 Mbit/s, and those of the
//! draft's scenarios that v1 shares with v3.

use windlass_cc::{AlgorithmId, MILLISECOND, Phase, SECOND};

use crate::link::{Flow, Link, MSS, run_until, utilisation};
use crate::scenarios;

const ID: AlgorithmId = AlgorithmId::Bbr;

/// 4 Mbit/s and 30 ms one way behind 10 Mbit/s and 2 ms, with a queue of two BDP.
const QUICHE: Link = Link {
    rate: 500_000,
    rtt: 64 * MILLISECOND,
    queue: 64_000,
    loss_per_million: 0,
    supply: 0,
};

/// SimpleTransfer: 12 MB within 30 s, in ProbeBW at the end, nothing lost, and a smoothed RTT within 20 %
/// of the path's. Its Startup has a window of two products, Linux' of 2.885: the queue is longer here.
#[test]
fn vectors_quiche_simple_transfer() {
    let link = Link {
        queue: 96_000,
        ..QUICHE
    };
    let mut flow = Flow::new(ID, link, 1);
    let (mut last, mut sum, mut acks) = (None, 0, 0);
    flow.run(30 * SECOND, |flow, s| {
        if flow.path.delivered <= 12 << 20 {
            last = Some(s.control.phase);
            sum += s.rtt;
            acks += 1;
        }
    });
    assert!(flow.path.delivered >= 12 << 20);
    assert_eq!((last, flow.drops), (Some(Phase::ProbeBw), 0));
    // The mean over the transfer; at one moment it may have just left the phase of gain 1.25. Linux
    // leaves room for three bursts in each host, of two segments at this rate, and rounds up to two.
    let packet = MSS * SECOND / QUICHE.rate;
    let mean = sum / acks;
    let most = (QUICHE.rtt + packet) * 120 / 100 + (3 * 2 + 2) * packet;
    assert!(mean <= most, "{mean}");
}

/// SimpleTransferSmallBuffer: with half a BDP of queue the bandwidth found is within 1 % of the link's.
#[test]
fn vectors_quiche_small_buffer() {
    let link = Link {
        queue: 16_000,
        ..QUICHE
    };
    let mut flow = Flow::new(ID, link, 1);
    flow.run(25 * SECOND, |_, _| {});
    // In a phase of gain 1 the pacing rate is 99 % of the bandwidth.
    let mut rates = Vec::new();
    flow.run(2 * SECOND, |_, s| {
        if s.control.phase == Phase::ProbeBw {
            rates.extend(s.control.pacing_rate);
        }
    });
    rates.sort_unstable();
    let bandwidth = rates[rates.len() / 2] as f64 / 0.99;
    let error = (bandwidth - link.rate as f64).abs() / link.rate as f64;
    assert!(error < 0.01, "{bandwidth}");
}

/// PacketLossOnSmallBufferStartup: no more than 31 % of what Startup sends is lost.
#[test]
fn vectors_quiche_loss_of_startup() {
    let link = Link {
        queue: 16_000,
        ..QUICHE
    };
    let mut flow = Flow::new(ID, link, 1);
    run_until(&mut flow, Phase::ProbeBw, 10 * SECOND).expect("ProbeBW is reached");
    let sent = flow.drops + (flow.path.delivered + flow.path.inflight) / MSS;
    let lost = flow.drops as f64 / sent as f64;
    assert!(lost > 0.0 && lost <= 0.31, "{lost}");
}

/// Drain: it paces at the bandwidth over 2.885, within 1 %; Startup has left 0.8 BDP in the queue or
/// more, and Drain no more than one.
#[test]
fn vectors_quiche_drain() {
    let mut flow = Flow::new(ID, QUICHE, 1);
    let drain = run_until(&mut flow, Phase::Drain, 10 * SECOND).expect("Drain is reached");
    let rate = drain.control.pacing_rate.expect("it paces") as f64;
    let expected = QUICHE.rate as f64 * 0.99 / 2.885;
    assert!((rate / expected - 1.0).abs() < 0.01, "{rate}");
    let bdp = flow.bdp();
    assert!(drain.inflight >= bdp * 18 / 10, "{}", drain.inflight);
    let left = run_until(&mut flow, Phase::ProbeBw, 10 * SECOND).expect("ProbeBW is reached");
    assert!(left.inflight <= 2 * bdp, "{}", left.inflight);
}

#[test]
fn vectors_startup_finds_the_bandwidth_within_2_percent() {
    scenarios::startup_finds_the_bandwidth(ID, 0.347, 0.02);
}

#[test]
fn vectors_drain_ends_with_a_bdp_in_flight() {
    scenarios::drain_ends_with_a_bdp_in_flight(ID);
}

#[test]
fn probe_bw_holds_the_link_without_loss() {
    scenarios::probe_bw_holds_the_link_without_loss(ID);
}

/// Random loss is not congestion to v1.
#[test]
fn it_holds_the_link_under_random_loss() {
    for (loss_per_million, least) in [(10_000, 950), (50_000, 880)] {
        let share = scenarios::share_at_random_loss(ID, loss_per_million);
        assert!(share >= least, "{loss_per_million}: {share}");
    }
}

#[test]
fn vectors_the_window_never_falls_below_four_segments() {
    scenarios::the_window_never_falls_below_four_segments(ID);
}

/// Linux `bbr_min_rtt_win_sec`, `bbr_cwnd_min_target`.
#[test]
fn vectors_it_probes_the_rtt_every_ten_seconds_with_four_segments() {
    let (starts, least, _) = scenarios::probe_rtts(ID, 45 * SECOND);
    assert!((3..=4).contains(&starts.len()), "{starts:?}");
    for pair in starts.windows(2) {
        let gap = pair[1] - pair[0];
        assert!((10 * SECOND..11 * SECOND).contains(&gap), "{gap}");
    }
    assert_eq!(least, 4 * MSS);
}

#[test]
fn vectors_startup_goes_on_while_the_source_is_the_limit() {
    scenarios::startup_goes_on_while_the_source_is_the_limit(ID);
}

#[test]
fn vectors_the_model_follows_the_link_up_and_down() {
    scenarios::the_model_follows_the_link_up_and_down(ID);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    scenarios::the_same_seed_gives_the_same_run(ID);
}

/// Its estimator of policers keeps the loss in bounds.
#[test]
fn it_settles_below_a_policer() {
    let (share, lost) = scenarios::behind_a_policer(ID);
    assert!(share >= 850, "{share}");
    assert!(lost < 0.1, "{lost}");
}

/// ApplicationLimitedBursts: twenty bursts of half a kilobyte, three seconds apart, leave the bandwidth
/// that was found before, within 1 %.
#[test]
fn vectors_quiche_a_thin_source_does_not_lower_the_bandwidth() {
    let mut flow = Flow::new(ID, QUICHE, 1);
    run_until(&mut flow, Phase::ProbeBw, 10 * SECOND).expect("ProbeBW is reached");
    flow.link.supply = QUICHE.rate / 50;
    flow.run(60 * SECOND, |_, _| {});
    flow.link.supply = 0;
    let share = utilisation(&mut flow, 2 * SECOND, |_| {});
    assert!(share >= 950, "{share}");
}
