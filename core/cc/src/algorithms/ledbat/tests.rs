use super::*;
use crate::scripted::Scripted;
use crate::{CongestionControl, MILLISECOND, SECOND};

const MSS: u32 = 1000;

fn plus_plus() -> LedbatParameters {
    LedbatParameters {
        variant: LedbatVariant::PlusPlus,
        target: Millis(60),
        ..LedbatParameters::default()
    }
}

/// In congestion avoidance, with four delays of `base` behind it and four of `delay` now, in ms.
fn at(
    mss: u32,
    segments: u64,
    base: u64,
    delay: u64,
    parameters: LedbatParameters,
) -> Scripted<LedbatLaw> {
    let mut flow = Scripted::<LedbatLaw>::avoiding(mss, segments, parameters);
    flow.cc.law.stage = Stage::Avoid;
    flow.cc.law.until = Nanos::MAX;
    for ms in [base, delay, delay, delay, delay] {
        flow.cc.law.delays.take(flow.now, ms * MILLISECOND);
    }
    flow.path.srtt = delay * MILLISECOND;
    flow
}

/// An ACK for so many segments, a millisecond after the last; a window's worth is in flight.
fn ack(flow: &mut Scripted<LedbatLaw>, segments: u64) {
    let bytes = segments * u64::from(flow.path.mss);
    flow.now += MILLISECOND;
    flow.path.delivered += bytes;
    let event = AckEvent {
        now: flow.now,
        delivered: bytes,
        inflight_before: flow.cwnd(),
        rtt: (flow.path.latest_rtt > 0).then_some(flow.path.latest_rtt),
        cwnd_limited: true,
        ..AckEvent::default()
    };
    flow.cc.on_ack(&event, &flow.path);
}

mod vectors {
    use super::*;

    /// ns-3 `tcp-ledbat-test.cc` "LEDBAT falls to New Reno for slowstart".
    #[test]
    fn ns3_slow_start() {
        let mut flow = Scripted::<LedbatLaw>::new(1446, 2 * 1446, 4 * 1446, Default::default());
        flow.ack(2);
        assert_eq!(flow.cwnd(), 4 * 1446);
    }

    /// ns-3 `tcp-ledbat-test.cc` "LEDBAT increment test": a queueing delay of 2 ms, two segments of
    /// 1446 B and two acknowledged: 2892 + 0.98 · 2 · 1446² / 2892 = 4309.08 B.
    #[test]
    fn ns3_increment() {
        let mut flow = at(1446, 2, 1, 3, LedbatParameters::default());
        ack(&mut flow, 2);
        assert_eq!(flow.cwnd(), 4309);
    }

    /// ns-3 `tcp-ledbat-test.cc` "LEDBAT decrement test": 198 ms, two segments are the least. With
    /// ten there is something to take: 14460 − 0.98 · 2 · 1446² / 14460 = 14176.6 B.
    #[test]
    fn ns3_decrement() {
        let mut flow = at(1446, 2, 1, 199, LedbatParameters::default());
        ack(&mut flow, 2);
        assert_eq!(flow.cwnd(), 2 * 1446);
        let mut flow = at(1446, 10, 1, 199, LedbatParameters::default());
        ack(&mut flow, 2);
        assert_eq!(flow.cwnd(), 14_177);
    }

    /// RFC 6817 §2.4.2: GAIN segments a round trip without a queue, none at the target.
    #[test]
    fn rfc_growth() {
        for (delay, grown) in [(100, 1000), (150, 500), (200, 0)] {
            let mut flow = at(MSS, 20, 100, delay, LedbatParameters::default());
            (0..20).for_each(|_| ack(&mut flow, 1));
            let by = flow.cwnd() - 20_000;
            assert!(by.abs_diff(grown) <= grown / 40, "{delay}: {by}");
        }
    }

    /// LEDBAT++ §4.2: GAIN = 1 / min(16, ceil(2 · 60 / base)).
    #[test]
    fn plus_plus_gain() {
        for (base, divisor) in [
            (5, 16),
            (10, 12),
            (30, 4),
            (50, 3),
            (60, 2),
            (120, 1),
            (300, 1),
        ] {
            let flow = at(MSS, 20, base, base, plus_plus());
            assert_eq!(
                flow.cc.law.gain(&plus_plus()),
                1.0 / f64::from(divisor),
                "{base}"
            );
        }
    }

