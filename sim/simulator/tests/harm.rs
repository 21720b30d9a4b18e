//! A flow that the box itself harms goes back to its sender, for good, counted by its reason; one that has bad luck stays.

use std::sync::Arc;

use windlass_cc::{AlgorithmId, MILLISECOND, Nanos};
use windlass_engine::{FlowInfo, LimitedBy, Limits, Verdict};
use windlass_sim::link::{Loss, Recording};
use windlass_sim::stalls::{StallConfig, Stalls};
use windlass_sim::{EngineBox, NoBox, Outcome, Scenario, run};

fn scenario() -> Scenario {
    Scenario::download(20_000_000, 50.0, 20.0)
}

fn governed(scenario: &Scenario, limits: Limits, stalls: Option<StallConfig>) -> Outcome {
    let verdict = Verdict::enforce(AlgorithmId::Bbr);
    let mut middle = EngineBox::new(Box::new(verdict), limits, scenario.seed);
    if let Some(config) = stalls {
        middle = middle.stalling(Stalls::new(config, scenario.seed, 0));
    }
    let outcome = run(scenario, &mut middle);
    outcome.assert_intact(scenario);
    outcome
}

fn alone(scenario: &Scenario) -> f64 {
    run(scenario, &mut NoBox::default()).seconds
}

fn stalls(every: Nanos, most: Nanos) -> Option<StallConfig> {
    Some(StallConfig {
        every: every * MILLISECOND,
        least: most * MILLISECOND / 2,
        most: most * MILLISECOND,
    })
}

/// Of so many runs.
const RUNS: u64 = 12;

/// In how many of them a box that stands still so often and so long lets go of its flow.
fn lets_go(every: Nanos, most: Nanos) -> usize {
    let late = |seed| {
        let scenario = Scenario { seed, ..scenario() };
        let outcome = governed(&scenario, Limits::default(), stalls(every, most));
        outcome.counter("harmed_by_lateness") == 1
    };
    (1..=RUNS).filter(|&seed| late(seed)).count()
}

/// Where it does not, packets were lost by what follows a stall: the path looks like one that is worth a box that is late.
#[test]
fn a_box_that_is_late_a_third_of_the_time_lets_go() {
    assert!(lets_go(120, 59) >= 6);
    assert!(lets_go(240, 119) >= 10);
    // A machine that is paused now and then costs the flow little.
    assert_eq!(lets_go(500, 30), 0);
    let scenario = scenario();
    let late = |scenario, stalls| {
        let outcome = governed(scenario, Limits::default(), stalls);
        outcome.counter("harmed_by_lateness")
    };
    assert_eq!(late(&scenario, None), 0);
    // Where packets are lost, a box that is late is faster than none.
    let mut lossy = scenario.clone();
    lossy.down.loss = Loss::Bernoulli { ratio: 0.01 };
    let outcome = governed(&lossy, Limits::default(), stalls(120, 59));
    assert_eq!(outcome.counter("harmed_by_lateness"), 0);
    assert!(outcome.seconds < 0.5 * alone(&lossy));
}

#[test]
fn a_box_without_room_to_hold_lets_go() {
    let scenario = scenario();
    let limits = Limits {
        held_packets_total: 8,
        ..Limits::default()
    };
    let crowded = governed(&scenario, limits, None);
    assert_eq!(crowded.counter("harmed_by_lack_of_room"), 1);
    let alone = alone(&scenario);
    assert!(
        crowded.seconds <= 1.1 * alone,
        "{} s, {alone} s without the box",
        crowded.seconds
    );
    let roomy = governed(&scenario, Limits::default(), None);
    assert_eq!(roomy.counter("harmed_by_lack_of_room"), 0);
}

/// A link that turns from 5 to 200 Mbit/s and back every two seconds.
fn changing() -> Recording {
    let half = |from: u32, us_per_frame: u32| {
        let frames = 2_000_000 / us_per_frame;
        (0..frames).map(move |frame| from + frame * us_per_frame / 1_000)
    };
    Recording {
        at_ms: half(0, 2_422).chain(half(2_000, 61)).collect(),
        delay_ms: Vec::new(),
    }
}

/// Start-up is paced at what trains of ACKs have named, and the link turns forty times as fast. Each guess that the path refutes
/// is followed by a higher one. A flow that they have held back for too long goes back to its sender, which is no slower for it.
#[test]
fn a_box_whose_guesses_prove_wrong_lets_go() {
    let mut scenario = Scenario::download(40_000_000, 200.0, 50.0);
    let steady = governed(&scenario, Limits::default(), None);
    assert_eq!(steady.counter("harmed_by_guess"), 0);
    scenario.down.recording = Some(Arc::new(changing()));
    let mut let_go = 0;
    // The seed decides when in those two seconds the download begins.
    for seed in 1..=40 {
        let scenario = Scenario {
            seed,
            ..scenario.clone()
        };
        let boxed = governed(&scenario, Limits::default(), None);
        if boxed.counter("harmed_by_guess") == 0 {
            continue;
        }
        let_go += 1;
        let alone = alone(&scenario);
        assert!(
            boxed.seconds <= alone,
            "seed {seed}: {:.2} s, {alone:.2} s without the box",
            boxed.seconds
        );
    }
    assert!(let_go >= 2, "{let_go} of 40");
}

