//! Adverse networks on the side of the server too: what is lost, overtaken or doubled between
//! server and box, in one direction of data governed or in both.

use windlass_engine::{AlgorithmId, Decide, Limits, Redundancy, Side, Verdict};
use windlass_sim::link::{LinkConfig, Loss};
use windlass_sim::{EngineBox, NoBox, Scenario, run};
use windlass_wire::FlowKey;

const SEEDS_IN_TEST: u64 = 150;
/// 302: an ACK looked older than data that had been sent again with a newer TSval.
const REGRESSIONS: [u64; 1] = [302];

struct Both(Verdict);

impl Decide for Both {
    fn classify(&self, _flow: &FlowKey, _sender: Side, _: u64) -> Option<Verdict> {
        Some(self.0)
    }
}

fn verdict(seed: u64) -> Verdict {
    let algorithms = AlgorithmId::ALL;
    let redundancy = [Redundancy::OFF, Redundancy::REPAIRS, Redundancy::EARLY];
    Verdict {
        redundancy: redundancy[(seed % 3) as usize],
        ..Verdict::enforce(algorithms[(seed / 3) as usize % algorithms.len()])
    }
}

fn scenario(seed: u64) -> Scenario {
    let mut scenario = Scenario::adverse(seed);
    let clean = seed.is_multiple_of(4);
    scenario.inside = LinkConfig {
        loss: match seed % 4 {
            0 => Loss::None,
            n => Loss::Bernoulli {
                ratio: 0.01 * n as f64,
            },
        },
        reorder_ratio: if seed % 3 == 1 { 0.02 } else { 0.0 },
        reorder_extra: 3_000_000,
        duplicate_ratio: if seed % 5 == 1 { 0.02 } else { 0.0 },
        delay: 200_000,
        ..scenario.inside
    };
    if clean {
        scenario.inside.reorder_ratio = 0.0;
    }
    scenario
}

/// `WINDLASS_SEEDS=8000` runs more, `WINDLASS_SEED=n` replays one.
#[test]
#[allow(clippy::disallowed_methods)]
fn every_transfer_completes_intact() {
    let number = |name| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let seeds = match number("WINDLASS_SEED") {
        Some(seed) => vec![seed],
        None => {
            let last = number("WINDLASS_SEEDS").unwrap_or(SEEDS_IN_TEST);
            (1..=last).chain(REGRESSIONS).collect()
        }
    };
    let mut failed = Vec::new();
    for seed in seeds {
        let scenario = scenario(seed);
        let mut middle = EngineBox::new(Box::new(Both(verdict(seed))), Limits::default(), seed);
        let outcome = run(&scenario, &mut middle);
        let bad = !outcome.intact || outcome.held_packets > 0;
        if bad && run(&scenario, &mut NoBox::default()).intact {
            println!("seed {seed}: {:?}", outcome.violations.first());
            failed.push(seed);
        }
    }
    assert!(failed.is_empty(), "seeds {failed:?}");
}
