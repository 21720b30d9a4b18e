//! A trial: new flows get one of several arms by lot, and what came of them is compared.

use serde::{Deserialize, Serialize};

use crate::evidence::{CLASSES, Evidence, class_of, log_goodput};
use crate::{CLASS_NAMES, Transfer};

/// Transfers kept of an arm and a size, for the percentiles; beyond it each further one takes the
/// place of one by lot, so that those kept are a fair sample.
const KEPT_MAX: usize = 10_000;
/// Below so many transfers of each arm nothing is said.
const LEAST_TRANSFERS: u64 = 30;
/// Standard errors to either side: 95 %.
const NORMAL_95: f64 = 1.96;
/// A difference of less than this is none worth speaking of.
const NEGLIGIBLE: f64 = 0.02;
const QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];

/// A trial that runs.
#[derive(Clone, Debug)]
pub struct Trial {
    share: f64,
    arms: Vec<ArmRecord>,
}

#[derive(Clone, Debug, Default)]
struct ArmRecord {
    flows: u64,
    classes: [ClassRecord; CLASSES],
}

#[derive(Clone, Debug, Default)]
struct ClassRecord {
    count: u64,
    /// Of the logarithms of the goodputs.
    evidence: Evidence,
    /// Completion times, ns.
    kept: Vec<u64>,
}

/// A completion time that a share of transfers do not exceed, with the bounds within which it lies
/// with 95 % confidence (by rank, whatever the distribution); seconds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Quantile {
    /// Which share.
    pub q: f64,
    /// The time.
    pub s: f64,
    /// Lower bound.
    pub low_s: f64,
    /// Upper bound.
    pub high_s: f64,
}

/// What came of an arm, for one class of sizes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ArmReport {
    /// Number of the arm.
    pub arm: usize,
    /// The class: `small`, `medium`, `large`.
    pub sizes: String,
    /// Transfers.
    pub transfers: u64,
    /// Median and tail.
    pub quantiles: Vec<Quantile>,
}

/// How two arms compare over all sizes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Finding {
    /// Too few transfers; so many more of the arm that has least.
    NotEnough {
        /// How many more.
        missing: u64,
    },
    /// The first arm takes `ratio` of the time of the second, with 95 % confidence between the two.
    Ratio {
        /// Geometric mean of the completion times, divided.
        ratio: f64,
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
    },
}

impl Finding {
    /// In words, of arms with these names.
    pub fn words(&self, first: &str, second: &str) -> String {
        let percent = |x: f64| format!("{:.1} %", (x - 1.0).abs() * 100.0);
        match self {
            Finding::NotEnough { missing } => {
                format!(
                    "{first} and {second}: not enough data yet, {missing} transfers more at least"
                )
            }
            Finding::Ratio { ratio, low, high } => {
                let bounds = format!("(ratio {ratio:.3}, 95 %: {low:.3} to {high:.3})");
                if *high < 1.0 {
                    format!(
                        "{first} is faster than {second} by {} {bounds}",
                        percent(*ratio)
                    )
                } else if *low > 1.0 {
                    format!(
                        "{first} is slower than {second} by {} {bounds}",
                        percent(*ratio)
                    )
                } else if high / low - 1.0 < 2.0 * NEGLIGIBLE {
                    format!("{first} and {second} are as fast as each other {bounds}")
                } else {
                    format!("{first} and {second}: no difference can be told yet {bounds}")
                }
            }
        }
    }
}

/// What came of a trial so far.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TrialReport {
    /// Flows of each arm.
    pub flows: Vec<u64>,
    /// By arm and class, where there is any transfer.
    pub arms: Vec<ArmReport>,
    /// Every arm against the first: number of the arm and what was found.
    pub findings: Vec<(usize, Finding)>,
}

impl Trial {
    /// A trial of so many arms with this share of the flows, 0 to 1.
    pub fn new(arms: usize, share: f64) -> Trial {
        Trial {
            share,
            arms: vec![ArmRecord::default(); arms],
        }
    }

