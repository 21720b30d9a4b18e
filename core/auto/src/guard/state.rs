//! What follows from what is known: of a prefix, and of a rule as a whole.

use serde::{Deserialize, Serialize};

use super::score::Score;
use super::{LOTS, Lot};
use crate::Nanos;

/// Fewer transfers than this, governed or held out, prove nothing, whatever they look like.
const LEAST_TRANSFERS: f64 = 3.0;
/// Governed flows seem worse by so many standard errors: no reason any more to find out.
const DOUBT_ENDS: f64 = 0.5;
/// A withdrawal lasts until evidence has faded to a quarter.
const WITHDRAWN_HALF_LIVES: u64 = 2;

/// What the guard makes of governing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// No difference can be told.
    #[default]
    Open,
    /// Governed flows seem to be slower: half of the new ones are held out to find out.
    Doubted,
    /// Governed flows are slower beyond doubt: all new ones are only observed.
    Withdrawn,
    /// Governed flows are faster beyond doubt.
    Proven,
}

impl State {
    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            State::Open => "open",
            State::Doubted => "doubted",
            State::Withdrawn => "withdrawn",
            State::Proven => "proven",
        }
    }

    /// Beyond doubt, either way.
    pub(crate) fn is_decided(self) -> bool {
        matches!(self, State::Withdrawn | State::Proven)
    }
}

/// A state, since when, and on how much it rests.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Level {
    pub state: State,
    pub since: Nanos,
    /// Transfers by lot, older ones less.
    pub counts: [f64; LOTS],
}

impl Level {
    pub fn count(&self, lot: Lot) -> f64 {
        self.counts[lot as usize]
    }

    pub fn fade(&mut self, factor: f64) {
        self.counts.iter_mut().for_each(|count| *count *= factor);
    }

    /// Enough of both lots to say anything.
    pub fn is_testable(&self) -> bool {
        self.counts.iter().all(|count| *count >= LEAST_TRANSFERS)
    }

    /// There is a reason to find out.
    pub fn doubt(&mut self, now: Nanos) {
        (self.state, self.since) = (State::Doubted, now);
    }

    /// The state that follows from the score, which holds from now on.
    pub fn judge(&mut self, score: Score, error: f64, now: Nanos, half_life: Nanos) -> State {
        let next = self.next(score, error, now, half_life);
        if next != self.state {
            (self.state, self.since) = (next, now);
        }
        next
    }

    fn next(&self, score: Score, error: f64, now: Nanos, half_life: Nanos) -> State {
        if self.state == State::Withdrawn {
            let faded = now.saturating_sub(self.since) >= WITHDRAWN_HALF_LIVES * half_life;
            return if faded {
                State::Doubted
            } else {
                State::Withdrawn
            };
        }
        let (low, high) = score.interval(error);
        let seems_slower = match self.state {
            State::Doubted => score.deviations() > DOUBT_ENDS,
            _ => score.seems_slower(),
        };
        match self.is_testable() {
            true if low > 0.0 => State::Withdrawn,
            true if high < 0.0 => State::Proven,
            false if self.state == State::Doubted => State::Doubted,
            _ if seems_slower => State::Doubted,
            _ => State::Open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Nanos = 3_600_000_000_000;

    fn level(governed: f64, held_out: f64) -> Level {
        Level {
            counts: [governed, held_out],
            ..Level::default()
        }
    }

    #[test]
    fn what_is_seen_decides() {
        let worse = Score::of(1.0, 0.01);
        let mut level_of_many = level(100.0, 3.0);
        assert_eq!(
            level_of_many.judge(worse, 0.05, 5, HOUR),
            State::Withdrawn,
            "ten standard errors"
        );
        assert_eq!(level_of_many.since, 5);
        assert_eq!(
            level(100.0, 2.0).judge(worse, 0.05, 5, HOUR),
            State::Doubted,
            "of two transfers"
        );
        let better = Score::of(-1.0, 0.01);
        assert_eq!(
            level(100.0, 3.0).judge(better, 0.05, 5, HOUR),
            State::Proven
        );
        let some = Score::of(0.1, 0.01);
        assert_eq!(level(100.0, 3.0).judge(some, 0.05, 5, HOUR), State::Open);
    }

    #[test]
    fn a_withdrawal_ends_when_evidence_has_faded_and_then_it_is_tried() {
        let mut level = level(100.0, 10.0);
        let nothing = Score::default();
        level.judge(Score::of(1.0, 0.01), 0.05, HOUR, HOUR);
        assert_eq!(level.judge(nothing, 0.05, 2 * HOUR, HOUR), State::Withdrawn);
        level.counts = [3.0, 2.0];
        assert_eq!(level.judge(nothing, 0.05, 3 * HOUR, HOUR), State::Doubted);
        assert_eq!(level.judge(nothing, 0.05, 3 * HOUR, HOUR), State::Doubted);
        level.counts = [3.0, 3.0];
        assert_eq!(level.judge(nothing, 0.05, 3 * HOUR, HOUR), State::Open);
    }

    #[test]
    fn doubt_ends_later_than_it_begins() {
        let mut level = level(3.0, 3.0);
        let seems = |deviations: f64| Score::of(deviations, 1.0);
        let mut judge = |deviations| level.judge(seems(deviations), 0.05, 1, HOUR);
        assert_eq!(judge(1.0), State::Open);
        assert_eq!(judge(1.6), State::Doubted);
        assert_eq!(judge(1.0), State::Doubted);
        assert_eq!(judge(0.4), State::Open);
    }
}
