//! A bandit with memory: which arm is best for a destination, learned from transfers.
//!
//! Each prefix has evidence of its own, arm by arm and size by size, which fades. What a prefix does
//! not know yet it takes from what the arms have been worth elsewhere (their advantage over the other
//! arms at the same prefix and size), and that from the prior. A small share of flows explores the
//! arms that could be the best after all, the promising and the little known rather than others. All
//! others get the best, by mean and tail: the mean logarithm of the goodput, less `tail_weight`
//! standard deviations.

use serde::{Deserialize, Serialize};

use crate::beliefs::{ArmBelief, Belief};
use crate::evidence::{CLASSES, Evidence, class_of, faded_by, log_goodput};
use crate::places::Places;
use crate::{Nanos, Transfer};

/// Most arms.
pub const ARMS_MAX: usize = 8;

/// What is believed of an arm elsewhere counts at a prefix as so many transfers of its own.
pub(crate) const ELSEWHERE_WEIGHT: f64 = 2.0;
/// The prior counts as so many transfers, wherever they go.
const PRIOR_WEIGHT: f64 = 4.0;
/// Variance of a single logarithm of goodput that is assumed before any is known: a factor of 1.5.
pub(crate) const PRIOR_VARIANCE: f64 = 0.16;
/// An arm with this many transfers at a prefix is known there: it is explored again only if it could be the best.
const KNOWN_WEIGHT: f64 = 1.0;
/// It could be, if its score and so many standard errors more are as much as the best's score.
const OPTIMISM: f64 = 2.0;
/// What is believed elsewhere, or before anything is known, may be wrong by this much at a prefix (standard deviation of the
/// logarithm: a factor of two).
const ELSEWHERE_ERROR: f64 = 0.7;
/// Arms are explored by this power of their goodput: one that is believed to be half as good as another a quarter as often.
const EXPLORE_POWER: f64 = 2.0;

/// How to choose.
#[derive(Clone, PartialEq, Debug)]
pub struct ChooserConfig {
    /// What each arm is assumed to be worth before anything is known, by size: the logarithm of its
    /// goodput beside that of the others. As many as there are arms, 1 to [`ARMS_MAX`].
    pub priors: Vec<[f64; CLASSES]>,
    /// Share of the flows that explore, 0 to 1.
    pub explore: f64,
    /// Evidence counts half after this time, ns.
    pub half_life: Nanos,
    /// Prefixes that are remembered; beyond it, one that has not been seen for long is forgotten.
    pub prefixes: usize,
    /// Standard deviations taken off the mean: how much an even goodput is worth.
    pub tail_weight: f64,
}

pub(crate) type Arms = [[Evidence; CLASSES]; ARMS_MAX];

/// What is known of a prefix.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Place {
    pub arms: Arms,
    /// Last time that anything was learned.
    pub seen: Nanos,
}

/// Learns and chooses.
#[derive(Clone, Debug)]
pub struct Chooser {
    pub(crate) config: ChooserConfig,
    /// By the first address of the prefix, as 128 bits.
    pub(crate) places: Places<u128, Place>,
    /// What arms have been worth beside the others at the same prefix.
    pub(crate) everywhere: Arms,
}

/// What is kept over a restart.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Memory {
    pub places: Vec<(u128, Nanos, Vec<[Evidence; CLASSES]>)>,
    pub everywhere: Vec<[Evidence; CLASSES]>,
}

impl Chooser {
    /// One that knows nothing.
    ///
    /// # Panics
    /// When there is no arm, or more than [`ARMS_MAX`].
    pub fn new(config: ChooserConfig) -> Chooser {
        assert!((1..=ARMS_MAX).contains(&config.priors.len()));
        Chooser {
            places: Places::new(config.prefixes),
            config,
            everywhere: Arms::default(),
        }
    }

    /// How many arms there are.
    pub fn arms(&self) -> usize {
        self.config.priors.len()
    }

    /// Prefixes that something is known of.
    pub fn prefixes(&self) -> usize {
        self.places.len()
    }

    /// The arm for a new flow to `prefix`, one of those that are `allowed` for it; `dice` is any number that nobody
    /// foresees. The second is true if the flow explores.
    ///
    /// # Panics
    /// When no arm is allowed.
    pub fn choose(
        &self,
        prefix: u128,
        dice: u64,
        allowed: impl Fn(usize) -> bool,
    ) -> (usize, bool) {
        let share = (dice >> 11) as f64 / (1u64 << 53) as f64;
        let belief = Belief::of(self, self.places.get(&prefix));
        let mut arms = belief.by_score();
        arms.retain(|arm| allowed(*arm));
        let (best, others) = arms.split_first().expect("an arm is allowed");
        if share >= self.config.explore {
            return (*best, false);
        }
        match explored(&belief.arms, *best, others, share / self.config.explore) {
            Some(arm) => (arm, true),
            None => (*best, false),
        }
    }

