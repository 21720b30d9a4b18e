use super::*;
use crate::marking_link::{Marking, MarkingLink};
use crate::{
    Algorithm, AlgorithmId, CongestionControl, CongestionEvent, MILLISECOND, SECOND, Settings,
    Signal,
};

const MSS: u64 = 1000;

struct Flow {
    prague: Prague,
    path: Path,
    now: Nanos,
}

impl Flow {
    /// In congestion avoidance long enough for RTT independence.
    fn new(segments: u64, rtt: Nanos) -> Self {
        let mut path = Path::new(MSS as u32);
        path.on_rtt(rtt);
        let mut prague = Prague::new(
            &crate::Beginning::new(&path, 0),
            &PragueParameters::default(),
        );
        prague.window.cwnd = segments * MSS;
        prague.window.ssthresh = segments * MSS;
        prague.law.rounds = 4;
        Flow {
            prague,
            path,
            now: SECOND,
        }
    }

    /// An ACK of `segments`, of which `marked` are, in CWR or not.
    fn ack(&mut self, segments: u64, marked: u64, in_recovery: bool) {
        self.path.delivered += segments * MSS;
        let event = AckEvent {
            now: self.now,
            delivered: segments * MSS,
            ce_bytes: marked * MSS,
            cwnd_limited: true,
            in_recovery,
            ..AckEvent::default()
        };
        self.prague.on_ack(&event, &self.path);
    }

    fn signal(&mut self, signal: Signal) -> u64 {
        let event = CongestionEvent {
            now: self.now,
            signal,
            inflight_before: 0,
            lost: 0,
        };
        self.prague.on_congestion(&event, &self.path);
        self.cwnd()
    }

    fn cwnd(&self) -> u64 {
        self.prague.control().cwnd
    }

    /// The window with its fraction, segments.
    fn exact(&self) -> f64 {
        (self.cwnd() as f64 + self.prague.law.fraction) / MSS as f64
    }
}

mod vectors {
    use super::*;

    /// draft §2.4.4, Linux `prague_rate_scaled_ai_ack_increase`: (srtt / 25 ms)² segments a round
    /// trip, 1 from 25 ms on: 0.16 at 10 ms, 0.0016 at 1 ms.
    #[test]
    fn increase_by_rtt() {
        for (ms, expected) in [(1, 0.0016), (10, 0.16), (25, 1.0), (80, 1.0)] {
            let mut flow = Flow::new(200, ms * MILLISECOND);
            for _ in 0..200 {
                flow.ack(1, 0, false);
            }
            let grown = flow.exact() - 200.0;
            assert!((grown / expected - 1.0).abs() < 0.01, "{ms} ms: {grown}");
        }
    }

    /// Linux `prague_update_alpha`: 1 until the first mark, however many windows pass; then by a
    /// 16th per window.
    #[test]
    fn alpha_waits_for_the_first_mark() {
        let mut flow = Flow::new(100, 50 * MILLISECOND);
        for _ in 0..10 {
            flow.ack(10, 0, false);
        }
        assert_eq!(flow.prague.law.alpha, 1.0);
        flow.ack(10, 5, false);
        assert_eq!(flow.prague.law.alpha, 1.0 - 1.0 / 16.0 + 0.5 / 16.0);
    }

    /// The first mark finds alpha 1 and halves; loss halves.
    #[test]
    fn first_mark_and_loss() {
        for signal in [Signal::Ecn, Signal::Loss] {
            let mut flow = Flow::new(100, 50 * MILLISECOND);
            assert_eq!(flow.signal(signal), 50 * MSS);
        }
    }
}

