//! When a box does not run.

use windlass_cc::Nanos;

use crate::rng::Rng;

/// The stream of the seed.
const STREAM: u64 = 0x57a1;

/// What stalls are like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StallConfig {
    /// From the begin of one to that of the next, in the mean; it varies by half, ns.
    pub every: Nanos,
    /// The shortest, ns.
    pub least: Nanos,
    /// The longest, ns; less than half of `every`.
    pub most: Nanos,
}

/// The stalls of a run, one after the other, decided by the seed.
#[derive(Clone, Debug)]
pub struct Stalls {
    config: StallConfig,
    rng: Rng,
    begin: Nanos,
    end: Nanos,
}

impl Stalls {
    /// Those of a run that begins at `start`.
    pub fn new(config: StallConfig, seed: u64, start: Nanos) -> Self {
        let mut stalls = Stalls {
            config,
            rng: Rng::new(seed, STREAM),
            begin: start,
            end: start,
        };
        stalls.advance();
        stalls
    }

    /// When the one under way, or the next, begins and ends.
    pub fn current(&self) -> (Nanos, Nanos) {
        (self.begin, self.end)
    }

    /// Goes on to the next.
    pub fn advance(&mut self) {
        let StallConfig { every, least, most } = self.config;
        self.begin += self.rng.between(every / 2, every + every / 2);
        self.end = self.begin + self.rng.between(least, most);
    }

    /// The end of the stall in which `now` is. `now` must not go back.
    pub fn end_of(&mut self, now: Nanos) -> Option<Nanos> {
        while self.end <= now {
            self.advance();
        }
        (self.begin <= now).then_some(self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_are_as_long_and_as_frequent_as_they_may_be() {
        let config = StallConfig {
            every: 100,
            least: 10,
            most: 40,
        };
        let mut stalls = Stalls::new(config, 3, 1_000);
        let (mut before, mut lengths) = (1_000, 0);
        for _ in 0..1_000 {
            let (begin, end) = stalls.current();
            assert!((10..=140).contains(&(begin - before)), "{begin} {before}");
            assert!((10..=40).contains(&(end - begin)));
            assert_eq!(stalls.end_of(begin - 1), None);
            assert_eq!(stalls.end_of(begin), Some(end));
            assert_eq!(stalls.end_of(end - 1), Some(end));
            lengths += end - begin;
            stalls.advance();
            before = end;
        }
        assert!((24_000..26_000).contains(&lengths), "{lengths}");
        let mean = (before - 1_000) / 1_000;
        assert!((90..=110).contains(&mean), "{mean}");
    }
}
