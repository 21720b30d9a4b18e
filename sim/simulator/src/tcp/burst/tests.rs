//! Portions against what Linux 6.1 does.

use super::*;
use crate::tcp::EndConfig;
use crate::tcp::ack::Ack;

const MSS: u64 = 1000;

/// A sender after its handshake over 100 ms, with a window of `cwnd` packets and more to send than
/// it may.
fn sender(cwnd: u32, window: u64) -> Sender {
    let mut sender = Sender::new(&EndConfig::default());
    sender.negotiated(MSS as u32, true, false, window, -1);
    sender.rtt.sample(100 * MILLISECOND);
    sender.window.cwnd = cwnd;
    sender.write(10_000_000);
    sender
}

/// Lengths of what leaves at `now`.
fn sent(sender: &mut Sender, now: Nanos) -> Vec<u32> {
    let sent: Vec<u32> = std::iter::from_fn(|| sender.next(now, 1))
        .map(|t| t.bytes)
        .collect();
    sender.after_burst(now, !sent.is_empty());
    sent
}

fn acknowledge(sender: &mut Sender, now: Nanos, number: u64, window: u64) {
    sender.on_ack(&Ack {
        now,
        ts_now: 1,
        number,
        from: 0,
        window,
        sack: Vec::new(),
        has_data: false,
        ece: false,
        echo: None,
    });
}

/// 200 % of 1000 packets in 100 ms are 20 MB/s: 19 segments in a 1024th of a second.
#[test]
fn it_waits_for_room_for_a_burst() {
    let mut s = sender(1000, 60 * MSS);
    assert_eq!(sent(&mut s, 0).len(), 60);
    let at = |us: u64| 100 * MILLISECOND + us * 1000;
    let mut after = |us, number| {
        acknowledge(&mut s, at(us), number * MSS, 60 * MSS);
        sent(&mut s, at(us)).len()
    };
    // The last 5 of the 65 that are kept together, a burst, and 6 that wait.
    assert_eq!(after(0, 30), 5 + 19);
    assert_eq!(after(200, 42), 0, "room for 18");
    assert_eq!(after(400, 43), 19, "room for 19");
    assert_eq!(after(1600, 50), 7, "nothing has left for a millisecond");
}

#[test]
fn it_does_not_wait_for_an_ack_that_is_far_away() {
    let mut s = sender(1000, 60 * MSS);
    assert_eq!(sent(&mut s, 0).len(), 60);
    acknowledge(&mut s, MILLISECOND / 2, 0, 65 * MSS);
    assert_eq!(sent(&mut s, MILLISECOND / 2).len(), 5);
}

#[test]
fn waiting_for_the_congestion_window_counts_as_using_it() {
    let mut s = sender(600, 10_000 * MSS);
    s.window.ssthresh = 600;
    assert_eq!(sent(&mut s, 0).len(), 600);
    let at = |us: u64| 100 * MILLISECOND + us * 1000;
    // 120 % of 600 packets in 100 ms: bursts of 7.
    for (us, number) in [(0, 300), (10, 303)] {
        s.usage.cwnd_limited = false;
        acknowledge(&mut s, at(us), number * MSS, 10_000 * MSS);
        let before = s.packets_in_flight();
        let all = sent(&mut s, at(us)).len() as u32;
        let room = 600 - before - all;
        assert!((1..7).contains(&room), "{before} were out, {all} left");
        assert!(s.usage.cwnd_limited);
    }
}

/// Minshall: the window is filled with a short segment; the last one, short too, waits until that
/// has been acknowledged.
#[test]
fn a_short_segment_waits_for_the_one_before() {
    let mut s = Sender::new(&EndConfig::default());
    s.negotiated(MSS as u32, true, false, 5 * MSS + 300, -1);
    s.rtt.sample(100 * MILLISECOND);
    s.write(7 * MSS + 100);
    assert_eq!(sent(&mut s, 0), [1000, 1000, 1000, 1000, 1000, 300]);
    let at = 100 * MILLISECOND;
    acknowledge(&mut s, at, MSS, 100 * MSS);
    assert_eq!(sent(&mut s, at), [1000], "800 remain");
    acknowledge(&mut s, 2 * at, 5 * MSS + 300, 100 * MSS);
    assert_eq!(sent(&mut s, 2 * at), [800]);
}

#[test]
fn with_the_end_of_the_stream_a_short_segment_does_not_wait() {
    let mut s = Sender::new(&EndConfig::default());
    s.negotiated(MSS as u32, true, false, 100 * MSS, -1);
    s.write(300);
    assert_eq!(sent(&mut s, 0), [300]);
    s.write(200);
    assert_eq!(sent(&mut s, 1), [0u32; 0]);
    s.close();
    assert_eq!(sent(&mut s, 2), [200]);
}

/// BBR begins with 2.885 windows a round trip, unpaced for its first ten segments.
#[test]
fn pacing_spreads_bursts_of_a_millisecond() {
    let config = EndConfig {
        algorithm: crate::tcp::ServerAlgorithm::Native(windlass_cc::AlgorithmId::Bbr.into()),
        ..EndConfig::default()
    };
    let mut s = Sender::new(&config);
    s.negotiated(MSS as u32, true, false, 1000 * MSS, -1);
    s.rtt.sample(100 * MILLISECOND);
    s.start_algorithm(1);
    s.write(1_000_000);
    assert_eq!(s.window.cwnd, 10);
    assert_eq!(sent(&mut s, 0).len(), 10);
    s.stats.bytes_sent = 10_000;
    acknowledge(&mut s, 100 * MILLISECOND, 10 * MSS, 1000 * MSS);
    let mut now = 100 * MILLISECOND;
    let mut bursts = Vec::new();
    while bursts.len() < 4 {
        let burst = sent(&mut s, now);
        bursts.push((now / 1000, burst.len()));
        now = s.pace.until.expect("more to send");
    }
    // 288.5 kB/s: two segments, the least of a burst, every 6.9 ms; sooner after a delay.
    let gap = |i: usize| bursts[i + 1].0 - bursts[i].0;
    assert!(
        bursts.iter().all(|(_, segments)| *segments == 2),
        "{bursts:?}"
    );
    assert!(
        gap(0) < 4000 && (6900..6960).contains(&gap(1)),
        "{bursts:?}"
    );
}
