//! What an algorithm hears, seen by windows and rates.

use super::*;
use crate::{AlgorithmId, MILLISECOND, SECOND};

const MSS: u64 = 1000;
const RTT: Nanos = 100 * MILLISECOND;

fn host(name: &str) -> Host {
    let id: AlgorithmId = name.parse().expect("a name");
    Host::new(id, Path::new(MSS as u32), 1)
}

/// Sends `packets` at `now` and takes them in a round trip later, as one ACK. The rate it measures, bytes per second.
fn round_trip(host: &mut Host, now: Nanos, packets: u64, lost: u64) -> u64 {
    let snapshots: Vec<_> = (1..=packets)
        .map(|number| {
            host.sent(&Departure {
                now,
                bytes: MSS,
                inflight: number * MSS,
                sampled_inflight: number * MSS,
                first: number == 1,
                retransmission: false,
            })
        })
        .collect();
    let (at, start) = (now + RTT, host.counts().0 + host.counts().1);
    let mut ack = Ack::new(at, packets * MSS);
    for (number, snapshot) in (1..=packets).zip(snapshots) {
        let position = start + number * MSS;
        if number <= lost {
            host.lost(&mut ack, MSS, number == 1);
            continue;
        }
        let delivery = Delivery {
            bytes: MSS,
            sent_at: now,
            position,
            snapshot: Some(snapshot),
        };
        host.delivered(&mut ack, &delivery);
        ack.offer_rtt(now);
    }
    host.measure(&mut ack, at);
    host.settle(0);
    let end = start + packets * MSS;
    if ack.lost() > 0 && host.episode().is_none() {
        host.congested(at, Signal::Loss, end, ack.before(), ack.lost());
    }
    ack.set_acked(ack.delivered());
    let standing = Standing {
        inflight: 0,
        cwnd_limited: true,
        in_recovery: host.in_recovery(end),
    };
    host.finish_ack(at, &ack, &standing);
    if host.is_recovered(end) {
        host.recovered(at);
    }
    ack.delivery_rate().unwrap_or(0)
}

#[test]
fn what_is_sent_and_delivered_is_measured() {
    let mut host = host("reno");
    let before = host.control().cwnd;
    let rate = round_trip(&mut host, SECOND, 10, 0);
    assert_eq!(rate, 10 * MSS * SECOND / RTT);
    assert_eq!(host.path().srtt, RTT);
    assert_eq!(host.path().max_bw, rate);
    assert_eq!(host.counts(), (10 * MSS, 0));
    assert_eq!(host.control().cwnd, before + 10 * MSS, "slow start");
}

#[test]
fn the_largest_rate_falls_when_the_path_becomes_slower() {
    let mut host = host("reno");
    let fast = round_trip(&mut host, SECOND, 20, 0);
    assert_eq!(host.path().max_bw, fast);
    for second in 2..12 {
        round_trip(&mut host, second * SECOND, 5, 0);
    }
    let slow = round_trip(&mut host, 12 * SECOND, 5, 0);
    assert_eq!(slow * 4, fast);
    assert_eq!(host.path().max_bw, slow);
}

#[test]
fn congestion_is_told_once_in_an_episode() {
    let mut host = host("reno");
    round_trip(&mut host, SECOND, 20, 0);
    let full = host.control().cwnd;
    host.congested(2 * SECOND, Signal::Loss, 50_000, full, MSS);
    assert!(host.in_recovery(49_999) && !host.is_recovered(49_999));
    assert!(host.is_recovered(50_000) && host.is_reacting());
    let halved = host.control().ssthresh;
    assert_eq!(halved, full / 2);
    // A mark in the same window is the same congestion.
    let mut ack = Ack::new(2 * SECOND, full);
    assert!(host.marked(2 * SECOND, &mut ack, Some(MSS), 40_000, 60_000));
    assert_eq!(host.control().ssthresh, halved);
    host.recovered(3 * SECOND);
    assert_eq!(host.episode(), None);
    assert!(!host.marked(3 * SECOND, &mut ack, None, 60_001, 70_000));
    assert!(!host.is_marked() && !host.is_reacting());
    assert!(host.marked(4 * SECOND, &mut ack, Some(MSS), 70_000, 80_000));
    assert_eq!(host.control().ssthresh, halved / 2);
}

#[test]
fn a_sender_that_has_nothing_to_say_lowers_no_rate() {
    let mut host = host("bbr");
    let fast = round_trip(&mut host, SECOND, 20, 0);
    host.app_limited(0);
    round_trip(&mut host, 20 * SECOND, 2, 0);
    assert_eq!(host.path().max_bw, fast);
    assert!(!host.is_app_limited(), "the bubble has been delivered");
}

#[test]
fn losses_are_counted_and_open_an_episode() {
    let mut host = host("cubic");
    round_trip(&mut host, SECOND, 20, 0);
    let before = host.control().cwnd;
    round_trip(&mut host, 2 * SECOND, 20, 2);
    assert_eq!(host.counts(), (38 * MSS, 2 * MSS));
    assert!(host.control().cwnd < before);
    assert_eq!(
        host.episode(),
        None,
        "all of the window has arrived or is lost"
    );
}

/// Releases before wrote two flags after the path, and read them.
#[test]
fn it_is_written_as_in_format_5() {
    let mut host = host("cubic");
    round_trip(&mut host, SECOND, 20, 0);
    let mut expected = postcard::to_allocvec(host.path()).expect("plain data");
    expected.extend([0, 0]);
    let written = postcard::to_allocvec(&host).expect("plain data");
    assert_eq!(written[..expected.len()], expected);
    let read: Host = postcard::from_bytes(&written).expect("what was written");
    assert_eq!(read.path(), host.path());
    assert_eq!(read.counts(), host.counts());
}
