//! How much of its window a sender uses: growth depends on it (RFC 9002 §7.8, Linux
//! `tcp_is_cwnd_limited`).

/// Use of the window in the round trip at hand.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// The round ends when this packet is acknowledged.
    round_end: u64,
    /// The window was full at some time in it.
    full: bool,
    /// The most that was in flight in it, bytes.
    most: u64,
}

impl Usage {
    /// `inflight` bytes are out, of a `window` to which one datagram more could (`full`: not) be added.
    pub(crate) fn on_sent(&mut self, inflight: u64, full: bool) {
        self.full |= full;
        self.most = self.most.max(inflight);
    }

    /// The packet `order` is acknowledged; `next` is that of the next to leave, or less.
    pub(crate) fn on_acked(&mut self, order: u64, next: u64, inflight: u64, full: bool) {
        if order >= self.round_end {
            *self = Usage {
                round_end: next,
                full,
                most: inflight,
            };
        } else {
            self.on_sent(inflight, full);
        }
    }

    /// The window was the limit. In slow start it may reach twice what was out.
    pub(crate) fn limited(&self, window: u64, slow_start: bool) -> bool {
        self.full || slow_start && window < 2 * self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_window_counts_for_its_round_and_the_state_at_its_end() {
        let mut usage = Usage::default();
        usage.on_sent(10_000, true);
        assert!(usage.limited(10_000, false));
        usage.on_acked(0, 10, 10_000, false);
        assert!(!usage.limited(10_000, false), "a new round, not yet full");
        usage.on_acked(3, 10, 9_000, true);
        usage.on_acked(9, 12, 9_000, false);
        assert!(usage.limited(10_000, false), "still the round up to 10");
        usage.on_acked(10, 20, 9_000, false);
        assert!(!usage.limited(10_000, false));
    }

    #[test]
    fn half_a_window_is_enough_in_slow_start() {
        let mut usage = Usage::default();
        usage.on_sent(6_000, false);
        assert!(usage.limited(10_000, true));
        assert!(!usage.limited(12_000, true));
        assert!(!usage.limited(10_000, false));
    }
}
