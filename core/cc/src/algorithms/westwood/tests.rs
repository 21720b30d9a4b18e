use super::*;
use crate::scripted::Scripted;
use crate::{CongestionControl, MILLISECOND, SECOND, Signal};

type Flow = Scripted<WestwoodLaw>;

/// A megabyte per second at 100 ms: the path holds 100 segments of 1000 bytes. ACKs come a
/// millisecond apart.
fn measured(profile: Profile, window: u64) -> Flow {
    let parameters = WestwoodParameters {
        profile,
        ..WestwoodParameters::default()
    };
    let mut flow = Flow::avoiding(1000, window, parameters);
    flow.path.on_rtt(100 * MILLISECOND);
    flow.acks(102);
    assert_eq!(flow.cc.law.bandwidth, 1_000_000);
    flow.cc.window.cwnd = window * 1000;
    flow
}

/// The first measurement counts whole; each filter then goes an eighth of the way.
#[test]
fn bandwidth_is_smoothed_twice() {
    let mut flow = measured(Profile::Rfc, 100);
    (0..101).for_each(|_| flow.ack(2));
    // 7/8 + 2/8, and 7/8 + 1.125/8.
    assert_eq!(
        (flow.cc.law.coarse, flow.cc.law.bandwidth),
        (1_125_000, 1_015_625)
    );
    (0..100 * 101).for_each(|_| flow.ack(2));
    assert!((1_990_000..=2_000_000).contains(&flow.cc.law.bandwidth));
}

/// A rate that doubles with every measurement: the filters, an eighth each, tend to 1 / 4.5 of their
/// input, together to a twentieth of it, unless slow start counts at once.
#[test]
fn the_filters_lag_behind_slow_start() {
    let after_slow_start = |quick_start| {
        let parameters = WestwoodParameters {
            quick_start,
            ..WestwoodParameters::default()
        };
        let mut flow = Flow::new(1000, 10_000, u64::MAX, parameters);
        flow.path.on_rtt(100 * MILLISECOND);
        flow.ack(1);
        for round in 0..16 {
            (0..101).for_each(|_| flow.ack(1 << round));
        }
        flow.cc.law.bandwidth as f64 / (1000.0 * 1000.0 * f64::from(1 << 15))
    };
    assert_eq!(after_slow_start(true), 1.0);
    let lagging = after_slow_start(false);
    assert!((lagging - 1.0 / 4.5 / 4.5).abs() < 0.005, "{lagging}");
}

/// One measurement in a round trip, and none over less than 50 ms.
#[test]
fn an_interval_lasts_a_round_trip_but_fifty_milliseconds_at_least() {
    for (rtt, acks) in [(10, 52), (100, 102)] {
        let mut flow = Flow::avoiding(1000, 10, WestwoodParameters::default());
        flow.path.on_rtt(rtt * MILLISECOND);
        flow.acks(acks - 1);
        assert_eq!(flow.cc.law.bandwidth, 0, "{rtt} ms");
        flow.ack(1);
        assert_eq!(flow.cc.law.bandwidth, 1_000_000, "{rtt} ms");
    }
}

/// The paper: min(cwnd, capacity), and the threshold is the capacity in any case.
#[test]
fn the_paper_lowers_a_window_only_to_what_the_path_holds() {
    for signal in [Signal::Loss, Signal::Ecn] {
        for (window, after) in [(200, 100), (101, 100), (80, 80)] {
            let mut flow = measured(Profile::Rfc, window);
            assert_eq!(flow.congestion(signal), after * 1000);
            assert_eq!(flow.cc.control().ssthresh, 100_000);
        }
    }
}

/// Linux: half while recovery lasts, then the capacity, also if that is more than before.
#[test]
fn linux_halves_until_recovery_is_over() {
    for (window, during) in [(300, 150), (120, 60), (90, 45)] {
        let mut flow = measured(Profile::Linux, window);
        assert_eq!(flow.lose(), during * 1000);
        flow.cc.on_recovery_exit(flow.now, &flow.path);
        let control = flow.cc.control();
        assert_eq!((control.cwnd, control.ssthresh), (100_000, 100_000));
    }
}

