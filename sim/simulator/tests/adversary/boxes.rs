//! The boxes of a seed, and its networks.

use windlass_cc::SECOND;
use windlass_engine::{AlgorithmId, Decide, Feedback, Redundancy, Side, Verdict};
use windlass_sim::adversary::{Adversary, Operated, Plan, Station};
use windlass_sim::{Nanos, NoBox, Outcome, Scenario, World};
use windlass_wire::FlowKey;

use crate::trace::Traced;

const LIMIT: Nanos = 24 * 3600 * SECOND;

/// Both directions, or what the end inside sends alone.
struct Policy {
    verdict: Option<Verdict>,
    both: bool,
}

impl Decide for Policy {
    fn classify(&self, _flow: &FlowKey, sender: Side, _: u64) -> Option<Verdict> {
        self.verdict.filter(|_| self.both || sender == Side::Inside)
    }
}

/// The policies of a seed: the first, and those that reloads bring.
fn policy(seed: u64, feedback: Feedback, number: u64) -> Box<dyn Decide> {
    let algorithms = AlgorithmId::ALL;
    let redundancy = [Redundancy::OFF, Redundancy::REPAIRS, Redundancy::EARLY];
    let other = number * 5;
    let verdict = Verdict {
        redundancy: redundancy[((seed / 7 + number) % 3) as usize],
        feedback,
        ..Verdict::enforce(algorithms[(seed / 21 + other) as usize % algorithms.len()])
    };
    Box::new(Policy {
        // One of them leaves all flows alone.
        verdict: (number != 2).then_some(verdict),
        both: seed.is_multiple_of(2),
    })
}

/// The box of a seed; `number` tells two of them apart.
pub fn station(seed: u64, number: u64, feedback: Feedback) -> Station {
    let policies = move |version| policy(seed + number, feedback, version);
    Station::new(Box::new(policies), seed + number)
}

/// The network of a seed. Its ends cope with what the plan does to the path.
pub fn scenario(seed: u64, plan: &Plan) -> Scenario {
    let mut scenario = Scenario {
        limit: LIMIT,
        ..Scenario::adverse(seed)
    };
    for end in [&mut scenario.server, &mut scenario.client] {
        end.detects_black_holes = plan.has_black_hole();
    }
    if plan.far.is_some() {
        // Two boxes are there for the sake of marks.
        scenario.down.ecn_mark_bytes.get_or_insert(15_000);
    }
    scenario
}

/// What comes of a network with these boxes and adversaries around them.
fn run(scenario: &Scenario, plan: &Plan, seed: u64, boxes: [Box<dyn Operated>; 2]) -> Outcome {
    let [near, far] = match std::env::var("WINDLASS_TRACE") {
        Ok(_) => traced(boxes),
        Err(_) => boxes,
    };
    let mut world = World::new(scenario);
    let mut adversary = if plan.far.is_some() {
        let [near, far] = Adversary::pair([near, far], plan.clone(), seed);
        world = world.with_far_box(Box::new(far));
        near
    } else {
        Adversary::new(near, plan.clone(), seed)
    };
    world.run_until(scenario.limit, &mut adversary);
    world.outcome(&adversary)
}

fn traced([near, far]: [Box<dyn Operated>; 2]) -> [Box<dyn Operated>; 2] {
    let around = |inner, name| -> Box<dyn Operated> { Box::new(Traced { inner, name }) };
    [around(near, "near"), around(far, "far ")]
}

/// With the boxes of the seed.
pub fn boxed(seed: u64, scenario: &Scenario, plan: &Plan) -> Outcome {
    let feedback = match plan.far {
        Some(_) => Feedback::Boxes,
        None => Feedback::default(),
    };
    let boxes = [0, 1].map(|number| {
        let station: Box<dyn Operated> = Box::new(station(seed, number, feedback));
        station
    });
    run(scenario, plan, seed, boxes)
}

/// Without any.
pub fn bare(seed: u64, scenario: &Scenario, plan: &Plan) -> Outcome {
    let wire = || -> Box<dyn Operated> { Box::new(NoBox::default()) };
    run(scenario, plan, seed, [wire(), wire()])
}
