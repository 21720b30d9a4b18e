//! RFC 9002 as the controller keeps it, call by call, and arbitrary calls.

use proptest::prelude::*;
use windlass_cc::{AlgorithmId, MILLISECOND, SECOND};

use super::*;

const MTU: u64 = 1200;
const RTT: Nanos = 40 * MILLISECOND;

fn rtt(latest: Nanos) -> Rtt {
    Rtt {
        latest,
        smoothed: RTT,
        variation: RTT / 8,
        min: RTT,
    }
}

fn controller(id: AlgorithmId) -> QuicController {
    QuicController::new(id, MTU as u16, 1)
}

/// Sends full packets until the window is full; none is short of data.
fn fill(c: &mut QuicController, now: Nanos) -> Vec<Sent> {
    let mut sent = Vec::new();
    while !c.is_full() {
        sent.push(c.on_sent(now, MTU, false));
    }
    sent
}

fn ack(c: &mut QuicController, now: Nanos, packets: &[Sent]) {
    c.on_rtt(rtt(RTT));
    let newest = packets.last().expect("at least one");
    c.on_acked(now, packets.len() as u64 * MTU, newest);
}

#[test]
fn slow_start_doubles_when_the_window_is_used() {
    let mut c = controller(AlgorithmId::Reno);
    assert_eq!(c.window(), 10 * MTU);
    let first = fill(&mut c, 0);
    assert_eq!(first.len(), 10);
    ack(&mut c, RTT, &first);
    assert_eq!(c.window(), 20 * MTU);
    let one = c.on_sent(RTT, MTU, true);
    ack(&mut c, 2 * RTT, &[one]);
    assert_eq!(c.window(), 20 * MTU, "one of twenty was used");
}

/// Losses of one ACK, reported one by one, are one reduction; until then one packet may leave.
#[test]
fn the_losses_of_a_window_are_one_recovery_period() {
    let mut c = controller(AlgorithmId::Reno);
    let first = fill(&mut c, 0);
    ack(&mut c, RTT, &first);
    let second = fill(&mut c, RTT);
    let now = 2 * RTT;
    for lost in &second[..3] {
        c.on_lost(now, MTU, lost, false, false);
        assert_eq!(c.window(), c.inflight() + MTU, "the fast retransmission");
    }
    ack(&mut c, now, &second[3..4]);
    assert!(c.report(now).in_recovery);
    assert_eq!(c.report(now).ssthresh, 10 * MTU);
    let in_recovery = c.on_sent(now, MTU, false);
    c.on_lost(now + 1, MTU, &second[4], true, false);
    ack(&mut c, now + 1, &second[5..20]);
    assert_eq!(
        c.report(now).ssthresh,
        10 * MTU,
        "sent before the period began"
    );
    assert!(c.report(now).in_recovery);
    ack(&mut c, now + RTT, &[in_recovery]);
    assert!(!c.report(now).in_recovery);
    assert_eq!(c.window(), 10 * MTU);
}

/// A packet sent in recovery that is lost begins the next period (RFC 9002 §7.3.2).
#[test]
fn what_is_sent_in_recovery_and_lost_reduces_again() {
    let mut c = controller(AlgorithmId::Reno);
    let first = fill(&mut c, 0);
    ack(&mut c, RTT, &first);
    let second = fill(&mut c, RTT);
    c.on_lost(2 * RTT, MTU, &second[0], true, false);
    ack(&mut c, 2 * RTT, &second[1..20]);
    assert_eq!(c.report(0).ssthresh, 10 * MTU);
    let third = fill(&mut c, 2 * RTT);
    c.on_lost(3 * RTT, MTU, &third[0], true, false);
    ack(&mut c, 3 * RTT, &third[1..]);
    assert_eq!(c.report(0).ssthresh, 5 * MTU);
}

/// Losses found by the timer are followed by no ACK: the algorithm hears of them with the next
/// packet.
#[test]
fn losses_without_an_ack_count_from_the_next_packet() {
    let mut c = controller(AlgorithmId::Bbr);
    let sent = fill(&mut c, 0);
    for lost in &sent[..4] {
        c.on_lost(RTT, MTU, lost, false, false);
    }
    assert_eq!(c.window(), 7 * MTU);
    c.on_sent(RTT, MTU, false);
    assert!(c.report(RTT).in_recovery);
    assert!(c.window() >= 7 * MTU, "packet conservation");
    assert_eq!(c.report(RTT).lost, 4 * MTU);
}

