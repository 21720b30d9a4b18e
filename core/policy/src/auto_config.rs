//! `[auto]`: what experience is allowed.

use windlass_auto::CLASSES;
use windlass_cc::{AlgorithmId, Nanos, SECOND, Settings};

use crate::algorithm;
use crate::error::Wrong;
use crate::priors;
use crate::read::{Section, Value};

/// Where what was learned is kept, unless the file says otherwise.
pub const DEFAULT_AUTO_FILE: &str = "/var/lib/windlass/auto.json";

/// The arms of which nothing else is said: the best where packets are lost, the usual, and the one
/// that is gentler beside others (docs/compete.md).
const DEFAULT_ARMS: [AlgorithmId; 3] = [AlgorithmId::Bbr, AlgorithmId::Cubic, AlgorithmId::Bbr3];
const EXPLORE_DEFAULT: f64 = 0.05;
const HOUR: Nanos = 3600 * SECOND;
const HALF_LIFE_DEFAULT_H: u64 = 24;
const HALF_LIFE_MAX_H: u64 = 24 * 365;
const PREFIXES_DEFAULT: usize = 16_384;
const PREFIXES_MAX: u64 = 1 << 20;
const V4_DEFAULT_BITS: u64 = 24;
const V6_DEFAULT_BITS: u64 = 48;
const TAIL_WEIGHT_DEFAULT: f64 = 0.5;
/// How much better the first arm is assumed to be than the second, and so on, where the order of the
/// list is the guess; a tenth of it where that only decides between equals.
const PRIOR_STEP: f64 = 0.05;
/// What is assumed before anything is known, by name.
const PRIORS: [(&str, Priors); 2] = [("measured", Priors::Measured), ("order", Priors::Order)];

/// What is assumed of the arms before anything is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Priors {
    /// What has been measured of them in the laboratory.
    #[default]
    Measured,
    /// The first is the best.
    Order,
}

/// The `[auto]` section.
#[derive(Clone, PartialEq, Debug)]
pub struct AutoConfig {
    /// The algorithms among which is chosen; the first is the best guess.
    pub arms: Vec<Settings>,
    /// Share of the flows that explore.
    pub explore: f64,
    /// Lengths of the prefixes that are told apart, of IPv4 and IPv6, bits.
    pub bits: [u8; 2],
    /// Evidence counts half after this time, ns.
    pub half_life: Nanos,
    /// Prefixes remembered at most.
    pub prefixes: usize,
    /// Standard deviations of the logarithm of the goodput that an even one is worth.
    pub tail_weight: f64,
    /// What is assumed before anything is known.
    pub priors: Priors,
    /// Where what was learned is kept.
    pub file: String,
}

impl Default for AutoConfig {
    fn default() -> Self {
        AutoConfig {
            arms: DEFAULT_ARMS.iter().map(|id| (*id).into()).collect(),
            explore: EXPLORE_DEFAULT,
            bits: [V4_DEFAULT_BITS as u8, V6_DEFAULT_BITS as u8],
            half_life: HALF_LIFE_DEFAULT_H * HOUR,
            prefixes: PREFIXES_DEFAULT,
            tail_weight: TAIL_WEIGHT_DEFAULT,
            priors: Priors::default(),
            file: DEFAULT_AUTO_FILE.to_owned(),
        }
    }
}

impl AutoConfig {
    /// Of each arm, by size of the transfer.
    pub(crate) fn priors(&self) -> Vec<[f64; CLASSES]> {
        let order = |at: usize| -(at as f64) * PRIOR_STEP;
        let arms = self.arms.iter().enumerate();
        let prior = arms.map(|(at, arm)| match self.priors {
            Priors::Order => [order(at); CLASSES],
            Priors::Measured => priors::of(arm.id()).map(|prior| prior + order(at) / 10.0),
        });
        prior.collect()
    }
}

/// Reads `[auto]`.
pub(crate) fn read(mut section: Section<'_>) -> Result<AutoConfig, Wrong> {
    let mut auto = AutoConfig::default();
    let example = "[\"bbr\", \"cubic\"]";
    let mut arms_at = section.span();
    if let Some(value) = section.take("arms") {
        arms_at = value.span();
        let arms = value.list(example)?;
        auto.arms = arms
            .into_iter()
            .map(algorithm::read)
            .collect::<Result<_, _>>()?;
    }
    if let Some(value) = section.take("unsafe") {
        for value in value.list("[\"scalable\"]")? {
            let settings = algorithm::read(value)?;
            auto.arms.retain(|arm| arm.id() != settings.id());
        }
    }
    if auto.arms.is_empty() || auto.arms.len() > windlass_auto::ARMS_MAX {
        let what = format!("{} algorithms to choose among", auto.arms.len());
        let help = format!("write 1 to {} that are not unsafe", windlass_auto::ARMS_MAX);
        return Err(Wrong::new(arms_at, what, help));
    }
    if let Some(value) = section.take("explore") {
        auto.explore = value.number(0.0..=1.0, "(0.05: one flow in twenty)")?;
    }
    for (at, key, most) in [(0, "prefix_v4", 32), (1, "prefix_v6", 128)] {
        if let Some(value) = section.take(key) {
            auto.bits[at] = value.integer(0..=most, "bits")? as u8;
        }
    }
    if let Some(value) = section.take("half_life_h") {
        auto.half_life = value.integer(1..=HALF_LIFE_MAX_H, "hours")? * HOUR;
    }
    if let Some(value) = section.take("prefixes") {
        auto.prefixes = value.integer(1..=PREFIXES_MAX, "prefixes")? as usize;
    }
    if let Some(value) = section.take("tail_weight") {
        auto.tail_weight = value.number(0.0..=10.0, "standard deviations")?;
    }
    if let Some(value) = section.take("priors") {
        auto.priors = value.word(&PRIORS)?;
    }
    if let Some(value) = section.take("file") {
        auto.file = absolute(&value)?;
    }
    section.finish()?;
    Ok(auto)
}

fn absolute(value: &Value<'_>) -> Result<String, Wrong> {
    let path = value.text(DEFAULT_AUTO_FILE)?;
    if !path.starts_with('/') {
        let what = format!("\"{path}\" is not an absolute path");
        let help = format!("write for example \"{DEFAULT_AUTO_FILE}\"");
        return Err(Wrong::new(value.span(), what, help));
    }
    Ok(path.to_owned())
}
