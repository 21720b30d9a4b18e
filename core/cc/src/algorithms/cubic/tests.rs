use super::*;
use crate::{CongestionControl, CongestionEvent, MILLISECOND, Signal};

const MSS: u64 = 1000;

/// A flow whose ACKs come at fixed times, as in google/packetdrill's `cubic-bulk-166k.pkt`: two
/// segments of 1000 B every 100 ms.
struct Script {
    cubic: Cubic,
    path: Path,
    now: Nanos,
    acked: u64,
}

fn linux() -> CubicParameters {
    CubicParameters {
        profile: Profile::Linux,
        slow_start: SlowStartRule::HyStart,
        ..CubicParameters::default()
    }
}

impl Script {
    fn new() -> Self {
        Script::with(&CubicParameters::default())
    }

    fn with(parameters: &CubicParameters) -> Self {
        let mut path = Path::new(MSS as u32);
        path.on_rtt(100 * MILLISECOND);
        Script {
            cubic: Cubic::new(&crate::Beginning::new(&path, 0), parameters),
            path,
            now: SECOND,
            acked: 0,
        }
    }

    fn ack(&mut self, cwnd_limited: bool) {
        self.now += 100 * MILLISECOND;
        self.acked += 2;
        self.path.delivered += 2 * MSS;
        let event = AckEvent {
            now: self.now,
            acked: 2 * MSS,
            delivered: 2 * MSS,
            cwnd_limited,
            rtt: Some(100 * MILLISECOND),
            ..AckEvent::default()
        };
        self.cubic.on_ack(&event, &self.path);
    }

    fn ack_up_to(&mut self, packets: u64) -> f64 {
        while self.acked < packets {
            self.ack(true);
        }
        self.cubic.window.cwnd as f64 / MSS as f64
    }
}

/// (segments acknowledged, window in segments) of google/packetdrill `cubic-bulk-166k.pkt`.
const BULK_166K: [(u64, f64); 12] = [
    (10, 20.0),
    (20, 30.0),
    (30, 40.0),
    (38, 48.0),
    (60, 49.0),
    (80, 50.0),
    (100, 52.0),
    (120, 58.0),
    (122, 59.0),
    (140, 68.0),
    (160, 78.0),
    (300, 148.0),
];

/// google/packetdrill `cubic-bulk-166k.pkt` (written for Linux's integer CUBIC): every checkpoint
/// within three segments, with the exit of slow start at 48 given.
#[test]
fn vectors_packetdrill_cubic_bulk_166k() {
    let mut script = Script::new();
    script.cubic.window.ssthresh = 48 * MSS;
    for (packets, linux) in BULK_166K {
        let cwnd = script.ack_up_to(packets);
        assert!(
            (cwnd - linux).abs() <= 3.0,
            "at {packets}: {cwnd}, Linux {linux}"
        );
    }
}

/// The same script in Linux' integers: every checkpoint exactly.
#[test]
fn vectors_packetdrill_cubic_bulk_166k_in_linux_integers() {
    let mut script = Script::with(&linux());
    script.cubic.window.ssthresh = 48 * MSS;
    for (packets, linux) in BULK_166K {
        assert_eq!(script.ack_up_to(packets), linux, "at {packets}");
    }
}

/// google/packetdrill `cubic-rto-ss-ca-cwnd-bump.pkt` in Linux' integers: 7 after the timeout, and
/// 8 when ACK 23001 comes, not at once.
#[test]
fn vectors_packetdrill_rto_at_ten_in_linux_integers() {
    let mut script = Script::with(&linux());
    script.cubic.on_rto(script.now, &script.path);
    assert_eq!(script.cubic.control().ssthresh, 7 * MSS);
    let windows: Vec<f64> = (1..=14).map(|n| script.ack_up_to(2 * n)).collect();
    assert_eq!(windows[..4], [3.0, 5.0, 7.0, 7.0]);
    let first = windows.iter().position(|w| *w == 8.0);
    let acked = first.map_or(0, |at| 2 * (at + 1));
    assert!((18..=23).contains(&acked), "{windows:?}");
}

