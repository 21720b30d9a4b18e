use super::*;
use crate::scripted::Scripted;
use crate::{CongestionControl, MILLISECOND};

type Flow = Scripted<HyblaLaw>;

/// A flow whose RTT is known, in segments of 1000 bytes.
fn at_rtt(milliseconds: u64, cwnd: u64, ssthresh: u64, parameters: HyblaParameters) -> Flow {
    let mut flow = Flow::new(1000, cwnd * 1000, ssthresh.saturating_mul(1000), parameters);
    flow.path.on_rtt(milliseconds * MILLISECOND);
    flow
}

fn paper() -> HyblaParameters {
    HyblaParameters::default()
}

/// Nothing but the exponent of Linux bounds it.
fn unbounded(profile: Profile) -> HyblaParameters {
    HyblaParameters {
        profile,
        max_growth: 65_536,
        ..paper()
    }
}

mod vectors {
    use super::*;

    /// ns-3 `tcp-hybla-test.cc` with its reference RTT of 50 ms: one ACK at a window of 1000 B in
    /// segments of 500 B.
    fn ns3(rtt: u64, ssthresh: u64) -> u64 {
        let parameters = HyblaParameters {
            rtt0: Millis(50),
            ..unbounded(Profile::Rfc)
        };
        let mut flow = Flow::new(500, 1000, ssthresh, parameters);
        flow.path.on_rtt(rtt * MILLISECOND);
        flow.ack(1);
        flow.cwnd()
    }

    /// Slow start: 2^1.1 − 1 = 1.14355, 2^2 − 1 = 3 and 2^15 − 1 = 32,767 segments.
    #[test]
    fn ns3_slow_start() {
        for (rtt, after) in [(55, 1571), (100, 2500), (750, 16_384_500)] {
            assert_eq!(ns3(rtt, 0xFFFF_FFFF), after, "{rtt} ms");
        }
    }

    /// Avoidance: at most ρ² / 2 segments more: 60.5, 2 and 112.5.
    #[test]
    fn ns3_avoidance() {
        for (rtt, most) in [(550, 31_250), (100, 2000), (750, 57_250)] {
            let after = ns3(rtt, 500);
            assert!(
                (most * 85 / 100..=most).contains(&after),
                "{rtt} ms: {after}"
            );
        }
    }

    /// The paper's W(t) = ρ 2^(ρ t / RTT) for ρ = 2: 8, 32 and 128 after one, two and three round
    /// trips (worked out in the course notes of S. Cheung, Emory CS 558).
    #[test]
    fn slow_start_follows_the_papers_curve() {
        let mut flow = at_rtt(50, 2, u64::MAX, paper());
        for expected in [8, 32, 128] {
            flow.acks(flow.segments());
            assert_eq!(flow.segments(), expected);
        }
    }

    /// Linux' table of 2^(i/8) in 128ths.
    #[test]
    fn linux_fractions() {
        let table = [128, 139, 152, 165, 181, 197, 215, 234];
        for (i, parts) in (0..).zip(table) {
            // 25 ms is eight eighths; an eighth is 3.125 ms.
            let rtt = 25 * MILLISECOND + i * 3_125_000;
            let law = HyblaLaw::at_rtt(rtt, &unbounded(Profile::Linux));
            assert_eq!(law.rho, 1.0 + i as f64 / 8.0);
            assert_eq!(law.factor, f64::from(parts) * 2.0 / 128.0 - 1.0, "{i}");
        }
    }
}

/// Caini and Firrincieli: the rate, W / RTT, grows as fast as at RTT0 whatever the RTT: in three
/// seconds by 3 / (0.025 s)² segments per second.
#[test]
fn the_rate_grows_alike_at_any_rtt() {
    for rtt in [25, 50, 100, 300] {
        let mut flow = at_rtt(rtt, 2000, 0, paper());
        for _ in 0..3000 / rtt {
            flow.acks(flow.segments());
        }
        let per_second = (flow.segments() - 2000) * 1000 / rtt;
        assert!(
            (4500..=4800).contains(&per_second),
            "{rtt} ms: {per_second}"
        );
    }
}

