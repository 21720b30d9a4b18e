use super::*;
use crate::{RateSample, SECOND};

const MSS: u64 = 1000;
const RTT: Nanos = 50 * MILLISECOND;

/// One ACK per round trip that delivers at `rate`.
fn round(bbr: &mut Bbr, path: &mut Path, now: Nanos, rate: ByteRate, app_limited: bool) {
    let delivered = mul_div(rate, RTT, SECOND).max(MSS);
    let prior_delivered = path.delivered;
    path.delivered += delivered;
    path.on_rtt(RTT);
    let event = AckEvent {
        now,
        acked: delivered,
        delivered,
        inflight_before: delivered,
        inflight: delivered,
        rtt: Some(RTT),
        rate: Some(RateSample {
            delivered,
            interval: RTT,
            rate,
            prior_delivered,
            tx_in_flight: delivered,
            lost: 0,
            app_limited,
        }),
        ..AckEvent::default()
    };
    bbr.on_ack(&event, path);
}

fn started() -> (Bbr, Path) {
    let path = Path::new(MSS as u32);
    (
        Bbr::new(&crate::Beginning::new(&path, 1), &BbrParameters::default()),
        path,
    )
}

/// Linux `bbr_init_pacing_rate_from_rtt`: high_gain * cwnd / 1 ms, then / srtt; google/quiche (f44fa9f)
/// `bbr_sender_test.cc`, SimpleTransfer: 2.885 windows a round trip.
#[test]
fn vectors_initial_pacing_rate() {
    let (mut bbr, mut path) = started();
    assert_eq!(bbr.control().pacing_rate, Some(10_000 * 1000 * 2885 / 1000));
    path.on_rtt(RTT);
    bbr.set_pacing_rate(2885, &path);
    assert_eq!(bbr.control().pacing_rate, Some(200_000 * 2885 / 1000));
}

/// Linux `bbr_check_full_bw_reached`: three rounds without growth by a quarter.
#[test]
fn the_pipe_is_full_after_three_flat_rounds() {
    let (mut bbr, mut path) = started();
    let mut now = 0;
    for rate in [1_000_000, 1_250_000, 1_562_500, 1_600_000, 1_600_000] {
        now += RTT;
        round(&mut bbr, &mut path, now, rate, false);
        assert!(!bbr.full.reached, "{rate}");
    }
    round(&mut bbr, &mut path, now + RTT, 1_600_000, false);
    assert!(bbr.full.reached);
}

/// A round of start-up in which `lost` bytes of a flight of two BDPs were lost, and the round trip was `rtt`.
fn overflowing_round(bbr: &mut Bbr, path: &mut Path, now: Nanos, lost: u64, rtt: Nanos) {
    let (rate, prior_delivered) = (10_000_000, path.delivered);
    let bdp = mul_div(rate, RTT, SECOND);
    path.delivered += bdp;
    path.on_rtt(rtt);
    let event = AckEvent {
        now,
        acked: bdp,
        delivered: bdp,
        lost,
        inflight_before: 2 * bdp,
        inflight: 2 * bdp,
        rtt: Some(rtt),
        rate: Some(RateSample {
            delivered: bdp,
            interval: rtt,
            rate,
            prior_delivered,
            tx_in_flight: 2 * bdp,
            lost,
            app_limited: true,
        }),
        ..AckEvent::default()
    };
    bbr.on_ack(&event, path);
}

/// Two rounds more would overflow the queue twice more. Loss with a flat round trip is no full queue of this flow, and loss of a
/// few packets is none at all.
#[test]
fn a_queue_that_overflows_ends_startup_in_a_round() {
    let bdp = mul_div(10_000_000, RTT, SECOND);
    for (lost, rtt, ends) in [
        (bdp / 2, 2 * RTT, true),
        (bdp / 2, RTT, false),
        (bdp / 50, 2 * RTT, false),
    ] {
        let (mut bbr, mut path) = started();
        for n in 1..=4 {
            round(&mut bbr, &mut path, n * RTT, 625_000 << n, false);
        }
        overflowing_round(&mut bbr, &mut path, 6 * RTT, lost, rtt);
        assert_eq!(bbr.full.reached, ends, "{lost} lost, round trip {rtt} ns");
    }
}

