//! `algorithm = "auto"`: what flows get that policy leaves to experience.

use std::sync::{Arc, Mutex, PoisonError};

use foldhash::quality::FixedState;
use std::hash::BuildHasher;
use windlass_auto::{Belief, Chooser, ChooserConfig};
use windlass_cc::{Nanos, Settings};
use windlass_engine::{Arm, Comparison, Transfer, Verdict};
use windlass_wire::{Addr, FlowKey};

use crate::auto_config::AutoConfig;
use crate::prefix::Prefix;
use crate::tally::Tally;

/// The word that stands in the place of an algorithm.
pub(crate) const AUTO: &str = windlass_cc::plugin::CHOSEN_BY_EXPERIENCE;

/// What is learned, shared by all workers: they ask when a connection begins and tell when a transfer
/// ends, and never wait for each other. Who finds it in use takes the arm that is best by the priors,
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
        Auto {
            config,
            first: chooser.beliefs(0)[0].best().0,
            chooser: Arc::new(Mutex::new(chooser)),
        }
    }

    /// How it chooses.
    pub fn config(&self) -> &AutoConfig {
        &self.config
    }

    /// The arms, by the names under which they are kept.
    pub fn arm_names(&self) -> Vec<String> {
        self.config.arms.iter().map(Settings::to_string).collect()
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

    /// The verdict of a flow to `dst`, which counts in the tally of its rule.
    pub(crate) fn choose(&self, dst: Addr, dice: u64, verdict: Verdict, tally: &Tally) -> Verdict {
        let (arm, explores) = match self.chooser.try_lock() {
            Ok(chooser) => chooser.choose(self.config.memory.key(dst), dice),
            Err(_) => (self.first, false),
        };
        tally.chosen(arm, explores);
        Verdict {
            algorithm: self.config.arms[arm],
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
