use super::*;
use crate::scripted::Scripted;
use crate::{CongestionControl, MILLISECOND, Signal};

/// A flow in congestion avoidance whose base RTT is 100 ms, in rounds of three ACKs.
fn flow(mss: u32, segments: u64, profile: Profile) -> Scripted<VenoLaw> {
    let parameters = VenoParameters {
        profile,
        ..VenoParameters::default()
    };
    let mut flow = Scripted::avoiding(mss, segments, parameters);
    flow.path.inflight = 2 * u64::from(mss);
    flow.path.latest_rtt = 100 * MILLISECOND;
    flow.ack(1);
    flow
}

fn round(flow: &mut Scripted<VenoLaw>, rtt_ms: u64) {
    flow.path.latest_rtt = rtt_ms * MILLISECOND;
    flow.acks(3);
}

mod vectors {
    use super::*;

    /// ns-3 `tcp-veno-test.cc`: base RTT 100 ms. Segment size, window in bytes when the loss comes
    /// (there after the growth by the ACKs before it), RTT; and the threshold after it. The queue is
    /// 0 of 39, 1.7 of 30 and 3.4 of 60 segments: 4/5, 4/5 and half. (The module leaves the whole
    /// segments of that.)
    #[test]
    fn ns3_veno_decrease() {
        let cases = [
            (1446, 39 * 1446, 100, 45_115),
            (536, 16_097, 106, 12_877),
            (536, 60 * 536 + 8, 106, 16_084),
        ];
        for (mss, cwnd, rtt, ssthresh) in cases {
            for (profile, left) in [
                (Profile::Rfc, ssthresh),
                (Profile::Linux, ssthresh - ssthresh % u64::from(mss)),
            ] {
                let mut flow = flow(mss, 0, profile);
                flow.cc.window.cwnd = cwnd;
                round(&mut flow, rtt);
                flow.cc.window.cwnd = cwnd;
                assert_eq!(flow.lose(), left, "{cwnd} at {rtt} ms");
                assert_eq!(flow.cc.control().ssthresh, left);
            }
        }
    }

    /// The growth of the same cases: slow start by a segment per segment; Reno below beta; half of
    /// it from beta on. ns-3 adds MSS * MSS / cwnd per ACK; here it is a segment per window.
    #[test]
    fn ns3_veno_increase() {
        for (segments, windows_per_segment) in [(30, 1), (60, 2)] {
            let mut flow = flow(536, segments, Profile::Rfc);
            round(&mut flow, 106);
            flow.cc.window.cwnd = segments * 536;
            // Gone is the credit of the four ACKs so far.
            flow.congestion(Signal::Loss);
            flow.cc.on_recovery_exit(flow.now, &flow.path);
            flow.cc.window.cwnd = segments * 536;
            flow.acks(segments * windows_per_segment - 1);
            assert_eq!(flow.segments(), segments);
            flow.ack(1);
            assert_eq!(flow.segments(), segments + 1);
        }
        let mut flow = flow(1446, 38, Profile::Rfc);
        flow.cc.window.ssthresh = 40 * 1446;
        flow.ack(1);
        assert_eq!(flow.segments(), 39);
    }
}

/// 30 segments: queues of 2.5 at 120/11 = 109.09 ms, of 2.73 at 110 ms, of 3 at 111.11 ms.
#[test]
fn linux_rounds_half_segments_up() {
    for (rtt, rfc, linux) in [(109, false, false), (110, false, true), (112, true, true)] {
        for (profile, congested) in [(Profile::Rfc, rfc), (Profile::Linux, linux)] {
            let mut flow = flow(1000, 30, profile);
            round(&mut flow, rtt);
            assert_eq!(flow.cc.law.congested, congested, "{rtt} ms {profile:?}");
        }
    }
}

/// One late ACK: the paper's smallest RTT of the round does not notice, Linux judges by it.
#[test]
fn linux_judges_by_the_newest_ack() {
    for (profile, left) in [(Profile::Rfc, 24), (Profile::Linux, 15)] {
        let mut flow = flow(1000, 30, profile);
        round(&mut flow, 101);
        flow.path.latest_rtt = 150 * MILLISECOND;
        flow.ack(1);
        assert_eq!(flow.lose() / 1000, left, "{profile:?}");
    }
}

/// Late as it is, an ACK with something out of order, or with nothing new below it, is not judged by.
#[test]
fn linux_does_not_judge_by_duplicate_acks() {
    for acked in [0, 1000] {
        let mut flow = flow(1000, 30, Profile::Linux);
        round(&mut flow, 101);
        flow.path.on_rtt(150 * MILLISECOND);
        let event = AckEvent {
            now: flow.now,
            acked,
            delivered: 2000,
            rtt: Some(150 * MILLISECOND),
            cwnd_limited: true,
            ..AckEvent::default()
        };
        flow.cc.on_ack(&event, &flow.path);
        assert_eq!(flow.lose(), 24_000, "{acked}");
    }
}

#[test]
fn marks_and_timeouts_are_judged_like_losses() {
    for (rtt, left) in [(100, 24), (150, 15)] {
        let mut marked = flow(1000, 30, Profile::Rfc);
        round(&mut marked, rtt);
        let mut late = flow(1000, 30, Profile::Rfc);
        round(&mut late, rtt);
        assert_eq!(marked.congestion(Signal::Ecn) / 1000, left);
        late.cc.on_rto(late.now, &late.path);
        assert_eq!(late.cc.control().ssthresh / 1000, left);
        assert_eq!(late.segments(), 1);
    }
}

/// A longer route is a queue until the flow idles.
#[test]
fn idling_forgets_the_base_rtt() {
    let mut flow = flow(1000, 30, Profile::Rfc);
    round(&mut flow, 150);
    assert!(flow.cc.law.congested);
    flow.cc.on_idle_restart(flow.now, MILLISECOND, &flow.path);
    flow.ack(1);
    round(&mut flow, 150);
    assert!(!flow.cc.law.congested);
}
