//! Sets of bytes of a stream.

use std::collections::BTreeMap;

/// A part of a stream: from its first byte to behind its last.
pub(super) type Range = (i64, i64);

/// Ranges that neither touch nor overlap, by their beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ranges(BTreeMap<i64, i64>);

impl Ranges {
    pub(super) fn add(&mut self, (mut from, mut to): Range) {
        if from >= to {
            return;
        }
        while let Some((&begin, &end)) = self.0.range(..=to).next_back() {
            if end < from {
                break;
            }
            self.0.remove(&begin);
            (from, to) = (from.min(begin), to.max(end));
        }
        self.0.insert(from, to);
    }

    /// The first byte of all.
    pub(super) fn first(&self) -> Option<i64> {
        self.0.first_key_value().map(|(from, _)| *from)
    }

    /// What of `range` is in none.
    pub(super) fn missing(&self, (from, to): Range) -> Vec<Range> {
        let mut missing = Vec::new();
        let mut at = from;
        let before = self.0.range(..from).next_back();
        for (&begin, &end) in before.into_iter().chain(self.0.range(from..to.max(from))) {
            if begin > at {
                missing.push((at, begin));
            }
            at = at.max(end);
        }
        if at < to {
            missing.push((at, to));
        }
        missing
    }

    /// All of it is in one.
    pub(super) fn has(&self, range: Range) -> bool {
        range.0 >= range.1 || {
            let before = self.0.range(..=range.0).next_back();
            before.is_some_and(|(_, end)| *end >= range.1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_what_was_added() {
        let mut state = 1u64;
        let mut random = |below: i64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as i64 % below
        };
        for _ in 0..200 {
            let (mut ranges, mut plain) = (Ranges::default(), [false; 60]);
            for _ in 0..8 {
                let from = random(50);
                let to = from + random(10);
                ranges.add((from, to));
                plain[from as usize..to as usize].fill(true);
            }
            for from in 0..60i64 {
                for to in from..60 {
                    let part = &plain[from as usize..to as usize];
                    assert_eq!(ranges.has((from, to)), part.iter().all(|b| *b));
                    let missing = ranges.missing((from, to));
                    let lacks = |at: i64| missing.iter().any(|(a, b)| (*a..*b).contains(&at));
                    assert!((from..to).all(|at| lacks(at) != plain[at as usize]));
                }
            }
        }
    }
}