/// A machine that is paused for 10 to 100 ms now and then. What follows a pause is paced, so the queue loses nothing. Nothing is taken for
/// lost that is only late, and no time-out runs out.
#[test]
fn what_follows_a_pause_overflows_nothing_and_is_not_taken_for_loss() {
    let scenario = Scenario::download(20_000_000, 50.0, 100.0);
    for (every, most) in [(500, 20), (500, 50), (1000, 100)] {
        for seed in 1..=30 {
            let scenario = Scenario {
                seed,
                ..scenario.clone()
            };
            let paused = governed(&scenario, Limits::default(), stalls(every, most));
            let of_box = ["timeouts", "spurious", "repaired"].map(|name| paused.counter(name));
            let told = (paused.down.dropped, of_box, paused.server().rto);
            assert_eq!(told, (0, [0; 3], 0), "{every} ms, {most} ms, seed {seed}");
        }
    }
}

/// A box stands still for a tenth of the time. What it is behind by becomes a queue, and the path then has something to carry in the next
/// pause. 20 MB take 1.04 of the time without pauses. If the box did not catch up, they would take 1.07.
#[test]
fn a_pause_costs_the_path_its_rate_once() {
    let scenario = Scenario::download(20_000_000, 50.0, 100.0);
    let mean = |stalls: Option<StallConfig>| {
        let seconds = |seed| {
            let scenario = Scenario {
                seed,
                ..scenario.clone()
            };
            governed(&scenario, Limits::default(), stalls).seconds
        };
        (1..=4).map(seconds).sum::<f64>() / 4.0
    };
    let ratio = mean(stalls(200, 30)) / mean(None);
    assert!(ratio < 1.05, "{ratio:.3}");
}

/// Start-up that is paced at a train's estimate says so.
#[test]
fn a_flow_that_a_guess_holds_back_says_so() {
    let mut scenario = Scenario::download(4_000_000, 50.0, 100.0);
    scenario.up.jitter = 5 * MILLISECOND;
    let verdict = Verdict::enforce(AlgorithmId::Bbr);
    let middle = EngineBox::new(Box::new(verdict), Limits::default(), scenario.seed);
    let mut middle = middle.sample_every(MILLISECOND);
    run(&scenario, &mut middle).assert_intact(&scenario);
    let limits: Vec<_> = middle
        .samples()
        .iter()
        .map(|(_, info)| info.limited_by)
        .collect();
    assert!(limits.contains(&LimitedBy::Guess));
    assert_ne!(limits.last(), Some(&LimitedBy::Guess));
}

/// Of a run in which Windlass lets go of the flow: the round trips from the moment at which it knows better until nothing of the flow waits
/// here any more, and until it is let go of for good.
fn hand_over(
    scenario: &Scenario,
    limits: Limits,
    pauses: Option<StallConfig>,
) -> Option<(f64, f64)> {
    let verdict = Verdict::enforce(AlgorithmId::Bbr);
    let mut middle = EngineBox::new(Box::new(verdict), limits, scenario.seed);
    if let Some(config) = pauses {
        middle = middle.stalling(Stalls::new(config, scenario.seed, 0));
    }
    let mut middle = middle.sample_every(MILLISECOND / 4);
    run(scenario, &mut middle).assert_intact(scenario);
    let samples = middle.samples();
    let gone = samples.iter().position(|(_, info)| info.pass.is_some())?;
    let before = samples[..gone].iter().rev();
    let handed = gone - before.take_while(|(_, info)| info.in_senders_hands).count();
    let waits = |(_, info): &&(Nanos, FlowInfo)| info.figures.queued_bytes > 0;
    let empty = handed + samples[handed..].iter().take_while(waits).count();
    let (at, info) = &samples[handed];
    let round_trips =
        |sample: usize| (samples[sample].0 - at) as f64 / 1e3 / info.figures.srtt_us as f64;
    Some((round_trips(empty), round_trips(gone)))
}

/// The sender has its flow within a round trip, whatever the harm was. Windlass lets go of it for good once the round trip is over.
#[test]
fn a_harmed_flow_is_its_senders_within_a_round_trip() {
    let small = Limits {
        held_packets_total: 8,
        ..Limits::default()
    };
    let mut turning = Scenario::download(40_000_000, 200.0, 50.0);
    turning.down.recording = Some(Arc::new(changing()));
    let mut cases: [(&str, Vec<(f64, f64)>); 3] = Default::default();
    for seed in 1..=6 * RUNS {
        let of = |scenario: &Scenario, limits: &Limits, pauses| {
            let scenario = Scenario {
                seed,
                ..scenario.clone()
            };
            hand_over(&scenario, *limits, pauses)
        };
        let usual = Limits::default();
        let few = seed <= RUNS;
        let of_few = |limits, pauses| few.then(|| of(&scenario(), limits, pauses)).flatten();
        let runs = [
            ("no room", of_few(&small, None)),
            ("late", of_few(&usual, stalls(240, 119))),
            // The seed decides when in those two seconds the download begins.
            ("wrong guess", of(&turning, &usual, None)),
        ];
        for (case, (name, run)) in cases.iter_mut().zip(runs) {
            case.0 = name;
            case.1.extend(run);
        }
    }
    for (name, mut times) in cases {
        times.sort_by(|a, b| a.1.total_cmp(&b.1));
        let empty = times.iter().map(|(empty, _)| *empty).fold(0.0, f64::max);
        let (median, last) = (times[times.len() / 2].1, times[times.len() - 1].1);
        println!(
            "{name}: {} runs, its sender's after {empty:.2} round trips at most, let go of after {median:.2} in the median, {last:.2} at most",
            times.len()
        );
        assert!(times.len() >= 2 && empty <= 1.0 && median <= 1.5, "{name}");
    }
}