    /// A flow to `prefix` with this arm has made a transfer.
    pub fn learn(&mut self, prefix: u128, arm: usize, transfer: &Transfer, now: Nanos) {
        if arm >= self.arms() {
            return;
        }
        let class = class_of(transfer.bytes);
        let value = log_goodput(transfer);
        let count = self.arms();
        let arms = &mut self.place_now(prefix, now).arms;
        let others = (0..count).filter(|other| *other != arm);
        let others = Evidence::pooled(others.map(|other| &arms[other][class]));
        arms[arm][class].add(value);
        if others.weight >= 1.0 {
            self.everywhere[arm][class].add(value - others.mean);
        }
    }

    /// What the arm is worth beside the others, as far as all prefixes know.
    pub(crate) fn advantage(&self, arm: usize, class: usize) -> f64 {
        let known = self.everywhere[arm][class];
        let prior = self.config.priors[arm][class];
        (known.weight * known.mean + PRIOR_WEIGHT * prior) / (known.weight + PRIOR_WEIGHT)
    }

    /// What is known of the prefix now; it is kept from now on if it was not.
    fn place_now(&mut self, prefix: u128, now: Nanos) -> &mut Place {
        if self.places.get(&prefix).is_none() {
            let place = Place {
                arms: Arms::default(),
                seen: now,
            };
            self.places.insert(prefix, place, |place| place.seen);
        }
        let place = self.places.get_mut(&prefix).expect("it is kept");
        let factor = faded_by(now.saturating_sub(place.seen), self.config.half_life);
        place.seen = place.seen.max(now);
        for evidence in place.arms.iter_mut().flatten() {
            evidence.fade(factor);
        }
        place
    }

    /// Takes over what `old` has learned, whose arm `n` is this one's `map[n]`.
    pub fn inherit(&mut self, old: &Chooser, map: &[Option<usize>], now: Nanos) {
        self.remember(&old.memory(now), map, now);
    }

    /// What is to be kept over a restart; `now` is the time of it.
    pub(crate) fn memory(&self, now: Nanos) -> Memory {
        let arms = self.arms();
        let kept = |(prefix, place): (&u128, &Place)| {
            let age = now.saturating_sub(place.seen);
            (*prefix, age, place.arms[..arms].to_vec())
        };
        Memory {
            places: self.places.iter().map(kept).collect(),
            everywhere: self.everywhere[..arms].to_vec(),
        }
    }

    /// Takes over what was kept by one whose arm `n` is this one's `map[n]`.
    pub(crate) fn remember(&mut self, memory: &Memory, map: &[Option<usize>], now: Nanos) {
        let moved = |from: &[[Evidence; CLASSES]]| {
            let mut arms = Arms::default();
            for (evidence, to) in from.iter().zip(map) {
                if let Some(to) = to.filter(|to| *to < ARMS_MAX) {
                    arms[to] = *evidence;
                }
            }
            arms
        };
        self.everywhere = moved(&memory.everywhere);
        for (prefix, age, arms) in &memory.places {
            let seen = now.saturating_sub(*age);
            *self.place_now(*prefix, seen) = Place {
                arms: moved(arms),
                seen,
            };
        }
    }
}

/// The arm for a flow that explores, `chance` from 0 to 1; `None` if none of the `others` could be as good as the best.
fn explored(arms: &[ArmBelief], best: usize, others: &[usize], chance: f64) -> Option<usize> {
    let could_be_best = |a: &ArmBelief| {
        let from_elsewhere = ELSEWHERE_WEIGHT / (a.transfers + ELSEWHERE_WEIGHT);
        let error = libm::hypot(a.error, from_elsewhere * ELSEWHERE_ERROR);
        a.transfers < KNOWN_WEIGHT || a.score + OPTIMISM * error >= arms[best].score
    };
    let odds = |arm: usize| {
        let beside = arms[arm].score - arms[best].score;
        libm::exp(EXPLORE_POWER * beside) / (1.0 + arms[arm].transfers)
    };
    let mut others = others.to_vec();
    others.retain(|arm| could_be_best(&arms[*arm]));
    // The same chance means the same arm, whatever their scores.
    others.sort_unstable();
    let others: Vec<(usize, f64)> = others.into_iter().map(|arm| (arm, odds(arm))).collect();
    let mut left = chance * others.iter().map(|(_, odds)| odds).sum::<f64>();
    let drawn = others.iter().find(|(_, odds)| {
        left -= odds;
        left < 0.0
    });
    // Rounding may leave a rest.
    drawn.or(others.last()).map(|(arm, _)| *arm)
}
