//! What flows of a rule have got by experience, and what came of it: counted by all workers, none of which waits.

use std::sync::atomic::{AtomicU64, Ordering};

use windlass_auto::ARMS_MAX;
use windlass_engine::{Nanos, Transfer};

const NANOS_PER_SECOND: u128 = 1_000_000_000;
const BITS_PER_BYTE: u128 = 8;

/// The counts of one rule.
#[derive(Debug, Default)]
pub(crate) struct Tally([Counts; ARMS_MAX]);

#[derive(Debug, Default)]
struct Counts {
    flows: AtomicU64,
    explored: AtomicU64,
    transfers: AtomicU64,
    bytes: AtomicU64,
    duration: AtomicU64,
}

/// What a rule has tried.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleTried {
    /// Its name.
    pub rule: String,
    /// By the order of the arms.
    pub arms: Vec<Tried>,
}

/// How often an algorithm was tried, and with what outcome, since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tried {
    /// Flows that got it.
    pub flows: u64,
    /// Of these, those that explored: another was believed to be best.
    pub explored: u64,
    /// Transfers that have ended.
    pub transfers: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their durations together.
    pub duration: Nanos,
}

impl Tried {
    /// What a transfer has moved in its time, over all of them; `None`: none has ended.
    pub fn goodput_bps(&self) -> Option<u64> {
        let bits = u128::from(self.bytes) * BITS_PER_BYTE * NANOS_PER_SECOND;
        let bps = bits.checked_div(u128::from(self.duration))?;
        Some(u64::try_from(bps).unwrap_or(u64::MAX))
    }
}

impl Tally {
    pub(crate) fn chosen(&self, arm: usize, explores: bool) {
        if let Some(counts) = self.0.get(arm) {
            counts.flows.fetch_add(1, Ordering::Relaxed);
            let explored = u64::from(explores);
            counts.explored.fetch_add(explored, Ordering::Relaxed);
        }
    }

    pub(crate) fn learned(&self, arm: usize, transfer: &Transfer) {
        if let Some(counts) = self.0.get(arm) {
            counts.transfers.fetch_add(1, Ordering::Relaxed);
            counts.bytes.fetch_add(transfer.bytes, Ordering::Relaxed);
            let duration = transfer.duration;
            counts.duration.fetch_add(duration, Ordering::Relaxed);
        }
    }

    /// Of the first so many arms.
    pub(crate) fn tried(&self, arms: usize) -> Vec<Tried> {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let tried = |counts: &Counts| Tried {
            flows: read(&counts.flows),
            explored: read(&counts.explored),
            transfers: read(&counts.transfers),
            bytes: read(&counts.bytes),
            duration: read(&counts.duration),
        };
        self.0.iter().take(arms).map(tried).collect()
    }
}
