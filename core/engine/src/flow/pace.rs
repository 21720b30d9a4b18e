//! Pacing: when the next packet may leave.

use serde::{Deserialize, Serialize};
use windlass_cc::{ByteRate, MILLISECOND, Nanos};

use super::scale::scaled;

/// How much lateness is made up for, ns: a timer that fires late costs no rate, and a burst is no
/// longer than this at the pacing rate. On short paths it is a quarter of the round trip.
const CREDIT: Nanos = MILLISECOND;
const CREDIT_SIXTEENTHS: Nanos = 4;

/// How long packets wait for their turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// The next one waits no longer than this, ns: a rate that was next to nothing for a moment must not hold up what is
    /// sent at a better one.
    pub longest: Nanos,
    /// So much lateness is made up for, ns.
    pub credit: Nanos,
}

impl Patience {
    /// For a flow with this round trip.
    pub(crate) fn new(longest: Nanos, round_trip: Nanos) -> Self {
        let credit = scaled(CREDIT, round_trip, CREDIT_SIXTEENTHS);
        Patience { longest, credit }
    }
}

/// A leaky bucket over time.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Pacer {
    /// Earliest departure of the next packet.
    pub next: Nanos,
}

impl Pacer {
    pub(crate) fn may_send(&self, now: Nanos) -> bool {
        self.next <= now
    }

    /// What has left until now was not the box's to pace.
    pub(crate) fn forgive(&mut self, now: Nanos) {
        self.next = self.next.min(now);
    }

    /// `bytes` leave at `now`.
    pub(crate) fn on_sent(
        &mut self,
        now: Nanos,
        bytes: u64,
        rate: Option<ByteRate>,
        patience: Patience,
    ) {
        let Some(rate) = rate else {
            self.next = now;
            return;
        };
        let cost = (bytes * 1_000_000_000)
            .checked_div(rate)
            .unwrap_or(MILLISECOND)
            .min(patience.longest);
        self.next = self.next.max(now.saturating_sub(patience.credit)) + cost;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn far() -> Patience {
        Patience::new(100 * MILLISECOND, 100 * MILLISECOND)
    }

    #[test]
    fn a_late_timer_costs_no_rate() {
        let mut pacer = Pacer::default();
        let (mut now, mut sent) = (0, 0u64);
        while now < 1_000_000_000 {
            while pacer.may_send(now) {
                pacer.on_sent(now, 1000, Some(1_000_000), far());
                sent += 1000;
            }
            now += 333_000;
        }
        assert!(
            (995_000..=1_003_000).contains(&sent),
            "{sent} bytes in a second at 1 MB/s"
        );
    }

    #[test]
    fn idle_time_is_not_saved_up() {
        let mut pacer = Pacer::default();
        pacer.on_sent(0, 1000, Some(1_000_000), far());
        let (now, mut burst) = (5_000_000_000, 0);
        while pacer.may_send(now) {
            pacer.on_sent(now, 1000, Some(1_000_000), far());
            burst += 1;
        }
        assert_eq!(burst, 2);
    }

    /// A worker that comes half a millisecond late lets go of a quarter of a round trip, and not of what would fill the queue.
    #[test]
    fn a_burst_on_a_short_path_is_short() {
        let (mut pacer, short) = (Pacer::default(), Patience::new(MILLISECOND, 100_000));
        pacer.on_sent(0, 1000, Some(100_000_000), short);
        let (now, mut burst) = (500_000, 0);
        while pacer.may_send(now) {
            pacer.on_sent(now, 1000, Some(100_000_000), short);
            burst += 1;
        }
        assert_eq!(burst, 3);
    }

    #[test]
    fn a_moment_of_next_to_no_rate_holds_up_nothing() {
        let mut pacer = Pacer::default();
        pacer.on_sent(0, 1448, Some(100), far());
        assert!(pacer.may_send(100 * MILLISECOND));
    }
}
