use super::*;
use crate::scripted::Scripted;
use crate::{CongestionControl, Settings};

type Flow = Scripted<ScalableLaw>;

fn linux() -> ScalableParameters {
    ScalableParameters {
        profile: Profile::Linux,
        ..ScalableParameters::default()
    }
}

mod vectors {
    use super::*;

    /// ns-3 `tcp-scalable-test.cc`, increments, with its AIFactor of 50: one segment for every
    /// min(window, 50) delivered. 38 of 38: one; 100 at 38: two; 50 at 53: one.
    #[test]
    fn ns3_increments() {
        let ns3 = ScalableParameters {
            ai_count: 50,
            ..linux()
        };
        for (mss, window, acked, after) in [(536, 38, 38, 39), (1, 38, 100, 40), (1446, 53, 50, 54)]
        {
            let mut flow = Flow::avoiding(mss, window, ns3);
            flow.ack(acked);
            assert_eq!(flow.cwnd(), after * u64::from(mss), "{window} of {mss}");
        }
    }

    /// ns-3 `tcp-scalable-test.cc`, decrements, in whole segments of 7/8: 33.25, 87.5 and 35.
    #[test]
    fn ns3_decrements() {
        for (mss, window, after) in [(1, 38, 33), (536, 100, 87), (1446, 40, 35)] {
            let mut flow = Flow::avoiding(mss, window, ScalableParameters::default());
            flow.lose();
            assert_eq!(flow.segments(), after, "{window} of {mss}");
        }
    }
}

/// A hundredth of a segment for each, however ACKs group them, and kept between ACKs.
#[test]
fn growth_is_one_percent_per_round_trip() {
    for per_ack in [1, 2, 7] {
        let mut flow = Flow::avoiding(1000, 1000, ScalableParameters::default());
        (0..700 / per_ack).for_each(|_| flow.ack(per_ack));
        assert_eq!(flow.segments(), 1007, "{per_ack} per ACK");
    }
}

/// Kelly: a window comes back after log(1 - b) / log(1 + a) = 13.4 round trips, whatever its size.
#[test]
fn recovery_takes_thirteen_round_trips_at_any_window() {
    for window in [1_000, 10_000, 100_000] {
        let mut flow = Flow::avoiding(1000, window, ScalableParameters::default());
        flow.lose();
        let mut rounds = 0;
        while flow.segments() < window {
            flow.ack(flow.segments());
            rounds += 1;
        }
        assert_eq!(rounds, 14, "{window}");
    }
}

/// The paper is Reno up to 16 segments; Linux grows like Reno up to 100.
#[test]
fn the_profiles_differ_for_small_windows() {
    let after_a_round = |window, parameters| {
        let mut flow = Flow::avoiding(1000, window, parameters);
        flow.acks(window);
        flow.segments()
    };
    let paper = ScalableParameters::default();
    assert_eq!(
        (after_a_round(16, paper), after_a_round(16, linux())),
        (17, 17)
    );
    assert_eq!(
        (after_a_round(60, paper), after_a_round(60, linux())),
        (60, 61)
    );
    let after_a_loss = |window, parameters| Flow::avoiding(1000, window, parameters).lose() / 1000;
    assert_eq!(
        (after_a_loss(16, paper), after_a_loss(16, linux())),
        (8, 14)
    );
    // 38 - (38 >> 3), and 7 - (7 >> 3).
    assert_eq!(
        (after_a_loss(38, linux()), after_a_loss(7, linux())),
        (34, 7)
    );
}

#[test]
fn a_timeout_leaves_seven_eighths_as_threshold_and_a_preset_applies() {
    let mut flow = Flow::avoiding(1000, 80, ScalableParameters::default());
    flow.cc.on_rto(flow.now, &flow.path);
    let control = flow.cc.control();
    assert_eq!((control.cwnd, control.ssthresh), (1000, 70_000));
    let mut settings = Settings::from(crate::AlgorithmId::Scalable);
    settings.apply_preset("ns-3").expect("it exists");
    assert_eq!(settings.get("ai_count"), Some(Value::Number(50.0)));
}
