use super::*;
use crate::{MILLISECOND, SECOND, Signal};

const MSS: u64 = 1000;

struct Flow {
    sender: Sourdough,
    path: Path,
    now: Nanos,
}

impl Flow {
    fn new(preset: &str) -> Self {
        let mut settings = crate::Settings::from(crate::AlgorithmId::Sourdough);
        if !preset.is_empty() {
            settings.apply_preset(preset).expect("a preset");
        }
        let path = Path::new(MSS as u32);
        let crate::Algorithm::Sourdough(sender) = settings.start(&crate::Beginning::new(&path, 0))
        else {
            unreachable!("it was asked for");
        };
        let now = SECOND;
        Flow {
            sender: *sender,
            path,
            now,
        }
    }

    /// In congestion avoidance with both parts as given, on a path of 80 ms.
    fn avoiding(preset: &str, reno: f64, delay: f64) -> Self {
        let mut flow = Flow::new(preset);
        flow.sender.slow_start = false;
        flow.sender.reno = reno;
        flow.sender.delay = delay;
        flow.sender.rtt = (80 * MILLISECOND) as f64;
        flow.sender.base_rtt = 80 * MILLISECOND;
        flow.sender.settle(&flow.path);
        flow
    }

    /// An ACK for a packet, a millisecond after the last.
    fn ack(&mut self, rtt_ms: u64) {
        self.now += MILLISECOND;
        let event = AckEvent {
            now: self.now,
            delivered: MSS,
            rtt: Some(rtt_ms * MILLISECOND),
            cwnd_limited: true,
            ..AckEvent::default()
        };
        self.sender.on_ack(&event, &self.path);
    }

    fn acks(&mut self, count: u64, rtt_ms: u64) {
        (0..count).for_each(|_| self.ack(rtt_ms));
    }

    fn packets(&self) -> u64 {
        self.sender.control().cwnd / MSS
    }
}

#[test]
fn slow_start_begins_with_a_packet_and_ends_by_the_smoothed_rtt() {
    let mut flow = Flow::new("");
    assert_eq!(flow.packets(), 1);
    flow.acks(9, 80);
    assert_eq!(flow.packets(), 10);
    // Smoothed from nothing: 130 ms pass 125 ms after 64 samples more or less, since 80 are in it.
    let mut more = 0;
    while flow.sender.control().phase == Phase::SlowStart {
        flow.ack(130);
        more += 1;
    }
    assert!((50..80).contains(&more), "{more}");
    assert_eq!(flow.packets(), 10 + more);
}

#[test]
fn a_late_ack_is_a_loss_and_in_slow_start_it_leaves_one_packet() {
    let mut flow = Flow::new("");
    flow.acks(99, 100);
    assert_eq!(flow.packets(), 100);
    flow.ack(155);
    assert_eq!(flow.packets(), 101, "155 ms are not late yet");
    flow.ack(156);
    assert_eq!(flow.packets(), 1);
}

#[test]
fn it_reacts_once_in_the_time_that_it_holds() {
    let mut flow = Flow::avoiding("reno", 800.0, 0.0);
    flow.ack(156);
    assert_eq!(flow.packets(), 400);
    flow.acks(80, 156);
    assert_eq!(flow.packets(), 400, "growth by a fifth of a packet");
    flow.ack(156);
    assert_eq!(flow.packets(), 200, "81 ms after the first");
}

#[test]
fn a_real_loss_counts_the_same() {
    let mut flow = Flow::avoiding("reno", 800.0, 0.0);
    let lost = CongestionEvent {
        now: flow.now,
        signal: Signal::Loss,
        inflight_before: 800 * MSS,
        lost: MSS,
    };
    flow.sender.on_congestion(&lost, &flow.path);
    assert_eq!(flow.packets(), 400);
    flow.ack(156);
    assert_eq!(flow.packets(), 400);
}

/// Reno's part: a packet per window.
#[test]
fn reno_grows_by_a_packet_a_window() {
    let mut flow = Flow::avoiding("reno", 100.0, 0.0);
    flow.acks(101, 80);
    assert_eq!(flow.packets(), 101);
    assert_eq!(flow.sender.delay, 0.0);
}

/// 1,000^0.1 - 1 is 0.995 packets an ACK, while fewer than 30 packets wait.
#[test]
fn the_delay_window_grows_with_every_ack() {
    let mut flow = Flow::avoiding("", 1000.0, 0.0);
    flow.ack(80);
    let expected = libm::pow(1000.001, 0.1) - 1.0;
    assert!((flow.sender.delay - expected).abs() < 1e-9);
    flow.acks(99, 80);
    assert!((90.0..110.0).contains(&flow.sender.delay));
}

/// A window of 1,000 at twice the base RTT queues 500; a fiftieth of them goes with every ACK.
#[test]
fn and_shrinks_with_every_ack_behind_a_queue() {
    let mut flow = Flow::avoiding("", 600.0, 400.0);
    flow.sender.rtt = (160 * MILLISECOND) as f64;
    flow.sender.held_until = Nanos::MAX;
    flow.ack(160);
    assert!((flow.sender.delay - 390.0).abs() < 0.01);
}

/// 800 and 400 packets: (400 + 400) * 0.7 - 400.
#[test]
fn a_loss_takes_beta_of_what_reno_left() {
    let mut flow = Flow::avoiding("", 800.0, 400.0);
    flow.ack(156);
    assert_eq!(flow.sender.reno, 400.0);
    assert!((flow.sender.delay - 160.0).abs() < 1e-9);
    assert_eq!(flow.packets(), 560);
}

#[test]
fn a_timeout_begins_anew() {
    let mut flow = Flow::avoiding("", 800.0, 400.0);
    flow.sender.on_rto(flow.now, &flow.path);
    assert_eq!(flow.packets(), 1);
    assert_eq!(flow.sender.control().phase, Phase::SlowStart);
}