#[test]
fn persistent_congestion_leaves_the_smallest_window_once() {
    let mut c = controller(AlgorithmId::Cubic);
    let first = fill(&mut c, 0);
    ack(&mut c, RTT, &first);
    let sent = fill(&mut c, RTT);
    for lost in &sent {
        c.on_lost(2 * SECOND, MTU, lost, false, true);
    }
    assert_eq!(c.window(), 2 * MTU);
    let ssthresh = c.report(0).ssthresh;
    assert_eq!(ssthresh, 14 * MTU, "CUBIC's 0.7, once");
    let next = fill(&mut c, 2 * SECOND);
    assert_eq!(next.len(), 2);
    ack(&mut c, 2 * SECOND + RTT, &next);
    assert_eq!(c.window(), 3 * MTU, "slow start from one segment");
    assert!(!c.report(0).in_recovery);
}

/// Marks reduce once a round trip, and DCTCP by their share.
#[test]
fn marks_are_one_event_per_window() {
    let mut c = controller(AlgorithmId::Reno);
    let first = fill(&mut c, 0);
    ack(&mut c, RTT, &first);
    let second = fill(&mut c, RTT);
    c.on_marked(2);
    ack(&mut c, 2 * RTT, &second[..4]);
    c.on_marked(3);
    ack(&mut c, 2 * RTT + 1, &second[4..8]);
    assert_eq!(c.report(0).ssthresh, 10 * MTU);
    assert_eq!(c.report(0).marked, 5 * MTU);
    assert_eq!(c.report(0).lost, 0);
}

#[test]
fn packets_that_carry_only_acknowledgements_do_not_count() {
    let mut c = controller(AlgorithmId::Bbr);
    let sent = c.on_sent(0, MTU, false);
    let pure_ack = c.on_sent(MILLISECOND, 0, true);
    assert_eq!(c.inflight(), MTU);
    c.on_rtt(rtt(RTT));
    c.on_acked(RTT, MTU, &pure_ack);
    assert_eq!((c.inflight(), c.path().delivered), (0, MTU));
    let _ = sent;
}

#[test]
fn the_receivers_delay_is_no_part_of_the_sample() {
    let mut c = controller(AlgorithmId::Vegas);
    let sent = fill(&mut c, 0);
    ack(&mut c, RTT, &sent[..2]);
    // 65 ms, of which the receiver waited for 20: the stack averages with 45.
    c.on_rtt(Rtt {
        latest: 65 * MILLISECOND,
        smoothed: RTT - RTT / 8 + 45 * MILLISECOND / 8,
        variation: RTT / 8,
        min: RTT,
    });
    assert_eq!(c.path().latest_rtt, 45 * MILLISECOND);
}

/// A receiver that waits for more packets than the window holds: the window reaches that many.
#[test]
fn the_floor_rises_while_the_receiver_waits() {
    let mut c = controller(AlgorithmId::Reno);
    let held_back = |by: Nanos| Rtt {
        latest: MILLISECOND + by,
        smoothed: MILLISECOND,
        variation: 0,
        min: MILLISECOND,
    };
    let sent = fill(&mut c, 0);
    c.on_rtt(held_back(0));
    c.on_acked(MILLISECOND, MTU, &sent[0]);
    for lost in &sent[1..] {
        c.on_lost(SECOND, MTU, lost, false, true);
    }
    assert_eq!(c.window(), 2 * MTU);
    for expected in [3, 4, 4] {
        let sent = fill(&mut c, SECOND);
        // It acknowledges four at once, and fewer after 25 ms.
        c.on_rtt(held_back(if sent.len() < 4 { 25 * MILLISECOND } else { 0 }));
        assert_eq!(c.window(), expected * MTU);
        for packet in &sent {
            c.on_lost(2 * SECOND, MTU, packet, false, true);
        }
    }
}

