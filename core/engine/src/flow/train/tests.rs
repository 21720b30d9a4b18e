//! Trains of ACKs: which name a bottleneck, and what becomes of the guess.

use super::*;

const MSS: u64 = 1000;
const RTT: Nanos = 100 * MILLISECOND;

fn path() -> Path {
    let mut path = Path::new(MSS as u32);
    path.on_rtt(RTT);
    path
}

/// Trains of 40 segments, one an RTT: spacing when they leave, and when the ACKs come back.
fn run(trains: &[(Nanos, Nanos)]) -> Train {
    let (path, mut train, mut end) = (path(), Train::default(), 0);
    for (n, (out, back)) in trains.iter().enumerate() {
        let begin = n as Nanos * RTT;
        for i in 1..=40 {
            end += MSS;
            train.on_delivered(begin + i * out, end, 0);
            train.on_ack(begin + RTT + i * back, &path);
        }
    }
    train
}

#[test]
fn two_trains_that_come_back_slower_name_the_bottleneck() {
    let slower = (10_000, 200_000);
    assert_eq!(run(&[slower]).bottleneck(), None, "one is not enough");
    assert_eq!(run(&[slower; 2]).bottleneck(), Some(5_000_000));
    let disagree = [slower, (10_000, 400_000)];
    assert_eq!(run(&disagree).bottleneck(), None);
}

/// Ten segments, an ACK for every two: an initial window.
#[test]
fn a_short_train_is_a_hint_and_no_guess() {
    let (path, mut train) = (path(), Train::default());
    for n in 0..3 {
        for i in 1..=5u64 {
            train.on_delivered(n * RTT + i * 10_000, (n * 5 + i) * 2 * MSS, 0);
            train.on_ack((n + 1) * RTT + i * 400_000, &path);
        }
    }
    assert_eq!(
        (train.bottleneck(), train.perhaps()),
        (None, Some(5_000_000))
    );
}

/// After six segments there is a gap, as in a scheduler's service.
#[test]
fn uneven_trains_say_nothing() {
    let (path, mut train) = (path(), Train::default());
    for n in 0..4 {
        for i in 1..=40u64 {
            let late = if i > 6 { 6 * MILLISECOND } else { 0 };
            train.on_delivered(n * RTT + i * 10_000, (n * 40 + i) * MSS, 0);
            train.on_ack((n + 1) * RTT + i * 200_000 + late, &path);
        }
    }
    assert_eq!(train.bottleneck(), None);
}

/// Trains whose ACKs come in pairs, so irregularly, on a path whose RTT varies by `jitter` between them. The first two have 8
/// segments, the others 40.
fn irregular(jitter: Nanos) -> Option<ByteRate> {
    let (path, mut train, mut end) = (path(), Train::default(), 0);
    for n in 0..6u64 {
        for i in 1..=if n < 2 { 8 } else { 40 } {
            end += MSS;
            let late = (n % 3) * jitter / 2 + i / 2 * 400_000;
            train.on_delivered(n * 3 * RTT + i * 10_000, end, 0);
            train.on_ack(n * 3 * RTT + RTT + late, &path);
        }
    }
    train.bottleneck()
}

#[test]
fn jitter_is_no_bottleneck() {
    // The ACKs of a train take 8 ms.
    let rate = irregular(0).expect("irregular ACKs of a path whose RTT is steady");
    assert!((4_500_000..=5_500_000).contains(&rate), "{rate}");
    assert!(irregular(2 * MILLISECOND).is_some(), "a little jitter");
    assert_eq!(irregular(10 * MILLISECOND), None);
    // Regular ones say what they say whatever the RTT does.
    let (path, mut train) = (path(), Train::default());
    for n in 0..6u64 {
        for i in 1..=40u64 {
            let late = (n % 3) * 5 * MILLISECOND + i * 200_000;
            train.on_delivered(n * 3 * RTT + i * 10_000, (n * 40 + i) * MSS, 0);
            train.on_ack(n * 3 * RTT + RTT + late, &path);
        }
    }
    assert_eq!(train.bottleneck(), Some(5_000_000));
}

/// Nineteen segments in a burst, the odd last one acknowledged 40 ms late.
#[test]
fn a_delayed_ack_is_no_bottleneck() {
    let (path, mut train) = (path(), Train::default());
    for n in 0..2 {
        for i in 1..=19u64 {
            let late = if i == 19 { 40 * MILLISECOND } else { 0 };
            train.on_delivered(n * RTT + i * 200_000, (n * 19 + i) * MSS, 0);
            train.on_ack((n + 1) * RTT + i * 200_000 + late, &path);
        }
    }
    assert_eq!(train.bottleneck(), None);
}

/// A worker that was late takes all of them at once.
#[test]
fn acks_that_came_together_say_nothing() {
    assert_eq!(run(&[(0, 0); 2]).bottleneck(), None);
    assert_eq!(run(&[(200_000, 0); 2]).bottleneck(), None);
}

#[test]
fn a_train_that_keeps_its_pace_says_nothing() {
    assert_eq!(run(&[(200_000, 200_000); 2]).bottleneck(), None);
}

