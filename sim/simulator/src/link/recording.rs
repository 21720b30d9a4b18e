//! A rate that was recorded: packets leave when they did.

use std::sync::Arc;

use windlass_cc::{MILLISECOND, Nanos};

/// What one opportunity carries: a full frame, bytes.
const OPPORTUNITY_BYTES: u64 = 1514;

/// When a link had room for another full frame, as mahimahi records it, over and over again.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Recording {
    /// In order, ms from the begin; the last is the length of the whole, and above 0.
    pub at_ms: Vec<u32>,
    /// What the one-way delay of the link is larger by from each of them on, ms; as many, or none.
    pub delay_ms: Vec<u32>,
}

impl Recording {
    fn length(&self) -> u64 {
        u64::from(self.at_ms.last().copied().unwrap_or(1)).max(1)
    }

    /// The first opportunity that is not before `at`, by its number from the first one on.
    fn first(&self, at: Nanos) -> u64 {
        let ms = at.div_ceil(MILLISECOND);
        let (round, within) = (ms / self.length(), ms % self.length());
        let index = self.at_ms.partition_point(|t| u64::from(*t) < within);
        round * self.at_ms.len() as u64 + index as u64
    }

    fn time(&self, number: u64) -> Nanos {
        let count = self.at_ms.len() as u64;
        let within = u64::from(self.at_ms[(number % count) as usize]);
        (number / count * self.length() + within) * MILLISECOND
    }

    /// What the delay is larger by, ns.
    pub(super) fn extra_delay(&self, at: Nanos) -> Nanos {
        let last = self.first(at + 1).checked_sub(1);
        let index = last.map(|number| (number % self.at_ms.len() as u64) as usize);
        let delay = index.and_then(|index| self.delay_ms.get(index));
        delay.map_or(0, |ms| Nanos::from(*ms) * MILLISECOND)
    }
}

/// What of a recording has been used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used {
    /// Where the recording began to be played, ns.
    origin: Nanos,
    /// The first opportunity of which nothing has been used, and what the one before it still carries, bytes.
    next: u64,
    left: u64,
}

impl Used {
    /// The recording is played from `skipped` on, as of now.
    pub fn start(&mut self, now: Nanos, recording: &Arc<Recording>, share: f64) {
        let skipped = (recording.length() as f64 * share) as u64 * MILLISECOND;
        self.origin = now.wrapping_sub(skipped);
    }

    /// A time of the recording.
    pub fn played(&self, at: Nanos) -> Nanos {
        at.wrapping_sub(self.origin)
    }

    /// When a packet of `bytes` has left that is the next from `from` on.
    pub fn leave(&mut self, from: Nanos, bytes: u64, recording: &Recording) -> Nanos {
        let first = recording.first(self.played(from));
        if first >= self.next {
            (self.next, self.left) = (first + 1, OPPORTUNITY_BYTES);
        }
        let mut rest = bytes;
        while rest > self.left {
            rest -= self.left;
            (self.next, self.left) = (self.next + 1, OPPORTUNITY_BYTES);
        }
        self.left -= rest;
        recording.time(self.next - 1).wrapping_add(self.origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(at: u64) -> Nanos {
        at * MILLISECOND
    }

    fn recording() -> Arc<Recording> {
        Arc::new(Recording {
            at_ms: vec![2, 2, 5, 10],
            delay_ms: vec![0, 30, 0, 7],
        })
    }

    #[test]
    fn packets_leave_at_the_opportunities() {
        let (recording, mut used) = (recording(), Used::default());
        used.start(ms(100), &recording, 0.0);
        let mut leave =
            |from: u64, bytes| used.leave(ms(100 + from), bytes, &recording) / MILLISECOND;
        assert_eq!(leave(0, 1514), 102);
        assert_eq!(leave(0, 700), 102, "the second at this time");
        assert_eq!(leave(0, 814), 102, "and its rest");
        assert_eq!(leave(1, 1514), 105);
        // What nobody used is gone; the recording begins again after 10 ms.
        assert_eq!(leave(11, 3028), 112);
        assert_eq!(leave(11, 1515), 120);
    }

    #[test]
    fn the_delay_is_that_of_the_last_opportunity() {
        let recording = recording();
        let delay = |at| recording.extra_delay(ms(at)) / MILLISECOND;
        assert_eq!([0, 2, 4, 5, 10, 11].map(delay), [0, 30, 30, 0, 7, 7]);
    }

    #[test]
    fn it_may_begin_anywhere() {
        let (recording, mut used) = (recording(), Used::default());
        used.start(ms(100), &recording, 0.5);
        assert_eq!(used.leave(ms(100), 10, &recording), ms(100));
        assert_eq!(used.leave(ms(101), 10, &recording), ms(105));
    }
}
