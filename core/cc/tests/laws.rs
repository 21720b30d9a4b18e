//! What holds for every algorithm, whatever it is told.

use proptest::prelude::*;
use windlass_cc::{
    AckEvent, AlgorithmId, Catalog, CongestionEvent, Control, Controller, MAX_CWND_BYTES,
    MILLISECOND, Nanos, Path, RateSample, SECOND, SendEvent, Settings, Signal,
};

const MSS: u64 = 1448;

#[derive(Clone, Debug)]
enum Step {
    Ack(AckEvent),
    Sent(u64),
    Congestion { ecn: bool, lost: u64 },
    RecoveryExit,
    Rto,
    Spurious,
    Idle(Nanos),
    Switch(usize),
}

/// Small, ordinary and absurd sizes alike.
fn amount() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        1..3 * MSS,
        1..10_000_000u64,
        0..1u64 << 50,
        Just(u64::MAX / 4)
    ]
}

fn span() -> impl Strategy<Value = Nanos> {
    prop_oneof![Just(0), 1..1000u64, 1..SECOND, 0..86_400 * SECOND]
}

prop_compose! {
    fn rate_sample()(
        delivered in amount(), interval in span(), rate in amount(), prior_delivered in amount(),
        tx_in_flight in amount(), lost in amount(), app_limited: bool,
    ) -> RateSample {
        RateSample { delivered, interval, rate, prior_delivered, tx_in_flight, lost, app_limited }
    }
}

prop_compose! {
    fn ack()(
        gap in span(), acked in amount(), delivered in amount(), lost in amount(),
        (inflight_before, inflight) in (amount(), amount()), rtt in prop::option::of(span()),
        rate in prop::option::of(rate_sample()), (cwnd_limited, in_recovery) in any::<(bool, bool)>(),
        (ce_bytes, lost_ranges) in (amount(), 0u32..20),
    ) -> Step {
        Step::Ack(AckEvent {
            now: gap, acked, delivered, lost, inflight_before, inflight, rtt, rate,
            ce_bytes, cwnd_limited, in_recovery, lost_ranges,
        })
    }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => ack(),
        3 => amount().prop_map(Step::Sent),
        2 => (any::<bool>(), amount()).prop_map(|(ecn, lost)| Step::Congestion { ecn, lost }),
        2 => Just(Step::RecoveryExit),
        1 => Just(Step::Rto),
        1 => Just(Step::Spurious),
        1 => span().prop_map(Step::Idle),
        1 => (0..AlgorithmId::ALL.len()).prop_map(Step::Switch),
    ]
}

/// Plays the steps; answers with every control, and with whether the step before was a loss.
fn play(id: AlgorithmId, steps: &[Step], switching: bool) -> Vec<(Control, Control, Step)> {
    play_with(id, steps, switching, |controller| controller)
}

/// The same, with something done to the controller after every step.
fn play_with(
    id: AlgorithmId,
    steps: &[Step],
    switching: bool,
    after: impl Fn(Controller) -> Controller,
) -> Vec<(Control, Control, Step)> {
    let mut path = Path::new(MSS as u32);
    let mut controller = Controller::new(id, &path, 42);
    let mut now: Nanos = 0;
    let mut trace = Vec::new();
    for step in steps {
        let before = controller.algorithm().control();
        match step.clone() {
            Step::Ack(mut event) => {
                now = now.saturating_add(event.now);
                event.now = now;
                path.delivered = path.delivered.saturating_add(event.delivered);
                path.lost = path.lost.saturating_add(event.lost);
                path.inflight = event.inflight;
                if let Some(rtt) = event.rtt {
                    path.on_rtt(rtt);
                }
                if let Some(rate) = event.rate {
                    path.max_bw = path.max_bw.max(rate.rate);
                }
                controller.on_ack(&event, &path);
            }
            Step::Sent(bytes) => controller.on_sent(
                &SendEvent {
                    now,
                    bytes,
                    inflight: bytes,
                    ..SendEvent::default()
                },
                &path,
            ),
            Step::Congestion { ecn, lost } => {
                let signal = if ecn { Signal::Ecn } else { Signal::Loss };
                let inflight_before = path.inflight.saturating_add(lost);
                let event = CongestionEvent {
                    now,
                    signal,
                    inflight_before,
                    lost,
                };
                controller.on_congestion(&event, &path);
            }
            Step::RecoveryExit => controller.on_recovery_exit(now, &path),
            Step::Rto => controller.on_rto(now, &path),
            Step::Spurious => controller.on_spurious(now, &path),
            Step::Idle(idle) => {
                now = now.saturating_add(idle);
                controller.on_idle_restart(now, idle, &path);
            }
            Step::Switch(to) if switching => {
                controller.switch(AlgorithmId::ALL[to], &path, now);
            }
            Step::Switch(_) => {}
        }
        controller = after(controller);
        let algorithm = controller.algorithm().control();
        trace.push((before, algorithm, step.clone()));
        let control = controller.control();
        assert!(
            control.cwnd >= MSS && control.cwnd <= MAX_CWND_BYTES,
            "{id}: {control:?}"
        );
        assert_ne!(control.pacing_rate, Some(0), "{id}");
        if paces_by_bandwidth(controller.id()) {
            assert!(control.pacing_rate.is_some(), "{id}");
        }
    }
    trace
}

/// Those that slow down at every loss.
fn loss_based() -> impl Iterator<Item = AlgorithmId> {
    let all = AlgorithmId::ALL.iter().copied();
    all.filter(|id| id.about().signals.loss)
}

/// Those whose rate is a measured one, not that of a window.
fn paces_by_bandwidth(id: AlgorithmId) -> bool {
    matches!(id, AlgorithmId::Bbr | AlgorithmId::Bbr3)
}

