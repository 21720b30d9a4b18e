//! `algorithm = "auto"`: what flows get that policy leaves to experience.

use std::sync::{Arc, Mutex, PoisonError};

use foldhash::quality::FixedState;
use std::hash::BuildHasher;
use windlass_auto::{Belief, Chooser, ChooserConfig};
use windlass_cc::Nanos;
use windlass_engine::{Arm, Comparison, Transfer, Verdict};
use windlass_wire::{Addr, FlowKey};

use crate::auto_config::{AutoArm, AutoConfig};
use crate::prefix::Prefix;
use crate::tally::Tally;

/// The word that stands in the place of an algorithm.
pub(crate) const AUTO: &str = windlass_cc::plugin::CHOSEN_BY_EXPERIENCE;

/// A prefix that nothing is known of.
const NOWHERE: u128 = 0;

/// What is learned, shared by all workers: they ask when a connection begins and tell when a transfer
/// ends, and never wait for each other. Who finds it in use takes the algorithm that is best by the priors,
/// or leaves the transfer out.
#[derive(Clone, Debug)]
pub struct Auto {
    config: AutoConfig,
    first: usize,
    chooser: Arc<Mutex<Chooser>>,
}

/// What is believed of one prefix.
#[derive(Clone, PartialEq, Debug)]
pub struct PrefixBelief {
    /// The prefix; `None`: any that nothing is known of.
    pub prefix: Option<Prefix>,
    /// By the order of the arms.
    pub belief: Belief,
}

impl Auto {
    /// One that knows nothing.
    pub(crate) fn new(config: AutoConfig) -> Auto {
        let chooser = Chooser::new(ChooserConfig {
            priors: config.priors(),
            explore: config.explore,
            half_life: config.memory.half_life,
            prefixes: config.memory.prefixes,
            tail_weight: config.tail_weight,
        });
        let governs = |arm: usize| config.arms[arm] != AutoArm::Observe;
        Auto {
            first: chooser.choose(NOWHERE, u64::MAX, governs).0,
            chooser: Arc::new(Mutex::new(chooser)),
            config,
        }
    }

    /// How it chooses.
    pub fn config(&self) -> &AutoConfig {
        &self.config
    }

    /// The arms, by the names under which they are kept.
    pub fn arm_names(&self) -> Vec<String> {
        self.config.arms.iter().map(AutoArm::to_string).collect()
    }

    /// What is believed, of every prefix; and first, of those that nothing is known of.
    pub fn beliefs(&self, now: Nanos) -> Vec<PrefixBelief> {
        // A copy, so that no flow is left out while it is being reckoned.
        let beliefs = self.with_chooser(|chooser| chooser.clone()).beliefs(now);
        let named = beliefs.into_iter().map(|belief| PrefixBelief {
            prefix: belief.prefix.map(|base| self.config.memory.prefix_of(base)),
            belief,
        });
        named.collect()
    }

    /// Does something with the chooser.
    pub fn with_chooser<T>(&self, then: impl FnOnce(&mut Chooser) -> T) -> T {
        let mut chooser = self.chooser.lock().unwrap_or_else(PoisonError::into_inner);
        then(&mut chooser)
    }

    /// Goes on with what another has learned, where both choose among the same arms; else with what
    /// there is about those that remain.
    pub(crate) fn inherit(&mut self, old: &Auto, now: Nanos) {
        if old.config == self.config {
            self.chooser = Arc::clone(&old.chooser);
            return;
        }
        if old.config.memory.bits == self.config.memory.bits {
            let map: Vec<Option<usize>> = old
                .config
                .arms
                .iter()
                .map(|arm| self.config.arms.iter().position(|new| new == arm))
                .collect();
            old.with_chooser(|old| self.with_chooser(|new| new.inherit(old, &map, now)));
        }
    }

    /// The verdict of a flow to `dst`, which counts in the tally of its rule. A flow that is `bound` to what the rule sees to
    /// must be governed.
    pub(crate) fn choose(
        &self,
        dst: Addr,
        dice: u64,
        (verdict, bound): (Verdict, bool),
        tally: &Tally,
    ) -> Verdict {
        let allowed = |arm: usize| !bound || self.config.arms[arm] != AutoArm::Observe;
        let (arm, explores) = match self.chooser.try_lock() {
            Ok(chooser) => chooser.choose(self.config.memory.key(dst), dice, allowed),
            Err(_) => (self.first, false),
        };
        tally.chosen(arm, explores);
        let verdict = match self.config.arms[arm] {
            AutoArm::Algorithm(algorithm) => Verdict {
                algorithm,
                ..verdict
            },
            AutoArm::Observe => verdict.held_out(),
        };
        Verdict {
            arm: Some(Arm {
                by: Comparison::Auto,
                number: arm as u8,
            }),
            ..verdict
        }
    }

    pub(crate) fn learn(&self, dst: Addr, arm: u8, transfer: &Transfer, now: Nanos) {
        if let Ok(mut chooser) = self.chooser.try_lock() {
            chooser.learn(self.config.memory.key(dst), usize::from(arm), transfer, now);
        }
    }
}

/// Dice for a flow: nobody foresees them who does not know the seed, and the same flow at the same
/// time gets the same.
pub(crate) fn dice(seed: u64, salt: u64, flow: &FlowKey, now: Nanos) -> u64 {
    FixedState::with_seed(seed).hash_one((salt, flow, now))
}
