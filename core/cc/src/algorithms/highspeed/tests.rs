use super::response::table;
use super::*;
use crate::scripted::Scripted;
use crate::{CongestionControl, Phase};

type Flow = Scripted<HighSpeedLaw>;

fn linux() -> HighSpeedParameters {
    HighSpeedParameters {
        profile: Profile::Linux,
        ..HighSpeedParameters::default()
    }
}

mod vectors {
    use super::*;

    /// RFC 3649 table 12, all but the last row: window, b in hundredths; and b in 256ths as ns-3's
    /// `tcp-highspeed-test.cc` lists it. The increase is the number of the row.
    #[rustfmt::skip]
    const TABLE_12: [(u64, u64, u64); 72] = [
        (38, 50, 128), (118, 44, 112), (221, 41, 104), (347, 38, 98),
        (495, 37, 93), (663, 35, 89), (851, 34, 86), (1058, 33, 83),
        (1284, 32, 81), (1529, 31, 78), (1793, 30, 76), (2076, 29, 74),
        (2378, 28, 72), (2699, 28, 71), (3039, 27, 69), (3399, 27, 68),
        (3778, 26, 66), (4177, 26, 65), (4596, 25, 64), (5036, 25, 62),
        (5497, 24, 61), (5979, 24, 60), (6483, 23, 59), (7009, 23, 58),
        (7558, 22, 57), (8130, 22, 56), (8726, 22, 55), (9346, 21, 54),
        (9991, 21, 53), (10661, 21, 52), (11358, 20, 52), (12082, 20, 51),
        (12834, 20, 50), (13614, 19, 49), (14424, 19, 48), (15265, 19, 48),
        (16137, 19, 47), (17042, 18, 46), (17981, 18, 45), (18955, 18, 45),
        (19965, 17, 44), (21013, 17, 43), (22101, 17, 43), (23230, 17, 42),
        (24402, 16, 41), (25618, 16, 41), (26881, 16, 40), (28193, 16, 39),
        (29557, 15, 39), (30975, 15, 38), (32450, 15, 38), (33986, 15, 37),
        (35586, 14, 36), (37253, 14, 36), (38992, 14, 35), (40808, 14, 35),
        (42707, 13, 34), (44694, 13, 33), (46776, 13, 33), (48961, 13, 32),
        (51258, 13, 32), (53677, 12, 31), (56230, 12, 30), (58932, 12, 30),
        (61799, 12, 29), (64851, 11, 28), (68113, 11, 28), (71617, 11, 27),
        (75401, 10, 26), (79517, 10, 26), (84035, 10, 25), (89053, 10, 24),
    ];

    /// RFC 3649 table 12 comes out of the rule of appendix B; so do the 256ths.
    #[test]
    fn rfc_3649_table_12() {
        assert_eq!(table().len(), 73);
        for (n, (row, (window, hundredths, parts))) in table().iter().zip(TABLE_12).enumerate() {
            assert_eq!((row.window, row.decrease), (window, parts), "row {}", n + 1);
            let b = decrease(window as f64) * 100.0;
            assert_eq!(libm::round(b) as u64, hundredths, "row {}", n + 1);
            assert_eq!(
                increase(window as f64) as u64,
                n as u64 + 1,
                "row {}",
                n + 1
            );
        }
        assert_eq!(table()[72].window, 94_717);
        assert_eq!(libm::round(decrease(94_717.0) * 100.0) as u64, 9);
    }

    /// RFC 3649 table 6: the window after so many round trips without loss.
    #[test]
    fn rfc_3649_table_6() {
        let table_6 = [
            (100, 131),
            (200, 475),
            (300, 1131),
            (500, 3601),
            (1000, 17409),
            (2000, 72754),
        ];
        let mut window = 0.0;
        let mut rounds = 0;
        for (round, expected) in table_6 {
            while rounds < round {
                window += increase(window);
                rounds += 1;
            }
            assert_eq!(window as u64, expected, "round {round}");
        }
    }

    /// RFC 3649 §5: at High_Window p is 1e-7, and the response function is w = 0.12 / p^0.835.
    #[test]
    fn rfc_3649_response_at_both_ends() {
        for (window, p) in [(38.0, 1e-3), (83_000.0, 1e-7)] {
            // a = w^2 p 2b / (2 - b), solved for p.
            let b = decrease(window);
            let found = increase(window) * (2.0 - b) / (2.0 * b * window * window);
            assert!((found / p - 1.0).abs() < 0.05, "{window}: {found:e}");
        }
    }