/// Below RTT0, and before the first sample, it is Reno.
#[test]
fn short_paths_are_renos() {
    for rtt in [1, 10, 25] {
        let mut flow = at_rtt(rtt, 10, u64::MAX, paper());
        flow.acks(10);
        assert_eq!(flow.segments(), 20, "{rtt} ms");
    }
    let mut unmeasured = Flow::new(1000, 10_000, 12_000, paper());
    unmeasured.acks(2);
    assert_eq!(unmeasured.segments(), 12);
    unmeasured.acks(12);
    assert_eq!(unmeasured.segments(), 13);
    assert_eq!(unmeasured.lose(), 6500);
}

/// 2^24 at 600 ms: no more than 16 times in a round trip, in slow start and in avoidance, and the
/// threshold is kept.
#[test]
fn growth_is_bounded() {
    for ssthresh in [u64::MAX, 0] {
        let mut flow = at_rtt(600, 10, ssthresh, paper());
        flow.ack(10);
        let most = 160 + u64::from(ssthresh == 0);
        assert!(
            (130..=most).contains(&flow.segments()),
            "{}",
            flow.segments()
        );
    }
    // Slow start stops at 40; what the ACK has left adds 24² / 40 = 14.4 in avoidance.
    let mut flow = at_rtt(600, 10, 40, unbounded(Profile::Rfc));
    flow.ack(1);
    assert_eq!(flow.segments(), 54);
    let mut flow = at_rtt(3_600_000, 10, u64::MAX, unbounded(Profile::Rfc));
    (0..100).for_each(|_| flow.ack(1000));
    assert_eq!(flow.cwnd(), crate::MAX_CWND_BYTES);
}

/// The least RTT counts: a queue of the flow's own does not speed it up.
#[test]
fn a_queue_does_not_raise_rho() {
    let mut flow = at_rtt(100, 1000, 0, paper());
    flow.ack(1);
    assert_eq!(flow.cc.law.rho, 4.0);
    flow.path.on_rtt(400 * MILLISECOND);
    flow.ack(1);
    assert_eq!(flow.cc.law.rho, 4.0);
    flow.path.on_rtt(50 * MILLISECOND);
    flow.ack(1);
    assert_eq!(flow.cc.law.rho, 2.0);
}

/// The paper's growth does not depend on how ACKs group segments; the module counts ACKs.
#[test]
fn stretch_acks() {
    let after = |per_ack, cwnd, ssthresh, parameters| {
        let mut flow = at_rtt(50, cwnd, ssthresh, parameters);
        (0..cwnd / per_ack).for_each(|_| flow.ack(per_ack));
        flow.segments() - cwnd
    };
    let linux = unbounded(Profile::Linux);
    assert_eq!(
        [
            after(1, 40, u64::MAX, paper()),
            after(2, 40, u64::MAX, paper())
        ],
        [120, 120]
    );
    assert_eq!(
        [after(1, 40, u64::MAX, linux), after(2, 40, u64::MAX, linux)],
        [120, 60]
    );
    assert_eq!(
        [after(1, 256, 0, paper()), after(2, 256, 0, paper())],
        [3, 3]
    );
    // 64 ACKs for the first, at 512 / 256 parts each, 128 for the next, at 512 / 257.
    assert_eq!([after(1, 256, 0, linux), after(2, 256, 0, linux)], [2, 1]);
}

/// Linux: floor(128 ρ² / W) 128ths per ACK, and Reno where that is nothing.
#[test]
fn avoidance_in_the_integers_of_linux() {
    for (window, price) in [(100, 128_000_f64 / 5.0), (500, 128_000.0), (600, 600_000.0)] {
        let mut flow = at_rtt(50, window, 0, unbounded(Profile::Linux));
        flow.ack(1);
        assert_eq!(flow.cc.law.price, libm::ceil(price) as u64, "{window}");
    }
}

/// After a timeout the module is Reno until recovery is over; the paper is not.
#[test]
fn after_a_timeout() {
    for (parameters, after) in [(unbounded(Profile::Linux), 2), (paper(), 16)] {
        let mut flow = at_rtt(100, 100, 100, parameters);
        flow.cc.on_rto(flow.now, &flow.path);
        flow.path.delivered += 1000;
        let event = AckEvent {
            delivered: 1000,
            cwnd_limited: true,
            in_recovery: true,
            ..AckEvent::default()
        };
        flow.cc.on_ack(&event, &flow.path);
        assert_eq!(flow.segments(), after);
        assert_eq!(flow.cc.control().ssthresh, 50_000);
    }
}
