//! Mean windows under periodic loss against the published response functions.

use windlass_cc::{
    AckEvent, AlgorithmId, CongestionEvent, Controller, MILLISECOND, Nanos, Path, SECOND, Signal,
};

const MSS: u64 = 1000;

/// Mean window over time, in segments, when every `period`-th segment is lost. Recovery takes no
/// time, as in the derivations.
fn mean_window(id: AlgorithmId, rtt: Nanos, period: u64) -> f64 {
    let mut path = Path::new(MSS as u32);
    path.on_rtt(rtt);
    let mut controller = Controller::new(id, &path, 1);
    let (mut now, mut until_loss) = (SECOND, period);
    let (mut losses, mut sum, mut rounds) = (0, 0.0, 0.0);
    while losses < 60 {
        let window = controller.control().cwnd / MSS;
        if losses >= 20 {
            sum += window as f64;
            rounds += 1.0;
        }
        for segment in 0..window {
            path.delivered += MSS;
            let event = AckEvent {
                now: now + rtt * segment / window,
                acked: MSS,
                delivered: MSS,
                cwnd_limited: true,
                ..AckEvent::default()
            };
            controller.on_ack(&event, &path);
            until_loss -= 1;
            if until_loss == 0 {
                until_loss = period;
                losses += 1;
                let event = CongestionEvent {
                    now: event.now,
                    signal: Signal::Loss,
                    inflight_before: window * MSS,
                    lost: MSS,
                };
                controller.on_congestion(&event, &path);
                controller.on_recovery_exit(event.now, &path);
                break;
            }
        }
        now += rtt;
    }
    sum / rounds
}

fn within(value: f64, expected: f64, share: f64, what: &str) {
    let error = (value - expected).abs() / expected;
    assert!(error <= share, "{what}: {value:.1}, published {expected}");
}

/// RFC 3649 §3 and RFC 5681's law: sqrt(3 / 2p).
#[test]
fn reno_follows_1_22_over_the_root_of_p() {
    for period in [100, 1_000, 10_000, 100_000] {
        let mean = mean_window(AlgorithmId::Reno, 100 * MILLISECOND, period);
        let law = (1.5 * period as f64).sqrt();
        within(mean, law, 0.12, &format!("1/p = {period}"));
    }
}

/// RFC 9438 table 1: RTT 0.1 s.
#[test]
fn cubic_follows_rfc_9438_table_1() {
    for (period, table) in [
        (100, 12.0),
        (1_000, 38.0),
        (10_000, 187.0),
        (100_000, 1054.0),
    ] {
        let mean = mean_window(AlgorithmId::Cubic, 100 * MILLISECOND, period);
        within(mean, table, 0.15, &format!("1/p = {period}"));
    }
}

/// RFC 9438 table 2: RTT 0.01 s, where CUBIC is Reno.
#[test]
fn cubic_follows_rfc_9438_table_2() {
    for (period, table) in [
        (100, 12.0),
        (1_000, 38.0),
        (10_000, 120.0),
        (100_000, 379.0),
    ] {
        let mean = mean_window(AlgorithmId::Cubic, 10 * MILLISECOND, period);
        within(mean, table, 0.15, &format!("1/p = {period}"));
    }
}
