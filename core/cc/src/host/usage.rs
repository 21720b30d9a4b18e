//! How much of its window a sender uses: growth depends on it.

use serde::{Deserialize, Serialize};

use crate::{Control, Phase};

/// Use of the window in the round trip at hand (Linux `tcp_cwnd_validate`, `net/ipv4/tcp_output.c` 6.12; RFC 9002 §7.8).
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Usage {
    /// The round ends when this position has been acknowledged.
    round_end: u64,
    /// The window was the limit at some time in it.
    limited: bool,
    /// The most that was in flight in it, bytes. More than four bytes can say is never in flight.
    most: u32,
}

fn short(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

impl Usage {
    /// True if what has been acknowledged up to `position` ends the round.
    pub fn is_over(&self, position: u64) -> bool {
        position >= self.round_end
    }

    /// A round begins that ends at `end`.
    pub fn begin(&mut self, end: u64, limited: bool, inflight: u64) {
        *self = Usage {
            round_end: end,
            limited,
            most: short(inflight),
        };
    }

    /// The window was the limit, or was not.
    pub fn note(&mut self, limited: bool, inflight: u64) {
        self.limited |= limited;
        self.most = self.most.max(short(inflight));
    }

    /// The most that was in flight, bytes.
    pub fn most(&self) -> u64 {
        self.most.into()
    }

    /// The window was the limit in this round, as far as has been noted.
    pub fn was_limited(&self) -> bool {
        self.limited
    }

    /// Linux `tcp_is_cwnd_limited`: in slow start it is enough to use half of the window.
    pub fn limited(&self, control: &Control) -> bool {
        let slow_start = matches!(
            control.phase,
            Phase::SlowStart | Phase::ConservativeSlowStart
        );
        self.limited || slow_start && control.cwnd < 2 * self.most()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(cwnd: u64, phase: Phase) -> Control {
        Control {
            cwnd,
            ssthresh: u64::MAX,
            pacing_rate: None,
            phase,
        }
    }

    #[test]
    fn a_full_window_counts_for_its_round() {
        let mut usage = Usage::default();
        let control = control(20_000, Phase::Avoidance);
        usage.note(true, 10_000);
        assert!(usage.limited(&control));
        assert!(usage.is_over(0));
        usage.begin(10, false, 10_000);
        assert!(!usage.limited(&control), "a new round, not yet full");
        usage.note(true, 9_000);
        usage.note(false, 9_000);
        assert!(!usage.is_over(9) && usage.limited(&control));
        assert!(usage.is_over(10));
        usage.begin(20, false, 9_000);
        assert!(!usage.limited(&control));
    }

    #[test]
    fn half_a_window_is_enough_in_slow_start() {
        let mut usage = Usage::default();
        usage.note(false, 6_000);
        assert!(usage.limited(&control(10_000, Phase::SlowStart)));
        assert!(!usage.limited(&control(12_000, Phase::SlowStart)));
        assert!(!usage.limited(&control(10_000, Phase::Avoidance)));
    }
}