/// Jiffies: an RTT of 61 ms is 64, and an interval ends at the first jiffy beyond 64 ms; a window is
/// whole segments, 64 of the 64.9 of 1014.7 B/ms.
#[test]
fn linux_counts_jiffies() {
    let parameters = WestwoodParameters {
        profile: Profile::Linux,
        tick: Millis(4),
        ..WestwoodParameters::default()
    };
    let mut flow = Flow::avoiding(1000, 100, parameters);
    flow.path.on_rtt(61 * MILLISECOND);
    flow.ack(1);
    let since = flow.cc.law.since;
    assert_eq!(since, Some(SECOND));
    flow.acks(66);
    assert_eq!(flow.cc.law.since, since);
    flow.ack(2);
    assert_eq!(flow.cc.law.since, Some(SECOND + 68 * MILLISECOND));
    assert_eq!(flow.cc.law.bandwidth, 1_000_000);
    assert_eq!(flow.cc.law.min_rtt, 64 * MILLISECOND);
    flow.cc.law.bandwidth = 1_014_700;
    flow.lose();
    flow.cc.on_recovery_exit(flow.now, &flow.path);
    assert_eq!(flow.cwnd(), 64_000);
}

/// Held back to 1.2 windows a round trip, a flow measures its own hesitation.
#[test]
fn packets_are_hardly_held_back() {
    let mut flow = measured(Profile::Rfc, 100);
    flow.ack(1);
    let control = flow.cc.control();
    assert_eq!(control.pacing_rate, Some(8 * control.cwnd * 10));
    let unknown = Flow::avoiding(1000, 100, WestwoodParameters::default());
    assert_eq!(unknown.cc.control().pacing_rate, None);
}

#[test]
fn a_spurious_loss_does_not_set_the_window_later() {
    let mut flow = measured(Profile::Linux, 300);
    flow.lose();
    flow.cc.on_spurious(flow.now, &flow.path);
    flow.cc.on_recovery_exit(flow.now, &flow.path);
    assert_eq!(flow.cwnd(), 300_000);
}

/// After a timeout the threshold is the capacity, and the least RTT is learned again.
#[test]
fn a_timeout_forgets_the_least_rtt() {
    for profile in [Profile::Rfc, Profile::Linux] {
        let mut flow = measured(profile, 200);
        flow.cc.on_rto(flow.now, &flow.path);
        let control = flow.cc.control();
        assert_eq!((control.cwnd, control.ssthresh), (1000, 100_000));
        flow.cc.on_recovery_exit(flow.now, &flow.path);
        assert_eq!(flow.cwnd(), 1000);
        flow.path.on_rtt(150 * MILLISECOND);
        flow.ack(1);
        assert_eq!(flow.cc.law.min_rtt, 150 * MILLISECOND);
    }
}

/// Without any measurement a loss halves, once.
#[test]
fn unmeasured_it_is_reno() {
    for profile in [Profile::Rfc, Profile::Linux] {
        let parameters = WestwoodParameters {
            profile,
            ..WestwoodParameters::default()
        };
        let mut flow = Flow::avoiding(1000, 40, parameters);
        assert_eq!(flow.lose(), 20_000);
        flow.cc.on_recovery_exit(flow.now, &flow.path);
        assert_eq!(flow.cwnd(), 20_000);
        flow.acks(20);
        assert_eq!(flow.cwnd(), 21_000);
    }
}

/// Ten seconds of silence are not ten seconds of low bandwidth.
#[test]
fn idle_time_is_not_measured() {
    let mut flow = measured(Profile::Rfc, 100);
    flow.acks(50);
    flow.now += 10 * SECOND;
    flow.cc.on_idle_restart(flow.now, 10 * SECOND, &flow.path);
    flow.acks(200);
    assert_eq!(flow.cc.law.bandwidth, 1_000_000);
}

/// A flow that is taken over starts from the path's measurements.
#[test]
fn a_running_flow_keeps_what_is_known() {
    let mut path = Path::new(1000);
    path.on_rtt(50 * MILLISECOND);
    path.max_bw = 2_000_000;
    let law = WestwoodLaw::new(&path, &WestwoodParameters::default());
    assert_eq!(law.capacity(&path), Some(100_000));
}