/// What the sender's supply keeps small is not conserved, unless it is more than the path and its queue hold.
#[test]
fn a_flight_that_has_filled_the_queue_is_conserved_whoever_was_the_limit() {
    for (bdps, rtt, conserves) in [(3, 2 * RTT, true), (3, RTT, false), (1, 2 * RTT, false)] {
        let (mut bbr, mut path) = started();
        for n in 1..8 {
            round(&mut bbr, &mut path, n * RTT, 1_000_000 << n, true);
        }
        path.max_bw = 1_000_000 << 7;
        path.on_rtt(rtt);
        path.inflight = bdps * path.bdp();
        let event = CongestionEvent {
            now: 8 * RTT,
            signal: Signal::Loss,
            inflight_before: path.inflight,
            lost: MSS,
        };
        bbr.on_congestion(&event, &path);
        assert_eq!(bbr.packet_conservation, conserves, "{bdps} BDP, {rtt} ns");
    }
}

/// Linux `bbr_update_bw`: a sample that the application limited counts only if it raises the
/// maximum, and never towards a full pipe.
#[test]
fn application_limited_samples_only_raise_the_maximum() {
    let (mut bbr, mut path) = started();
    round(&mut bbr, &mut path, RTT, 1_000_000, false);
    for n in 2..40 {
        round(&mut bbr, &mut path, n * RTT, 300_000, true);
    }
    assert_eq!(bbr.max_bw.get(), 1_000_000);
    assert_eq!(bbr.mode, Mode::Startup);
    round(&mut bbr, &mut path, 40 * RTT, 1_100_000, true);
    assert_eq!(bbr.max_bw.get(), 1_100_000);
}

/// Linux `bbr_reset_probe_bw_mode`: any phase of the cycle but the draining one.
#[test]
fn probe_bw_never_begins_by_draining() {
    let mut seen = [false; 8];
    for seed in 0..200 {
        let path = Path::new(MSS as u32);
        let beginning = crate::Beginning::new(&path, seed);
        let mut bbr = Bbr::new(&beginning, &BbrParameters::default());
        bbr.enter_probe_bw(0);
        seen[bbr.cycle.index] = true;
    }
    assert_eq!(seen, [true, false, true, true, true, true, true, true]);
}

/// A probe that has found a tenth more, and no queue, is followed by another; Linux goes through the rest of the cycle.
#[test]
fn what_grows_is_probed_again() {
    const WHOLE: [usize; 7] = [0, 1, 2, 3, 4, 5, 6];
    for (climb, found, rtt, phases) in [
        (true, 1_100_000, RTT, [0, 1, 2, 0, 1, 2, 3]),
        (true, 1_100_000, RTT / 8 * 9, [0, 1, 2, 0, 1, 2, 3]),
        (true, 1_099_000, RTT, WHOLE),
        (true, 1_250_000, RTT / 7 * 8, WHOLE),
        (false, 1_250_000, RTT, WHOLE),
    ] {
        let parameters = BbrParameters {
            climb,
            ..BbrParameters::default()
        };
        let mut path = Path::new(MSS as u32);
        path.on_rtt(RTT);
        let mut bbr = Bbr::new(&crate::Beginning::new(&path, 1), &parameters);
        bbr.max_bw.reset(0, 1_000_000);
        bbr.mode = Mode::ProbeBw;
        bbr.cycle.index = CYCLE_GAINS.len() - 1;
        path.on_rtt(rtt);
        let seen = phases.map(|_| {
            bbr.begin_phase(bbr.next_phase(&path), 0);
            if bbr.cycle.index == 1 {
                bbr.max_bw.reset(0, found);
            }
            bbr.cycle.index
        });
        assert_eq!(seen, phases, "{climb} {found} {rtt}");
    }
}

/// Linux `bbr_set_cwnd_to_recover_or_restore`: recovery starts from what is in flight, and gives
/// the old window back.
#[test]
fn recovery_conserves_packets_and_restores_the_window() {
    let (mut bbr, mut path) = started();
    for n in 1..8 {
        round(&mut bbr, &mut path, n * RTT, 1_000_000 << n, false);
    }
    let before = bbr.cwnd;
    path.inflight = before / 2;
    let event = CongestionEvent {
        now: 8 * RTT,
        signal: Signal::Loss,
        inflight_before: before,
        lost: before / 2,
    };
    bbr.on_congestion(&event, &path);
    assert_eq!(bbr.cwnd, before / 2 + MSS);
    bbr.on_recovery_exit(9 * RTT, &path);
    assert_eq!(bbr.cwnd, before);
    let mark = CongestionEvent {
        signal: Signal::Ecn,
        ..event
    };
    bbr.on_congestion(&mark, &path);
    assert_eq!(bbr.cwnd, before, "ECN means nothing to v1");
}

