//! What a handful of repetitions amounts to.

use serde::Serialize;

/// Middle and extremes of some numbers.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Spread {
    /// Half of the numbers are below it; of an even count, the mean of the two in the middle.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// `None` of none.
    pub fn of(numbers: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let mut sorted: Vec<f64> = numbers.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let half = sorted.len() / 2;
        let median = match sorted.len() % 2 {
            1 => sorted[half],
            _ => (sorted[half - 1] + sorted[half]) / 2.0,
        };
        Some(Spread { median, min, max })
    }
}

/// The value that `share` (0 to 1) of the sorted numbers do not exceed (nearest rank); `None` of
/// none.
pub fn percentile(sorted: &[u32], share: f64) -> Option<u32> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        let of = |numbers: &[f64]| Spread::of(numbers.iter().copied());
        assert_eq!(of(&[]), None);
        let odd = of(&[3.0, 1.0, 2.0]).expect("some");
        assert_eq!((odd.median, odd.min, odd.max), (2.0, 1.0, 3.0));
        assert_eq!(of(&[4.0, 1.0, 2.0, 3.0]).map(|s| s.median), Some(2.5));
        assert_eq!(of(&[7.0]).map(|s| s.median), Some(7.0));
    }

    #[test]
    fn percentiles() {
        let numbers: Vec<u32> = (1..=100).collect();
        assert_eq!(percentile(&numbers, 0.5), Some(50));
        assert_eq!(percentile(&numbers, 0.99), Some(99));
        assert_eq!(percentile(&numbers, 1.0), Some(100));
        assert_eq!(percentile(&numbers, 0.0), Some(1));
        assert_eq!(percentile(&[], 0.5), None);
    }
}
