//! Seeded randomness.

use rand_core::{Rng as _, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A stream of random numbers that is the same on every machine for the same seed.
#[derive(Clone, Debug)]
pub struct Rng(Pcg64Mcg);

impl Rng {
    /// The stream named `stream` of `seed`: streams of one seed do not disturb each other.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mixed = seed ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
        Rng(Pcg64Mcg::seed_from_u64(mixed))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number in `0.0..1.0`.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with probability `ratio`. Draws once, whatever the ratio.
    pub fn chance(&mut self, ratio: f64) -> bool {
        self.unit() < ratio
    }

    /// A number in `low..=high`; `low` if the range is empty.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        let span = high.saturating_sub(low).saturating_add(1);
        low + ((u128::from(self.bits()) * u128::from(span)) >> 64) as u64
    }

    /// A number in `low..=high` whose logarithm is evenly spread: as many between 1 and 10 as
    /// between 10 and 100. `low` must be positive.
    pub fn log_between(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.unit())
    }
}
