//! Packet-timed round trips (draft-ietf-ccwg-bbr §"BBR.round_count", Linux `tcp_bbr.c`).

use serde::{Deserialize, Serialize};

/// Counts a round whenever a packet is delivered that was sent after the last round ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rounds {
    /// `path.delivered` at the end of the last round.
    next_delivered: u64,
    /// Rounds since the flow began.
    pub(crate) count: u64,
    /// This ACK began a round.
    pub(crate) start: bool,
}

impl Rounds {
    /// Takes in the sample of one ACK; true if it begins a round.
    pub(crate) fn on_sample(&mut self, prior_delivered: u64, delivered: u64) -> bool {
        self.start = prior_delivered >= self.next_delivered;
        if self.start {
            self.next_delivered = delivered;
            self.count += 1;
        }
        self.start
    }

    /// An ACK without a sample can't begin a round.
    pub(crate) fn on_no_sample(&mut self) {
        self.start = false;
    }

    /// The round ends when data sent from now on is delivered.
    pub(crate) fn restart(&mut self, delivered: u64) {
        self.next_delivered = delivered;
    }
}
