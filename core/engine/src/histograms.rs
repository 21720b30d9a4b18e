//! What the engine measures, by size.

use windlass_metric::{histograms, one_two_five};

use crate::Transfer;

const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// 100 µs to 5 s.
const RTT_BOUNDS_NS: [u64; 15] = one_two_five(100_000);
/// 1 ms to 500 s.
const DURATION_BOUNDS_NS: [u64; 18] = one_two_five(1_000_000);
/// 1 kB/s to 5 GB/s.
const GOODPUT_BOUNDS: [u64; 21] = one_two_five(1000);
/// 10 µs to 1 s.
const HOLD_BOUNDS_NS: [u64; 16] = one_two_five(10_000);

histograms! {
    /// Distributions since the engine was made.
    pub struct Histograms {
        /// Round-trip times between Windlass and the receivers, by sample.
        rtt_ns, Nanoseconds, &RTT_BOUNDS_NS;
        /// Completion times of transfers: from the first byte that waited until all was acknowledged.
        transfer_duration_ns, Nanoseconds, &DURATION_BOUNDS_NS;
        /// Goodput of these transfers: bytes acknowledged over the completion time.
        transfer_goodput, BytesPerSecond, &GOODPUT_BOUNDS;
        /// Time that data of enforced flows waited in Windlass before it left for the first time.
        hold_time_ns, Nanoseconds, &HOLD_BOUNDS_NS;
    }
}

impl Histograms {
    /// A transfer has ended. One that was broken off has no completion time.
    pub(crate) fn note_transfer(&mut self, transfer: &Transfer) {
        if !transfer.complete || transfer.duration == 0 {
            return;
        }
        self.transfer_duration_ns.record(transfer.duration);
        let goodput = u128::from(transfer.bytes) * NANOS_PER_SECOND / u128::from(transfer.duration);
        self.transfer_goodput
            .record(u64::try_from(goodput).unwrap_or(u64::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_counts_with_its_time_and_its_goodput() {
        let mut histograms = Histograms::default();
        let transfer = Transfer {
            bytes: 1_000_000,
            duration: 500_000_000,
            largest_before: 0,
            complete: true,
        };
        histograms.note_transfer(&transfer);
        histograms.note_transfer(&Transfer {
            complete: false,
            ..transfer
        });
        let (time, goodput) = (
            &histograms.transfer_duration_ns,
            &histograms.transfer_goodput,
        );
        assert_eq!((time.count(), time.sum()), (1, 500_000_000));
        assert_eq!((goodput.count(), goodput.sum()), (1, 2_000_000));
    }
}
