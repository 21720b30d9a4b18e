//! How much more than the bandwidth explains arrives in a burst of ACKs: the window needs that
//! much on top to keep sending through the silence after it (Linux `bbr_update_ack_aggregation`).

use serde::{Deserialize, Serialize};

use crate::scale::bytes_over;
use crate::{ByteRate, MILLISECOND, Nanos};

/// Rounds per slot; two slots make a window of 5 to 10.
const SLOT_ROUNDS: u32 = 5;
/// An epoch ends at this many bytes at the latest, so that old silence does not hide a new burst.
const EPOCH_LIMIT_BYTES: u64 = 1 << 30;
/// No more than the bandwidth delivers in this time.
const MAX_SPAN: Nanos = 100 * MILLISECOND;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Aggregation {
    slots: [u64; 2],
    slot: usize,
    slot_rounds: u32,
    epoch_start: Nanos,
    epoch_bytes: u64,
}

impl Aggregation {
    /// Measures from `now` on.
    pub(super) fn restart(&mut self, now: Nanos) {
        self.epoch_start = now;
        self.epoch_bytes = 0;
    }

    /// Takes an ACK of `delivered` bytes in.
    pub(super) fn on_ack(
        &mut self,
        now: Nanos,
        delivered: u64,
        round_start: bool,
        bw: ByteRate,
        cwnd: u64,
    ) {
        if round_start {
            self.slot_rounds += 1;
            if self.slot_rounds >= SLOT_ROUNDS {
                self.slot_rounds = 0;
                self.slot ^= 1;
                self.slots[self.slot] = 0;
            }
        }
        let mut expected = bytes_over(bw, now.saturating_sub(self.epoch_start));
        if self.epoch_bytes <= expected
            || self.epoch_bytes.saturating_add(delivered) >= EPOCH_LIMIT_BYTES
        {
            self.restart(now);
            expected = 0;
        }
        self.epoch_bytes = self.epoch_bytes.saturating_add(delivered);
        let extra = self.epoch_bytes.saturating_sub(expected).min(cwnd);
        self.slots[self.slot] = self.slots[self.slot].max(extra);
    }

    /// Bytes to add to the window.
    pub(super) fn extra(&self, bw: ByteRate) -> u64 {
        self.slots[0]
            .max(self.slots[1])
            .min(bytes_over(bw, MAX_SPAN))
    }
}