/// Linux compares the states that two ACKs leave behind: a recovery that begins with the ACK that
/// ended the one before goes on as that one, without a second round of packet conservation; one
/// that begins with a later ACK does not.
#[test]
fn back_to_back_recoveries_are_one() {
    let (mut bbr, mut path) = started();
    for n in 1..8 {
        round(&mut bbr, &mut path, n * RTT, 1_000_000 << n, false);
    }
    path.inflight = bbr.cwnd / 2;
    let loss = |now| CongestionEvent {
        now,
        signal: Signal::Loss,
        inflight_before: path.inflight,
        lost: MSS,
    };
    bbr.on_congestion(&loss(8 * RTT), &path);
    let conserved = bbr.cwnd;
    round(&mut bbr, &mut path.clone(), 9 * RTT, 1_000_000 << 7, false);
    let grown = bbr.cwnd;
    assert!(grown > conserved);
    let mut later = bbr.clone();
    bbr.on_recovery_exit(10 * RTT, &path);
    bbr.on_congestion(&loss(10 * RTT), &path);
    assert_eq!(bbr.cwnd, grown);
    later.on_recovery_exit(10 * RTT, &path);
    later.on_congestion(&loss(11 * RTT), &path);
    assert_eq!(later.cwnd, conserved);
}

#[test]
fn a_flow_moved_here_starts_in_probe_bw_with_what_is_known() {
    let mut path = Path::new(MSS as u32);
    path.on_rtt(RTT);
    path.max_bw = 2_000_000;
    path.inflight = 80_000;
    let bbr = Bbr::new(&crate::Beginning::new(&path, 3), &BbrParameters::default());
    assert_eq!(bbr.control().phase, Phase::ProbeBw);
    assert_eq!(bbr.cwnd, 100_000);
    let rate = bbr.control().pacing_rate.unwrap();
    assert!((1_900_000..2_500_000).contains(&rate), "{rate}");
}

/// Linux `bbr_init`: the least RTT is the handshake's, where the first data wait in a queue of others.
#[test]
fn the_handshake_is_the_least_rtt_at_first() {
    for (known, least) in [(true, RTT), (false, 3 * RTT)] {
        let mut path = Path::new(MSS as u32);
        if known {
            path.on_handshake_rtt(RTT, 0);
        }
        let mut bbr = Bbr::new(&crate::Beginning::new(&path, 3), &BbrParameters::default());
        path.on_rtt(3 * RTT);
        path.recent.on_rtt(3 * RTT, 4 * RTT);
        let event = AckEvent {
            rtt: Some(3 * RTT),
            now: 4 * RTT,
            ..AckEvent::default()
        };
        bbr.update_min_rtt(&event, &path);
        assert_eq!(bbr.least.rtt, least);
    }
}

/// Nine rounds in which a fifth is lost, with this RTT; after each, the rate that a policer is believed to enforce.
fn lossy_rounds(
    policer: &mut Policer,
    path: &mut Path,
    rtt: Option<Nanos>,
) -> Vec<Option<ByteRate>> {
    let round = |n: u64| {
        path.delivered += 50_000;
        path.lost += 15_000;
        if let Some(rtt) = rtt {
            path.on_rtt(rtt);
        }
        policer.on_ack(n * RTT, path, true, true, false, true);
        policer.rate()
    };
    (1..=9).map(round).collect()
}

/// Linux `bbr_lt_bw_sampling`: two intervals of four rounds and 20 % loss at the same rate.
#[test]
fn two_equal_lossy_intervals_show_a_policer() {
    let mut policer = Policer::default();
    let mut path = Path::new(MSS as u32);
    let rates = lossy_rounds(&mut policer, &mut path, Some(RTT));
    assert_eq!(rates.iter().position(Option::is_some), Some(7));
    assert_eq!(policer.rate(), Some(1_000_000));
    let mut verdicts = (10..100).map(|n| policer.on_ack(n * RTT, &path, true, false, false, true));
    assert_eq!(
        verdicts.position(|v| v == policer::Verdict::ProbeAgain),
        Some(46)
    );
}

/// What a full queue drops among many flows looks the same, but for the RTT.
#[test]
fn where_packets_wait_no_policer_is_believed() {
    for (rtt, believed) in [
        (Some(RTT + RTT / 5), true),
        (Some(RTT + RTT / 2), false),
        (Some(3 * RTT), false),
        (None, false),
    ] {
        let mut path = Path::new(MSS as u32);
        path.min_rtt = RTT;
        let rates = lossy_rounds(&mut Policer::default(), &mut path, rtt);
        assert_eq!(rates.iter().any(Option::is_some), believed, "{rtt:?}");
    }
}

