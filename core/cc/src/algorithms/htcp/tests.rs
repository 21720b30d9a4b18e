use super::*;
use crate::scripted::Scripted;
use crate::{CongestionControl, SECOND, Signal};

/// In congestion avoidance, a loss just over.
fn flow(segments: u64, parameters: HtcpParameters) -> Scripted<HtcpLaw> {
    let mut flow = Scripted::avoiding(1000, segments, parameters);
    flow.path.on_rtt(100 * MILLISECOND);
    let now = flow.now;
    flow.cc.on_recovery_exit(now, &flow.path);
    flow
}

fn unscaled() -> HtcpParameters {
    HtcpParameters {
        rtt_scaling: false,
        ..HtcpParameters::default()
    }
}

fn linux() -> HtcpParameters {
    HtcpParameters {
        profile: Profile::Linux,
        ..HtcpParameters::default()
    }
}

fn alpha(flow: &Scripted<HtcpLaw>, ms_since_loss: u64, p: &HtcpParameters) -> f64 {
    let at = flow.now + ms_since_loss * MILLISECOND;
    flow.cc.law.alpha(at, &flow.path, p)
}

mod vectors {
    use super::*;

    /// ns-3 `tcp-htcp-test.cc`: a congestion event at 1 ms and an ACK at 1000, 1100 or 1500 ms, by
    /// which the window is to become 20383, 40 and 76671 bytes. ns-3 adds MSS * MSS / cwnd + alpha
    /// bytes to the window per ACK, whatever it acknowledges, instead of alpha * MSS * MSS / cwnd;
    /// so it is alpha that these numbers check: 1, 1.992 and 6.052.
    #[test]
    fn ns3_htcp_alpha() {
        for (cwnd, mss, ack_ms, expected) in [
            (38 * 536, 536, 1000, 20_383),
            (38, 1, 1100, 40),
            (53 * 1446, 1446, 1500, 76_671),
        ] {
            let alpha = alpha(&flow(38, unscaled()), ack_ms - 1, &unscaled());
            let added = (f64::from(mss * mss) / f64::from(cwnd) + alpha).max(1.0);
            assert_eq!(cwnd + added as i32, expected, "alpha {alpha}");
        }
    }
}

/// Shorten and Leith: 1 up to a second, then 1 + 10 t + t² / 4 with t counted from there.
#[test]
fn alpha_is_the_polynomial_of_the_time_since_the_loss() {
    let flow = flow(100, unscaled());
    for (ms, expected) in [
        (0, 1.0),
        (1000, 1.0),
        (2000, 11.25),
        (3000, 22.0),
        (11_000, 126.0),
    ] {
        let alpha = alpha(&flow, ms, &unscaled());
        assert!((alpha - expected).abs() < 1e-9, "{ms} ms: {alpha}");
    }
}

/// Linux: whole segments, before and after the scaling by the RTT: 1.5 is 1, 11.25 is 11; times 0.4
/// at 40 ms that is 4.4 and so 4; at 20 ms 2.2 and so 2.
#[test]
fn linux_cuts_alpha_to_whole_segments() {
    for (rtt_ms, ms, expected) in [
        (100, 1050, 1.0),
        (100, 2000, 11.0),
        (40, 2000, 4.0),
        (20, 2000, 2.0),
        (1, 2000, 1.0),
    ] {
        let mut flow = flow(100, linux());
        flow.path.min_rtt = rtt_ms * MILLISECOND;
        assert_eq!(alpha(&flow, ms, &linux()), expected, "{rtt_ms} ms");
    }
}

/// Scaled by RTT / 100 ms within 0.1 and 2, but never below Reno's growth.
#[test]
fn long_paths_grow_faster() {
    let p = HtcpParameters::default();
    for (rtt_ms, ms, expected) in [
        (50, 2000, 5.625),
        (200, 2000, 22.5),
        (900, 2000, 22.5),
        (5, 3000, 2.2),
        (5, 500, 1.0),
    ] {
        let mut flow = flow(100, p);
        flow.path.min_rtt = rtt_ms * MILLISECOND;
        let alpha = alpha(&flow, ms, &p);
        assert!((alpha - expected).abs() < 1e-9, "{rtt_ms} ms: {alpha}");
    }
}

/// A window of segments delivered adds alpha of them: 11.25 two seconds after the loss, a little
/// less because the window grows meanwhile.
#[test]
fn the_window_grows_by_alpha_per_round_trip() {
    let mut flow = flow(1000, unscaled());
    flow.now += 2 * SECOND;
    let event = AckEvent {
        now: flow.now,
        delivered: 1000,
        cwnd_limited: true,
        ..AckEvent::default()
    };
    (0..1000).for_each(|_| flow.cc.on_ack(&event, &flow.path));
    assert_eq!(flow.segments(), 1011);
}

