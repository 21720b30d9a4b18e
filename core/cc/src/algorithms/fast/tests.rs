use super::*;
use crate::MILLISECOND;
use crate::scripted::Scripted;

const MSS: u32 = 1000;

fn alpha(alpha: u32) -> FastParameters {
    FastParameters {
        alpha,
        ..FastParameters::default()
    }
}

/// In congestion avoidance, base RTT 100 ms; `rtt` in ms from here on.
fn at(segments: u64, rtt: u64, parameters: FastParameters) -> Scripted<FastLaw> {
    let mut flow = Scripted::<FastLaw>::avoiding(MSS, segments, parameters);
    flow.path.on_rtt(100 * MILLISECOND);
    flow.ack(1);
    flow.cc.law.rtt = (rtt * MILLISECOND) as f64;
    flow.path.latest_rtt = rtt * MILLISECOND;
    flow
}

/// Two round trips of so many segments each.
fn update(flow: &mut Scripted<FastLaw>) {
    for _ in 0..2 {
        flow.path.inflight = 10_000;
        flow.acks(11);
    }
}

/// Wei, Jin, Low, Hegde 2006, the window update: w = 100, base 100 ms, alpha 20, gamma 1/2. At 125 ms it is where it should be; at 100
/// ms it gains 10; at 150 ms it is 0.5 · 100 + 0.5 · (66.7 + 20) = 93.3.
#[test]
fn vectors_the_update() {
    for (rtt, expected) in [(125, 100_000), (100, 110_000), (150, 93_333)] {
        let mut flow = at(100, rtt, alpha(20));
        update(&mut flow);
        assert_eq!(flow.cwnd(), expected, "{rtt}");
    }
}

/// The same: no more than twice the window, 10 and half of 200 would be 110.
#[test]
fn vectors_an_update_at_most_doubles() {
    let mut flow = at(10, 100, alpha(200));
    update(&mut flow);
    assert_eq!(flow.cwnd(), 20_000);
}

/// The same, equilibrium: x_i q_i = alpha_i. Flows on one link of so many segments (100 a base RTT of
/// 100 ms) share it by their alphas, and the queue holds the sum of them.
#[test]
fn vectors_rates_are_in_proportion_to_alpha() {
    for alphas in [&[10, 10][..], &[5, 15], &[8, 8, 16, 32]] {
        let mut flows: Vec<_> = alphas.iter().map(|a| at(30, 100, alpha(*a))).collect();
        let mut rtt = 100.0;
        for _ in 0..200 {
            let windows: f64 = flows.iter().map(|f| f.cwnd() as f64 / 1000.0).sum();
            // What does not fit the path waits: RTT = windows / rate.
            rtt = f64::max(100.0, windows);
            for flow in &mut flows {
                flow.cc.law.rtt = rtt * MILLISECOND as f64;
                flow.path.latest_rtt = flow.cc.law.rtt as Nanos;
                update(flow);
            }
        }
        let queued: u32 = alphas.iter().sum();
        assert!(
            (rtt - 100.0 - f64::from(queued)).abs() < 1.0,
            "{alphas:?}: {rtt}"
        );
        for (flow, alpha) in flows.iter().zip(alphas) {
            let share = flow.cwnd() as f64 / 1000.0 / rtt;
            let expected = f64::from(*alpha) / f64::from(queued);
            assert!(
                (share - expected).abs() < 0.01,
                "{alphas:?}: {share}, {expected}"
            );
        }
    }
}

/// At a given RTT the distance from the fixed point, 100 segments at 125 ms with alpha 20, shrinks
/// by (1 − gamma) + gamma · base / RTT = 0.9 an update.
#[test]
fn converges_by_a_tenth_an_update() {
    let mut flow = at(60, 125, alpha(20));
    let mut distance = 40_000.0;
    for _ in 0..20 {
        update(&mut flow);
        distance *= 0.9;
        let here = 100_000.0 - flow.cwnd() as f64;
        assert!((here - distance).abs() < 10.0, "{here}, {distance}");
    }
}

/// The same paper, estimation: the average takes 3 / w of a sample, a quarter at the most.
#[test]
fn vectors_the_average_is_slow_for_large_windows() {
    for (segments, expected) in [(100, 100.0 + 0.03 * 50.0), (6, 100.0 + 0.25 * 50.0)] {
        let mut flow = at(segments, 100, alpha(20));
        flow.path.latest_rtt = 150 * MILLISECOND;
        flow.ack(1);
        let average = flow.cc.law.rtt / MILLISECOND as f64;
        assert!((average - expected).abs() < 1e-9, "{average}");
    }
}

/// 8, 20, 200 by rates of 10 and 100 Mbit/s, and down again from four fifths.
#[test]
fn alpha_follows_the_rate() {
    let mut flow = at(100, 100, FastParameters::default());
    for (mbits, expected) in [
        (5, 8),
        (10, 20),
        (9, 20),
        (99, 20),
        (100, 200),
        (81, 200),
        (79, 20),
        (9, 20),
        (7, 8),
        (1000, 200),
        (1, 8),
    ] {
        // Bytes in 100 ms.
        flow.cc.law.choose_alpha(mbits * 1_000_000 / 8 / 10);
        assert_eq!(flow.cc.law.alpha, expected, "{mbits}");
    }
}

/// Slow start is over when alpha segments wait, by eight samples in a row: of 100 at 110 ms, 9.1;
/// at 115 ms, 13.
#[test]
fn slow_start_ends_with_alpha_in_the_queue() {
    let mut flow = Scripted::<FastLaw>::new(MSS, 100_000, u64::MAX, alpha(12));
    let phase = |flow: &Scripted<FastLaw>| crate::CongestionControl::control(&flow.cc).phase;
    for (rtt, acks) in [(100, 1), (110, 8), (115, 7), (110, 1), (115, 7)] {
        flow.path.on_rtt(rtt * MILLISECOND);
        flow.acks(acks);
        assert_eq!(phase(&flow), crate::Phase::SlowStart, "{rtt}");
    }
    flow.ack(1);
    assert_eq!(phase(&flow), crate::Phase::Avoidance);
}

#[test]
fn loss_halves_and_starts_a_new_count_of_rounds() {
    let mut flow = at(100, 125, alpha(20));
    assert_eq!(flow.lose(), 50_000);
}
