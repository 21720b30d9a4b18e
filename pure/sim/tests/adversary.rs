//! Thousands of adverse networks with an adversary in each: what the ends deliver is what they deliver
//! without a box, in a time of the same order, and no ACK, edge or timestamp reaches an end that the
//! other has not said.
//!
//! `WINDLASS_SEEDS=100000` runs more, `WINDLASS_SEED=n` replays one.
#![allow(clippy::disallowed_methods)]

use windlass_cc::SECOND;
use windlass_engine::{AlgorithmId, Decide, Limits, Redundancy, Side, Verdict};
use windlass_sim::adversary::{Adversary, Mortal, Plan};
use windlass_sim::{EngineBox, Nanos, Outcome, Scenario, Wire, run};
use windlass_wire::FlowKey;

const SEEDS_IN_TEST: u64 = 2000;
const LIMIT: Nanos = 24 * 3600 * SECOND;
/// So much longer than without the box, or without the adversary, a run may take.
const SLOWER_AT_MOST: f64 = 8.0;
/// And so much, s: time-outs that double, and algorithms that take what is repeated for loss.
const LONGER_AT_MOST: f64 = 60.0;

/// Both directions, or the server's alone.
struct Policy(Verdict, bool);

impl Decide for Policy {
    fn decide(&self, _flow: &FlowKey, sender: Side, _: u64) -> Option<Verdict> {
        (self.1 || sender == Side::Inside).then_some(self.0)
    }
}

fn engine_box(seed: u64) -> EngineBox {
    let algorithms = AlgorithmId::ALL;
    let redundancy = [Redundancy::OFF, Redundancy::REPAIRS, Redundancy::EARLY];
    let verdict = Verdict {
        redundancy: redundancy[(seed / 7 % 3) as usize],
        ..Verdict::enforce(algorithms[(seed / 21) as usize % algorithms.len()])
    };
    let policy = Policy(verdict, seed.is_multiple_of(2));
    EngineBox::new(Box::new(policy), Limits::default(), seed)
}

fn scenario(seed: u64) -> Scenario {
    Scenario {
        limit: LIMIT,
        ..Scenario::adverse(seed)
    }
}

fn simulate(seed: u64, plan: Plan, inner: impl Mortal) -> Outcome {
    run(&scenario(seed), &mut Adversary::new(inner, plan, seed))
}

/// What went wrong. What an end got and dropped is the adversary's doing.
fn violations(outcome: &Outcome, plan: Plan) -> Vec<&String> {
    let mut excused = vec!["ACKs of what it never sent", "damaged frames"];
    if plan.diverted.is_some() {
        // The end of the connection took another way; the box gives up later.
        excused.push("the box still holds");
    }
    let passes = plan.diverted.is_some() || plan.killed_at.is_some();
    let is_wrong = |what: &&String| {
        let drop = excused.iter().any(|excuse| what.contains(excuse));
        !(drop || passes && is_rounding(what))
    };
    outcome.violations.iter().filter(is_wrong).collect()
}

/// Once the box only passes segments, the receiver's own edge is seen, which the box may have rounded up
/// to the unit of the window scale.
fn is_rounding(what: &str) -> bool {
    let Some((_, edges)) = what.split_once(": edge ") else {
        return false;
    };
    let edges: Vec<i64> = edges
        .split(" after ")
        .filter_map(|e| e.parse().ok())
        .collect();
    matches!(edges[..], [now, before] if before - now < 8 << MAX_SCALE)
}

/// Of the windows in these scenarios.
const MAX_SCALE: u32 = 11;

/// What is wrong with a seed, if anything.
fn judge(seed: u64) -> Option<String> {
    let plan = Plan::of_seed(seed);
    let boxed = simulate(seed, plan, engine_box(seed));
    let wrong = violations(&boxed, plan);
    if wrong.is_empty() && boxed.seconds < LONGER_AT_MOST {
        return None;
    }
    let bare = simulate(seed, plan, Wire::default());
    if let Some(first) = wrong.first() {
        return violations(&bare, plan).is_empty().then(|| (*first).clone());
    }
    if plan.killed_at.is_some() {
        // What a box held when it died is lost, which costs speed: a client without SACK, hole by hole.
        return None;
    }
    let quiet = simulate(seed, Plan::default(), engine_box(seed));
    let most = SLOWER_AT_MOST * bare.seconds.max(quiet.seconds) + LONGER_AT_MOST;
    (boxed.seconds > most).then(|| {
        format!(
            "{:.1} s; without the box {:.1}, without the adversary {:.1}",
            boxed.seconds, bare.seconds, quiet.seconds
        )
    })
}

#[test]
fn what_the_ends_drop_changes_nothing() {
    let number = |name| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    if let Some(seed) = number("WINDLASS_SEED") {
        let plan = Plan::of_seed(seed);
        println!("{plan:#?}\n{:#?}", scenario(seed));
        println!("{:#?}", simulate(seed, plan, engine_box(seed)));
        assert_eq!(judge(seed), None, "seed {seed}");
        return;
    }
    let seeds = number("WINDLASS_SEEDS").unwrap_or(SEEDS_IN_TEST);
    let mut failed = Vec::new();
    for seed in 1..=seeds {
        if let Some(why) = judge(seed) {
            println!("seed {seed}, {:?}: {why}", Plan::of_seed(seed));
            failed.push(seed);
        }
    }
    assert!(
        failed.is_empty(),
        "{} of {seeds} seeds failed: {failed:?}",
        failed.len()
    );
}

/// The adversary is no paper tiger: what it adds reaches the box, and the box refuses it.
#[test]
fn the_box_refuses_what_is_added() {
    for plan in [
        Plan {
            blind: 0.5,
            ..Plan::default()
        },
        Plan {
            seeing: 0.5,
            ..Plan::default()
        },
        Plan {
            damage: 0.02,
            ..Plan::default()
        },
    ] {
        let scenario = Scenario::download(3_000_000, 20.0, 40.0);
        let mut middle = Adversary::new(engine_box(42), plan, 1);
        let outcome = run(&scenario, &mut middle);
        assert_eq!(violations(&outcome, plan), [""; 0], "{plan:?}");
        let refused = middle.inner().engine().counters().refused();
        assert!(refused > 30, "{plan:?}: {refused}");
    }
}
