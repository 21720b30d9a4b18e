use super::*;
use crate::{AlgorithmId, MILLISECOND, SECOND, Settings};

/// mvfst's `udpSendPacketLen`; no test depends on it.
const MSS: u64 = 1252;

struct Flow {
    copa: Copa,
    path: Path,
    now: Nanos,
}

impl Flow {
    fn new(parameters: CopaParameters, segments: u64) -> Self {
        let path = Path::new(MSS as u32);
        let mut copa = Copa::new(&crate::Beginning::new(&path, 0), &parameters);
        copa.cwnd = (segments * MSS) as f64;
        Flow {
            copa,
            path,
            now: SECOND,
        }
    }

    /// An ACK of a segment after so many ms, with newest and smoothed RTT as given in ms.
    fn ack(&mut self, after: u64, latest: u64, srtt: u64) {
        self.ack_of(1, after, latest, srtt);
    }

    fn ack_of(&mut self, segments: u64, after: u64, latest: u64, srtt: u64) {
        self.now += after * MILLISECOND;
        self.path.latest_rtt = latest * MILLISECOND;
        self.path.srtt = srtt * MILLISECOND;
        self.path.min_rtt = self.path.min_rtt.min(self.path.latest_rtt);
        self.path.delivered += segments * MSS;
        let event = AckEvent {
            now: self.now,
            delivered: segments * MSS,
            rtt: Some(self.path.latest_rtt),
            cwnd_limited: true,
            ..AckEvent::default()
        };
        self.copa.on_ack(&event, &self.path);
    }

    /// The window in segments.
    fn cwnd(&self) -> f64 {
        self.copa.cwnd / MSS as f64
    }

    fn lose(&mut self) {
        let event = CongestionEvent {
            now: self.now,
            signal: Signal::Loss,
            inflight_before: 0,
            lost: MSS,
        };
        self.copa.on_congestion(&event, &self.path);
    }
}

fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
}

/// mvfst with the standing RTT and delta 0.5, as its tests set it.
fn mvfst() -> CopaParameters {
    CopaParameters {
        competitive: false,
        variant: CopaVariant::Mvfst,
        ..CopaParameters::default()
    }
}

/// A queue that others keep full looks like an empty one: the RTT never changes. Only what the path
/// delivers bounds the window then.
#[test]
fn a_full_queue_from_the_beginning_does_not_let_it_grow_without_end() {
    let mut flow = Flow::new(CopaParameters::default(), 10);
    // 100 segments in a round trip of 100 ms.
    flow.path.max_bw = 1000 * MSS;
    for _ in 0..2000 {
        flow.ack_of(10, 10, 100, 100);
        flow.lose();
    }
    assert!((150.0..=210.0).contains(&flow.cwnd()), "{}", flow.cwnd());
}

mod vectors {
    use super::*;

    /// `exitSlowStart` of mvfst's CopaTest.cpp: 50 ms, then 150: the rate is above 20 segments a
    /// second, and the window loses 1 / (0.5 · cwnd).
    fn past_slow_start(segments: u64) -> Flow {
        let mut flow = Flow::new(mvfst(), segments);
        flow.ack(50, 50, 50);
        assert_eq!(flow.copa.control().phase, Phase::SlowStart);
        flow.ack(110, 150, 100);
        assert_eq!(flow.copa.control().phase, Phase::Avoidance);
        let start = segments as f64;
        close(flow.cwnd(), start - 2.0 / start);
        flow
    }

    /// facebook/mvfst CopaTest.cpp `TestSlowStartAck`: 10 segments, doubled once per srtt, in one
    /// step; out of it when the standing RTT, not the newest, has risen.
    #[test]
    fn mvfst_slow_start() {
        let mut flow = Flow::new(mvfst(), 10);
        flow.ack(280, 280, 280);
        flow.ack(50, 280, 280);
        flow.ack(0, 280, 280);
        close(flow.cwnd(), 10.0);
        flow.ack(300, 300, 300);
        close(flow.cwnd(), 20.0);
        flow.ack(100, 300, 300);
        close(flow.cwnd(), 20.0);
        flow.ack(100, 350, 300);
        assert_eq!(flow.copa.control().phase, Phase::SlowStart);
        close(flow.cwnd(), 20.0);
        flow.ack(201, 400, 300);
        assert_eq!(flow.copa.control().phase, Phase::Avoidance);
        assert!(flow.cwnd() <= 20.0);
    }

    /// facebook/mvfst CopaTest.cpp `TestSteadyStateChanges`: down, up, up although the newest RTT
    /// has risen, down when the standing one has.
    #[test]
    fn mvfst_steady_state() {
        let mut flow = past_slow_start(9);
        for (after, latest, sign) in [
            (10, 100, -1.0),
            (10, 50, 1.0),
            (10, 100, 1.0),
            (110, 100, -1.0),
        ] {
            let before = flow.cwnd();
            flow.ack(after, latest, 100);
            close(flow.cwnd(), before + sign * 2.0 / before);
        }
    }

    /// facebook/mvfst CopaTest.cpp `TestVelocity`: five steps at velocity 1, then 2, 4 and 8; 1
    /// again when the target falls.
    #[test]
    fn mvfst_velocity() {
        let mut flow = past_slow_start(11);
        for velocity in [1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 4.0, 8.0] {
            let before = flow.cwnd();
            flow.ack(100, 50, 100);
            close(flow.cwnd(), before + velocity * 2.0 / before);
        }
        let before = flow.cwnd();
        flow.ack(110, 200, 100);
        close(flow.cwnd(), before - 2.0 / before);
    }