/// Sends at the cap for `rounds` half round trips over a path of `rate`, held back all the while.
fn hold_back(train: &mut Train, rate: ByteRate, rounds: u64) -> bool {
    let path = path();
    let (mut delivered, mut proven) = (0, false);
    for tick in 0..rounds * 5 + 10 {
        let now = SECOND + tick * 10 * MILLISECOND;
        let cap = train.cap(&path).expect("a guess");
        train.holds_back(now, true, 0, &path);
        delivered += cap.min(rate) / 100;
        proven |= train.judge(now, delivered, &path);
    }
    proven
}

const SECOND: Nanos = windlass_cc::SECOND;

#[test]
fn a_guess_that_the_path_confirms_is_believed() {
    let mut train = run(&[(10_000, 200_000); 2]);
    assert!(train.holds_back(SECOND, true, 0, &path()), "not proven yet");
    assert!(hold_back(&mut train, 5_000_000, 5));
    assert!(!train.holds_back(2 * SECOND, true, 0, &path()));
    let cap = train.cap(&path()).expect("a guess");
    assert!(cap <= 5_000_000, "no faster than the path: {cap}");
    assert_eq!(train.take_held_in_vain(), 0);
}

/// A guess of 5 MB/s on a path that carries that: in which of the tenths of the round trips after second 1 more than that is tried.
/// Packets wait for their turn but in the tenth `idle`.
fn tries(idle: u64) -> Vec<bool> {
    let (mut train, path, mut end) = (run(&[(10_000, 200_000); 2]), path(), 1_000_000);
    let tenths = (0..32).map(|tenth| {
        let now = SECOND + tenth * RTT / 10;
        train.holds_back(now, tenth != idle, 0, &path);
        end += MSS;
        train.on_delivered(now - RTT, end, 0);
        train.on_ack(now, &path);
        train.judge(now, tenth * 50_000, &path);
        train.cap(&path).expect("a guess") > 5_000_000
    });
    tenths.collect()
}

/// On a path whose queue holds a tenth of a round trip, more for longer would overflow it.
#[test]
fn more_than_a_guess_is_tried_for_half_a_round_trip_at_a_time() {
    let tries = tries(99);
    assert_eq!(tries[..6], [true; 6], "the first trial");
    assert_eq!(tries[6..15], [false; 9], "its answer is under way");
    assert_eq!(tries[15..21], [true; 6], "the second trial");
    assert_eq!(tries[21..], [false; 11]);
}

/// What a sender breaks off has filled a queue in part. Were it begun again at once, more would be tried all the time.
#[test]
fn a_trial_that_is_broken_off_is_not_begun_again_at_once() {
    let tries = tries(3);
    assert_eq!(tries[..3], [true; 3]);
    assert_eq!(tries[3..9], [false; 6], "broken off");
    assert_eq!(tries[9..15], [true; 6], "the next one");
    let at_rest = self::tries(8);
    assert_eq!(
        at_rest[15..21],
        [true; 6],
        "the first one is over, and counts"
    );
}

/// Where the window is the limit, two packets wait for each other after each ACK. Start-up that such moments excuse never ends.
#[test]
fn what_waits_for_a_moment_is_not_held_back() {
    let mut train = run(&[(10_000, 200_000); 2]);
    let held = (0..100).any(|ack| {
        let now = SECOND + ack * RTT / 10;
        let waits = train.holds_back(now, true, RTT / 8, &path());
        let gone = train.holds_back(now + RTT / 20, false, RTT / 8, &path());
        waits || gone
    });
    assert!(!held);
}

#[test]
fn a_guess_that_the_path_refutes_gives_way_to_more() {
    let mut train = run(&[(10_000, 200_000); 2]);
    assert!(
        !hold_back(&mut train, 20_000_000, 10),
        "not while more is carried"
    );
    let cap = train.cap(&path()).expect("a guess");
    assert!(cap > 10_000_000, "{cap}");
    let held = train.take_held_in_vain();
    assert!((RTT..10 * RTT).contains(&held), "{held} ns");
    assert_eq!(train.take_held_in_vain(), 0, "it is told once");
}

#[test]
fn what_the_sender_itself_keeps_small_proves_nothing() {
    let mut train = run(&[(10_000, 200_000); 2]);
    assert!(!train.holds_back(SECOND, false, 0, &path()));
    let path = path();
    let slow =
        (0..100).any(|tick| train.judge(SECOND + tick * 10 * MILLISECOND, tick * 1_000, &path));
    assert!(!slow);
}

/// Twenty segments in a burst, a worker that is late by 6 ms, and twenty more. The bottleneck has nothing to send for 2 ms.
fn with_a_pause(worker_knows: bool) -> Option<ByteRate> {
    let (path, mut train, mut end) = (path(), Train::default(), 0);
    for n in 0..2 {
        if worker_knows {
            train.sends_late(n * RTT + 6 * MILLISECOND, 6 * MILLISECOND, &path);
        }
        for i in 1..=40u64 {
            end += MSS;
            let late = if i > 20 { 6 * MILLISECOND } else { 0 };
            let place = if i > 20 { i - 20 } else { i };
            train.on_delivered(n * RTT + late + i * 10_000, end, 0);
            train.on_ack((n + 1) * RTT + late + place * 200_000, &path);
        }
    }
    train.bottleneck()
}

#[test]
fn a_worker_that_was_late_makes_no_slow_bottleneck() {
    assert_eq!(with_a_pause(true), Some(5_000_000));
    let blind = with_a_pause(false);
    assert!(blind.is_none_or(|rate| rate < 4_500_000), "{blind:?}");
}
