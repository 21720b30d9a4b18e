//! Disjoint ranges of stream offsets, sorted: what the receiver has told us it holds.

use serde::{Deserialize, Serialize};

/// A bounded, sorted set of half-open ranges.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ranges {
    ranges: Vec<(u64, u64)>,
}

impl Ranges {
    /// Adds `[start, end)`, calling `fresh` with each part that was not there. The range that it has
    /// become a part of, or `None` if the set is full and nothing was added.
    pub(crate) fn add(
        &mut self,
        start: u64,
        end: u64,
        limit: usize,
        mut fresh: impl FnMut(u64, u64),
    ) -> Option<(u64, u64)> {
        let first = self.ranges.partition_point(|r| r.1 < start);
        let last = self.ranges.partition_point(|r| r.0 <= end);
        if first == last {
            if self.ranges.len() >= limit {
                return None;
            }
            self.ranges.insert(first, (start, end));
            fresh(start, end);
            return Some((start, end));
        }
        let mut at = start;
        for &(s, e) in &self.ranges[first..last] {
            if at < s {
                fresh(at, s.min(end));
            }
            at = at.max(e);
        }
        if at < end {
            fresh(at, end);
        }
        self.ranges[first] = (
            self.ranges[first].0.min(start),
            self.ranges[last - 1].1.max(end),
        );
        self.ranges.drain(first + 1..last);
        Some(self.ranges[first])
    }

    /// True if all of `[start, end)` is there.
    #[cfg(test)]
    pub(crate) fn covers(&self, start: u64, end: u64) -> bool {
        let i = self.ranges.partition_point(|r| r.1 <= start);
        self.ranges
            .get(i)
            .is_some_and(|r| r.0 <= start && end <= r.1)
    }

    /// Forgets everything below `una`.
    pub(crate) fn forget_below(&mut self, una: u64) {
        let gone = self.ranges.partition_point(|r| r.1 <= una);
        if gone > 0 {
            self.ranges.drain(..gone);
        }
        if let Some(first) = self.ranges.first_mut() {
            first.0 = first.0.max(una);
        }
    }

    /// The highest range, and the lowest of the others: `most` in all. By the highest a sender finds its losses (RFC 8985
    /// §6.2), the lowest is what it would send again first.
    pub(crate) fn telling(&self, most: usize) -> impl Iterator<Item = (u64, u64)> + '_ {
        let others = self
            .ranges
            .len()
            .saturating_sub(1)
            .min(most.saturating_sub(1));
        let highest = self.ranges.last().filter(|_| most > 0);
        highest.into_iter().chain(&self.ranges[..others]).copied()
    }

    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a set of single offsets.
        #[test]
        fn behaves_like_a_set(blocks in proptest::collection::vec((0u64..200, 1u64..40), 1..40)) {
            let mut ranges = Ranges::default();
            let mut model = std::collections::BTreeSet::new();
            for (start, len) in blocks {
                let mut fresh = Vec::new();
                let merged = ranges.add(start, start + len, 1000, |a, b| fresh.extend(a..b));
                prop_assert!(merged.is_some_and(|(a, b)| a <= start && start + len <= b && ranges.covers(a, b)));
                let expected: Vec<u64> = (start..start + len).filter(|x| model.insert(*x)).collect();
                prop_assert_eq!(fresh, expected);
                for window in ranges.ranges.windows(2) {
                    prop_assert!(window[0].1 < window[1].0);
                }
                for x in 0..240u64 {
                    prop_assert_eq!(ranges.covers(x, x + 1), model.contains(&x));
                }
            }
        }
    }

    #[test]
    fn the_highest_comes_first_and_then_the_lowest() {
        let mut ranges = Ranges::default();
        for start in [10, 20, 30, 40, 50] {
            ranges.add(start, start + 5, 9, |_, _| ());
        }
        let told: Vec<_> = ranges.telling(3).collect();
        assert_eq!(told, [(50, 55), (10, 15), (20, 25)]);
        assert_eq!(Ranges::default().telling(3).count(), 0);
    }

    #[test]
    fn a_full_set_takes_no_new_range_but_grows_old_ones() {
        let mut ranges = Ranges::default();
        assert_eq!(ranges.add(10, 20, 1, |_, _| ()), Some((10, 20)));
        let full = ranges.add(30, 40, 1, |_, _| panic!("nothing is fresh"));
        assert_eq!(full, None);
        let mut fresh = None;
        let grown = ranges.add(20, 25, 1, |a, b| fresh = Some((a, b)));
        assert_eq!(grown, Some((10, 25)));
        assert_eq!(fresh, Some((20, 25)));
        ranges.forget_below(22);
        assert!(ranges.covers(22, 25) && !ranges.covers(21, 25));
    }
}