/// Those that slow down by the share of marks that they have counted, which may be none.
fn in_proportion(id: AlgorithmId) -> bool {
    matches!(id, AlgorithmId::Dctcp | AlgorithmId::Prague)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn windows_stay_within_bounds_and_nothing_overflows(
        steps in prop::collection::vec(step(), 1..120)
    ) {
        for id in AlgorithmId::ALL {
            play(*id, &steps, true);
        }
    }

    #[test]
    fn loss_based_windows_fall_on_loss(steps in prop::collection::vec(step(), 1..120)) {
        for id in loss_based() {
            for (before, after, step) in play(id, &steps, false) {
                if matches!(step, Step::Congestion { .. } | Step::Rto) {
                    prop_assert!(after.cwnd <= before.cwnd);
                    let mark = matches!(step, Step::Congestion { ecn: true, .. });
                    let by_nothing = before.cwnd <= 2 * MSS || (mark && in_proportion(id));
                    prop_assert!(after.cwnd < before.cwnd || by_nothing);
                }
            }
        }
    }

    #[test]
    fn no_growth_while_the_window_is_not_the_limit(steps in prop::collection::vec(ack(), 1..60)) {
        for id in loss_based() {
            for (before, after, step) in play(id, &steps, false) {
                let Step::Ack(event) = step else { continue };
                if !event.cwnd_limited || event.in_recovery {
                    prop_assert!(after.cwnd <= before.cwnd);
                }
            }
        }
    }

    /// A flow that is carried from process to process notices nothing.
    #[test]
    fn export_and_import_change_nothing(steps in prop::collection::vec(step(), 1..40)) {
        for id in AlgorithmId::ALL {
            let controls = |trace: Vec<(Control, Control, Step)>| -> Vec<Control> {
                trace.into_iter().map(|(_, after, _)| after).collect()
            };
            let carried = play_with(*id, &steps, true, |controller| {
                Controller::import(&controller.export(), &Settings::from(*id), &Catalog::new())
                    .expect("what was exported")
            });
            prop_assert_eq!(controls(play(*id, &steps, true)), controls(carried));
        }
    }

    #[test]
    fn the_same_steps_give_the_same_answers(steps in prop::collection::vec(step(), 1..80)) {
        for id in AlgorithmId::ALL {
            let answers = |_| -> Vec<Control> {
                play(*id, &steps, true).into_iter().map(|(_, after, _)| after).collect()
            };
            prop_assert_eq!(answers(0), answers(1));
        }
    }
}

/// A day at an ACK per 50 ms and 32 kB each: 56 GB, 1.7 million ACKs, a loss an hour.
#[test]
fn survives_a_day_and_many_gibibytes() {
    for id in AlgorithmId::ALL {
        let mut path = Path::new(MSS as u32);
        let mut controller = Controller::new(*id, &path, 7);
        let mut now = 0;
        let mut acks = 0u64;
        while now < 24 * 3600 * SECOND {
            now += 50 * MILLISECOND;
            acks += 1;
            let prior_delivered = path.delivered;
            path.delivered += 32_768;
            path.inflight = 32_768;
            path.on_rtt(50 * MILLISECOND);
            if acks.is_multiple_of(72_000) {
                path.lost += MSS;
                let event = CongestionEvent {
                    now,
                    signal: Signal::Loss,
                    inflight_before: 65_536,
                    lost: MSS,
                };
                controller.on_congestion(&event, &path);
                controller.on_recovery_exit(now, &path);
            }
            let rate = RateSample {
                delivered: 32_768,
                interval: 50 * MILLISECOND,
                rate: 655_360,
                prior_delivered,
                tx_in_flight: 65_536,
                lost: 0,
                app_limited: false,
            };
            let event = AckEvent {
                now,
                acked: 32_768,
                delivered: 32_768,
                inflight_before: 65_536,
                inflight: 32_768,
                rtt: Some(50 * MILLISECOND),
                rate: Some(rate),
                cwnd_limited: true,
                ..AckEvent::default()
            };
            controller.on_ack(&event, &path);
        }
        let control = controller.control();
        assert!(path.delivered > 4 << 30);
        assert!(
            control.cwnd >= 4 * MSS && control.cwnd <= MAX_CWND_BYTES,
            "{id}: {control:?}"
        );
        if let Some(rate) = control.pacing_rate.filter(|_| paces_by_bandwidth(*id)) {
            assert!((500_000..900_000).contains(&rate), "{id}: {rate}");
        }
    }
}

/// RTTs of a nanosecond and of an hour.
#[test]
fn survives_absurd_round_trip_times() {
    for id in AlgorithmId::ALL {
        for rtt in [0, 1, 3600 * SECOND] {
            let mut path = Path::new(MSS as u32);
            let mut controller = Controller::new(*id, &path, 7);
            for n in 1..2000u64 {
                let prior_delivered = path.delivered;
                path.delivered += MSS;
                path.on_rtt(rtt);
                let event = AckEvent {
                    now: n * rtt.max(1),
                    acked: MSS,
                    delivered: MSS,
                    rtt: Some(rtt),
                    rate: Some(RateSample {
                        delivered: MSS,
                        interval: rtt.max(1),
                        rate: (u128::from(MSS) * u128::from(SECOND) / u128::from(rtt.max(1)))
                            as u64,
                        prior_delivered,
                        tx_in_flight: MSS,
                        ..RateSample::default()
                    }),
                    cwnd_limited: true,
                    ..AckEvent::default()
                };
                controller.on_ack(&event, &path);
                assert!(controller.control().cwnd >= MSS);
            }
        }
    }
}
