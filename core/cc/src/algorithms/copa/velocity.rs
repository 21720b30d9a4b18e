//! How fast the window moves: twice as fast every round trip, once its direction has lasted (§2.1).

use serde::{Deserialize, Serialize};

use super::{CopaDelay, CopaParameters, CopaVariant};
use crate::{Nanos, Path};

/// Round trips in the same direction after which the velocity doubles.
const STEADY_ROUNDS: u32 = 3;
/// The same in mvfst, if it goes by the standing RTT.
const STEADY_ROUNDS_STANDING: u32 = 4;
/// More has no meaning: a window of this many segments a round trip.
const MOST: f64 = 1e9;

/// Where the window goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Direction {
    Unknown,
    Up,
    Down,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Velocity {
    v: f64,
    direction: Direction,
    /// Round trips for which the direction has been the same.
    steady: u32,
    /// When and at what window the round trip began.
    start: Option<(Nanos, f64)>,
}

impl Default for Velocity {
    fn default() -> Self {
        Velocity {
            v: 1.0,
            direction: Direction::Unknown,
            steady: 0,
            start: None,
        }
    }
}

impl Velocity {
    pub(super) fn get(&self) -> f64 {
        self.v
    }

    /// At the end of a round trip: which way has the window gone in it?
    pub(super) fn on_ack(&mut self, now: Nanos, cwnd: f64, path: &Path, p: &CopaParameters) {
        let (start, before) = *self.start.get_or_insert((now, cwnd));
        let elapsed = now.saturating_sub(start);
        if elapsed == 0 || elapsed < path.srtt {
            return;
        }
        let direction = if cwnd > before {
            Direction::Up
        } else {
            Direction::Down
        };
        if direction != self.direction {
            self.go(direction, now, cwnd);
            return;
        }
        self.start = Some((now, cwnd));
        self.steady = self.steady.saturating_add(1);
        let whole = p.variant == CopaVariant::Mvfst && p.delay == CopaDelay::Standing;
        let needed = if whole {
            STEADY_ROUNDS_STANDING
        } else {
            STEADY_ROUNDS
        };
        if self.steady >= needed {
            self.limit(MOST);
            self.v *= 2.0;
        }
    }

    /// A step to the other side at speed: what was built up was for the old one.
    pub(super) fn turn(&mut self, direction: Direction, now: Nanos, cwnd: f64) {
        if direction != self.direction && self.v > 1.0 {
            self.go(direction, now, cwnd);
        }
    }

    /// No faster than this, nor slower than 1.
    pub(super) fn limit(&mut self, most: f64) {
        self.v = self.v.min(most).max(1.0);
    }

    fn go(&mut self, direction: Direction, now: Nanos, cwnd: f64) {
        *self = Velocity {
            direction,
            start: Some((now, cwnd)),
            ..Velocity::default()
        };
    }
}
