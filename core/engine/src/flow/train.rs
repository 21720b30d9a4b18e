//! The bottleneck's rate from trains of ACKs, before the pipe is full.
//!
//! Early flights leave in bursts. Where the ACKs of a burst come back clearly slower than the burst
//! went out, their rate is the bottleneck's, and start-up can be paced at it rather than overshoot:
//! the sender's RTT stays flat.

use windlass_cc::{ByteRate, MILLISECOND, Nanos, Path, rate_over};

/// Segments a train must have before it says anything.
const TRAIN_SEGMENTS: u64 = 12;
/// A pause in sending, or in the ACKs, longer than this part of an RTT ends a train.
const BREAK_RTT_PARTS: Nanos = 8;
/// So does one that may be a delayed ACK (40 ms on Linux), ns: the last segment of a flight is
/// acknowledged late, and says nothing about the path.
const BREAK_AT_MOST: Nanos = 25 * MILLISECOND;

#[derive(Clone, Copy, Debug)]
struct Mark {
    sent_at: Nanos,
    end: u64,
    /// Copies that had left before it: they took their share of the bottleneck.
    copies: u32,
    acked_at: Nanos,
}

/// The train under way, and the best found so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Train {
    first: Option<Mark>,
    last: Option<Mark>,
    newest: Option<(Nanos, u64, u32)>,
    found: Option<ByteRate>,
}

impl Train {
    /// The rate of the bottleneck as far as trains have shown it, bytes per second.
    pub(crate) fn bottleneck(&self) -> Option<ByteRate> {
        self.found
    }

    /// A segment that was sent exactly once has been delivered.
    pub(crate) fn on_delivered(&mut self, sent_at: Nanos, end: u64, copies: u32) {
        if self.newest.is_none_or(|(_, e, _)| end > e) {
            self.newest = Some((sent_at, end, copies));
        }
    }

    /// The ACK has been scored.
    pub(crate) fn on_ack(&mut self, now: Nanos, path: &Path) {
        let Some((sent_at, end, copies)) = self.newest.take() else {
            return;
        };
        let mark = Mark {
            sent_at,
            end,
            copies,
            acked_at: now,
        };
        let pause = (path.srtt / BREAK_RTT_PARTS).min(BREAK_AT_MOST);
        let broken = self.last.is_none_or(|last| {
            end <= last.end
                || sent_at < last.sent_at
                || sent_at.saturating_sub(last.sent_at) > pause
                || now - last.acked_at > pause
        });
        // Only what another has followed in time counts: the last of a train may be late for a
        // reason of its own (a delayed ACK, a lost packet whose copy arrived).
        let followed = self.last.replace(mark);
        let (Some(first), Some(last)) = (self.first.filter(|_| !broken), followed) else {
            self.first = Some(mark);
            return;
        };
        let copied = u64::from(last.copies - first.copies) * u64::from(path.mss);
        let bytes = last.end - first.end + copied;
        if bytes < TRAIN_SEGMENTS * u64::from(path.mss) {
            return;
        }
        // ACKs that came in one batch have no span, and say nothing.
        let ack_span = last.acked_at - first.acked_at;
        let send_span = last.sent_at.saturating_sub(first.sent_at);
        if send_span * 5 < ack_span * 4 {
            let rate = rate_over(bytes, ack_span);
            self.found = Some(self.found.map_or(rate, |found| found.max(rate)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(spacing_out: Nanos, spacing_back: Nanos) -> Option<ByteRate> {
        let mut path = Path::new(1000);
        path.on_rtt(100 * MILLISECOND);
        let mut train = Train::default();
        for i in 1..=40u64 {
            train.on_delivered(i * spacing_out, i * 1000, 0);
            train.on_ack(100 * MILLISECOND + i * spacing_back, &path);
        }
        train.bottleneck()
    }

    #[test]
    fn a_burst_that_comes_back_slower_names_the_bottleneck() {
        assert_eq!(run(10_000, 200_000), Some(5_000_000));
    }

    /// Nineteen segments in a burst, the odd last one acknowledged 40 ms late.
    #[test]
    fn a_delayed_ack_is_no_bottleneck() {
        let mut path = Path::new(1000);
        path.on_rtt(100 * MILLISECOND);
        let mut train = Train::default();
        for i in 1..=19u64 {
            let late = if i == 19 { 40 * MILLISECOND } else { 0 };
            train.on_delivered(i * 200_000, i * 1000, 0);
            train.on_ack(100 * MILLISECOND + i * 200_000 + late, &path);
        }
        assert_eq!(train.bottleneck(), None);
    }

    /// A worker that was late takes all of them at once.
    #[test]
    fn acks_that_came_together_say_nothing() {
        assert_eq!(run(0, 0), None);
        assert_eq!(run(200_000, 0), None);
    }

    #[test]
    fn a_train_that_keeps_its_pace_says_nothing() {
        assert_eq!(run(200_000, 200_000), None);
    }
}
