//! The examples of the SDK, compiled from their sources, decide as the algorithms of Windlass' own that they
//! are written after.

mod modules;

use proptest::prelude::*;
use windlass_cc::{
    AckEvent, AlgorithmId, Catalog, CongestionEvent, Control, Controller, MILLISECOND, Nanos, Path,
    RateSample, SECOND, Settings, Signal,
};
use windlass_plugin::add;

const MSS: u64 = 1448;

#[derive(Clone, Debug)]
enum Step {
    Ack {
        segments: u64,
        rtt_ms: u64,
        limited: bool,
        rate_kbyte: u64,
    },
    Loss {
        ecn: bool,
    },
    Rto,
    Spurious,
    Idle(Nanos),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => (1..6u64, 20..300u64, any::<bool>(), 10..5000u64).prop_map(
            |(segments, rtt_ms, limited, rate_kbyte)| Step::Ack { segments, rtt_ms, limited, rate_kbyte }
        ),
        1 => any::<bool>().prop_map(|ecn| Step::Loss { ecn }),
        1 => Just(Step::Rto),
        1 => Just(Step::Spurious),
        1 => (0..20 * SECOND).prop_map(Step::Idle),
    ]
}

/// What a controller decides, step by step.
fn play(settings: Settings, steps: &[Step]) -> Vec<Control> {
    let mut path = Path::new(MSS as u32);
    let mut controller = Controller::new(settings, &path, 1);
    let mut now = SECOND;
    let mut recovery = 0;
    let mut decided = vec![controller.control()];
    for step in steps {
        now += 20 * MILLISECOND;
        path.inflight = controller.control().cwnd;
        match *step {
            Step::Ack {
                segments,
                rtt_ms,
                limited,
                rate_kbyte,
            } => {
                let bytes = segments * MSS;
                path.delivered += bytes;
                path.on_rtt(rtt_ms * MILLISECOND);
                path.max_bw = path.max_bw.max(rate_kbyte * 1000);
                let event = AckEvent {
                    now,
                    acked: bytes,
                    delivered: bytes,
                    inflight_before: path.inflight + bytes,
                    inflight: path.inflight,
                    rtt: Some(rtt_ms * MILLISECOND),
                    rate: Some(RateSample {
                        rate: rate_kbyte * 1000,
                        delivered: bytes,
                        interval: rtt_ms * MILLISECOND,
                        ..RateSample::default()
                    }),
                    cwnd_limited: limited,
                    in_recovery: recovery > 1,
                    ..AckEvent::default()
                };
                controller.on_ack(&event, &path);
                if recovery == 1 {
                    controller.on_recovery_exit(now, &path);
                }
                recovery = u32::saturating_sub(recovery, 1);
            }
            Step::Loss { ecn } if recovery == 0 => {
                recovery = 8;
                let event = CongestionEvent {
                    now,
                    signal: if ecn { Signal::Ecn } else { Signal::Loss },
                    inflight_before: path.inflight,
                    lost: MSS,
                };
                controller.on_congestion(&event, &path);
            }
            Step::Loss { .. } => {}
            Step::Rto => {
                recovery = 8;
                path.inflight = 0;
                controller.on_rto(now, &path);
            }
            Step::Spurious => controller.on_spurious(now, &path),
            Step::Idle(span) => {
                now += span;
                controller.on_idle_restart(now, span, &path);
            }
        }
        assert_eq!(controller.take_failed(), None);
        decided.push(controller.control());
    }
    assert_eq!(
        controller.id().name(),
        settings.id().name(),
        "nobody took over"
    );
    decided
}

fn decide_the_same(example: impl Into<Settings>, own: impl Into<Settings>) {
    let (example, own) = (example.into(), own.into());
    let config = ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let steps = proptest::collection::vec(step(), 1..400);
    runner
        .run(&steps, |steps| {
            let (ours, theirs) = (play(own, &steps), play(example, &steps));
            let differs = ours.iter().zip(&theirs).position(|(a, b)| a != b);
            prop_assert_eq!(differs, None, "{:?} {:?}", ours, theirs);
            Ok(())
        })
        .unwrap_or_else(|e| panic!("{example} is not {own}: {e}"));
}

#[test]
fn the_one_in_c_is_reno() {
    let Some(module) = modules::reno_c() else {
        return;
    };
    let added = add(&mut Catalog::new(), &module).expect("a plugin");
    assert_eq!(added.id.to_string(), "reno_c");
    decide_the_same(added.id, AlgorithmId::Reno);
    // And it can be set.
    let mut settings = Settings::from(added.id);
    settings
        .set("beta", windlass_cc::Value::Number(0.9))
        .expect("in range");
    assert!(
        settings
            .set("beta", windlass_cc::Value::Number(1.5))
            .is_err()
    );
    let steps = [vec![Step::Rto; 0], vec![Step::Loss { ecn: true }]].concat();
    let last = play(settings, &steps).pop().expect("decided");
    assert_eq!(last.ssthresh, 9 * MSS);
}

#[test]
fn the_one_in_rust_is_mystiques_bbr() {
    let Some(module) = modules::mystique_rust() else {
        return;
    };
    let added = add(&mut Catalog::new(), &module).expect("a plugin");
    decide_the_same(added.id, AlgorithmId::MystiqueBbr);
    // With its estimates aged every five ACKs, too.
    let often = |id| {
        let mut settings = Settings::from(id);
        let period = windlass_cc::Value::Number(100.0);
        settings.set("period", period).expect("in range");
        settings
    };
    decide_the_same(often(added.id), often(AlgorithmId::MystiqueBbr));
}

/// A flow that a plugin governs can be carried over to another process, and moved to other algorithms.
#[test]
fn its_flows_are_bytes_like_those_of_others() {
    let Some(module) = modules::reno_c() else {
        return;
    };
    let mut catalog = Catalog::new();
    let id = add(&mut catalog, &module).expect("a plugin").id;
    let mut path = Path::new(MSS as u32);
    let mut controller = Controller::new(id, &path, 1);
    for round in 1..20 {
        path.delivered += MSS;
        path.inflight = 5 * MSS;
        let event = AckEvent {
            now: round * MILLISECOND,
            delivered: MSS,
            acked: MSS,
            cwnd_limited: true,
            ..AckEvent::default()
        };
        let mut carried = Controller::import(&controller.export(), &Settings::from(id), &catalog)
            .expect("what was exported");
        carried.on_ack(&event, &path);
        controller.on_ack(&event, &path);
        assert_eq!(carried.control(), controller.control());
        assert_eq!(carried.id().name(), id.name());
    }
    let before = controller.control().cwnd;
    controller.switch(AlgorithmId::Bbr, &path, 1);
    controller.switch(id, &path, 1);
    assert!(controller.control().cwnd <= 2 * before && controller.id().name() == id.name());
}
