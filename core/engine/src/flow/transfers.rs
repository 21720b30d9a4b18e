//! Where the transfers of a flow begin and end.

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};
use windlass_cc::{MILLISECOND, Nanos};

use crate::{Transfer, seq};

/// Less than this is a greeting and no transfer, bytes.
const LEAST_BYTES: u64 = 10_000;

/// The sender answers the ACK of everything within this time, ns, or with the next round trip if that
/// is longer: then it is the same transfer, of which a whole flight was acknowledged at once.
const ANSWER_MAX: Nanos = 10 * MILLISECOND;

/// The transfer that runs, and one that has ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Transfers {
    /// When data came that had nothing before it to wait for, and at which offset it began.
    begun: Option<(Nanos, NonZeroU64)>,
    /// When everything had been acknowledged, and up to which offset.
    all_acked: Option<(Nanos, NonZeroU64)>,
    /// Taken with the same packet, or soon.
    ended: Option<Box<Ended>>,
    /// Bytes of the largest that has been taken.
    largest: u64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Ended {
    bytes: u64,
    duration: Nanos,
    complete: bool,
}

impl Transfers {
    /// Data has come while everything up to `una` was acknowledged. True if a transfer begins with it.
    pub fn on_data(&mut self, now: Nanos, una: u64, rtt: Nanos) -> bool {
        if let Some((since, _)) = self.all_acked
            && now < since + ANSWER_MAX.max(rtt)
        {
            self.all_acked = None;
            return false;
        }
        self.end();
        self.begun = Some((now, seq::of_data(una)));
        true
    }

    /// When the transfer that runs, or the last one, began, and at which offset.
    pub fn latest(&self) -> Option<(Nanos, u64)> {
        self.begun.map(|(at, una)| (at, una.get()))
    }

    /// Everything has been acknowledged, up to `una`.
    pub fn on_all_acked(&mut self, now: Nanos, una: u64) {
        self.all_acked = Some((now, seq::of_data(una)));
    }

    /// The transfer that runs has ended, if everything has been acknowledged.
    pub fn end(&mut self) {
        let Some((end, una)) = self.all_acked.take() else {
            return;
        };
        let Some((begun, start)) = self.begun.take() else {
            return;
        };
        self.keep(una.get() - start.get(), end - begun.min(end), true);
    }

    /// Nothing will be seen of the transfer that runs after `at`, when everything up to `una` had been acknowledged.
    pub fn break_off(&mut self, at: Nanos, una: u64) {
        if let (None, Some((begun, start))) = (self.all_acked, self.begun.take()) {
            self.keep(una - start.get().min(una), at - begun.min(at), false);
        }
    }

    fn keep(&mut self, bytes: u64, duration: Nanos, complete: bool) {
        if bytes >= LEAST_BYTES {
            self.ended = Some(Box::new(Ended {
                bytes,
                duration,
                complete,
            }));
        }
    }

    pub fn take(&mut self) -> Option<Transfer> {
        let Ended {
            bytes,
            duration,
            complete,
        } = *self.ended.take()?;
        let largest_before = self.largest;
        self.largest = largest_before.max(bytes);
        Some(Transfer {
            bytes,
            duration,
            largest_before,
            complete,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = MILLISECOND;

    #[test]
    fn a_flight_that_is_acknowledged_at_once_ends_no_transfer() {
        let mut transfers = Transfers::default();
        transfers.on_data(0, 1, 80 * MS);
        transfers.on_all_acked(80 * MS, 14_481);
        transfers.on_data(81 * MS, 14_481, 80 * MS);
        transfers.on_all_acked(161 * MS, 100_001);
        assert_eq!(transfers.take(), None);
        // The next request comes half a second later.
        transfers.on_data(700 * MS, 100_001, 80 * MS);
        let whole = Transfer {
            bytes: 100_000,
            duration: 161 * MS,
            largest_before: 0,
            complete: true,
        };
        assert_eq!(transfers.take(), Some(whole));
        assert_eq!(transfers.take(), None);
        transfers.on_all_acked(780 * MS, 105_001);
        transfers.end();
        assert_eq!(transfers.take(), None, "too little to count");
    }

    #[test]
    fn a_transfer_that_is_broken_off_counts_as_far_as_it_came() {
        let mut transfers = Transfers::default();
        transfers.on_data(0, 1, 80 * MS);
        transfers.on_all_acked(80 * MS, 20_001);
        transfers.end();
        transfers.break_off(90 * MS, 20_001);
        assert!(transfers.take().is_some_and(|t| t.complete));
        transfers.on_data(100 * MS, 20_001, 80 * MS);
        transfers.break_off(5_000 * MS, 50_001);
        let part = Transfer {
            bytes: 30_000,
            duration: 4_900 * MS,
            largest_before: 20_000,
            complete: false,
        };
        assert_eq!(transfers.take(), Some(part));
        transfers.break_off(6_000 * MS, 50_001);
        assert_eq!(transfers.take(), None);
    }
}
