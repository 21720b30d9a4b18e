//! What is wrong with a run, if anything.

use windlass_sim::adversary::Plan;
use windlass_sim::{Outcome, Scenario};

use crate::boxes::{bare, boxed, scenario};

/// So much longer than without the box, or without the adversary, a run may take.
const SLOWER_AT_MOST: f64 = 4.0;
/// And so much, s: time-outs that double, and algorithms that take what is repeated for loss.
const LONGER_AT_MOST: f64 = 10.0;
/// So much where packets take another way: a box that sees a part of the ACKs repairs by time-outs of its
/// own what has arrived, and hands the flow back and takes it over again. And between two boxes, where
/// the upload of one run in 30,000 is paced for half a minute at two segments a round trip.
const LONGER_IN_PART: f64 = 60.0;
/// So much where a sender has to find out by time-outs that its segments do not fit. When the flow is
/// handed back, the first ACK that it sees tells by SACK what arrived long ago; without timestamps it
/// takes that for a round trip (as Linux does), and each of its next time-outs lasts as long.
const LONGER_IN_BLACK_HOLE: f64 = 600.0;
/// A run that is slow is compared with so many in which chance falls otherwise.
const OTHER_CHANCES: u64 = 1000;
/// Of the windows in these scenarios.
const MAX_SCALE: u32 = 11;

/// What went wrong. What an end got and dropped is the adversary's doing.
pub fn violations<'a>(outcome: &'a Outcome, plan: &Plan) -> Vec<&'a String> {
    let mut excused = vec!["ACKs of what it never sent", "damaged frames"];
    let left_out = plan.leaves_the_box_out();
    let apart = plan.far.is_some() && plan.all().all(|plan| !plan.detours.is_empty());
    if plan.all().any(|plan| !plan.detours.is_empty()) {
        // The end of the connection took another way; the box gives up later.
        excused.push("still holds");
        // It goes on for a while to say what it had to say: nobody listens to an ACK that is old.
        excused.push("of an older ACK");
    }
    if left_out && plan.far.is_some() {
        // Who would take it out again is not there.
        excused.push("sees what boxes say");
    }
    let is_wrong = |what: &&String| {
        let drop = excused.iter().any(|excuse| what.contains(excuse));
        let too_far = what.contains("the receiver's is") && plan.far.is_none();
        // Each way leaves another box, for a time in which that end says more than one box can know: the
        // other end has seen windows that this box, when all comes back, takes for a stranger's.
        let back = apart && what.contains(": edge ") && what.contains(" after ");
        !(drop || back || left_out && !too_far && is_rounding(what))
    };
    outcome.violations.iter().filter(is_wrong).collect()
}

/// Once the box only passes segments, the receiver's own edge is seen, which the box may have rounded up
/// to the unit of the window scale. With two boxes one may have to round up again and again what the
/// other shows less of than the receiver did, which took another way.
fn is_rounding(what: &str) -> bool {
    let Some((_, edges)) = what.split_once(": edge ") else {
        return false;
    };
    let moved_left = edges.split_once(" after ");
    let too_far = edges.split_once(", the receiver's is ");
    let Some((lower, upper)) = moved_left.or(too_far.map(|(shown, own)| (own, shown))) else {
        return false;
    };
    let (lower, upper) = (lower.parse::<i64>(), upper.parse::<i64>());
    matches!((lower, upper), (Ok(lower), Ok(upper)) if upper - lower < 8 << MAX_SCALE)
}

/// What is wrong with a seed, if anything.
pub fn judge(seed: u64) -> Option<String> {
    let plan = Plan::of_seed(seed);
    let scenario = scenario(seed, &plan);
    let with_box = boxed(seed, &scenario, &plan);
    let wrong = violations(&with_box, &plan);
    if let Some(first) = wrong.first() {
        let without = bare(seed, &scenario, &plan);
        return violations(&without, &plan)
            .is_empty()
            .then(|| (*first).clone());
    }
    let seconds = with_box.seconds;
    let longer = longer_at_most(&plan);
    let bound = |other: f64| SLOWER_AT_MOST * other + longer;
    let mut most: f64 = 0.0;
    for other in comparisons(seed, &scenario, &plan) {
        if seconds <= bound(most) {
            break;
        }
        most = most.max(other.seconds);
    }
    (seconds > bound(most)).then(|| format!("{seconds:.1} s; otherwise {most:.1} at most"))
}

fn longer_at_most(plan: &Plan) -> f64 {
    if plan.has_black_hole() {
        LONGER_IN_BLACK_HOLE
    } else if plan.far.is_some() || !plan.detours.is_empty() {
        LONGER_IN_PART
    } else {
        LONGER_AT_MOST
    }
}

/// What a run is compared with, one after the other: the same without the box, without the adversary,
/// and without the box where chance falls otherwise. A burst of losses that only packets end, or a
/// time-out that has doubled when it begins, takes minutes in one run and not in the next.
fn comparisons<'a>(
    seed: u64,
    scenario: &'a Scenario,
    plan: &'a Plan,
) -> impl Iterator<Item = Outcome> + 'a {
    let quiet = Plan {
        far: plan.far.as_ref().map(|_| Box::default()),
        ..Plan::default()
    };
    let same = [plan.clone(), quiet].into_iter().enumerate();
    let same = same.map(move |(index, plan)| match index {
        0 => bare(seed, scenario, &plan),
        _ => boxed(seed, scenario, &plan),
    });
    let others = (1..=OTHER_CHANCES).map(move |chance| {
        let other = Scenario {
            seed: scenario.seed ^ chance << 40,
            ..scenario.clone()
        };
        bare(seed ^ chance << 40, &other, plan)
    });
    same.chain(others)
}
