//! What a chooser believes, and how sure it is; and how that survives a restart.

use serde::{Deserialize, Serialize};

use crate::Nanos;
use crate::chooser::{Arms, Chooser, ELSEWHERE_WEIGHT, Memory, PRIOR_VARIANCE, Place};
use crate::evidence::{CLASSES, Evidence};

/// Version of what is kept.
const VERSION: u32 = 1;

/// What is believed of an arm at a prefix.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ArmBelief {
    /// Mean logarithm of its goodput, less what its spread costs; of all sizes that the prefix gets,
    /// each beside the mean of all arms. What is compared.
    pub score: f64,
    /// Standard error of the score.
    pub error: f64,
    /// Transfers that it rests on, older ones less.
    pub transfers: f64,
}

/// What is believed of a prefix.
#[derive(Clone, PartialEq, Debug)]
pub struct Belief {
    /// The prefix; `None`: any that nothing is known of.
    pub prefix: Option<u128>,
    /// Arm by arm.
    pub arms: Vec<ArmBelief>,
    /// How long nothing has been learned, ns.
    pub age: Nanos,
}

impl Belief {
    pub(crate) fn of(chooser: &Chooser, place: Option<&Place>) -> Belief {
        let nothing = Arms::default();
        let arms = place.map_or(&nothing, |place| &place.arms);
        let count = chooser.arms();
        let class_weight =
            |class: usize| -> f64 { arms[..count].iter().map(|a| a[class].weight).sum() };
        let weights: Vec<f64> = (0..CLASSES).map(class_weight).collect();
        let total: f64 = weights.iter().sum();
        let share = |class: usize| match total > 0.0 {
            true => weights[class] / total,
            false => 1.0 / CLASSES as f64,
        };
        let believed = |arm: usize| {
            let mut belief = ArmBelief {
                score: 0.0,
                error: 0.0,
                transfers: arms[arm].iter().map(|e| e.weight).sum(),
            };
            for class in 0..CLASSES {
                let (mean, variance, weight) = in_class(chooser, &arms[..count], arm, class);
                let spread = chooser.config.tail_weight * libm::sqrt(variance);
                belief.score += share(class) * (mean - spread);
                belief.error += share(class) * share(class) * variance / weight;
            }
            belief.error = libm::sqrt(belief.error);
            belief
        };
        Belief {
            prefix: None,
            arms: (0..count).map(believed).collect(),
            age: 0,
        }
    }

    /// The arms, the best first.
    pub(crate) fn by_score(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.arms.len()).collect();
        order.sort_by(|a, b| self.arms[*b].score.total_cmp(&self.arms[*a].score));
        order
    }

    /// The best arm, and the probability that it is better than the next (from their errors, taken as
    /// normal).
    pub fn best(&self) -> (usize, f64) {
        let [first, second, ..] = self.by_score()[..] else {
            return (0, 1.0);
        };
        let (best, next) = (self.arms[first], self.arms[second]);
        let error = libm::hypot(best.error, next.error).max(1e-9);
        (first, normal((best.score - next.score) / error))
    }
}

/// Mean beside all arms of the class, variance of a single transfer, and weight of an arm.
fn in_class(
    chooser: &Chooser,
    arms: &[[Evidence; CLASSES]],
    arm: usize,
    class: usize,
) -> (f64, f64, f64) {
    let all = || arms.iter().map(|a| &a[class]);
    // What the path gives to an arm that is worth no more than the others: as each that has been used
    // says, which counts the same however often that was, else the mean would be the best's.
    let levels = all().enumerate().filter(|(_, e)| e.weight > 0.0);
    let levels = levels.map(|(used, e)| e.mean - chooser.advantage(used, class));
    let (sum, count) = levels.fold((0.0, 0.0), |(sum, n), level| (sum + level, n + 1.0));
    let middle = if count > 0.0 { sum / count } else { 0.0 };
    let own = arms[arm][class];
    let weight = own.weight + ELSEWHERE_WEIGHT;
    let advantage = chooser.advantage(arm, class);
    let mean = (own.weight * (own.mean - middle) + ELSEWHERE_WEIGHT * advantage) / weight;
    let within = Evidence::within(all()).variance(PRIOR_VARIANCE);
    (mean, own.variance(within), weight)
}

/// Distribution function of the standard normal distribution.
fn normal(x: f64) -> f64 {
    0.5 * libm::erfc(-x / core::f64::consts::SQRT_2)
}

/// All of a chooser, with names for the arms.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Kept {
    version: u32,
    arms: Vec<String>,
    memory: Memory,
}

impl Chooser {
    /// What is believed of every prefix, and of those that nothing is known of.
    pub fn beliefs(&self, now: Nanos) -> Vec<Belief> {
        let known = self.places.iter().map(|(prefix, place)| Belief {
            prefix: Some(*prefix),
            age: now.saturating_sub(place.seen),
            ..Belief::of(self, Some(place))
        });
        core::iter::once(Belief::of(self, None))
            .chain(known)
            .collect()
    }

    /// Everything learned, for a file; `names` are those of the arms.
    pub fn keep(&self, names: &[String], now: Nanos) -> impl Serialize + use<> {
        Kept {
            version: VERSION,
            arms: names.to_vec(),
            memory: self.memory(now),
        }
    }

    /// Takes over what was kept. Arms that there are no more are forgotten.
    ///
    /// # Errors
    /// It is none, or of another version.
    pub fn recall<'de, D: serde::Deserializer<'de>>(
        &mut self,
        kept: D,
        names: &[String],
        now: Nanos,
    ) -> Result<(), D::Error> {
        let kept = Kept::deserialize(kept)?;
        if kept.version != VERSION {
            let what = format!("version {} is not known, only {VERSION}", kept.version);
            return Err(serde::de::Error::custom(what));
        }
        let of = |name: &String| names.iter().position(|n| n == name);
        let map: Vec<Option<usize>> = kept.arms.iter().map(of).collect();
        self.remember(&kept.memory, &map, now);
        Ok(())
    }
}
