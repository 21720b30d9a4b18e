//! What some transfers say: a mean and a spread whose weight fades.

use serde::{Deserialize, Serialize};

use crate::{Nanos, Transfer};

/// Transfers are compared with others of their size only.
pub const CLASSES: usize = 3;
/// Their names: up to 100 kB, up to 2 MB, larger.
pub const CLASS_NAMES: [&str; CLASSES] = ["small", "medium", "large"];
const SMALL_MAX_BYTES: u64 = 100_000;
const MEDIUM_MAX_BYTES: u64 = 2_000_000;

/// The class of a transfer of so many bytes.
pub fn class_of(bytes: u64) -> usize {
    if bytes <= SMALL_MAX_BYTES {
        0
    } else if bytes <= MEDIUM_MAX_BYTES {
        1
    } else {
        2
    }
}

/// Logarithm of the goodput in bytes per second: what is compared, so that a factor counts the same
/// on slow and on fast paths.
pub(crate) fn log_goodput(transfer: &Transfer) -> f64 {
    let seconds = transfer.duration.max(1) as f64 / 1e9;
    libm::log(transfer.bytes.max(1) as f64 / seconds)
}

/// How much of evidence is left after `age`, 0 to 1.
pub(crate) fn faded_by(age: Nanos, half_life: Nanos) -> f64 {
    libm::exp2(-(age as f64) / half_life.max(1) as f64)
}

/// Weight, mean and sum of squared deviations of some numbers (Welford's recurrence).
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Evidence {
    /// How many numbers, each less the older it is.
    pub weight: f64,
    pub mean: f64,
    squares: f64,
}

impl Evidence {
    pub fn add(&mut self, value: f64) {
        self.weight += 1.0;
        let before = value - self.mean;
        self.mean += before / self.weight;
        self.squares += before * (value - self.mean);
    }

    /// The same evidence, `factor` as much of it.
    pub fn fade(&mut self, factor: f64) {
        self.weight *= factor;
        self.squares *= factor;
    }

    /// Sum of squared deviations from the mean.
    pub fn squares(&self) -> f64 {
        self.squares
    }

    /// Variance of a single number, `otherwise` counted as two more of them.
    pub fn variance(&self, otherwise: f64) -> f64 {
        (self.squares + 2.0 * otherwise) / (self.weight + 2.0)
    }

    /// All of several, as if they had been one.
    pub fn pooled<'a>(several: impl Iterator<Item = &'a Evidence>) -> Evidence {
        several.fold(Evidence::default(), |sum, one| {
            let weight = sum.weight + one.weight;
            if weight <= 0.0 {
                return sum;
            }
            let apart = one.mean - sum.mean;
            Evidence {
                weight,
                mean: sum.mean + apart * one.weight / weight,
                squares: sum.squares
                    + one.squares
                    + apart * apart * sum.weight * one.weight / weight,
            }
        })
    }

    /// Sum of squared deviations within several, each from its own mean.
    pub fn within<'a>(several: impl Iterator<Item = &'a Evidence>) -> Evidence {
        several.fold(Evidence::default(), |sum, one| Evidence {
            weight: sum.weight + one.weight,
            mean: 0.0,
            squares: sum.squares + one.squares,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pooled_evidence_is_that_of_all_numbers() {
        let numbers = [1.0, 4.0, 2.0, 8.0, 5.0];
        let of = |numbers: &[f64]| {
            let mut evidence = Evidence::default();
            numbers.iter().for_each(|n| evidence.add(*n));
            evidence
        };
        let all = of(&numbers);
        let parts = [of(&numbers[..2]), Evidence::default(), of(&numbers[2..])];
        let pooled = Evidence::pooled(parts.iter());
        assert_eq!((all.weight, all.mean), (5.0, 4.0));
        assert!((all.squares - 30.0).abs() < 1e-9);
        assert!((pooled.mean - 4.0).abs() < 1e-9 && (pooled.squares - 30.0).abs() < 1e-9);
    }

    #[test]
    fn sizes_have_classes() {
        let classes = [0, 100_000, 100_001, 2_000_000, 2_000_001, u64::MAX].map(class_of);
        assert_eq!(classes, [0, 0, 1, 1, 2, 2]);
    }
}
