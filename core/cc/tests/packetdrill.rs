//! Windows that google/packetdrill asserts of Linux (`gtests/net/tcp`, 2c4001c): the ACKs of its
//! scripts, and the windows after them, in segments of 1000 bytes.

use windlass_cc::{AckEvent, AlgorithmId, Controller, MILLISECOND, Nanos, Path, Settings};

const MSS: u64 = 1000;

struct Flow {
    controller: Controller,
    path: Path,
    /// Segments that have been sent, and that have been acknowledged, at which times.
    sent: Vec<Nanos>,
    acked: u64,
    now: Nanos,
}

impl Flow {
    fn new(settings: Settings) -> Self {
        let path = Path::new(MSS as u32);
        Flow {
            controller: Controller::new(settings, &path, 0),
            path,
            sent: Vec::new(),
            acked: 0,
            now: 0,
        }
    }

    /// So many segments leave.
    fn send(&mut self, segments: usize) {
        self.sent.extend(vec![self.now; segments]);
    }

    /// After `gap_ms`, an ACK for so many segments; the window then.
    fn ack(&mut self, gap_ms: u64, segments: u64) -> u64 {
        self.now += gap_ms * MILLISECOND;
        let before = (self.sent.len() as u64 - self.acked) * MSS;
        self.acked += segments;
        // Linux samples the newest of them for HyStart (`ca_rtt_us`).
        let rtt = self.now - self.sent[self.acked as usize - 1];
        self.path.on_rtt(rtt);
        let bytes = segments * MSS;
        self.path.delivered += bytes;
        self.path.inflight = before - bytes;
        let event = AckEvent {
            now: self.now,
            acked: bytes,
            delivered: bytes,
            inflight_before: before,
            inflight: self.path.inflight,
            rtt: Some(rtt),
            cwnd_limited: true,
            ..AckEvent::default()
        };
        self.controller.on_ack(&event, &self.path);
        self.cwnd()
    }

    fn cwnd(&self) -> u64 {
        self.controller.control().cwnd / MSS
    }

    fn ssthresh(&self) -> Option<u64> {
        let ssthresh = self.controller.control().ssthresh;
        (ssthresh != u64::MAX).then_some(ssthresh / MSS)
    }
}

/// As it is set in Linux.
fn linux_cubic() -> Settings {
    let mut settings = Settings::from(AlgorithmId::Cubic);
    settings.apply_preset("linux").expect("it has one");
    settings
}

/// `slow_start/slow-start-ack-per-{1,2,4}pkt`: ten segments, acknowledged one way or another, make
/// twenty.
fn ten_make_twenty(settings: Settings) {
    for per_ack in [[1; 10].as_slice(), &[2; 5], &[4, 4, 2]] {
        let mut flow = Flow::new(settings);
        assert_eq!(flow.cwnd(), 10);
        flow.send(10);
        flow.now = 105 * MILLISECOND;
        for segments in per_ack {
            flow.ack(2, *segments);
        }
        assert_eq!((flow.cwnd(), flow.ssthresh()), (20, None), "{per_ack:?}");
    }
}

#[test]
fn vectors_reno_packetdrill_slow_start() {
    ten_make_twenty(AlgorithmId::Reno.into());
}

#[test]
fn vectors_cubic_packetdrill_slow_start() {
    ten_make_twenty(linux_cubic());
}

/// `cubic/cubic-hystart-delay-rtt-jumps-upward`: from 200 ms to 240 and more; the ninth sample of
/// the round ends slow start.
#[test]
fn vectors_cubic_packetdrill_hystart_rtt_jumps_upward() {
    let mut flow = Flow::new(linux_cubic());
    flow.send(10);
    assert_eq!(flow.ack(200, 10), 20);
    flow.send(20);
    for (n, expected) in (22..=36).step_by(2).enumerate() {
        assert_eq!(flow.ack(if n == 0 { 240 } else { 1 }, 2), expected);
        assert_eq!(flow.ssthresh(), None);
    }
    for _ in 0..2 {
        assert_eq!(flow.ack(1, 2), 36);
        assert_eq!(flow.ssthresh(), Some(36));
    }
}

/// `cubic/cubic-hystart-delay-min-rtt-jumps-downward`: nine samples of 200 ms and little more, and
/// then one of 29 ms: the round's smallest is the flow's smallest, and slow start goes on.
#[test]
fn vectors_cubic_packetdrill_hystart_min_rtt_jumps_downward() {
    let mut flow = Flow::new(linux_cubic());
    flow.send(10);
    assert_eq!(flow.ack(200, 10), 20);
    flow.send(18);
    flow.now += 180 * MILLISECOND;
    flow.send(2);
    for (n, expected) in (22..=40).step_by(2).enumerate() {
        assert_eq!(flow.ack(if n == 0 { 20 } else { 1 }, 2), expected);
        assert_eq!(flow.ssthresh(), None);
    }
}
