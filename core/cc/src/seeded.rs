//! The only source of randomness: SplitMix64 (Steele, Lea, Flood 2014) from the flow's seed.

use serde::{Deserialize, Serialize};

/// A small generator whose whole state is one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seeded(u64);

impl Seeded {
    /// From this seed.
    pub fn new(seed: u64) -> Self {
        Seeded(seed)
    }

    /// The next number, uniform in all of 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `0..bound` (bias below 2^-32 for the small bounds used here).
    pub fn below(&mut self, bound: u32) -> u64 {
        ((self.draw() >> 32) * u64::from(bound)) >> 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_first_values_for_seed_1234567() {
        // The reference sequence that Vigna's splitmix64.c gives for this seed.
        let mut random = Seeded::new(1_234_567);
        assert_eq!(random.draw(), 6_457_827_717_110_365_317);
        assert_eq!(random.draw(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn every_value_below_the_bound_turns_up() {
        let mut random = Seeded::new(7);
        let mut seen = [0u32; 7];
        for _ in 0..700 {
            seen[random.below(7) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| (60..150).contains(&n)), "{seen:?}");
    }
}