    /// The arm of a new flow; `None`: it takes no part. `dice` is any number that nobody foresees.
    pub fn draw(&self, dice: u64) -> Option<usize> {
        let lot = (dice >> 11) as f64 / (1u64 << 53) as f64;
        // The arm comes from other bits than the lot.
        let arm = (dice & 0x7ff) as usize * self.arms.len() / 0x800;
        (lot < self.share && !self.arms.is_empty()).then_some(arm)
    }

    /// A flow that takes part has begun.
    pub fn begin(&mut self, arm: usize) {
        if let Some(record) = self.arms.get_mut(arm) {
            record.flows += 1;
        }
    }

    /// A flow of this arm has made a transfer. `dice` decides which are kept.
    pub fn learn(&mut self, arm: usize, transfer: &Transfer, dice: u64) {
        let Some(record) = self.arms.get_mut(arm) else {
            return;
        };
        let class = &mut record.classes[class_of(transfer.bytes)];
        class.count += 1;
        class.evidence.add(log_goodput(transfer));
        if class.kept.len() < KEPT_MAX {
            class.kept.push(transfer.duration);
        } else if let Some(place) = class.kept.get_mut((dice % class.count) as usize) {
            *place = transfer.duration;
        }
    }

    /// What came of it so far.
    pub fn report(&self) -> TrialReport {
        let mut arms = Vec::new();
        for (arm, record) in self.arms.iter().enumerate() {
            for (sizes, class) in CLASS_NAMES.iter().zip(&record.classes) {
                if class.count > 0 {
                    arms.push(ArmReport {
                        arm,
                        sizes: (*sizes).to_owned(),
                        transfers: class.count,
                        quantiles: quantiles(&class.kept),
                    });
                }
            }
        }
        let others = 1..self.arms.len();
        TrialReport {
            flows: self.arms.iter().map(|a| a.flows).collect(),
            arms,
            findings: others.map(|arm| (arm, self.compare(arm, 0))).collect(),
        }
    }

    /// The ratio of times is that of goodputs within each class of sizes; classes count by how sure
    /// they are.
    fn compare(&self, first: usize, second: usize) -> Finding {
        let (mut sum, mut certainty) = (0.0, 0.0);
        let count = |arm: usize| -> u64 { self.arms[arm].classes.iter().map(|c| c.count).sum() };
        let least = count(first).min(count(second));
        if least < LEAST_TRANSFERS {
            let missing = LEAST_TRANSFERS - least;
            return Finding::NotEnough { missing };
        }
        for class in 0..CLASSES {
            let [a, b] = [first, second].map(|arm| self.arms[arm].classes[class].evidence);
            if a.weight < 2.0 || b.weight < 2.0 {
                continue;
            }
            let variance = |e: Evidence| e.variance(Evidence::within([a, b].iter()).variance(0.0));
            let error = variance(a) / a.weight + variance(b) / b.weight;
            let weight = 1.0 / error.max(1e-12);
            // Less goodput is more time.
            sum += weight * (b.mean - a.mean);
            certainty += weight;
        }
        if certainty == 0.0 {
            return Finding::NotEnough { missing: 1 };
        }
        let (mean, error) = (sum / certainty, libm::sqrt(1.0 / certainty));
        Finding::Ratio {
            ratio: libm::exp(mean),
            low: libm::exp(mean - NORMAL_95 * error),
            high: libm::exp(mean + NORMAL_95 * error),
        }
    }
}

fn quantiles(durations: &[u64]) -> Vec<Quantile> {
    let mut sorted = durations.to_vec();
    sorted.sort_unstable();
    let count = sorted.len() as f64;
    let at = |rank: f64| {
        let rank = libm::ceil(rank).clamp(1.0, count) as usize;
        sorted[rank - 1] as f64 / 1e9
    };
    let of = |q: &f64| {
        let spread = NORMAL_95 * libm::sqrt(count * q * (1.0 - q));
        Quantile {
            q: *q,
            s: at(count * q),
            low_s: at(count * q - spread),
            high_s: at(count * q + spread + 1.0),
        }
    };
    QUANTILES.iter().map(of).collect()
}
