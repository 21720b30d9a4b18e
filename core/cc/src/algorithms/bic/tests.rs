use super::*;
use crate::CongestionControl;
use crate::scripted::Scripted;

type Flow = Scripted<BicLaw>;

fn linux() -> BicParameters {
    BicParameters {
        profile: Profile::Linux,
        ..BicParameters::default()
    }
}

fn after_a_maximum_of(last_max: u64, mss: u32, window: u64, parameters: BicParameters) -> Flow {
    let mut flow = Flow::avoiding(mss, window, parameters);
    flow.cc.law.last_max = last_max;
    flow
}

mod vectors {
    use super::*;

    /// ns-3 `tcp-bic-test.cc`, increments. ns-3's smooth part is 5, and there a call earns one
    /// segment at most: where one segment delivered earns one (linear at 18, binary search at 19),
    /// only one is fed here, of 5 and 2 there.
    #[test]
    fn ns3_increments() {
        let parameters = BicParameters {
            smooth_part: 5,
            ..BicParameters::default()
        };
        for (mss, window, acked, last_max, after) in [
            (536, 10, 11, 0, 11),   // Reno, for 10
            (536, 10, 8, 0, 10),    // not enough
            (1446, 18, 1, 90, 19),  // linear, for 18 / 16
            (1446, 18, 24, 20, 19), // smooth part, for 18 * 5 / 4
            (1, 19, 1, 83, 20),     // binary search, for 19 / 16
            (536, 15, 19, 13, 16),  // smooth part beyond, for 15 * 5 / 4
            (1000, 22, 9, 16, 22),  // slow growth beyond, for 22 * 3 / 6
            (1000, 65, 2, 16, 65),  // linear, for 65 / 16
        ] {
            let mut flow = after_a_maximum_of(last_max, mss, window, parameters);
            flow.acks(acked);
            assert_eq!(flow.cwnd(), after * u64::from(mss), "{window}, {last_max}");
        }
    }

    /// ns-3 `tcp-bic-test.cc`, decrements from a maximum of 10: the new maximum, and the window.
    #[test]
    fn ns3_decrements() {
        for (window, fast_convergence, last_max, after) in [
            (5, true, 4, 5 * 1446 / 2),
            (5, false, 5, 5 * 1446 / 2),
            (15, false, 15, 12 * 1446),
        ] {
            let parameters = BicParameters {
                fast_convergence,
                ..BicParameters::default()
            };
            let mut flow = after_a_maximum_of(10, 1446, window, parameters);
            assert_eq!(flow.lose(), after);
            assert_eq!(flow.cc.law.last_max, last_max);
        }
    }
}

/// Price of a segment, in segments, over the whole course from 200 back to 1000 and beyond.
#[test]
fn the_course_of_the_search() {
    let law = BicLaw {
        last_max: 1000,
        ..after_a_maximum_of(0, 1000, 100, BicParameters::default())
            .cc
            .law
    };
    let p = BicParameters::default();
    for (cwnd, count) in [
        (14, 14),         // Reno
        (15, 1),          // 16 in a round trip at once: one for one
        (800, 50),        // (1000 - 800) / 4 > 16: linear, 800 / 16
        (932, 932 / 16),  // 68 / 4 = 17: linear
        (936, 936 / 16),  // 64 / 4 = 16: search, 16 per round trip
        (968, 968 / 8),   // 32 / 4 = 8 per round trip
        (993, 993 * 5),   // 7 / 4 = 1: a segment in five round trips
        (1003, 1003 * 5), // up to 4 beyond
        (1004, 1004 * 3 / 4),
        (1047, 1047 * 3 / 47),
        (1048, 1048 / 16), // 16 * 3 beyond: linear
    ] {
        assert_eq!(law.count(cwnd, &p), count, "{cwnd}");
    }
}

/// Before any loss it grows by 5 % in a round trip at least (Linux: cnt <= 20).
#[test]
fn without_a_maximum_growth_is_five_percent() {
    let p = BicParameters::default();
    let law = BicLaw::new(&Path::new(1000), &p);
    // 15 * 3 / 15 close to the start, then 100 / 16, 320 / 16, and 20 instead of 10,000 / 16.
    assert_eq!(
        [15, 100, 320, 10_000].map(|cwnd| law.count(cwnd, &p)),
        [3, 6, 20, 20]
    );
}

/// Linux' arithmetic: 819/1024, whole segments, and no more at 14 than half.
#[test]
fn linux_reduces_in_whole_segments() {
    for (window, last_max, after, new_max) in [
        (100, 0, 79, 100),
        (100, 200, 79, 89),
        (15, 0, 11, 15),
        (14, 0, 7, 14),
    ] {
        let mut flow = after_a_maximum_of(last_max, 1000, window, linux());
        assert_eq!(flow.lose(), after * 1000, "{window}");
        assert_eq!(flow.cc.law.last_max, new_max, "{window}");
    }
}

/// Two segments per ACK: the paper's law grows by 16 per round trip, the module by 32.
#[test]
fn the_module_grows_by_the_mean_segments_per_ack() {
    let after_a_round = |per_ack: u32, parameters| {
        let mut flow = after_a_maximum_of(10_000, 1000, 1600, parameters);
        flow.cc.law.ratio = per_ack << RATIO_SHIFT;
        (0..1600 / u64::from(per_ack)).for_each(|_| flow.ack(u64::from(per_ack)));
        flow.segments() - 1600
    };
    let paper = BicParameters::default();
    assert_eq!([after_a_round(1, paper), after_a_round(2, paper)], [16, 16]);
    assert_eq!(
        [after_a_round(1, linux()), after_a_round(2, linux())],
        [16, 32]
    );
}

#[test]
fn a_timeout_forgets_the_maximum_and_a_mistake_gives_it_back() {
    let mut flow = after_a_maximum_of(90, 1000, 100, BicParameters::default());
    flow.cc.on_rto(flow.now, &flow.path);
    let control = flow.cc.control();
    assert_eq!((control.cwnd, control.ssthresh), (1000, 80_000));
    assert_eq!(flow.cc.law.last_max, 0);
    flow.cc.on_spurious(flow.now, &flow.path);
    assert_eq!((flow.cwnd(), flow.cc.law.last_max), (100_000, 90));
}

/// It is back at the old window of 100 within a few round trips, and there it stays a while.
#[test]
fn the_old_window_is_found_again() {
    let mut flow = after_a_maximum_of(0, 1000, 1000, BicParameters::default());
    flow.lose();
    let mut windows = Vec::new();
    for _ in 0..60 {
        flow.acks(flow.segments());
        windows.push(flow.segments());
    }
    // 800 to 936 by 16, then a quarter of the distance each.
    assert_eq!(windows[..3], [816, 832, 848]);
    let near = windows.iter().position(|w| *w >= 990).expect("gets there");
    assert!((12..=20).contains(&near), "{windows:?}");
    let beyond = windows.iter().position(|w| *w >= 1010).unwrap_or(60);
    assert!(beyond - near > 20, "{windows:?}");
}
