//! Windowed maximum or minimum in constant space (K. Nichols' three-sample estimator, as in Linux
//! `lib/win_minmax.c`).
//!
//! It keeps the best sample of the window, the best that came after that one, and the best after
//! both, so that when the best one grows too old a good successor is at hand.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Sample {
    time: u64,
    value: u64,
}

use serde::{Deserialize, Serialize};

/// The extreme of a stream of values over a sliding window. The unit of time is the caller's:
/// rounds, cycles or nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowedFilter<const MAX: bool> {
    best: [Sample; 3],
}

/// Windowed maximum.
pub type WindowedMax = WindowedFilter<true>;
/// Windowed minimum. Starts at the first value given to [`WindowedFilter::reset`].
pub type WindowedMin = WindowedFilter<false>;

impl<const MAX: bool> WindowedFilter<MAX> {
    /// The extreme of the window.
    pub fn get(&self) -> u64 {
        self.best[0].value
    }

    /// Forgets everything but `value`.
    pub fn reset(&mut self, time: u64, value: u64) {
        self.best = [Sample { time, value }; 3];
    }

    /// Takes `value` in at `time` and answers with the extreme of the last `window`. Times must
    /// not decrease.
    pub fn update(&mut self, window: u64, time: u64, value: u64) -> u64 {
        let sample = Sample { time, value };
        let age = |of: Sample| time.saturating_sub(of.time);
        if beats::<MAX>(value, self.best[0].value) || age(self.best[2]) > window {
            self.reset(time, value);
            return value;
        }
        if beats::<MAX>(value, self.best[1].value) {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if beats::<MAX>(value, self.best[2].value) {
            self.best[2] = sample;
        }
        if age(self.best[0]) > window {
            self.best = [self.best[1], self.best[2], sample];
            if age(self.best[0]) > window {
                self.best = [self.best[1], self.best[2], sample];
            }
        } else if self.best[1].time == self.best[0].time && age(self.best[0]) > window / 4 {
            // A quarter of the window without a second choice: take one from here on.
            self.best[1] = sample;
            self.best[2] = sample;
        } else if self.best[2].time == self.best[1].time && age(self.best[0]) > window / 2 {
            self.best[2] = sample;
        }
        self.get()
    }
}

fn beats<const MAX: bool>(a: u64, b: u64) -> bool {
    if MAX { a >= b } else { a <= b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_maximum_expires_after_the_window_and_a_later_one_takes_over() {
        let mut filter = WindowedMax::default();
        filter.reset(0, 100);
        assert_eq!(filter.update(10, 4, 80), 100);
        assert_eq!(filter.update(10, 7, 60), 100);
        assert_eq!(filter.update(10, 10, 50), 100, "ten old is still inside");
        assert_eq!(filter.update(10, 11, 50), 80);
        assert_eq!(filter.update(10, 15, 50), 60);
        assert_eq!(filter.update(10, 16, 90), 90);
    }

    #[test]
    fn minimum_is_the_mirror_image() {
        let mut filter = WindowedMin::default();
        filter.reset(0, 30);
        assert_eq!(filter.update(10, 5, 40), 30);
        assert_eq!(filter.update(10, 11, 50), 40);
        assert_eq!(filter.update(10, 12, 20), 20);
    }

    proptest! {
        /// Never below the newest value, never above the true maximum of what it may remember.
        #[test]
        fn lies_between_the_newest_value_and_the_true_window_maximum(
            steps in prop::collection::vec((0u64..4, 0u64..1000), 1..200)
        ) {
            let mut filter = WindowedMax::default();
            let mut seen: Vec<(u64, u64)> = Vec::new();
            let mut time = 0;
            for (gap, value) in steps {
                time += gap;
                if seen.is_empty() {
                    filter.reset(time, value);
                } else {
                    filter.update(10, time, value);
                }
                seen.push((time, value));
                let true_max = seen.iter().filter(|s| time - s.0 <= 10).map(|s| s.1).max();
                prop_assert!(filter.get() >= value);
                prop_assert!(Some(filter.get()) <= true_max);
            }
        }
    }
}
