//! Base delay and current delay (RFC 6817 §2.4.2 and §3.4), in microseconds: enough for delays, and half
//! the memory.

use serde::{Deserialize, Serialize};

use crate::{Nanos, Path, SECOND};

/// Minutes for which a least delay is remembered (RFC 6817 BASE_HISTORY).
const BASE_HISTORY: usize = 10;
/// Newest delays of which the least counts (RFC 6817 CURRENT_FILTER).
const CURRENT_FILTER: usize = 4;
const MINUTE: Nanos = 60 * SECOND;
/// No delay yet.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Delays {
    /// The least delay of every minute, the running one first.
    minutes: [u32; BASE_HISTORY],
    /// The newest delays, in no order.
    newest: [u32; CURRENT_FILTER],
    /// Their number, for the place of the next.
    count: u32,
    /// The minute that is running.
    minute: u32,
    /// The least of `minutes`.
    base: u32,
}

fn micros(delay: Nanos) -> u32 {
    u32::try_from(delay / 1000)
        .unwrap_or(NONE)
        .clamp(1, NONE - 1)
}

impl Delays {
    /// Begins with what is known of the path.
    pub(super) fn new(path: &Path) -> Self {
        let known = path.min_rtt != Nanos::MAX;
        let base = if known { micros(path.min_rtt) } else { NONE };
        let mut minutes = [NONE; BASE_HISTORY];
        minutes[0] = base;
        Delays {
            minutes,
            newest: [NONE; CURRENT_FILTER],
            count: 0,
            minute: 0,
            base,
        }
    }

    pub(super) fn take(&mut self, now: Nanos, delay: Nanos) {
        let delay = micros(delay);
        let minute = u32::try_from(now / MINUTE).unwrap_or(u32::MAX);
        if self.count == 0 {
            self.minute = minute;
        }
        if self.minute != minute {
            self.minute = minute;
            self.minutes.rotate_right(1);
            self.minutes[0] = delay;
            self.base = self.minutes.into_iter().min().unwrap_or(NONE);
        }
        self.minutes[0] = self.minutes[0].min(delay);
        self.base = self.base.min(delay);
        self.newest[self.count as usize % CURRENT_FILTER] = delay;
        self.count = self.count.wrapping_add(1).max(1);
    }

    /// The least delay of the last minutes, ns.
    pub(super) fn base(&self) -> Option<Nanos> {
        (self.base != NONE).then(|| Nanos::from(self.base) * 1000)
    }

    /// How much the newest delays exceed it, ns.
    pub(super) fn queueing(&self) -> Nanos {
        let current = self.newest.into_iter().min().unwrap_or(NONE);
        if current == NONE {
            return 0;
        }
        Nanos::from(current.saturating_sub(self.base)) * 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MILLISECOND;

    fn queueing(delays: &Delays) -> Nanos {
        delays.queueing() / MILLISECOND
    }

    #[test]
    fn the_least_of_four_above_the_least_of_all() {
        let mut delays = Delays::new(&Path::new(1000));
        assert_eq!((delays.base(), delays.queueing()), (None, 0));
        for (delay, expected) in [
            (50, 0),
            (90, 0),
            (80, 0),
            (70, 0),
            (80, 20),
            (90, 20),
            (95, 20),
            (95, 30),
        ] {
            delays.take(0, delay * MILLISECOND);
            assert_eq!(queueing(&delays), expected, "{delay}");
        }
    }

    /// RFC 6817 §3.4.2: a minimum is forgotten after ten minutes.
    #[test]
    fn the_base_delay_ages() {
        let mut delays = Delays::new(&Path::new(1000));
        delays.take(0, 50 * MILLISECOND);
        for minute in 1..=9 {
            delays.take(minute * MINUTE, 80 * MILLISECOND);
            assert_eq!(delays.base(), Some(50 * MILLISECOND), "{minute}");
        }
        delays.take(10 * MINUTE, 80 * MILLISECOND);
        assert_eq!(delays.base(), Some(80 * MILLISECOND));
    }
}
