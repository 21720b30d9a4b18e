use super::*;
use crate::{CongestionControl, CongestionEvent, MILLISECOND, Signal};

const MSS: u64 = 1000;

fn ack(reno: &mut Reno, path: &mut Path, segments: u64) {
    path.delivered += segments * MSS;
    let event = AckEvent {
        now: path.delivered,
        acked: segments * MSS,
        delivered: segments * MSS,
        cwnd_limited: true,
        rtt: Some(100 * MILLISECOND),
        ..AckEvent::default()
    };
    reno.on_ack(&event, path);
}

fn loss() -> CongestionEvent {
    CongestionEvent {
        now: 0,
        signal: Signal::Loss,
        inflight_before: 0,
        lost: MSS,
    }
}

fn started() -> (Reno, Path) {
    let path = Path::new(MSS as u32);
    (
        Reno::new(&crate::Beginning::new(&path, 0), &RenoParameters::default()),
        path,
    )
}

fn cwnd(reno: &Reno) -> u64 {
    reno.control().cwnd / MSS
}

/// RFC 5681 §3.1 and packetdrill `slow_start/slow-start-ack-per-2pkt`: a segment for a segment.
#[test]
fn slow_start_doubles_per_round_trip() {
    let (mut reno, mut path) = started();
    for expected in [20, 40, 80] {
        let acks = cwnd(&reno) / 2;
        (0..acks).for_each(|_| ack(&mut reno, &mut path, 2));
        assert_eq!(cwnd(&reno), expected);
    }
}

/// RFC 5681 eq. (4), then §3.1: one segment per window of bytes, whatever the ACKs look like.
#[test]
fn loss_halves_and_avoidance_adds_one_segment_per_window() {
    for per_ack in [1, 2, 5, 10] {
        let (mut reno, mut path) = started();
        (0..5).for_each(|_| ack(&mut reno, &mut path, 2));
        reno.on_congestion(&loss(), &path);
        assert_eq!(cwnd(&reno), 10);
        assert_eq!(reno.control().ssthresh, 10 * MSS);
        (0..10 / per_ack).for_each(|_| ack(&mut reno, &mut path, per_ack));
        assert_eq!(cwnd(&reno), 11, "{per_ack} per ACK");
    }
}

/// The part of a stretch ACK that lies beyond the threshold counts for avoidance (Linux
/// `tcp_slow_start` hands the rest on).
#[test]
fn a_stretch_ack_crosses_the_threshold() {
    let (mut reno, mut path) = started();
    reno.window.ssthresh = 14 * MSS;
    ack(&mut reno, &mut path, 4 + 14);
    assert_eq!(cwnd(&reno), 15);
    assert_eq!(reno.control().phase, crate::Phase::Avoidance);
}

/// RFC 5681 §3.1: one segment after a timeout, and no second cut when the same data times out
/// again.
#[test]
fn a_repeated_timeout_does_not_lower_the_threshold_again() {
    let (mut reno, mut path) = started();
    reno.on_rto(0, &path);
    assert_eq!((cwnd(&reno), reno.control().ssthresh), (1, 5 * MSS));
    reno.on_rto(1, &path);
    assert_eq!(reno.control().ssthresh, 5 * MSS);
    ack(&mut reno, &mut path, 1);
    assert_eq!(cwnd(&reno), 2);
    reno.on_rto(2, &path);
    assert_eq!((cwnd(&reno), reno.control().ssthresh), (1, 2 * MSS));
}

#[test]
fn a_spurious_reduction_is_given_back() {
    let (mut reno, path) = started();
    reno.on_congestion(&loss(), &path);
    assert_eq!(cwnd(&reno), 5);
    reno.on_spurious(0, &path);
    assert_eq!(reno.control().cwnd, 10 * MSS);
    assert_eq!(reno.control().ssthresh, u64::MAX);
}

#[test]
fn the_window_grows_neither_unused_nor_in_recovery_but_does_after_a_timeout() {
    let (mut reno, mut path) = started();
    let event = AckEvent {
        delivered: 5 * MSS,
        ..AckEvent::default()
    };
    reno.on_ack(&event, &path);
    assert_eq!(cwnd(&reno), 10);
    let recovering = AckEvent {
        cwnd_limited: true,
        in_recovery: true,
        ..event
    };
    reno.on_ack(&recovering, &path);
    assert_eq!(cwnd(&reno), 10);
    path.delivered += 1;
    reno.on_rto(0, &path);
    reno.on_ack(&recovering, &path);
    assert_eq!(cwnd(&reno), 5);
}

/// packetdrill `slow_start/slow-start-after-idle`: 36 becomes 10; the threshold keeps 3/4.
#[test]
fn idling_halves_the_window_per_timeout() {
    let (mut reno, mut path) = started();
    path.on_rtt(100 * MILLISECOND);
    reno.window.cwnd = 36 * MSS;
    reno.window.ssthresh = 20 * MSS;
    reno.on_idle_restart(0, 200 * MILLISECOND, &path);
    assert_eq!(cwnd(&reno), 36);
    reno.on_idle_restart(0, 400 * MILLISECOND, &path);
    assert_eq!(cwnd(&reno), 18);
    reno.on_idle_restart(0, 100_000 * MILLISECOND, &path);
    assert_eq!((cwnd(&reno), reno.control().ssthresh), (10, 27 * MSS));
}
