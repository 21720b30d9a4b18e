//! What is wrong with a run, if anything.

use windlass_sim::Outcome;
use windlass_sim::adversary::{Operation, Plan};

use crate::boxes::{bare, boxed, scenario};

/// So much longer than without the box, or without the adversary, a run may take.
const SLOWER_AT_MOST: f64 = 8.0;
/// And so much, s: time-outs that double, and algorithms that take what is repeated for loss.
const LONGER_AT_MOST: f64 = 60.0;
/// Of the windows in these scenarios.
const MAX_SCALE: u32 = 11;

/// What went wrong. What an end got and dropped is the adversary's doing.
pub fn violations<'a>(outcome: &'a Outcome, plan: &Plan) -> Vec<&'a String> {
    let mut excused = vec!["ACKs of what it never sent", "damaged frames"];
    let left_out = plan.leaves_the_box_out();
    if plan.all().any(|plan| !plan.detours.is_empty()) {
        // The end of the connection took another way; the box gives up later.
        excused.push("still holds");
    }
    if left_out && plan.far.is_some() {
        // Who would take it out again is not there.
        excused.push("sees what boxes say");
    }
    let is_wrong = |what: &&String| {
        let drop = excused.iter().any(|excuse| what.contains(excuse));
        !(drop || left_out && is_rounding(what))
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

/// What is wrong with a seed, if anything.
pub fn judge(seed: u64) -> Option<String> {
    let plan = Plan::of_seed(seed);
    let scenario = scenario(seed, &plan);
    let with_box = boxed(seed, &scenario, &plan);
    let wrong = violations(&with_box, &plan);
    if wrong.is_empty() && with_box.seconds < LONGER_AT_MOST {
        return None;
    }
    let without = bare(seed, &scenario, &plan);
    if let Some(first) = wrong.first() {
        return violations(&without, &plan)
            .is_empty()
            .then(|| (*first).clone());
    }
    let dies =
        |(_, operation): &(_, Operation)| matches!(operation, Operation::Kill | Operation::Restart);
    if plan.all().any(|plan| plan.operations.iter().any(dies)) {
        // What a box held when it died is lost, which costs speed: a client without SACK, hole by hole.
        return None;
    }
    let quiet = Plan {
        far: plan.far.as_ref().map(|_| Box::default()),
        ..Plan::default()
    };
    let quiet = boxed(seed, &scenario, &quiet);
    let most = SLOWER_AT_MOST * without.seconds.max(quiet.seconds) + LONGER_AT_MOST;
    (with_box.seconds > most).then(|| {
        format!(
            "{:.1} s; without the box {:.1}, without the adversary {:.1}",
            with_box.seconds, without.seconds, quiet.seconds
        )
    })
}
