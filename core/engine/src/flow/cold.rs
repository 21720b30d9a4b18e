//! What a packet of a flow seldom needs.

use serde::{Deserialize, Serialize};
use windlass_cc::{Nanos, Spare};
use windlass_wire::Template;

use super::distance::known_micros;
use super::edge::Growth;
use super::gaps::Gaps;
use super::review::Review;
use super::transfers::Transfers;
use super::watch::Watch;
use crate::maybe::Maybe;

/// Counts of one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub lost: u64,
    pub repaired: u64,
    pub repaired_bytes: u64,
    pub spurious_bytes: u64,
    pub copies: u64,
    pub copied_bytes: u64,
    pub timeouts: u64,
    pub handed_back: u64,
    pub sender_retransmissions: u64,
    pub policed: u64,
    pub policed_bytes: u64,
}

/// What another box has reported as marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Marks {
    /// Bytes that the algorithm has not heard of; `None` while no box reports.
    pub due: Maybe,
    /// In all.
    pub bytes: u64,
}

/// What a packet seldom needs: it has memory of its own.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Cold {
    pub history: Spare<History>,
    pub began: Nanos,
    pub transfers: Transfers,
    pub rare: Spare<Rare>,
    /// From the SYN of the sender to its answer, if neither was sent again, µs; 0: unknown. For time-outs until data have
    /// been acknowledged.
    pub handshake_us: u32,
    /// Link and IP headers of packets toward the sender.
    pub template: Option<Template>,
}

/// What has been counted, and what the flow is watched for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct History {
    pub tally: Tally,
    /// `None` unless its sender keeps its own congestion control.
    watch: Option<Box<Watch>>,
    /// `None` until conditions on the path may change the algorithm.
    pub review: Option<Box<Review>>,
}

/// What few paths have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rare {
    pub gaps: Gaps,
    /// For senders that are far from the box.
    pub growth: Growth,
    pub marks: Marks,
}

impl History {
    fn of_new(watches: bool) -> Spare<History> {
        match watches {
            true => Spare::of(History {
                watch: Some(Box::default()),
                ..History::default()
            }),
            false => Spare::default(),
        }
    }
}

impl Cold {
    /// Of a flow that begins at `now`; `watches`: its sender keeps its own congestion control.
    pub(super) fn new(now: Nanos, watches: bool, handshake_rtt: Option<Nanos>) -> Cold {
        Cold {
            history: History::of_new(watches),
            began: now,
            transfers: Transfers::default(),
            rare: Spare::default(),
            handshake_us: handshake_rtt.map_or(0, known_micros),
            template: None,
        }
    }

    pub(super) fn tally(&self) -> Tally {
        self.history
            .get()
            .map_or_else(Tally::default, |history| history.tally)
    }

    pub(super) fn tally_mut(&mut self) -> &mut Tally {
        &mut self.history.edit().tally
    }

    pub(super) fn watch(&self) -> Option<&Watch> {
        self.history.get()?.watch.as_deref()
    }

    pub(super) fn watch_mut(&mut self) -> Option<&mut Watch> {
        self.history.edit_known()?.watch.as_deref_mut()
    }

    pub(super) fn review(&self) -> Option<&Review> {
        self.history.get()?.review.as_deref()
    }

    pub(super) fn review_mut(&mut self) -> Option<&mut Review> {
        self.history.edit_known()?.review.as_deref_mut()
    }
}
