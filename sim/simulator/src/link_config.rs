//! What a link is like, and what it tells.

use std::sync::Arc;

use windlass_cc::Nanos;

use crate::link::Recording;

/// How a link loses packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Loss {
    /// It does not.
    None,
    /// Each packet independently.
    Bernoulli {
        /// Share of packets lost, 0 to 1.
        ratio: f64,
    },
    /// A two-state Markov chain, one step per packet (Gilbert 1960, Elliott 1963).
    GilbertElliott {
        /// Probability of a step from the good to the bad state.
        good_to_bad: f64,
        /// Probability of a step back.
        bad_to_good: f64,
        /// Share lost in the good state.
        loss_good: f64,
        /// Share lost in the bad state.
        loss_bad: f64,
    },
}

/// Nothing arrives during a slot, and at its end everything that has come: Wi-Fi, DOCSIS and cellular schedulers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slots {
    /// Length of the shortest, ns; above 0.
    pub least: Nanos,
    /// Length of the longest, ns.
    pub most: Nanos,
}

/// A token bucket without a queue (RFC 2475 §2.3.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policer {
    /// Bytes per second that it allows in the long run.
    pub rate_bytes_per_s: u64,
    /// Bytes that it allows at once after a pause.
    pub burst_bytes: u64,
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// Serialisation rate; `None`: infinite; 0: nothing leaves the queue.
    pub rate_bytes_per_s: Option<u64>,
    /// In place of that rate, one that was recorded.
    pub recording: Option<Arc<Recording>>,
    /// Propagation delay, ns.
    pub delay: Nanos,
    /// Up to this much is added to the delay, evenly spread, ns.
    pub jitter: Nanos,
    /// Jitter lets packets overtake each other.
    pub jitter_reorders: bool,
    /// What has come waits for the end of a slot.
    pub slots: Option<Slots>,
    /// Drops what comes faster than it allows, before the queue.
    pub policer: Option<Policer>,
    /// Loss, decided before the queue.
    pub loss: Loss,
    /// Share of packets that arrive late, so that others overtake them.
    pub reorder_ratio: f64,
    /// How late, ns.
    pub reorder_extra: Nanos,
    /// Share of packets that arrive twice.
    pub duplicate_ratio: f64,
    /// Share of packets in which a bit is flipped, behind the Ethernet header.
    pub damage_ratio: f64,
    /// The queue drops what would make it longer than this, bytes.
    pub queue_bytes: u64,
    /// ECN-capable packets that find at least this much queued are marked, bytes.
    pub ecn_mark_bytes: Option<u64>,
    /// Others that find as much queued are dropped, as switches do it (WRED).
    pub drops_not_ect: bool,
}

impl LinkConfig {
    /// A perfect wire of no length.
    pub const WIRE: LinkConfig = LinkConfig {
        rate_bytes_per_s: None,
        recording: None,
        delay: 0,
        jitter: 0,
        jitter_reorders: false,
        slots: None,
        policer: None,
        loss: Loss::None,
        reorder_ratio: 0.0,
        reorder_extra: 0,
        duplicate_ratio: 0.0,
        damage_ratio: 0.0,
        queue_bytes: u64::MAX,
        ecn_mark_bytes: None,
        drops_not_ect: false,
    };
}

impl Default for LinkConfig {
    fn default() -> Self {
        LinkConfig::WIRE
    }
}

/// What became of a packet at the link's entrance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// On its way.
    Queued,
    /// Lost by chance.
    Lost,
    /// The queue was full.
    Dropped,
}

/// A packet at the link's exit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delivery<T> {
    /// When it arrived.
    pub at: Nanos,
    /// What was sent.
    pub item: T,
    /// The link marked it: congestion experienced.
    pub marked_ce: bool,
    /// The link damaged it: which bit it is, for [`crate::damage::Damage`].
    pub damage: Option<u64>,
}

/// Counts since the link was made.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LinkStats {
    /// Packets offered.
    pub offered: u64,
    /// Bytes offered.
    pub offered_bytes: u64,
    /// Packets lost by chance.
    pub lost: u64,
    /// Packets dropped by the queue.
    pub dropped: u64,
    /// Packets delivered late on purpose.
    pub reordered: u64,
    /// Second copies made.
    pub duplicated: u64,
    /// Packets damaged, second copies left out.
    pub damaged: u64,
    /// Packets marked.
    pub marked: u64,
    /// Packets delivered, second copies included.
    pub delivered: u64,
    /// Bytes delivered, second copies included.
    pub delivered_bytes: u64,
    /// Longest queue, bytes.
    pub max_queue_bytes: u64,
}
