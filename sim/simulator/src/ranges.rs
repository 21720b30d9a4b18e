//! A set of offsets as disjoint ranges.

use std::collections::BTreeMap;

/// Disjoint, non-adjacent ranges `[start, end)`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges(BTreeMap<i64, i64>);

impl Ranges {
    /// Adds `[start, end)`.
    pub fn insert(&mut self, start: i64, end: i64) {
        if start >= end {
            return;
        }
        let (mut start, mut end) = (start, end);
        if let Some((&s, &e)) = self.0.range(..=start).next_back()
            && e >= start
        {
            start = s;
            end = end.max(e);
        }
        while let Some((&s, &e)) = self.0.range(start..=end).next() {
            end = end.max(e);
            self.0.remove(&s);
        }
        self.0.insert(start, end);
    }

    /// All of `[start, end)` is in the set.
    pub fn covers(&self, start: i64, end: i64) -> bool {
        let below = self.0.range(..=start).next_back();
        start >= end || below.is_some_and(|(_, &e)| e >= end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_and_overlaps_become_one() {
        let mut set = Ranges::default();
        set.insert(10, 20);
        set.insert(30, 40);
        assert!(!set.covers(15, 35));
        set.insert(20, 30);
        assert!(set.covers(10, 40));
        assert!(!set.covers(9, 10) && !set.covers(39, 41));
        assert!(set.covers(50, 50));
    }
}
