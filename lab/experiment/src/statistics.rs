//! What some numbers amount to.

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
    /// How many.
    #[serde(skip)]
    pub count: usize,
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
        let count = sorted.len();
        Some(Spread {
            median,
            min,
            max,
            count,
        })
    }
}

/// How many numbers become one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Statistic {
    /// The `n`th root of the product: of ratios.
    GeometricMean,
    /// The sum divided by the count.
    Mean,
    /// The middle one.
    Median,
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// What this many percent do not exceed, by the nearest rank.
    Percentile(f64),
}

impl Statistic {
    /// In words, with one in the place of many.
    pub fn name(self) -> String {
        match self {
            Statistic::GeometricMean => "geometric mean".to_owned(),
            Statistic::Mean => "mean".to_owned(),
            Statistic::Median => "median".to_owned(),
            Statistic::Max => "most".to_owned(),
            Statistic::Min => "least".to_owned(),
            Statistic::Percentile(percent) => format!("p{percent}"),
        }
    }

    /// `None` of none.
    pub fn of(self, numbers: &[f64]) -> Option<f64> {
        let count = numbers.len() as f64;
        let spread = Spread::of(numbers.iter().copied())?;
        Some(match self {
            Statistic::GeometricMean => {
                let logs: f64 = numbers.iter().map(|x| x.ln()).sum();
                (logs / count).exp()
            }
            Statistic::Mean => numbers.iter().sum::<f64>() / count,
            Statistic::Median => spread.median,
            Statistic::Max => spread.max,
            Statistic::Min => spread.min,
            Statistic::Percentile(percent) => {
                let mut sorted = numbers.to_vec();
                sorted.sort_by(f64::total_cmp);
                let rank = (percent * 1000.0).round() as usize * sorted.len();
                let rank = rank.div_ceil(100_000);
                sorted[rank.clamp(1, sorted.len()) - 1]
            }
        })
    }
}

/// Jain's index of fairness: 1 when all are alike, 1/n when one has everything. `None` of none, or
/// when all are zero.
pub fn jain(numbers: &[f64]) -> Option<f64> {
    let sum: f64 = numbers.iter().sum();
    let squares: f64 = numbers.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (numbers.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_extremes() {
        let of = |numbers: &[f64]| Spread::of(numbers.iter().copied());
        assert_eq!(of(&[]), None);
        let odd = of(&[3.0, 1.0, 2.0]).expect("some");
        assert_eq!(
            (odd.median, odd.min, odd.max, odd.count),
            (2.0, 1.0, 3.0, 3)
        );
        assert_eq!(of(&[4.0, 1.0, 2.0, 3.0]).map(|s| s.median), Some(2.5));
    }

    #[test]
    fn statistics_by_hand() {
        let numbers = [8.0, 1.0, 4.0, 2.0];
        for (statistic, value) in [
            (Statistic::GeometricMean, 2.828_427_124_746_19),
            (Statistic::Mean, 3.75),
            (Statistic::Median, 3.0),
            (Statistic::Max, 8.0),
            (Statistic::Min, 1.0),
            (Statistic::Percentile(50.0), 2.0),
            (Statistic::Percentile(75.0), 4.0),
            (Statistic::Percentile(99.9), 8.0),
            (Statistic::Percentile(0.0), 1.0),
        ] {
            let got = statistic.of(&numbers).expect("some");
            assert!((got - value).abs() < 1e-9, "{statistic:?}: {got}");
        }
        assert_eq!(Statistic::Mean.of(&[]), None);
    }

    /// 99.9 / 100 × 1000 is a little more than 999 in binary fractions.
    #[test]
    fn ranks_are_exact() {
        let numbers: Vec<f64> = (1..=1000).map(f64::from).collect();
        for (percent, value) in [(99.9, 999.0), (99.0, 990.0), (5.0, 50.0), (0.1, 1.0)] {
            assert_eq!(Statistic::Percentile(percent).of(&numbers), Some(value));
        }
    }

    #[test]
    fn jains_index_by_hand() {
        assert_eq!(jain(&[5.0, 5.0]), Some(1.0));
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        // (1 + 3)² ÷ (2 · 10)
        assert_eq!(jain(&[1.0, 3.0]), Some(0.8));
        assert_eq!(jain(&[]), None);
        assert_eq!(jain(&[0.0]), None);
    }
}