/// Linux, alpha 1: the ACKs that make up the window are counted, the next one brings a segment and is
/// not counted, and what is over is gone. Five segments by ACKs of two need four ACKs.
#[test]
fn linux_drops_what_is_over() {
    let mut flow = flow(5, linux());
    for _ in 0..3 {
        let before = flow.segments();
        let needed = before.div_ceil(2) + 1;
        (1..needed).for_each(|_| flow.ack(2));
        assert_eq!(flow.segments(), before);
        flow.ack(2);
        assert_eq!(flow.segments(), before + 1);
    }
}

/// 0.5 of nine segments are four.
#[test]
fn linux_has_whole_segments() {
    assert_eq!(flow(9, linux()).lose(), 4_000);
    assert_eq!(flow(9, HtcpParameters::default()).lose(), 4_500);
}

#[test]
fn growth_never_exceeds_that_of_slow_start() {
    let mut flow = flow(10, unscaled());
    flow.now += 100_000 * SECOND;
    flow.ack(10);
    assert_eq!(flow.segments(), 20);
}

/// RTTs of 100 ms, which rise to 150 ms: two thirds. The first loss finds another throughput, the
/// second the same one and arms, the third adapts (Linux `htcp_beta_update`).
#[test]
fn the_third_loss_on_a_steady_path_leaves_what_empties_the_queue() {
    for (p, third) in [(HtcpParameters::default(), 666), (linux(), 664)] {
        let mut flow = flow(1000, p);
        for expected in [500, 500, third] {
            for rtt in [100, 115, 130, 150] {
                flow.path.latest_rtt = rtt * MILLISECOND;
                flow.ack(1);
            }
            // Past the fading of the largest RTT.
            flow.cc.law.max_rtt = 150 * MILLISECOND;
            flow.cc.law.throughput = throughput_of(&flow);
            flow.cc.window.cwnd = 1_000_000;
            assert_eq!(flow.lose() / 1000, expected, "{:?}", p.profile);
            let now = flow.now;
            flow.cc.on_recovery_exit(now, &flow.path);
        }
    }
}

/// A full window in the last 100 ms: 10 MB/s.
fn throughput_of(flow: &Scripted<HtcpLaw>) -> Throughput {
    let mut throughput = flow.cc.law.throughput;
    throughput.restart(flow.now);
    let event = AckEvent {
        now: flow.now + 100 * MILLISECOND,
        delivered: 1_000_000,
        ..AckEvent::default()
    };
    throughput.on_ack(&event, 1_000_000, 100 * MILLISECOND, 0);
    throughput
}

#[test]
fn the_largest_rtt_rises_in_steps_and_fades() {
    let mut flow = flow(100, HtcpParameters::default());
    for (rtt, largest) in [(120, 120), (141, 120), (140, 140), (100, 140)] {
        flow.path.latest_rtt = rtt * MILLISECOND;
        flow.ack(1);
        assert_eq!(flow.cc.law.max_rtt / MILLISECOND, largest);
    }
    flow.lose();
    assert_eq!(flow.cc.law.max_rtt, 138 * MILLISECOND);
}

#[test]
fn without_adaptation_it_is_half() {
    let mut settings = crate::Settings::from(crate::AlgorithmId::Htcp);
    settings.apply_preset("freebsd").unwrap();
    assert_eq!(settings.get("adaptive_backoff"), Some(Value::Flag(false)));
    let p = HtcpParameters {
        adaptive_backoff: false,
        ..HtcpParameters::default()
    };
    let mut flow = flow(1000, p);
    flow.cc.law.adaptive = true;
    flow.cc.law.max_rtt = 150 * MILLISECOND;
    assert_eq!(flow.congestion(Signal::Ecn), 500_000);
}

#[test]
fn time_without_need_of_the_window_earns_nothing() {
    let mut flow = flow(100, unscaled());
    flow.now += 1500 * MILLISECOND;
    flow.ack(1);
    let before = alpha(&flow, 0, &unscaled());
    for _ in 0..100 {
        flow.now += 50 * MILLISECOND;
        let event = AckEvent {
            now: flow.now,
            delivered: 1000,
            ..AckEvent::default()
        };
        flow.cc.on_ack(&event, &flow.path);
    }
    flow.now += 3600 * SECOND;
    flow.cc.on_idle_restart(flow.now, 3600 * SECOND, &flow.path);
    assert_eq!(alpha(&flow, 0, &unscaled()), before);
    assert!(before > 5.0);
}

#[test]
fn a_spurious_loss_leaves_no_trace() {
    let mut flow = flow(100, HtcpParameters::default());
    flow.now += 3 * SECOND;
    flow.path.latest_rtt = 115 * MILLISECOND;
    flow.ack(1);
    let before = flow.cc.clone();
    assert!(flow.lose() < before.control().cwnd);
    let now = flow.now;
    flow.cc.on_spurious(now, &flow.path);
    assert_eq!(flow.cc.control(), before.control());
    assert_eq!(flow.cc.law, before.law);
}
