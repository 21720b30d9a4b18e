//! A box that stands still for a while (SIGSTOP, a paused machine): what was on its way to it is lost, and
//! the kernel forwards the rest. The connections go on, and are governed again.
//!
//! `WINDLASS_SEEDS=300` runs more.
#![allow(clippy::disallowed_methods)]

use windlass_cc::{MILLISECOND, Nanos};
use windlass_engine::{AlgorithmId, Decide, Limits, Side, Verdict};
use windlass_sim::link::Loss;
use windlass_sim::{EngineBox, Middlebox, NoBox, Outcome, Scenario, run};
use windlass_wire::FlowKey;

const SEEDS_IN_TEST: u64 = 36;
/// What the kernel waits before it forwards.
const PATIENCE: Nanos = 50 * MILLISECOND;
const ALGORITHMS: [AlgorithmId; 4] = [
    AlgorithmId::Bbr,
    AlgorithmId::Cubic,
    AlgorithmId::Reno,
    AlgorithmId::Bbr3,
];

/// Both directions, or the server's alone.
struct Policy(Verdict, bool);

impl Decide for Policy {
    fn classify(&self, _flow: &FlowKey, sender: Side, _: u64) -> Option<Verdict> {
        (self.1 || sender == Side::Inside).then_some(self.0)
    }
}

trait Sleeper: Middlebox {
    fn wake(&mut self, now: Nanos, out: &mut Vec<(Side, Vec<u8>)>);
}

impl Sleeper for NoBox {
    fn wake(&mut self, _: Nanos, _: &mut Vec<(Side, Vec<u8>)>) {}
}

impl Sleeper for EngineBox {
    fn wake(&mut self, now: Nanos, out: &mut Vec<(Side, Vec<u8>)>) {
        EngineBox::wake(self, now, out);
    }
}

/// Stands still from one time to another.
struct Stopped<M> {
    inner: M,
    from: Nanos,
    until: Nanos,
    awake: bool,
}

impl<M: Sleeper> Stopped<M> {
    fn wake_if_due(&mut self, now: Nanos, out: &mut Vec<(Side, Vec<u8>)>) {
        if now >= self.until && !self.awake {
            self.awake = true;
            self.inner.wake(now, out);
        }
    }

    fn is_stopped(&self, now: Nanos) -> bool {
        (self.from..self.until).contains(&now)
    }
}

impl<M: Sleeper> Middlebox for Stopped<M> {
    fn on_frame(&mut self, now: Nanos, from: Side, frame: Vec<u8>, out: &mut Vec<(Side, Vec<u8>)>) {
        self.wake_if_due(now, out);
        if !self.is_stopped(now) {
            return self.inner.on_frame(now, from, frame, out);
        }
        if now >= self.from + PATIENCE {
            out.push((from.other(), frame));
        }
    }

    fn poll_at(&self) -> Option<Nanos> {
        let wakes = (!self.awake).then_some(self.until);
        let inner = self.inner.poll_at().map(|at| match self.is_stopped(at) {
            true => self.until,
            false => at,
        });
        [inner, wakes].into_iter().flatten().min()
    }

    fn on_timer(&mut self, now: Nanos, out: &mut Vec<(Side, Vec<u8>)>) {
        self.wake_if_due(now, out);
        if !self.is_stopped(now) {
            self.inner.on_timer(now, out);
        }
    }

    fn around(&self) -> Option<&dyn Middlebox> {
        Some(&self.inner)
    }
}

fn simulate(seed: u64, scenario: &Scenario, inner: impl Sleeper) -> Outcome {
    let from = (200 + seed * 37 % 3000) * MILLISECOND;
    let lasts = [60, 150, 700, 5000][(seed % 4) as usize] * MILLISECOND;
    let mut stopped = Stopped {
        inner,
        from,
        until: from + lasts,
        awake: false,
    };
    run(scenario, &mut stopped)
}

fn engine_box(seed: u64) -> EngineBox {
    let algorithm = ALGORITHMS[(seed / 4 % 4) as usize];
    let policy = Policy(Verdict::enforce(algorithm), seed.is_multiple_of(2));
    EngineBox::new(Box::new(policy), Limits::default(), seed)
}

