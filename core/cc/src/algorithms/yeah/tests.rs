use super::*;
use crate::scripted::Scripted;
use crate::{CongestionControl, MILLISECOND};

/// A flow whose base RTT is 100 ms, in rounds of three ACKs; window and threshold in segments.
fn flow(mss: u32, cwnd: u64, ssthresh: u64, parameters: YeahParameters) -> Scripted<YeahLaw> {
    let bytes = |segments: u64| segments * u64::from(mss);
    let mut flow = Scripted::new(mss, bytes(cwnd), bytes(ssthresh), parameters);
    flow.path.inflight = bytes(2);
    flow.path.latest_rtt = 100 * MILLISECOND;
    flow.ack(1);
    flow.cc.window.cwnd = bytes(cwnd);
    flow
}

fn avoiding(segments: u64) -> Scripted<YeahLaw> {
    flow(1000, segments, segments, YeahParameters::default())
}

fn rounds(flow: &mut Scripted<YeahLaw>, rtt_ms: u64, count: u64) {
    flow.path.latest_rtt = rtt_ms * MILLISECOND;
    flow.acks(3 * count);
}

mod vectors {
    use super::*;

    /// ns-3 `tcp-yeah-test.cc`: slow start adds a segment for one; fast mode a segment for a window
    /// of up to 100 segments.
    #[test]
    fn ns3_yeah_growth() {
        let mut slow_start = flow(1446, 20, 25, YeahParameters::default());
        slow_start.path.latest_rtt = 105 * MILLISECOND;
        slow_start.ack(1);
        assert_eq!(slow_start.cwnd(), 21 * 1446);
        let mut fast = Scripted::<YeahLaw>::avoiding(1446, 30, YeahParameters::default());
        fast.path.latest_rtt = 105 * MILLISECOND;
        fast.ack(30);
        assert_eq!(fast.cwnd(), 31 * 1446);
    }

    /// ns-3 `tcp-yeah-test.cc`: 40 segments at 120 ms have 6 in the queue and stay; 100 at 600 ms
    /// have 83 there, more than alpha, and lose half: 17800 bytes.
    #[test]
    fn ns3_yeah_precautionary_decongestion() {
        let mut short = flow(356, 40, 30, YeahParameters::default());
        rounds(&mut short, 120, 1);
        assert_eq!(short.cwnd(), 40 * 356);
        assert_eq!(short.cc.law.slow_rounds, 1);
        let mut long = flow(356, 100, 70, YeahParameters::default());
        rounds(&mut long, 600, 1);
        assert_eq!(long.cwnd(), 17_800);
        assert_eq!(long.cc.control().ssthresh, 17_800);
    }

    /// ns-3 `tcp-yeah-test.cc`: beside Reno flows (rho = 0) 40 segments lose 20; alone, 57 lose the
    /// 28 in the queue: 28920 and 41934 bytes.
    #[test]
    fn ns3_yeah_decrease() {
        for (segments, rtt, rho, left) in [(40, 120, 0, 28_920), (57, 200, 2, 41_934)] {
            let parameters = YeahParameters {
                rho,
                ..YeahParameters::default()
            };
            let mut flow = flow(1446, segments, segments - 10, parameters);
            rounds(&mut flow, rtt, 1);
            assert_eq!(flow.lose(), left, "{segments}");
        }
    }
}

/// A base RTT of 100 ms: slow mode beyond 12.5 ms of queueing.
#[test]
fn the_mode_follows_the_queueing_delay() {
    let mut flow = avoiding(50);
    for (rtt, slow) in [(112, 0), (113, 1), (113, 2), (112, 0)] {
        rounds(&mut flow, rtt, 1);
        assert_eq!(flow.cc.law.slow_rounds, slow, "{rtt} ms");
    }
}

/// 1000 segments: a segment for every hundred in fast mode, one for a thousand in slow mode.
#[test]
fn fast_mode_is_scalable_and_slow_mode_is_reno() {
    for (slow_rounds, grown) in [(0, 1010), (1, 1001)] {
        let mut flow = Scripted::<YeahLaw>::avoiding(1000, 1000, YeahParameters::default());
        flow.cc.law.slow_rounds = slow_rounds;
        flow.acks(1001);
        assert_eq!(flow.segments(), grown);
    }
}

#[test]
fn a_loss_takes_the_queue_between_an_eighth_and_half() {
    // 400 segments: queues of 3 at 101 ms, 66 at 120 ms. 120: 72 at 250 ms.
    for (segments, rtt, left) in [(400, 101, 350), (400, 120, 334), (120, 250, 60)] {
        let mut flow = avoiding(segments);
        rounds(&mut flow, rtt, 1);
        assert_eq!(flow.lose() / 1000, left, "{segments} at {rtt} ms");
    }
}

#[test]
fn a_small_window_loses_a_segment_at_least() {
    for (segments, left) in [(7, 6), (3, 2), (2, 2)] {
        assert_eq!(avoiding(segments).lose() / 1000, left);
    }
}

/// Sixteen rounds of a queue that does not go away: others keep it.
#[test]
fn after_rho_slow_rounds_a_loss_costs_half() {
    for (count, left) in [(15, 83), (16, 50)] {
        let mut flow = avoiding(100);
        rounds(&mut flow, 120, count);
        flow.cc.window.cwnd = 100_000;
        flow.cc.law.last_queue = 17;
        assert_eq!(flow.lose() / 1000, left, "{count} rounds");
    }
}

/// The window of a Reno flow beside it is taken to be half of its own, to grow by a segment a round
/// of slow mode, and to halve with its own losses; fifty fast rounds forget it.
#[test]
fn decongestion_leaves_what_reno_would_have() {
    let mut flow = avoiding(200);
    rounds(&mut flow, 120, 1);
    assert_eq!(flow.cc.law.reno_count, 100);
    rounds(&mut flow, 120, 4);
    assert_eq!(flow.cc.law.reno_count, 104);
    flow.cc.window.cwnd = 200_000;
    // 100 in the queue: half of the window, but not below 104.
    rounds(&mut flow, 200, 1);
    assert_eq!(flow.segments(), 104);
    flow.lose();
    assert_eq!(flow.cc.law.reno_count, 52);
    let now = flow.now;
    flow.cc.on_recovery_exit(now, &flow.path);
    rounds(&mut flow, 100, 50);
    assert_eq!(flow.cc.law.reno_count, 52);
    rounds(&mut flow, 100, 1);
    assert_eq!(flow.cc.law.reno_count, 2);
}

#[test]
fn a_queue_ends_slow_start() {
    let mut flow = flow(1000, 200, 10_000, YeahParameters::default());
    rounds(&mut flow, 190, 1);
    assert!(!flow.cc.window.in_slow_start());
    assert!(flow.segments() < 130, "{}", flow.segments());
}

#[test]
fn a_spurious_loss_leaves_no_trace() {
    let mut flow = avoiding(200);
    rounds(&mut flow, 120, 3);
    let before = flow.cc.clone();
    flow.lose();
    let now = flow.now;
    flow.cc.on_spurious(now, &flow.path);
    assert_eq!(flow.cc.control(), before.control());
    assert_eq!(flow.cc.law, before.law);
}