/// At the rate of a policer nothing is lost any more. Where a queue that others keep full drops on, there is none: the flow starts
/// again, and is not deceived a second time.
#[test]
fn a_policer_that_drops_on_is_none() {
    for (lost, refuted) in [(0, false), (200, false), (3_000, true)] {
        let mut policer = Policer::default();
        let mut path = Path::new(MSS as u32);
        path.min_rtt = RTT;
        lossy_rounds(&mut policer, &mut path, Some(RTT));
        assert!(policer.rate().is_some() && !policer.is_refuted(&path));
        for round in 10..20 {
            path.delivered += 10_000;
            path.lost += lost;
            policer.on_ack(round * RTT, &path, true, lost > 0, false, true);
        }
        assert_eq!(policer.is_refuted(&path), refuted, "{lost}");
        policer.refute();
        let again = lossy_rounds(&mut policer, &mut path, Some(RTT));
        assert!(again.iter().all(Option::is_none));
    }
}

/// A newcomer whose first flights are lost: four rounds in which a recovery has left next to no window show no full pipe. Linux
/// takes the first three for one.
#[test]
fn a_window_that_loss_has_left_shows_no_full_pipe() {
    for (newcomer, rounds) in [(false, 3), (true, 7)] {
        let parameters = BbrParameters {
            newcomer,
            ..BbrParameters::default()
        };
        let mut path = Path::new(MSS as u32);
        path.on_rtt(RTT);
        let mut bbr = Bbr::new(&crate::Beginning::new(&path, 1), &parameters);
        bbr.full.bw = 1_000_000;
        (bbr.recovery, bbr.cwnd, bbr.prior_cwnd) = (Recovery::Fast, 4 * MSS, 10 * MSS);
        bbr.rounds.start = true;
        let event = AckEvent {
            rate: Some(RateSample::default()),
            ..AckEvent::default()
        };
        let mut taken = 0;
        while !bbr.full.reached {
            bbr.check_full_bandwidth(&event, &path);
            taken += 1;
        }
        assert_eq!(taken, rounds, "{newcomer}");
    }
}

/// Linux `bbr_update_ack_aggregation`: what comes beyond bandwidth times time, at most 100 ms'
/// worth.
#[test]
fn aggregation_is_what_the_bandwidth_does_not_explain() {
    let mut aggregation = Aggregation::default();
    aggregation.restart(0);
    let bw = 1_000_000;
    aggregation.on_ack(10 * MILLISECOND, 30_000, true, bw, 1_000_000);
    assert_eq!(aggregation.extra(bw), 30_000);
    aggregation.on_ack(11 * MILLISECOND, 30_000, false, bw, 1_000_000);
    assert_eq!(aggregation.extra(bw), 59_000);
    aggregation.on_ack(11 * MILLISECOND, 300_000, false, bw, 1_000_000);
    assert_eq!(aggregation.extra(bw), 100_000);
}

/// A flow that comes from another algorithm, 5 MB/s and 30 ms, and then a round trip of 200 ms.
fn least_of_moved(inflight: u64) -> Nanos {
    let mut path = Path::new(MSS as u32);
    path.on_rtt(30 * MILLISECOND);
    path.max_bw = 5_000_000;
    path.on_rtt(200 * MILLISECOND);
    path.inflight = inflight;
    let beginning = crate::Beginning::new(&path, 1);
    Bbr::new(&beginning, &BbrParameters::default()).least.rtt
}

#[test]
fn what_a_flight_cannot_have_queued_is_a_path_that_has_become_longer() {
    assert_eq!(least_of_moved(150_000), 170 * MILLISECOND);
    let queue_of_its_own = least_of_moved(1_000_000);
    assert_eq!(queue_of_its_own, 30 * MILLISECOND);
}

#[test]
fn a_least_rtt_that_was_taken_for_too_much_gives_way_to_the_next_one() {
    let mut path = Path::new(MSS as u32);
    path.on_rtt(RTT);
    path.max_bw = 1_000_000;
    path.on_rtt(4 * RTT);
    let beginning = crate::Beginning::new(&path, 1);
    let mut bbr = Bbr::new(&beginning, &BbrParameters::default());
    assert_eq!(bbr.least.rtt, 4 * RTT);
    round(&mut bbr, &mut path, RTT, 1_000_000, false);
    assert_eq!(bbr.least.rtt, RTT);
}