    /// LEDBAT++ §4.3, base 120 ms, 40 segments: + 1 below the target and at it; 1 − 40 · (66/60 − 1)
    /// = −3 above; −W/2 at twice the target and beyond.
    #[test]
    fn plus_plus_decrease() {
        let p = plus_plus();
        for (queue, change) in [
            (0, 1.0),
            (59, 1.0),
            (60, 1.0),
            (66, -3.0),
            (120, -20.0),
            (900, -20.0),
        ] {
            let flow = at(MSS, 40, 120, 120 + queue, p);
            let change_here = flow.cc.law.change(&flow.cc.window, &flow.path, &p);
            assert!(
                (change_here - change).abs() < 1e-9,
                "{queue}: {change_here}"
            );
        }
    }
}

/// RFC 6817: cwnd = min(cwnd, flightsize + ALLOWED_INCREASE · MSS), here for growth alone.
#[test]
fn the_window_stays_by_the_flight() {
    let mut flow = at(MSS, 20, 100, 100, LedbatParameters::default());
    let event = AckEvent {
        now: flow.now,
        delivered: 40_000,
        inflight_before: 19_500,
        cwnd_limited: true,
        ..AckEvent::default()
    };
    flow.cc.on_ack(&event, &flow.path);
    assert_eq!(flow.cwnd(), 20_500);
}

#[test]
fn loss_halves() {
    for parameters in [LedbatParameters::default(), plus_plus()] {
        let mut flow = at(MSS, 20, 100, 100, parameters);
        assert_eq!(flow.lose(), 10_000);
    }
}

/// §4.1: slow start by the gain, out of it above three quarters of the target.
#[test]
fn plus_plus_slow_start_is_gentle_and_ends_before_the_target() {
    let mut flow = Scripted::<LedbatLaw>::new(MSS, 10_000, u64::MAX, plus_plus());
    flow.path.on_rtt(30 * MILLISECOND);
    flow.ack(10);
    // A quarter of what was delivered.
    assert_eq!(flow.cwnd(), 12_500);
    flow.path.on_rtt(75 * MILLISECOND);
    flow.acks(3);
    assert_eq!(flow.cc.control().phase, crate::Phase::SlowStart);
    flow.path.on_rtt(76 * MILLISECOND);
    flow.acks(4);
    assert_eq!(flow.cc.control().phase, crate::Phase::Avoidance);
}

/// §4.4: two round trips after slow start the window is two segments, for two round trips; then it
/// comes back, and the next slowdown comes after nine times as long.
#[test]
fn plus_plus_slows_down_for_a_tenth_of_the_time() {
    let mut flow = Scripted::<LedbatLaw>::new(MSS, 40_000, 40_000, plus_plus());
    // A gain of 1, so that the way back is plain slow start.
    flow.path.on_rtt(120 * MILLISECOND);
    let (mut times, mut low) = (Vec::new(), false);
    let start = flow.now;
    while flow.now < start + 30 * SECOND {
        let round = flow.segments();
        flow.now += 120 * MILLISECOND - round.min(100) * MILLISECOND;
        (0..round.min(100)).for_each(|_| ack(&mut flow, 1));
        let is_low = flow.segments() == 2;
        if is_low != low {
            low = is_low;
            times.push((flow.now - start) / MILLISECOND);
        }
    }
    let rounds = |ms: u64| ms as f64 / 120.0;
    assert!((2.0..4.5).contains(&rounds(times[0])), "{times:?}");
    assert!(
        (2.0..3.5).contains(&rounds(times[1] - times[0])),
        "{times:?}"
    );
    // Back from 2 to 40 takes 4.3 doublings.
    let length = rounds(times[1] - times[0]) + 4.3;
    let between = rounds(times[2] - times[1]) - 4.3;
    assert!((between / length - 9.0).abs() < 2.0, "{times:?}");
    assert!(flow.segments() > 40);
}

/// In a slowdown the threshold, which holds the window before, is what a loss halves.
#[test]
fn a_loss_in_a_slowdown_halves_the_window_before() {
    let mut flow = at(MSS, 40, 120, 120, plus_plus());
    flow.cc.law.until = 0;
    flow.ack(1);
    assert_eq!((flow.segments(), flow.cc.control().ssthresh), (2, 40_000));
    flow.lose();
    assert_eq!((flow.segments(), flow.cc.control().ssthresh), (2, 20_000));
}
