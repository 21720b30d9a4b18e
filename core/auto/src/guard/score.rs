//! How much worse or better governed transfers are, and how sure that is at any time.

use serde::{Deserialize, Serialize};

/// Deviation of the differences among which the mixture looks, as a logarithm: a quarter. The interval is valid with any
/// value, and narrowest for differences of about this size.
const MIXTURE_DEVIATION: f64 = 0.25;

/// Governed flows seem worse by so many standard errors.
const DOUBT_BEGINS: f64 = 1.5;

/// Sums of independent estimates of one difference: each estimate divided by its variance, and one divided by its variance
/// (Fisher's score and information). The difference is that of the logarithm of the completion time, governed less held
/// out: above 0, governing harms.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Score {
    /// Sum of estimate / variance.
    pub sum: f64,
    /// Sum of 1 / variance.
    pub information: f64,
}

impl Score {
    /// An estimate with this variance.
    pub fn of(estimate: f64, variance: f64) -> Score {
        let information = 1.0 / variance.max(1e-9);
        Score {
            sum: estimate * information,
            information,
        }
    }

    /// Both.
    pub fn add(&mut self, other: Score) {
        self.sum += other.sum;
        self.information += other.information;
    }

    /// This without `other`, which is a part of it.
    pub fn subtract(&mut self, other: Score) {
        self.sum -= other.sum;
        // What rounding leaves must not pass for knowledge.
        self.information = (self.information - other.information).max(0.0);
    }

    /// `factor` as much of it.
    pub fn fade(&mut self, factor: f64) {
        self.sum *= factor;
        self.information *= factor;
    }

    /// The best guess; 0 where nothing is known.
    pub fn estimate(&self) -> f64 {
        match self.information > 0.0 {
            true => self.sum / self.information,
            false => 0.0,
        }
    }

    /// The estimate in standard errors.
    pub fn deviations(&self) -> f64 {
        match self.information > 0.0 {
            true => self.sum / libm::sqrt(self.information),
            false => 0.0,
        }
    }

    /// Governed transfers seem to be slower: reason enough to find out.
    pub(crate) fn seems_slower(&self) -> bool {
        self.deviations() > DOUBT_BEGINS
    }

    /// Within these bounds the difference is at all times at once with probability `1 - error`, however often one looks
    /// (normal mixture: Robbins 1970; Howard, Ramdas, McAuliffe and Sekhon 2021, §3).
    pub fn interval(&self, error: f64) -> (f64, f64) {
        if self.information <= 0.0 {
            return (f64::NEG_INFINITY, f64::INFINITY);
        }
        let looked_at = MIXTURE_DEVIATION * MIXTURE_DEVIATION * self.information;
        let bound = libm::log1p(looked_at) - 2.0 * libm::log(error);
        let half = libm::sqrt((1.0 + looked_at) / looked_at / self.information * bound);
        (self.estimate() - half, self.estimate() + half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_count_by_how_sure_they_are() {
        let mut score = Score::of(1.0, 0.5);
        score.add(Score::of(0.0, 0.25));
        assert_eq!(score.information, 6.0);
        assert!((score.estimate() - 1.0 / 3.0).abs() < 1e-12);
        score.subtract(Score::of(0.0, 0.25));
        assert_eq!(score, Score::of(1.0, 0.5));
        assert_eq!(Score::default().estimate(), 0.0);
    }

    #[test]
    fn intervals_narrow_with_information_and_are_wider_than_those_of_one_look() {
        let half = |information: f64| {
            let score = Score {
                sum: 0.0,
                information,
            };
            score.interval(0.05).1
        };
        assert!(half(10.0) > half(100.0) && half(100.0) > half(10_000.0));
        for information in [30.0, 1000.0, 10_000.0] {
            let errors = half(information) * information.sqrt();
            assert!((1.96..4.0).contains(&errors), "{errors} standard errors");
        }
        assert_eq!(Score::default().interval(0.05).1, f64::INFINITY);
    }
}