#[test]
fn a_larger_datagram_keeps_a_used_window() {
    let mut c = controller(AlgorithmId::Cubic);
    c.on_mtu(1450);
    assert_eq!(c.window(), 14_500, "not used yet");
    let sent = fill(&mut c, 0);
    ack(&mut c, RTT, &sent[..1]);
    let window = c.window();
    c.on_mtu(8_900);
    assert_eq!(c.window(), window.max(2 * 8_900));
}

#[test]
fn windows_are_paced_and_rates_kept() {
    let mut reno = controller(AlgorithmId::Reno);
    assert_eq!(reno.departure(), None, "no RTT is known");
    let sent = fill(&mut reno, 0);
    ack(&mut reno, RTT, &sent);
    assert_eq!(
        reno.pacing_rate(),
        Some(20 * MTU * 2 * 25),
        "two windows per 40 ms"
    );
    let mut short = controller(AlgorithmId::Reno);
    let sent = fill(&mut short, 0);
    short.on_rtt(Rtt {
        latest: MILLISECOND,
        smoothed: MILLISECOND,
        variation: 0,
        min: MILLISECOND,
    });
    short.on_acked(MILLISECOND, 10 * MTU, &sent[9]);
    assert_eq!(short.departure(), None);
}

#[derive(Clone, Debug)]
enum Step {
    Send { bytes: u64, app_limited: bool },
    Ack { packets: usize },
    Lose { packets: usize, persistent: bool },
    Mark { packets: u64 },
    Discard,
    Mtu { size: u16 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0u64..1500, any::<bool>()).prop_map(|(bytes, app_limited)| Step::Send {
            bytes,
            app_limited
        }),
        4 => (1usize..12).prop_map(|packets| Step::Ack { packets }),
        2 => (1usize..6, prop::bool::weighted(0.1))
            .prop_map(|(packets, persistent)| Step::Lose { packets, persistent }),
        1 => (1u64..20).prop_map(|packets| Step::Mark { packets }),
        1 => Just(Step::Discard),
        1 => (1200u16..9000).prop_map(|size| Step::Mtu { size }),
    ]
}

fn take(out: &mut Vec<(Sent, u64)>, packets: usize) -> Vec<(Sent, u64)> {
    out.drain(..packets.min(out.len())).collect()
}

proptest! {
    /// Whatever a stack says, the books balance and the window stays within its bounds.
    #[test]
    fn the_books_balance(
        id in prop::sample::select(AlgorithmId::ALL),
        steps in prop::collection::vec((step(), 0u64..50 * MILLISECOND), 1..200),
    ) {
        let mut c = controller(id);
        let (mut now, mut mtu) = (0, MTU);
        let mut out: Vec<(Sent, u64)> = Vec::new();
        for (step, later) in steps {
            now += later;
            match step {
                Step::Send { bytes, app_limited } => {
                    let sent = c.on_sent(now, bytes, app_limited);
                    if bytes > 0 {
                        out.push((sent, bytes));
                    }
                }
                Step::Ack { packets } => {
                    let acked = take(&mut out, packets);
                    if let Some((newest, _)) = acked.last() {
                        c.on_rtt(rtt(RTT + later));
                        c.on_acked(now, acked.iter().map(|(_, b)| b).sum(), newest);
                    }
                }
                Step::Lose { packets, persistent } => {
                    for (sent, bytes) in take(&mut out, packets) {
                        c.on_lost(now, bytes, &sent, false, persistent);
                    }
                }
                Step::Mark { packets } => c.on_marked(packets),
                Step::Discard => {
                    for (_, bytes) in take(&mut out, 1) {
                        c.on_discarded(bytes);
                    }
                }
                Step::Mtu { size } => {
                    c.on_mtu(size);
                    mtu = u64::from(size);
                }
            }
            prop_assert_eq!(c.inflight(), out.iter().map(|(_, b)| b).sum::<u64>());
            prop_assert!(c.window() >= 2 * mtu);
            let report = c.report(now);
            prop_assert!(report.pacing_rate.is_none_or(|rate| rate > 0));
            if let Some(at) = c.departure() {
                prop_assert!(at <= now + 400 * (RTT + 100 * MILLISECOND));
            }
        }
    }
}
