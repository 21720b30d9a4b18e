//! A bypass: the kernel forwards everything for a while, and the box sees none of it. The connections go on, and are governed
//! again afterwards.
//!
//! `WINDLASS_SEEDS=3000` runs more, `WINDLASS_SEED=n` replays one.
#![allow(clippy::disallowed_methods)]

mod any_box;

use any_box::verdict;
use windlass_cc::{MILLISECOND, Nanos, SECOND};
use windlass_engine::{AlgorithmId, Limits, Side, Verdict};
use windlass_sim::link::Loss;
use windlass_sim::{EngineBox, Middlebox, NoBox, Outcome, Scenario, run};

const SEEDS_IN_TEST: u64 = 200;

/// Bypassed from each first time to the second.
struct Bypassed {
    inner: EngineBox,
    /// Ascending: on, off, on, and so on.
    changes: Vec<Nanos>,
    changed: usize,
}

impl Bypassed {
    fn new(inner: EngineBox, changes: Vec<Nanos>) -> Bypassed {
        Bypassed {
            inner,
            changes,
            changed: 0,
        }
    }

    fn pass_time(&mut self, now: Nanos, out: &mut Vec<(Side, Vec<u8>)>) {
        while self.changes.get(self.changed).is_some_and(|at| *at <= now) {
            self.changed += 1;
            self.inner.set_bypass(self.is_on(), now, out);
        }
    }

    fn is_on(&self) -> bool {
        !self.changed.is_multiple_of(2)
    }
}

impl Middlebox for Bypassed {
    fn on_frame(&mut self, now: Nanos, from: Side, frame: Vec<u8>, out: &mut Vec<(Side, Vec<u8>)>) {
        self.pass_time(now, out);
        match self.is_on() {
            true => out.push((from.other(), frame)),
            false => self.inner.on_frame(now, from, frame, out),
        }
    }

    fn poll_at(&self) -> Option<Nanos> {
        let change = self.changes.get(self.changed).copied();
        [self.inner.poll_at(), change].into_iter().flatten().min()
    }

    fn on_timer(&mut self, now: Nanos, out: &mut Vec<(Side, Vec<u8>)>) {
        self.pass_time(now, out);
        self.inner.on_timer(now, out);
    }

    fn around(&self) -> Option<&dyn Middlebox> {
        Some(&self.inner)
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|v| v.parse().ok())
}

fn simulate(seed: u64, scenario: &Scenario, verdict: Verdict, changes: &[Nanos]) -> Outcome {
    let inner = EngineBox::new(Box::new(verdict), Limits::default(), seed);
    run(scenario, &mut Bypassed::new(inner, changes.to_vec()))
}

/// Once or several times, for a moment or for long.
fn changes(seed: u64) -> Vec<Nanos> {
    let first = (150 + seed * 61 % 2500) * MILLISECOND;
    let lasts = [1, 40, 700, 3000][(seed / 3 % 4) as usize] * MILLISECOND;
    let times = [1, 2, 20][(seed % 3) as usize];
    let on = (0..times).map(|n| first + n * (lasts + 333 * MILLISECOND));
    on.flat_map(|on| [on, on + lasts]).collect()
}

/// Adverse networks of all kinds.
#[test]
fn whatever_the_network_the_connections_go_on() {
    let seeds = number("WINDLASS_SEEDS").unwrap_or(SEEDS_IN_TEST);
    let one = number("WINDLASS_SEED");
    let (mut failed, mut regained) = (Vec::new(), 0);
    for seed in one.map_or(1..=seeds, |seed| seed..=seed) {
        let mut scenario = Scenario::adverse(seed);
        scenario.limit = 24 * 3600 * SECOND;
        let outcome = simulate(seed, &scenario, verdict(seed), &changes(seed));
        regained += outcome.counter("sight_regained");
        let wrong = outcome.violations.first();
        if let Some(why) = wrong
            && run(&scenario, &mut NoBox::default()).intact
        {
            println!("seed {seed}: {:.1} s, {why}", outcome.seconds);
            failed.push(seed);
        }
    }
    println!("{regained} times governed again");
    assert!(one.is_some() || regained > seeds / 4);
    assert!(failed.is_empty(), "{} seeds: {failed:?}", failed.len());
}

fn lossy_download(bytes: u64, rate: f64, rtt: f64) -> Scenario {
    let mut scenario = Scenario::download(bytes, rate, rtt);
    scenario.down.loss = Loss::Bernoulli { ratio: 0.01 };
    scenario
}

/// 1 % loss: beside the three seconds, it costs what the sender has taken back of its window meanwhile.
#[test]
fn what_follows_is_governed() {
    let scenario = lossy_download(60_000_000, 20.0, 40.0);
    let bbr = Verdict::enforce(AlgorithmId::Bbr);
    let cubic = run(&scenario, &mut NoBox::default()).seconds;
    let alone = simulate(3, &scenario, bbr, &[]).seconds;
    let outcome = simulate(3, &scenario, bbr, &[3 * SECOND, 6 * SECOND]);
    println!(
        "{cubic:.1} s with CUBIC, {alone:.1} s governed, {:.1} s governed but for 3 s",
        outcome.seconds
    );
    assert!(outcome.intact, "{:?}", outcome.violations);
    assert_eq!(outcome.counter("sight_regained"), 1);
    assert!(outcome.seconds < alone + 7.0 && outcome.seconds < 0.3 * cubic);
}

/// Connections that begin in a bypass are strangers afterwards. They are watched, and governed if they are understood.
#[test]
fn what_begins_in_a_bypass_is_learnt() {
    let (mut failed, mut watched, mut adopted) = (Vec::new(), 0, 0);
    for seed in 1..=SEEDS_IN_TEST {
        let mut scenario = Scenario::adverse(seed);
        scenario.limit = 24 * 3600 * SECOND;
        let inner = EngineBox::new(Box::new(verdict(seed)), Limits::default(), seed);
        let off = (50 + seed * 61 % 1500) * MILLISECOND;
        let mut bypassed = Bypassed::new(inner.watching_strangers(), vec![0, off]);
        let outcome = run(&scenario, &mut bypassed);
        watched += outcome.counter("strangers");
        adopted += outcome.counter("adopted");
        if !outcome.violations.is_empty() && run(&scenario, &mut NoBox::default()).intact {
            failed.push(seed);
        }
    }
    println!("{watched} watched, {adopted} adopted");
    assert!(failed.is_empty(), "{} seeds: {failed:?}", failed.len());
    assert!(watched > SEEDS_IN_TEST / 2 && adopted > 0);
}

/// Numbers go on by more than half of all of them, and all the way round, while nobody looks.
#[test]
fn numbers_may_have_gone_round() {
    for (seed, gigabytes) in [(1, 2.2), (2, 4.35)] {
        let rate = 4000.0;
        let lasts = gigabytes * 8e9 / (rate * 1e6);
        let scenario = Scenario::download((gigabytes * 1e9) as u64 + 300_000_000, rate, 5.0);
        let bbr = Verdict::enforce(AlgorithmId::Bbr);
        let on = 400 * MILLISECOND;
        let off = on + (lasts * 1e9) as u64;
        let outcome = simulate(seed, &scenario, bbr, &[on, off]);
        assert_eq!(outcome.violations, [""; 0], "{gigabytes} GB");
        assert!(outcome.intact);
        let counted = ["sight_regained", "taken_over"].map(|name| outcome.counter(name));
        assert_eq!(counted, [1, 1], "{gigabytes} GB");
        for refused in ["passed_out_of_window", "passed_unacceptable_ack"] {
            assert!(outcome.counter(refused) < 50, "{refused}");
        }
    }
}