fn seeds(in_test: u64) -> u64 {
    let asked = std::env::var("WINDLASS_SEEDS").ok();
    asked.and_then(|n| n.parse().ok()).unwrap_or(in_test)
}

#[test]
fn a_box_that_stood_still_governs_again() {
    let seeds = seeds(SEEDS_IN_TEST);
    let (mut regained, mut lost, mut taken_over) = (0, 0, 0);
    for seed in 1..=seeds {
        let ratio = [0.0, 0.001, 0.01][(seed % 3) as usize];
        let mut scenario = Scenario::download(30_000_000, 20.0, 40.0);
        scenario.down.loss = Loss::Bernoulli { ratio };
        let boxed = simulate(seed, &scenario, engine_box(seed));
        let bare = simulate(seed, &scenario, NoBox::default());
        assert_eq!(boxed.violations, [""; 0], "seed {seed}");
        assert!(boxed.intact, "seed {seed}");
        let most = 1.5 * bare.seconds + 2.0;
        assert!(
            boxed.seconds < most,
            "seed {seed}: {:.1} {:.1}",
            boxed.seconds,
            bare.seconds
        );
        for reason in ["passed_unseen_data", "passed_one_way", "passed_timed_out"] {
            assert_eq!(boxed.counter(reason), 0, "seed {seed}: {reason}");
        }
        lost += boxed.counter("sight_lost");
        regained += boxed.counter("sight_regained");
        taken_over += boxed.counter("taken_over");
    }
    println!("out of sight {lost}, regained {regained}, taken over {taken_over}");
    assert!(lost >= seeds && regained >= seeds && taken_over >= seeds);
}

/// Long before the end: what is left is as fast as if nothing had been.
#[test]
fn what_follows_is_governed() {
    let mut scenario = Scenario::download(60_000_000, 20.0, 40.0);
    scenario.down.loss = Loss::Bernoulli { ratio: 0.01 };
    let cubic = simulate(3, &scenario, NoBox::default()).seconds;
    let policy = Verdict::enforce(AlgorithmId::Bbr);
    let bbr = EngineBox::new(Box::new(policy), Limits::default(), 3);
    let governed = simulate(3, &scenario, bbr).seconds;
    println!(
        "1 % loss: {cubic:.1} s with CUBIC, {governed:.1} s behind the box that stops for 5 s"
    );
    let link = 60_000_000.0 * 8.0 / 20e6;
    assert!(governed < 0.3 * cubic && governed < link + 11.0);
}

/// Both ends send at the same time, and what the client sends is lost before the box: the kernel forwards data of
/// which the box sees the acknowledgement only.
#[test]
fn what_the_kernel_has_forwarded_is_no_other_way() {
    let (mut regained, mut upset) = (0, Vec::new());
    for seed in 100..100 + seeds(30) {
        let ratio = 0.01;
        let mut scenario = Scenario::download(20_000_000, 400.0, 10.0);
        scenario.seed = seed;
        scenario.down.loss = Loss::Bernoulli { ratio };
        scenario.up.loss = Loss::Bernoulli { ratio: 0.05 };
        scenario.up.rate_bytes_per_s = scenario.down.rate_bytes_per_s;
        scenario.connections[0].client.writes[0].bytes = 3_000_000;
        let policy = Policy(Verdict::enforce(AlgorithmId::Bbr), seed.is_multiple_of(2));
        let boxed = EngineBox::new(Box::new(policy), Limits::default(), seed);
        let mut stopped = Stopped {
            inner: boxed,
            from: (50 + seed % 97) * MILLISECOND,
            until: (550 + seed % 97) * MILLISECOND,
            awake: false,
        };
        let boxed = run(&scenario, &mut stopped);
        assert_eq!(boxed.violations, [""; 0], "seed {seed}");
        assert!(boxed.intact, "seed {seed}");
        regained += boxed.counter("sight_regained");
        if boxed.counter("passed_unseen_data") > 0 {
            upset.push(seed);
        }
    }
    println!("regained {regained} times");
    assert!(regained > 0);
    assert_eq!(upset, [0; 0], "let go of what was not lost");
}
