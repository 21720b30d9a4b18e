use super::*;
use crate::{ByteRate, MILLISECOND, RateSample, Signal};

const MSS: u64 = 1000;
/// 100 segments in 100 ms.
const RATE: ByteRate = 1_000_000;

struct Flow {
    mystique: MystiqueBbr,
    path: Path,
    now: Nanos,
}

impl Flow {
    fn new(parameters: MystiqueBbrParameters) -> Self {
        let path = Path::new(MSS as u32);
        Flow {
            mystique: MystiqueBbr::new(&crate::Beginning::new(&path, 0), &parameters),
            path,
            now: SECOND,
        }
    }

    /// An ACK of ten segments, a millisecond after the last.
    fn ack(&mut self, rtt: Nanos, rate: ByteRate) {
        self.now += MILLISECOND;
        self.path.delivered += 10 * MSS;
        self.path.on_rtt(rtt);
        let event = AckEvent {
            now: self.now,
            delivered: 10 * MSS,
            rtt: Some(rtt),
            rate: Some(RateSample {
                rate,
                ..RateSample::default()
            }),
            cwnd_limited: true,
            ..AckEvent::default()
        };
        self.mystique.on_ack(&event, &self.path);
    }

    fn acks(&mut self, span: Nanos, rtt: Nanos, rate: ByteRate) {
        (0..span / MILLISECOND).for_each(|_| self.ack(rtt, rate));
    }

    fn cwnd(&self) -> u64 {
        self.mystique.control().cwnd / MSS
    }
}

mod vectors {
    use super::*;

    /// §3.2: every 5 s min_rtt takes a step of a tenth and max_bw one of an MSS; on an unchanged
    /// path the next ACK undoes both.
    #[test]
    fn steps_of_the_paper() {
        let rtt = 100 * MILLISECOND;
        let mut flow = Flow::new(MystiqueBbrParameters::default());
        flow.acks(5000 * MILLISECOND, rtt, RATE);
        assert_eq!(
            (
                flow.mystique.estimates.min_rtt,
                flow.mystique.estimates.max_bw
            ),
            (rtt, RATE)
        );
        flow.ack(rtt, RATE);
        assert_eq!(flow.mystique.estimates.min_rtt, 110 * MILLISECOND);
        // 100 segments a round trip become 99.
        assert_eq!(flow.mystique.estimates.max_bw, 990_000);
        flow.ack(rtt, RATE);
        assert_eq!(
            (
                flow.mystique.estimates.min_rtt,
                flow.mystique.estimates.max_bw
            ),
            (rtt, RATE)
        );
    }

    /// §3.2, "step by step": 100 ms become 150 in the fifth step (110, 121, 133.1, 146.4, 161).
    #[test]
    fn a_longer_path_is_found_step_by_step() {
        let mut flow = Flow::new(MystiqueBbrParameters::default());
        flow.ack(100 * MILLISECOND, RATE);
        flow.acks(20 * SECOND, 150 * MILLISECOND, RATE);
        assert_eq!(flow.mystique.estimates.min_rtt, 146_410_000);
        flow.acks(5 * SECOND + 10 * MILLISECOND, 150 * MILLISECOND, RATE);
        assert_eq!(flow.mystique.estimates.min_rtt, 150 * MILLISECOND);
    }

    /// The other reading of "bw_step = MSS": bytes per second.
    #[test]
    fn a_step_in_segments_per_second() {
        let parameters = MystiqueBbrParameters {
            bw_step_per: StepSpan::Second,
            ..MystiqueBbrParameters::default()
        };
        let mut flow = Flow::new(parameters);
        flow.ack(100 * MILLISECOND, RATE);
        flow.acks(5 * SECOND, 100 * MILLISECOND, 0);
        assert_eq!(flow.mystique.estimates.max_bw, RATE - MSS);
    }
}

/// Two products, reached by no more than what is delivered.
#[test]
fn the_window_is_two_products_and_grows_by_what_is_delivered() {
    let mut flow = Flow::new(MystiqueBbrParameters::default());
    assert_eq!(
        (flow.cwnd(), flow.mystique.control().phase),
        (10, Phase::SlowStart)
    );
    for expected in [20, 30, 40] {
        flow.ack(100 * MILLISECOND, RATE);
        assert_eq!(flow.cwnd(), expected);
    }
    flow.acks(SECOND, 100 * MILLISECOND, RATE);
    assert_eq!(flow.cwnd(), 200);
    assert_eq!(flow.mystique.control().phase, Phase::Avoidance);
}

#[test]
fn loss_changes_nothing_and_a_timeout_begins_at_the_flight() {
    let mut flow = Flow::new(MystiqueBbrParameters::default());
    flow.acks(SECOND, 100 * MILLISECOND, RATE);
    let event = CongestionEvent {
        now: flow.now,
        signal: Signal::Loss,
        inflight_before: 200 * MSS,
        lost: 50 * MSS,
    };
    flow.mystique.on_congestion(&event, &flow.path);
    assert_eq!(flow.cwnd(), 200);
    flow.mystique.on_rto(flow.now, &flow.path);
    assert_eq!(flow.cwnd(), 1);
    flow.ack(100 * MILLISECOND, 0);
    assert_eq!(flow.cwnd(), 11);
}

/// Periods are of time with ACKs: an hour of silence is no reason to forget the path.
#[test]
fn idling_makes_no_steps() {
    let mut flow = Flow::new(MystiqueBbrParameters::default());
    flow.ack(100 * MILLISECOND, RATE);
    flow.now += 3600 * SECOND;
    flow.mystique
        .on_idle_restart(flow.now, 3600 * SECOND, &flow.path);
    flow.ack(100 * MILLISECOND, 0);
    assert_eq!(flow.mystique.estimates.min_rtt, 100 * MILLISECOND);
    assert_eq!(flow.mystique.estimates.max_bw, RATE);
}
