//! Policy is asked what rule is for a connection as often as the engine likes, and draws once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use windlass_cc::AlgorithmId;
use windlass_engine::{Arm, Comparison, Decide, Limits, Side, Transfer, Verdict};
use windlass_sim::{Connection, EngineBox, Scenario, run};
use windlass_wire::FlowKey;

/// A rule that compares two algorithms.
#[derive(Clone, Default)]
struct Compared {
    classified: Arc<AtomicU64>,
    drawn: Arc<AtomicU64>,
    begun: Arc<AtomicU64>,
    learned: Arc<AtomicU64>,
}

/// The arm that every flow draws.
const DRAWN: Arm = Arm {
    by: Comparison::Trial,
    number: 1,
};

impl Decide for Compared {
    fn classify(&self, _: &FlowKey, sender: Side, _: u64) -> Option<Verdict> {
        self.classified.fetch_add(1, Ordering::Relaxed);
        let mut verdict = Verdict::enforce(AlgorithmId::Cubic);
        verdict.arm = Some(Arm { number: 0, ..DRAWN });
        (sender == Side::Inside).then_some(verdict)
    }

    fn draw(&self, verdict: Verdict, _: &FlowKey, _: u64) -> Verdict {
        self.drawn.fetch_add(1, Ordering::Relaxed);
        Verdict {
            algorithm: AlgorithmId::Bbr.into(),
            arm: Some(DRAWN),
            ..verdict
        }
    }

    fn begin(&self, verdict: &Verdict, _: &FlowKey, _: u64) {
        assert_eq!(verdict.arm, Some(DRAWN));
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    fn learn(&self, verdict: &Verdict, _: &FlowKey, _: &Transfer, _: u64) {
        assert_eq!(verdict.arm, Some(DRAWN));
        self.learned.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn each_connection_draws_once_however_often_its_rule_is_asked_for() {
    let policy = Compared::default();
    let mut scenario = Scenario::download(1_000_000, 20.0, 40.0);
    scenario.connections = vec![Connection::download(300_000); 5];
    let mut middlebox = EngineBox::new(Box::new(policy.clone()), Limits::default(), 7);
    let outcome = run(&scenario, &mut middlebox);
    assert!(outcome.violations.is_empty(), "{:?}", outcome.violations);
    let count = |counted: &AtomicU64| counted.load(Ordering::Relaxed);
    assert_eq!(count(&policy.drawn), 5);
    assert_eq!(count(&policy.begun), 5);
    assert_eq!(count(&policy.learned), 5);
    assert!(count(&policy.classified) > 5);
    // A new policy asks which rule, and leaves what was drawn alone.
    let asked = count(&policy.classified);
    middlebox.set_policy(Box::new(policy.clone()), scenario.limit);
    assert_eq!(count(&policy.drawn), 5);
    assert!(count(&policy.classified) >= asked);
}