/// google/packetdrill `cubic-bulk-166k-idle-restart.pkt`: idle time earns nothing.
#[test]
fn vectors_packetdrill_idle_time_earns_nothing() {
    let mut busy = Script::new();
    let mut paused = Script::new();
    for script in [&mut busy, &mut paused] {
        script.cubic.window.ssthresh = 48 * MSS;
        script.ack_up_to(80);
    }
    for _ in 0..200 {
        paused.ack(false);
    }
    paused.acked = 80;
    for packets in [90, 100, 110, 120] {
        let (there, here) = (busy.ack_up_to(packets), paused.ack_up_to(packets));
        assert!(
            (there - here).abs() < 1.0,
            "at {packets}: {there} and {here}"
        );
    }
}

/// google/packetdrill `cubic-rto-ss-ca-cwnd-bump.pkt`: a timeout at 10 leaves a threshold of 7,
/// slow start goes from 1 to 7, and the entry to avoidance makes no jump.
#[test]
fn vectors_packetdrill_rto_at_ten() {
    let mut script = Script::new();
    let now = script.now;
    script.cubic.on_rto(now, &script.path);
    assert_eq!(script.cubic.control().ssthresh, 7 * MSS);
    assert_eq!(script.cubic.control().cwnd, MSS);
    let mut windows = Vec::new();
    for _ in 0..10 {
        script.ack(true);
        windows.push(script.cubic.control().cwnd / MSS);
    }
    assert_eq!(windows, [3, 5, 7, 7, 7, 7, 7, 7, 7, 7]);
}

fn loss() -> CongestionEvent {
    CongestionEvent {
        now: SECOND,
        signal: Signal::Loss,
        inflight_before: 0,
        lost: MSS,
    }
}

/// s2n-quic and RFC 9438 §4.6: 100000 becomes 70000, 80000 becomes 56000.
#[test]
fn vectors_multiplicative_decrease() {
    for (before, after) in [(100_000, 70_000), (80_000, 56_000)] {
        let mut script = Script::new();
        script.cubic.window.cwnd = before;
        script.cubic.on_congestion(&loss(), &script.path);
        assert_eq!(script.cubic.control().cwnd, after);
        assert_eq!(script.cubic.control().ssthresh, after);
    }
}

/// RFC 9438 §4.9.2: a spurious loss gives window, threshold and curve back.
#[test]
fn a_spurious_loss_leaves_no_trace() {
    let mut script = Script::new();
    script.cubic.window.ssthresh = 20 * MSS;
    script.ack_up_to(60);
    let before = script.cubic.clone();
    script.cubic.on_congestion(&loss(), &script.path);
    assert!(script.cubic.control().cwnd < before.control().cwnd);
    script.cubic.on_spurious(script.now, &script.path);
    assert_eq!(script.cubic.control(), before.control());
    assert_eq!(script.cubic.law.shape, before.law.shape);
}

/// RFC 9438 §4.2: concave up to W_max at K, flat there, convex beyond.
#[test]
fn returns_to_the_old_window_after_k_seconds() {
    let mut script = Script::new();
    script.cubic.window.cwnd = 100 * MSS;
    script.cubic.on_congestion(&loss(), &script.path);
    // K = cbrt(30 / 0.4) = 4.217 s; enough ACKs that the curve, not their number, is the limit.
    let mut at = Vec::new();
    for tick in 1..=900u64 {
        script.now = SECOND + tick * 10 * MILLISECOND;
        let event = AckEvent {
            now: script.now,
            delivered: 10 * MSS,
            cwnd_limited: true,
            ..AckEvent::default()
        };
        script.cubic.on_ack(&event, &script.path);
        at.push(script.cubic.control().cwnd as f64 / MSS as f64);
    }
    assert!((at[421] - 100.0).abs() < 2.0, "at K: {}", at[421]);
    assert!(at[100] - at[0] > at[421] - at[321], "concave");
    assert!(at[842] - at[742] > at[521] - at[421], "convex");
}