/// A reduction by alpha / 2, of the window with its fraction, and once per virtual RTT.
#[test]
fn one_reduction_in_25_ms() {
    let mut flow = Flow::new(100, 5 * MILLISECOND);
    flow.ack(1, 1, false);
    flow.prague.law.alpha = 0.1;
    flow.prague.law.updated = flow.now;
    flow.prague.law.reduced = flow.now;
    // Within the virtual RTT; then at its end.
    flow.now += 20 * MILLISECOND;
    flow.ack(1, 1, false);
    let before = flow.exact();
    flow.signal(Signal::Ecn);
    assert_eq!(flow.exact(), before);
    flow.now += 5 * MILLISECOND;
    flow.ack(1, 1, false);
    flow.prague.law.alpha = 0.1;
    flow.signal(Signal::Ecn);
    assert!(
        (flow.exact() - before * 0.95).abs() < 0.01,
        "{}",
        flow.exact()
    );
}

/// Increase goes on in CWR by what is not marked; in the recovery of a loss it does not.
#[test]
fn grows_in_cwr_by_what_is_not_marked() {
    let mut flow = Flow::new(100, 50 * MILLISECOND);
    flow.signal(Signal::Ecn);
    flow.ack(20, 10, true);
    assert!((flow.exact() - 50.2).abs() < 1e-9, "{}", flow.exact());
    flow.prague.on_recovery_exit(flow.now, &flow.path);
    flow.signal(Signal::Loss);
    let lost = flow.exact();
    flow.ack(20, 0, true);
    assert_eq!(flow.exact(), lost);
}

/// Twice the window per RTT below half of the threshold, once above.
#[test]
fn paces_by_the_window() {
    let mut flow = Flow::new(100, 50 * MILLISECOND);
    flow.ack(0, 0, false);
    assert_eq!(flow.prague.control().pacing_rate, Some(100 * MSS * 20));
    flow.prague.window.ssthresh = 1000 * MSS;
    flow.ack(0, 0, false);
    assert_eq!(flow.prague.control().pacing_rate, Some(200 * MSS * 20));
}

/// The mean window at a share `per_million` of random marks and this RTT.
fn window_at(rtt: Nanos, per_million: u64) -> f64 {
    let delay = 2_000;
    let settings = Settings::from(AlgorithmId::Prague);
    let marking = Marking::Random(per_million);
    let mut link = MarkingLink::new(settings, rtt / delay, delay, marking);
    // The first mark finds alpha 1, and it takes hundreds of virtual RTTs to come back from that.
    let rounds = 20 * SECOND / rtt;
    link.run(rounds * delay);
    link.run(2 * rounds * delay).window
}

/// Random marks of share p, so alpha is p: a cycle is a round trip of CWR and the 1 / p segments
/// until the next mark, increase goes on in both, and (1 − p)(1 + 1 / (pW)) = pW / 2.
#[test]
fn random_marks_leave_the_window_of_the_balance() {
    for per_million in [50_000, 10_000] {
        let p = per_million as f64 / 1e6;
        let q = 1.0 - p;
        let law = (q + (q * q + 2.0 * q).sqrt()) / p;
        let window = window_at(50 * MILLISECOND, per_million);
        assert!((window / law - 1.0).abs() < 0.1, "{window}, law {law}");
    }
}

/// At 5 and at 25 ms the same marks leave the same rate: a window of a fifth.
#[test]
fn the_rate_is_the_same_below_25_ms() {
    let (short, long) = (
        window_at(5 * MILLISECOND, 10_000),
        window_at(25 * MILLISECOND, 10_000),
    );
    let rates = short * 5.0 / long;
    assert!((0.8..1.25).contains(&rates), "{short} and {long}");
}

/// A step at five segments: the link is busy, and the queue stays about there.
#[test]
fn a_shallow_step_keeps_a_shallow_queue() {
    let settings = Settings::from(AlgorithmId::Prague);
    // 12 Mbit/s and 25 ms: 25 segments.
    let mut link = MarkingLink::new(settings, MILLISECOND, 25, Marking::Step(5));
    link.run(5_000);
    let means = link.run(20_000);
    assert!(means.utilisation > 0.97, "{}", means.utilisation);
    assert!(means.queue < 6.0, "{}", means.queue);
    let Algorithm::Prague(prague) = link.algorithm() else {
        unreachable!("it is what was started");
    };
    assert!(prague.law.alpha < 0.5, "{}", prague.law.alpha);
}
