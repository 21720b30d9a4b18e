//! The throughput between two losses, by which H-TCP tells whether the path is still the same.

use serde::{Deserialize, Serialize};

use crate::scale::rate_over;
use crate::{AckEvent, ByteRate, Nanos};

/// So many round trips after a loss, samples start afresh (Linux `htcp_ccount`).
const ROUNDS_AFTER_LOSS: u64 = 4;

/// Samples of a window each, their moving average, and its largest value since the last loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Throughput {
    /// Bytes delivered since `start`.
    counted: u64,
    start: Nanos,
    mean: ByteRate,
    max: ByteRate,
    /// `max` at the last loss.
    at_loss: ByteRate,
}

impl Throughput {
    /// `since_loss`: ns since the last loss episode ended.
    pub(super) fn on_ack(
        &mut self,
        event: &AckEvent,
        cwnd: u64,
        min_rtt: Nanos,
        since_loss: Nanos,
    ) {
        if self.start == 0 {
            self.start = event.now;
        }
        self.counted = self.counted.saturating_add(event.delivered);
        let span = event.now.saturating_sub(self.start);
        if self.counted < cwnd || span < min_rtt {
            return;
        }
        let sample = rate_over(self.counted, span);
        if since_loss < min_rtt.saturating_mul(ROUNDS_AFTER_LOSS) {
            self.mean = sample;
            self.max = sample;
        } else {
            self.mean = self.mean - self.mean / 4 + sample / 4;
            self.max = self.max.max(self.mean);
        }
        self.restart(event.now);
    }

    /// Drops the sample that has begun.
    pub(super) fn restart(&mut self, now: Nanos) {
        self.counted = 0;
        self.start = now;
    }

    /// True if the throughput before this loss was within a fifth of that before the last.
    pub(super) fn on_loss(&mut self) -> bool {
        let before = core::mem::replace(&mut self.at_loss, self.max);
        let five = self.max.saturating_mul(5);
        (before.saturating_mul(4)..=before.saturating_mul(6)).contains(&five)
    }

    pub(super) fn at_loss(&self) -> ByteRate {
        self.at_loss
    }

    /// The last loss was none.
    pub(super) fn restore(&mut self, at_loss: ByteRate) {
        self.at_loss = at_loss;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MILLISECOND;

    const RTT: Nanos = 100 * MILLISECOND;

    #[test]
    fn the_first_samples_after_a_loss_replace_and_later_ones_are_averaged() {
        let mut throughput = Throughput::default();
        throughput.restart(RTT);
        // A window a round trip; the average takes a quarter of a sample.
        for (n, window, since_loss, max) in [
            (2, 100_000, 0, 1_000_000),
            (3, 200_000, 4 * RTT, 1_250_000),
            (4, 50_000, 4 * RTT, 1_250_000),
            (5, 50_000, 4 * RTT - 1, 500_000),
        ] {
            let event = AckEvent {
                now: n * RTT,
                delivered: window,
                ..AckEvent::default()
            };
            throughput.on_ack(&event, window, RTT, since_loss);
            assert_eq!(throughput.max, max, "round {n}");
        }
    }

    #[test]
    fn a_sample_takes_a_window_and_a_round_trip() {
        let mut throughput = Throughput::default();
        for (now, delivered, rate) in [(1, 50, 0), (RTT, 50, 0), (RTT + 1, 1, 1010)] {
            let event = AckEvent {
                now,
                delivered,
                ..AckEvent::default()
            };
            throughput.on_ack(&event, 101, RTT, 0);
            assert_eq!(throughput.max, rate);
        }
    }

    #[test]
    fn a_fifth_more_or_less_is_the_same_path() {
        let mut throughput = Throughput::default();
        for (max, steady) in [
            (1000, false),
            (1200, true),
            (1441, false),
            (1153, true),
            (922, false),
        ] {
            throughput.max = max;
            assert_eq!(throughput.on_loss(), steady, "{max}");
        }
    }
}