    /// facebook/mvfst CopaTest.cpp `PersistentCongestion`: two segments, still in slow start.
    #[test]
    fn mvfst_persistent_congestion() {
        let mut flow = Flow::new(mvfst(), 10);
        flow.copa.on_rto(flow.now, &flow.path);
        close(flow.cwnd(), 2.0);
        assert_eq!(flow.copa.control().phase, Phase::SlowStart);
    }

    /// The paper, §2.1: equal rates at cwnd / RTT = 1 / (delta · d_q). 12 segments at 60 ms over 50
    /// and delta 0.5 are exactly at the target; more shrinks, less grows.
    #[test]
    fn the_target_rate() {
        for (segments, grows) in [(11.9, true), (12.1, false)] {
            let mut flow = Flow::new(CopaParameters::default(), 10);
            flow.ack(0, 50, 50);
            flow.copa.slow_start = false;
            flow.ack(200, 60, 60);
            flow.copa.cwnd = segments * MSS as f64;
            flow.ack(1, 60, 60);
            assert_eq!(flow.cwnd() > segments, grows, "{segments}");
        }
    }
}

/// §2.1: doubling per round trip, by what is delivered, until the rate is above the target.
#[test]
fn the_paper_s_slow_start_grows_with_every_ack() {
    let mut flow = Flow::new(CopaParameters::default(), 10);
    flow.ack_of(10, 100, 100, 100);
    close(flow.cwnd(), 20.0);
    flow.ack_of(20, 100, 100, 100);
    close(flow.cwnd(), 40.0);
    // 40 / 0.11 s is above 2 / 0.01 s.
    flow.ack_of(1, 100, 110, 100);
    assert_eq!(flow.copa.control().phase, Phase::Avoidance);
}

/// An empty queue is a target without bound, and v asks for no more than a window a round trip.
#[test]
fn the_window_at_most_doubles_in_a_round_trip() {
    let mut flow = Flow::new(CopaParameters::default(), 10);
    flow.copa.slow_start = false;
    let mut largest: f64 = 0.0;
    for _ in 0..14 {
        let before = flow.cwnd();
        // A round trip's worth of ACKs.
        for n in 0..before as u64 {
            flow.ack(if n == 0 { 100 } else { 0 }, 100, 100);
        }
        largest = largest.max(flow.cwnd() / before);
    }
    assert!((1.7..2.1).contains(&largest), "{largest}");
}

/// §2.2: no nearly empty queue in five round trips, and 1 / delta grows by one a round trip; a loss
/// halves it, never below the default; a nearly empty queue ends it.
#[test]
fn competes_where_the_queue_never_empties() {
    let mut flow = Flow::new(CopaParameters::default(), 10);
    flow.ack(0, 50, 50);
    flow.copa.slow_start = false;
    let rounds = |flow: &mut Flow, count: u64, rtt: u64| {
        (0..count * 10).for_each(|_| flow.ack(rtt / 10, rtt, rtt));
    };
    rounds(&mut flow, 5, 100);
    assert!(!flow.copa.mode.competes);
    flow.lose();
    close(flow.copa.mode.queued, 2.0);
    rounds(&mut flow, 1, 100);
    assert!(flow.copa.mode.competes);
    let before = flow.copa.mode.queued;
    rounds(&mut flow, 10, 100);
    close(flow.copa.mode.queued, before + 10.0);
    flow.lose();
    close(flow.copa.mode.queued, (before + 10.0) / 2.0);
    (0..5).for_each(|_| flow.lose());
    close(flow.copa.mode.queued, 2.0);
    rounds(&mut flow, 3, 100);
    assert!(flow.copa.mode.queued > 2.0);
    // 4 ms of at most 50 are nearly none.
    flow.ack(10, 54, 100);
    assert!(!flow.copa.mode.competes);
    close(flow.copa.mode.queued, 2.0);
}

/// Unused, the window does not grow, but a queue still makes it smaller.
#[test]
fn an_unused_window_may_only_shrink() {
    let mut flow = Flow::new(CopaParameters::default(), 100);
    flow.ack(0, 50, 50);
    flow.copa.slow_start = false;
    for (rtt, falls) in [(50, false), (100, true)] {
        let before = flow.cwnd();
        for _ in 0..10 {
            flow.now += 20 * MILLISECOND;
            let event = AckEvent {
                now: flow.now,
                delivered: MSS,
                rtt: Some(rtt * MILLISECOND),
                ..AckEvent::default()
            };
            flow.copa.on_ack(&event, &flow.path);
        }
        assert_eq!(flow.cwnd() < before, falls);
        assert!(flow.cwnd() <= before);
    }
}

#[test]
fn a_spurious_timeout_gives_the_window_back() {
    let mut flow = Flow::new(CopaParameters::default(), 50);
    flow.copa.on_rto(flow.now, &flow.path);
    flow.copa.on_rto(flow.now, &flow.path);
    flow.copa.on_spurious(flow.now, &flow.path);
    close(flow.cwnd(), 50.0);
}

/// Twice the window per round trip.
#[test]
fn paces_at_twice_the_window() {
    let mut flow = Flow::new(CopaParameters::default(), 10);
    assert_eq!(flow.copa.control().pacing_rate, None);
    flow.ack_of(0, 100, 100, 100);
    assert_eq!(flow.copa.control().pacing_rate, Some(20 * MSS * 10));
}

#[test]
fn the_preset_is_mvfst_s() {
    let mut settings = Settings::from(AlgorithmId::Copa);
    settings.apply_preset("mvfst").unwrap();
    assert_eq!(settings.get("delta"), Some(Value::Number(0.05)));
}