    /// ns-3 `tcp-highspeed-test.cc`, increments: at each window of the table, w / a + 1 ACKs earn
    /// one segment, for three segment sizes.
    #[test]
    fn ns3_increments() {
        for mss in [1, 536, 1446] {
            for (n, (window, ..)) in TABLE_12.into_iter().enumerate() {
                let mut flow = Flow::avoiding(mss, window, linux());
                flow.acks(window / (n as u64 + 1) + 1);
                assert_eq!(flow.segments(), window + 1, "{window} of {mss}");
            }
        }
    }

    /// ns-3 `tcp-highspeed-test.cc`, decrements, in the arithmetic of Linux: w - (w * parts >> 8).
    #[test]
    fn ns3_decrements() {
        for mss in [1, 536, 1446] {
            for (window, _, parts) in TABLE_12 {
                let mut flow = Flow::avoiding(mss, window, linux());
                flow.cc.law.look_up(&flow.cc.window, &flow.path, &linux());
                flow.lose();
                let expected = window - window * parts / 256;
                assert_eq!(flow.segments(), expected, "{window} of {mss}");
            }
        }
    }
}

/// Linux rounds up: 38 < w <= 118 grows by 2, and beyond the last row by 72. The formula's a(39) is
/// below 1 and counts as 1.
#[test]
fn linux_rounds_up_to_the_next_row() {
    let growth = |segments| linux_row_at(segments) + 1;
    assert_eq!(
        [1, 38, 39, 118, 119, 221, 222].map(growth),
        [1, 1, 2, 2, 3, 3, 4]
    );
    assert_eq!(
        [84_036, 89_053, 89_054, u64::MAX].map(growth),
        [72, 72, 72, 72]
    );
    assert_eq!(increase(39.0), 1.0);
    assert!((1.9..2.0).contains(&increase(117.0)));
}

/// Up to Low_Window it is Reno, whichever profile.
#[test]
fn small_windows_are_renos() {
    for parameters in [HighSpeedParameters::default(), linux()] {
        let mut flow = Flow::avoiding(1000, 38, parameters);
        flow.acks(38);
        assert_eq!(flow.segments(), 39);
        let mut flow = Flow::avoiding(1000, 38, parameters);
        assert_eq!(flow.lose(), 19_000);
    }
}

/// The formula's growth does not depend on how ACKs group segments; the module counts ACKs.
#[test]
fn stretch_acks() {
    let after = |per_ack, parameters| {
        let mut flow = Flow::avoiding(1000, 1000, parameters);
        (0..3000 / per_ack).for_each(|_| flow.ack(per_ack));
        flow.segments()
    };
    let formula = HighSpeedParameters::default();
    // a(1000) = 7.7 to 7.8 over three rounds.
    assert_eq!(
        [after(1, formula), after(2, formula), after(4, formula)],
        [1023, 1023, 1023]
    );
    // Row 8: 3000 ACKs earn 24,000, and 1000 + 1001 + ... + 1022 = 23,253; half of them 12,000.
    assert_eq!([after(1, linux()), after(2, linux())], [1023, 1011]);
}

/// Linux looks the row up when the window grows in avoidance: out of slow start it halves.
#[test]
fn the_first_reduction_of_linux_halves() {
    let slow_start = || Flow::new(1000, 2_000_000, u64::MAX, linux());
    assert_eq!(slow_start().lose(), 1_000_000);
    let mut formula = Flow::new(1000, 2_000_000, u64::MAX, HighSpeedParameters::default());
    // b(2000) = 0.29382.
    assert_eq!(formula.lose() / 1000, 1412);
}

/// No decrease below that of the table's last row, however large the window.
#[test]
fn the_decrease_stays_positive() {
    for window in [94_717.0, 1e6, 1e9, 1e12] {
        assert!((0.09..0.1).contains(&decrease(window)), "{window}");
        assert!(increase(window) > 72.0, "{window}");
    }
}

/// RFC 3742 §2: K = int(cwnd / 50), growth by 1/K of a segment per segment: at least 50 and, just
/// before K grows, up to 75 segments in the round trip that follows 100.
#[test]
fn limited_slow_start_adds_half_of_max_ssthresh_per_round_trip() {
    let limited = HighSpeedParameters {
        max_ssthresh: 100,
        ..HighSpeedParameters::default()
    };
    let mut flow = Flow::new(1000, 10_000, u64::MAX, limited);
    let mut windows = Vec::new();
    for _ in 0..9 {
        windows.push(flow.segments());
        flow.acks(flow.segments());
        assert_eq!(flow.cc.control().phase, Phase::SlowStart);
    }
    assert_eq!(windows[..5], [10, 20, 40, 80, 130]);
    for pair in windows[4..].windows(2) {
        assert!((50..=75).contains(&(pair[1] - pair[0])), "{windows:?}");
    }
}
