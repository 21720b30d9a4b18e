//! What is known of one rule, from all prefixes.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::history::{Hour, hour_of};
use super::place::{Noises, Place};
use super::score::Score;
use super::state::Level;
use super::{Drawn, Lot, Share};
use crate::evidence::{class_of, faded_by};
use crate::{Nanos, Transfer};

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

    /// A transfer of this lot was made at `place`. It is evidence if the place holds out the share of flows of which it was drawn.
    pub fn note_transfer(
        &mut self,
        place: &mut Place,
        drawn: Drawn,
        transfer: &Transfer,
        now: Nanos,
    ) {
        let seconds = transfer.duration.max(1) as f64 / 1e9;
        let (class, drawn_with) = (class_of(transfer.bytes), Share(drawn.share));
        let lot = Lot::of(&drawn);
        self.hour(now).learn(lot, class, seconds, drawn_with);
        if place.share == drawn_with {
            let value = libm::log(seconds / transfer.bytes.max(1) as f64);
            place.add(lot, class, value, &mut self.noises);
            self.level.counts[lot as usize] += 1.0;
        }
    }

    /// What one prefix counts for, and whether it is decided, was this and is that.
    pub fn recount(&mut self, was: (Score, bool), is: (Score, bool), now: Nanos) {
        self.overall.subtract(was.0);
        self.overall.add(is.0);
        if !was.1 {
            self.undecided.subtract(was.0);
        }
        if !is.1 {
            self.undecided.add(is.0);
        }
        self.hour(now).score = self.overall;
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
