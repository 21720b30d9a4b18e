//! A trial that runs, as policy sees it: whose flows take part, and what they get.

use std::sync::{Arc, Mutex, PoisonError};

use windlass_auto::{Trial, TrialReport};
use windlass_cc::Settings;
use windlass_engine::{Arm, Comparison, Transfer, Verdict};

/// A trial, and whom it concerns; shared like [`crate::Auto`].
#[derive(Clone, Debug)]
pub struct SharedTrial {
    /// The rule whose flows take part; `None`: all that are governed.
    pub rule: Option<String>,
    /// What is compared.
    pub arms: Vec<Settings>,
    /// Share of the flows that take part.
    pub share: f64,
    trial: Arc<Mutex<Trial>>,
}

impl SharedTrial {
    /// One that begins now.
    pub fn new(rule: Option<String>, arms: Vec<Settings>, share: f64) -> SharedTrial {
        SharedTrial {
            rule,
            trial: Arc::new(Mutex::new(Trial::new(arms.len(), share))),
            arms,
            share,
        }
    }

    /// Whether flows of this rule take part.
    pub(crate) fn concerns(&self, rule: &str) -> bool {
        self.rule.as_ref().is_none_or(|name| name == rule)
    }

    /// What came of it so far.
    pub fn report(&self) -> TrialReport {
        // A copy, so that nobody waits while it is being reckoned.
        let trial = self
            .trial
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        trial.report()
    }

    /// The verdict of a flow that takes part.
    pub(crate) fn draw(&self, dice: u64, verdict: Verdict) -> Option<Verdict> {
        let arm = self.trial.try_lock().ok()?.draw(dice)?;
        Some(Verdict {
            algorithm: self.arms[arm],
            switching: None,
            arm: Some(Arm {
                by: Comparison::Trial,
                number: arm as u8,
            }),
            ..verdict
        })
    }

    pub(crate) fn begin(&self, arm: u8) {
        if let Ok(mut trial) = self.trial.try_lock() {
            trial.begin(usize::from(arm));
        }
    }

    pub(crate) fn learn(&self, arm: u8, transfer: &Transfer, dice: u64) {
        if let Ok(mut trial) = self.trial.try_lock() {
            trial.learn(usize::from(arm), transfer, dice);
        }
    }
}
