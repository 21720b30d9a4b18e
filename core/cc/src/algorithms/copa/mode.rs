//! Whether to compete (§2.2): a queue that Copa flows share is nearly empty at least once in five
//! round trips.

use serde::{Deserialize, Serialize};

use super::CopaParameters;
use crate::Nanos;

/// Round trips over which the largest RTT is taken.
pub(super) const MAX_RTT_ROUNDS: u64 = 4;
/// Round trips without a nearly empty queue after which it competes.
const EMPTY_ROUNDS: u64 = 5;
/// Nearly empty: this part of the largest delay.
const EMPTY_PART: u64 = 10;
/// `1 / delta` goes no further, segments.
const MOST_QUEUED: f64 = 1e6;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Mode {
    /// `1 / delta`: segments to keep queued.
    pub(super) queued: f64,
    pub(super) competes: bool,
    /// When the queue was last nearly empty; `None` before the first ACK.
    empty: Option<Nanos>,
    /// When `queued` was last changed.
    changed: Nanos,
}

/// Whether a queue that delays by `delay`, of at most `range` lately, is nearly empty.
pub(super) fn is_nearly_empty(delay: Nanos, range: Nanos) -> bool {
    delay <= range / EMPTY_PART
}

fn default_queued(p: &CopaParameters) -> f64 {
    1000.0 / p.delta.get().max(1) as f64
}

impl Mode {
    pub(super) fn new(p: &CopaParameters) -> Self {
        Mode {
            queued: default_queued(p),
            competes: false,
            empty: None,
            changed: 0,
        }
    }

    pub(super) fn on_ack(
        &mut self,
        now: Nanos,
        nearly_empty: bool,
        srtt: Nanos,
        p: &CopaParameters,
    ) {
        if nearly_empty || self.empty.is_none() {
            self.empty = Some(now);
        }
        let since = now.saturating_sub(self.empty.unwrap_or(now));
        let competes = p.competitive && since > srtt.saturating_mul(EMPTY_ROUNDS);
        if competes != self.competes {
            self.competes = competes;
            self.queued = default_queued(p);
            self.changed = now;
        } else if competes && now.saturating_sub(self.changed) >= srtt.max(1) {
            self.queued = (self.queued + 1.0).min(MOST_QUEUED);
            self.changed = now;
        }
    }

    pub(super) fn on_loss(&mut self, now: Nanos, p: &CopaParameters) {
        if self.competes {
            self.queued = (self.queued / 2.0).max(default_queued(p));
            self.changed = now;
        }
    }

    /// Nothing was in flight: the queue may have emptied.
    pub(super) fn restart(&mut self, now: Nanos) {
        self.empty = Some(now);
    }
}
