//! When slots end.

use windlass_cc::Nanos;

use crate::link_config::Slots;
use crate::rng::Rng;

/// The ends of the slots of one link. The k-th lies around k mean lengths, so that it depends on the seed and on k alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotEnds {
    seed: u64,
}

impl SlotEnds {
    pub fn new(seed: u64) -> SlotEnds {
        SlotEnds { seed }
    }

    /// The first end that is not before `at`.
    pub fn after(self, at: Nanos, slots: Slots) -> Nanos {
        let mean = ((slots.least + slots.most) / 2).max(1);
        let first = (at / mean).saturating_sub(1);
        let ends = (first..first + 4).map(|k| self.end(k, slots, mean));
        ends.into_iter().find(|end| *end >= at).unwrap_or(at)
    }

    /// Two neighbours are between the least and the longest slot apart: each is moved by half of what is between them.
    fn end(self, k: u64, slots: Slots, mean: Nanos) -> Nanos {
        let spread = slots.most.saturating_sub(slots.least) / 2;
        k * mean + Rng::new(self.seed, k.wrapping_add(1 << 32)).between(0, spread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_as_long_as_they_may_be() {
        let slots = Slots {
            least: 3_000_000,
            most: 12_000_000,
        };
        let ends = SlotEnds::new(7);
        let (mut at, mut lengths) = (0, Vec::new());
        for _ in 0..2_000 {
            let end = ends.after(at + 1, slots);
            assert_eq!(ends.after(end, slots), end);
            lengths.push(end - at);
            at = end;
        }
        let (least, most) = (lengths[1..].iter().min(), lengths[1..].iter().max());
        assert!(
            least >= Some(&3_000_000) && least < Some(&3_500_000),
            "{least:?}"
        );
        assert!(
            most <= Some(&12_000_001) && most > Some(&11_500_000),
            "{most:?}"
        );
    }

    #[test]
    fn a_slot_of_one_length_is_a_grid() {
        let slots = Slots {
            least: 10,
            most: 10,
        };
        let ends = [1, 10, 11, 95].map(|at| SlotEnds::new(1).after(at, slots));
        assert_eq!(ends, [10, 10, 20, 100]);
    }
}
