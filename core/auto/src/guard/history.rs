//! What happened, hour by hour: for people who want to see it afterwards.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::score::Score;
use super::state::State;
use super::{LOTS, Lot, Share};
use crate::Nanos;
use crate::evidence::CLASSES;

const HOUR: Nanos = 3_600_000_000_000;
/// Steps of a histogram in a factor of two: each 2.2 % wide.
const STEPS_PER_OCTAVE: f64 = 32.0;
/// Hours that are remembered of a rule: two weeks.
pub(crate) const HISTORY_HOURS: u32 = 14 * 24;

/// Hours since 1970.
pub(crate) fn hour_of(now: Nanos) -> u32 {
    (now / HOUR) as u32
}

/// How often something took how long, in steps of 2.2 %.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Pairs", into = "Pairs")]
pub struct LogHistogram {
    steps: BTreeMap<i16, f32>,
    count: u64,
}

/// As it is written: a key of a map would be text in JSON, and does not come back from inside of an enum.
#[derive(Serialize, Deserialize)]
struct Pairs {
    steps: Vec<(i16, f32)>,
    count: u64,
}

impl From<Pairs> for LogHistogram {
    fn from(Pairs { steps, count }: Pairs) -> LogHistogram {
        LogHistogram {
            steps: steps.into_iter().collect(),
            count,
        }
    }
}

impl From<LogHistogram> for Pairs {
    fn from(LogHistogram { steps, count }: LogHistogram) -> Pairs {
        Pairs {
            steps: steps.into_iter().collect(),
            count,
        }
    }
}

impl LogHistogram {
    /// A value, in seconds, that stands for `weight` of them.
    pub fn add(&mut self, seconds: f64, weight: f64) {
        let step = libm::floor(libm::log2(seconds.max(1e-9)) * STEPS_PER_OCTAVE);
        *self.steps.entry(step as i16).or_default() += weight as f32;
        self.count += 1;
    }

    /// How many there are, whatever each stands for.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Takes in another.
    pub fn merge(&mut self, other: &LogHistogram) {
        for (step, weight) in &other.steps {
            *self.steps.entry(*step).or_default() += weight;
        }
        self.count += other.count;
    }

    /// Sum of the weights.
    pub fn weight(&self) -> f64 {
        self.steps.values().map(|weight| f64::from(*weight)).sum()
    }

    /// The value that this share, 0 to 1, is at most; `None`: there is none.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let wanted = share * self.weight();
        let mut below = 0.0;
        for (step, weight) in &self.steps {
            let weight = f64::from(*weight);
            if below + weight >= wanted && weight > 0.0 {
                let within = ((wanted - below) / weight).clamp(0.0, 1.0);
                return Some(libm::exp2((f64::from(*step) + within) / STEPS_PER_OCTAVE));
            }
            below += weight;
        }
        None
    }
}

/// An hour of a rule.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Hour {
    /// Hours since 1970.
    pub hour: u32,
    /// Flows that have begun, governed and held out, by the state that was in force at their prefix: open, doubted,
    /// withdrawn, proven.
    pub flows: [[u64; LOTS]; STATES],
    /// Transfers, governed and held out.
    pub transfers: [u64; LOTS],
    /// Their times in seconds, by size; each stands for those that might have drawn the other lot.
    pub times: [[LogHistogram; LOTS]; CLASSES],
    /// What was known of the difference at the end of the hour.
    pub score: Score,
}

/// How many states there are.
pub const STATES: usize = 4;

impl Hour {
    pub(crate) fn new(hour: u32) -> Hour {
        Hour {
            hour,
            flows: Default::default(),
            transfers: Default::default(),
            times: Default::default(),
            score: Score::default(),
        }
    }

    pub(crate) fn begin(&mut self, lot: Lot, state: State) {
        self.flows[state as usize][lot as usize] += 1;
    }

    /// A transfer of a flow that this share was held out of. Where all were, there is nothing to compare its time with.
    pub(crate) fn learn(&mut self, lot: Lot, class: usize, seconds: f64, share: Share) {
        self.transfers[lot as usize] += 1;
        if let Some(chance) = share.chance(lot) {
            self.times[class][lot as usize].add(seconds, 1.0 / chance);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_exact_to_a_step() {
        let mut times = LogHistogram::default();
        assert_eq!(times.quantile(0.5), None);
        for millisecond in 1..=1000 {
            times.add(f64::from(millisecond) / 1000.0, 2.0);
        }
        assert_eq!(times.weight(), 2000.0);
        for share in [0.05, 0.5, 0.95, 0.99] {
            let found = times.quantile(share).expect("there are values");
            assert!((found / share - 1.0).abs() < 0.03, "{share}: {found}");
        }
        let mut both = LogHistogram::default();
        both.merge(&times);
        assert_eq!(both, times);
    }

    #[test]
    fn odd_times_find_a_step() {
        let mut times = LogHistogram::default();
        for seconds in [0.0, f64::NAN, f64::INFINITY, -1.0, 1e300] {
            times.add(seconds, 1.0);
        }
        assert_eq!(times.weight(), 5.0);
    }
}
