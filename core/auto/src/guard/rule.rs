//! What is known of one rule, from all prefixes.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::history::{Hour, hour_of};
use super::place::Noises;
use super::score::Score;
use super::state::Level;
use crate::Nanos;
use crate::evidence::faded_by;

/// A rule that flows are held out of.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Rule {
    /// Its name, and what it does: evidence of something else is no evidence.
    pub name: String,
    pub what: String,
    /// What follows for prefixes that nothing is decided of.
    pub level: Level,
    /// Of those prefixes.
    pub undecided: Score,
    /// Of all, also of those that are remembered no more.
    pub overall: Score,
    pub noises: Noises,
    /// Prefixes that have been tested.
    pub tested: u32,
    /// When everything here has faded to, ns since 1970.
    pub seen: Nanos,
    /// Hour by hour, oldest first.
    pub history: VecDeque<Hour>,
}

impl Rule {
    pub fn new(name: String, what: String, now: Nanos) -> Rule {
        Rule {
            name,
            what,
            level: Level::default(),
            undecided: Score::default(),
            overall: Score::default(),
            noises: Noises::default(),
            tested: 0,
            seen: now,
            history: VecDeque::new(),
        }
    }

    /// Time passes.
    pub fn fade(&mut self, now: Nanos, half_life: Nanos) {
        let factor = faded_by(now.saturating_sub(self.seen), half_life);
        self.seen = self.seen.max(now);
        self.level.fade(factor);
        self.undecided.fade(factor);
        self.overall.fade(factor);
    }

    /// The hour that it is; time that runs backward stays in the last one.
    pub fn hour(&mut self, now: Nanos) -> &mut Hour {
        let hour = hour_of(now);
        if self.history.back().is_none_or(|last| last.hour < hour) {
            self.history.push_back(Hour::new(hour));
        }
        let last = self.history.len() - 1;
        &mut self.history[last]
    }
}
