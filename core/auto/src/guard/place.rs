//! What is known of one rule at one prefix.

use serde::{Deserialize, Serialize};

use super::score::Score;
use super::state::Level;
use super::{LOTS, Lot, Share};
use crate::Nanos;
use crate::evidence::{CLASSES, Evidence, faded_by};

/// Transfers that an assumed variance counts as.
const ASSUMED_WEIGHT: f64 = 4.0;
/// Variance of a logarithm of completion times before any is known: a factor of 1.65.
const ASSUMED_VARIANCE: f64 = 0.25;
/// Of a noise that has been heard for longer, the last so many transfers count.
const NOISE_WEIGHT_MAX: f64 = 1000.0;

/// How much transfers of one prefix, size and lot differ among themselves, as all prefixes of a rule say.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Noise {
    freedom: f64,
    squares: f64,
}

impl Noise {
    /// A transfer that was off the mean of those like it: before it was one of them, and with it.
    fn hear(&mut self, before: f64, with: f64) {
        self.freedom += 1.0;
        self.squares += before * with;
        if self.freedom > NOISE_WEIGHT_MAX {
            let factor = NOISE_WEIGHT_MAX / self.freedom;
            (self.freedom, self.squares) = (NOISE_WEIGHT_MAX, self.squares * factor);
        }
    }

    fn variance(&self) -> f64 {
        (self.squares + ASSUMED_WEIGHT * ASSUMED_VARIANCE) / (self.freedom + ASSUMED_WEIGHT)
    }
}

/// Governed transfers of a size, whose mean is worth comparing another with.
const MEAN_KNOWN: f64 = 8.0;
/// Standard deviations by which a transfer is slower than usual count, beyond the first half and up to so many; and so many of
/// them together, of transfers in a row, are no chance (CUSUM: Page 1954).
const SLACK: f64 = 0.5;
const SLOWER_MAX: f64 = 3.0;
const SUDDEN: f64 = 6.0;

/// By size and lot.
pub(crate) type Noises = [[Noise; LOTS]; CLASSES];

/// What is known at a prefix. Transfers are compared with those only that had the same chance of being held out, so that a
/// network that changes while the share does is no difference between the two.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Place {
    /// When anything was last learned, and what everything here has faded to, ns since 1970.
    pub seen: Nanos,
    /// What follows of it.
    pub level: Level,
    /// How many prefixes of the rule had been tested when this one was first: its share of the error depends on it.
    pub number: u32,
    /// Share that is held out now.
    pub share: Share,
    /// Logarithms of seconds a byte, since the share has been what it is.
    stratum: [[Evidence; LOTS]; CLASSES],
    /// What was known under other shares.
    past: Score,
    /// What the rule counts of it.
    pub counted: Score,
    /// By how much governed transfers have lately been slower than those before, standard deviations.
    slower: f64,
}

impl Place {
    pub fn new(share: Share, now: Nanos) -> Place {
        Place {
            seen: now,
            level: Level::default(),
            number: 0,
            share,
            stratum: Default::default(),
            past: Score::default(),
            counted: Score::default(),
            slower: 0.0,
        }
    }

    /// Time passes.
    pub fn fade(&mut self, now: Nanos, half_life: Nanos) {
        let factor = faded_by(now.saturating_sub(self.seen), half_life);
        self.seen = self.seen.max(now);
        self.stratum
            .iter_mut()
            .flatten()
            .for_each(|e| e.fade(factor));
        self.past.fade(factor);
        self.counted.fade(factor);
        self.level.fade(factor);
    }

    /// Flows are held out with another chance from here on.
    pub fn set_share(&mut self, share: Share, noises: &Noises) {
        if share != self.share {
            self.past = self.score(noises);
            self.stratum = Default::default();
            self.slower = 0.0;
            self.share = share;
        }
    }

    /// A transfer.
    pub fn add(&mut self, lot: Lot, class: usize, value: f64, noises: &mut Noises) {
        let evidence = &mut self.stratum[class][lot as usize];
        if lot == Lot::Governed && evidence.weight >= MEAN_KNOWN {
            let deviation = libm::sqrt(variance(evidence, &noises[class][lot as usize]));
            let slower = ((value - evidence.mean) / deviation).min(SLOWER_MAX);
            self.slower = (self.slower + slower - SLACK).max(0.0);
        }
        let (known, before) = (evidence.weight > 0.5, value - evidence.mean);
        evidence.add(value);
        if known {
            noises[class][lot as usize].hear(before, value - evidence.mean);
        }
        self.level.counts[lot as usize] += 1.0;
    }

    /// All that is known here.
    pub fn score(&self, noises: &Noises) -> Score {
        let mut score = self.past;
        for (class, noises) in self.stratum.iter().zip(noises) {
            let [governed, held_out] = class;
            if governed.weight < 0.5 || held_out.weight < 0.5 {
                continue;
            }
            let error = |lot: Lot| {
                let evidence = &class[lot as usize];
                variance(evidence, &noises[lot as usize]) / evidence.weight
            };
            let error = error(Lot::Governed) + error(Lot::HeldOut);
            score.add(Score::of(governed.mean - held_out.mean, error));
        }
        score
    }

    /// Whatever has been found out must be found out again, by a test of its own.
    pub fn forget(&mut self) {
        self.stratum = Default::default();
        (self.past, self.counted) = (Score::default(), Score::default());
        self.level.counts = Default::default();
        (self.slower, self.number) = (0.0, 0);
    }

    /// Governed transfers have become slower at once. The network may have, or the governing.
    pub fn is_suddenly_slower(&self) -> bool {
        self.slower >= SUDDEN
    }
}

/// Variance of a single logarithm: what is assumed of it, and what is known.
fn variance(evidence: &Evidence, noise: &Noise) -> f64 {
    let freedom = (evidence.weight - 1.0).max(0.0);
    let assumed = ASSUMED_WEIGHT * noise.variance();
    (evidence.squares() + assumed) / (freedom + ASSUMED_WEIGHT)
}
