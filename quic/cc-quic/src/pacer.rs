//! When the next packet may leave.

use windlass_cc::{ByteRate, MILLISECOND, Nanos, SECOND, bytes_over, mul_div};

/// Below this RTT nothing is paced: the timers of a user-space stack are a millisecond coarse, and
/// a window that fills in less is held up longer by one than by the path.
const LEAST_PACED_RTT: Nanos = 2 * MILLISECOND;
/// How much time without sending is made up for, when it was not the pacer that was waited for: what
/// the window lets go with one ACK leaves in bursts of no more than this at the pacing rate.
const CREDIT: Nanos = 2 * MILLISECOND;
/// The same when it was the pacer. Timers of user space are late by two milliseconds, and by twenty
/// where processes share a core; a rate that is lost by that a model takes for the path's.
const CREDIT_FOR_LATENESS: Nanos = 25 * MILLISECOND;
/// Time at the pacing rate that is handed down in one piece (Linux `sk_pacing_shift`).
const QUANTUM: Nanos = MILLISECOND;
/// The largest such piece, bytes: that of segmentation offload.
const MAX_QUANTUM: u64 = 65_535;

/// A leaky bucket over time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pacer {
    next: Nanos,
    /// Nothing else holds the next packet up.
    waited_for: bool,
}

impl Pacer {
    /// The rate that is kept, if any is, of the one `wanted` on a path of this smoothed RTT.
    pub(crate) fn rate(wanted: ByteRate, srtt: Nanos) -> Option<ByteRate> {
        (srtt >= LEAST_PACED_RTT && wanted > 0).then_some(wanted)
    }

    /// `bytes` leave at `now`. The next packet waits no longer than `longest`, a round trip: a rate
    /// that was next to nothing for a moment must not hold up what is sent at a better one.
    pub(crate) fn on_sent(
        &mut self,
        now: Nanos,
        bytes: u64,
        rate: Option<ByteRate>,
        longest: Nanos,
    ) {
        let cost = rate.map_or(0, |rate| mul_div(bytes, SECOND, rate).min(longest));
        let credit = if self.waited_for {
            CREDIT_FOR_LATENESS.min(longest / 4).max(CREDIT)
        } else {
            CREDIT
        };
        self.next = self.next.max(now.saturating_sub(credit)) + cost;
    }

    /// After a packet has left: there is more to send, and the window has room for it.
    pub(crate) fn set_waited_for(&mut self, waited_for: bool) {
        self.waited_for = waited_for;
    }

    /// Earliest departure of the next packet.
    pub(crate) fn next(&self) -> Nanos {
        self.next
    }
}

/// Bytes to hand down in one piece.
pub(crate) fn quantum(rate: ByteRate, mss: u64) -> u64 {
    bytes_over(rate, QUANTUM).clamp(2 * mss, MAX_QUANTUM.max(2 * mss))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_of_a_millisecond_cost_no_rate() {
        let mut pacer = Pacer::default();
        let rate = Pacer::rate(6_250_000, 20 * MILLISECOND);
        let (mut now, mut sent) = (0, 0u64);
        while now < SECOND {
            while pacer.next() <= now {
                pacer.on_sent(now, 1200, rate, 20 * MILLISECOND);
                sent += 1200;
            }
            now += 1_700_000;
        }
        assert!((6_200_000..=6_280_000).contains(&sent), "{sent} bytes");
    }

    /// A process that runs every 20 ms keeps its rate, if nothing but the pacer holds it up.
    #[test]
    fn a_late_process_costs_no_rate() {
        let sent_in_a_second = |waited_for: bool| {
            let mut pacer = Pacer::default();
            let (mut now, mut sent) = (0, 0u64);
            while now < SECOND {
                while pacer.next() <= now {
                    pacer.on_sent(now, 1200, Some(1_200_000), 100 * MILLISECOND);
                    pacer.set_waited_for(waited_for);
                    sent += 1200;
                }
                now += 20 * MILLISECOND;
            }
            sent
        };
        let sent = sent_in_a_second(true);
        assert!((1_170_000..=1_210_000).contains(&sent), "{sent} bytes");
        assert!(sent_in_a_second(false) < 400_000);
    }

    #[test]
    fn idle_time_is_not_saved_up() {
        let mut pacer = Pacer::default();
        let rate = Pacer::rate(1_200_000, 20 * MILLISECOND);
        let (now, mut burst) = (5 * SECOND, 0);
        while pacer.next() <= now {
            pacer.on_sent(now, 1200, rate, 20 * MILLISECOND);
            burst += 1;
        }
        assert_eq!(burst, 3);
    }

    #[test]
    fn a_moment_of_next_to_no_rate_holds_up_nothing() {
        let mut pacer = Pacer::default();
        pacer.on_sent(0, 1200, Some(100), 30 * MILLISECOND);
        assert_eq!(pacer.next(), 30 * MILLISECOND);
    }

    #[test]
    fn short_paths_are_not_paced() {
        assert_eq!(Pacer::rate(1000, MILLISECOND), None);
        assert_eq!(Pacer::rate(1000, 2 * MILLISECOND), Some(1000));
    }

    #[test]
    fn quanta_are_a_millisecond_within_bounds() {
        assert_eq!(quantum(1_000_000, 1200), 2400);
        assert_eq!(quantum(12_500_000, 1200), 12_500);
        assert_eq!(quantum(1_250_000_000, 1200), 65_535);
        assert_eq!(quantum(1_250_000_000, 60_000), 120_000);
    }
}
