//! `[auto]`: what experience is allowed.

use windlass_auto::CLASSES;
use windlass_cc::{AlgorithmId, Catalog, Settings};

use crate::algorithm;
use crate::error::Wrong;
use crate::memory_config::MemoryConfig;
use crate::priors;
use crate::read::Section;

/// Where what was learned is kept, unless the file says otherwise.
pub const DEFAULT_AUTO_FILE: &str = "/var/lib/windlass/auto.json";

/// The arms of which nothing else is said: the best where packets are lost, the usual, and the one
/// that is gentler beside others (docs/compete.md).
const DEFAULT_ARMS: [AlgorithmId; 3] = [AlgorithmId::Bbr, AlgorithmId::Cubic, AlgorithmId::Bbr3];
const EXPLORE_DEFAULT: f64 = 0.05;
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
    /// Standard deviations of the logarithm of the goodput that an even one is worth.
    pub tail_weight: f64,
    /// What is assumed before anything is known.
    pub priors: Priors,
    /// What is kept of it.
    pub memory: MemoryConfig,
}

impl Default for AutoConfig {
    fn default() -> Self {
        AutoConfig {
            arms: DEFAULT_ARMS.iter().map(|id| (*id).into()).collect(),
            explore: EXPLORE_DEFAULT,
            tail_weight: TAIL_WEIGHT_DEFAULT,
            priors: Priors::default(),
            memory: MemoryConfig::kept_in(DEFAULT_AUTO_FILE),
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
pub(crate) fn read(mut section: Section<'_>, catalog: &Catalog) -> Result<AutoConfig, Wrong> {
    let mut auto = AutoConfig::default();
    let example = "[\"bbr\", \"cubic\"]";
    let mut arms_at = section.span();
    if let Some(value) = section.take("arms") {
        arms_at = value.span();
        let arms = value.list(example)?;
        auto.arms = arms
            .into_iter()
            .map(|arm| algorithm::read(arm, catalog))
            .collect::<Result<_, _>>()?;
    }
    if let Some(value) = section.take("unsafe") {
        for value in value.list("[\"scalable\"]")? {
            let settings = algorithm::read(value, catalog)?;
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
    if let Some(value) = section.take("tail_weight") {
        auto.tail_weight = value.number(0.0..=10.0, "standard deviations")?;
    }
    if let Some(value) = section.take("priors") {
        auto.priors = value.word(&PRIORS)?;
    }
    auto.memory.read(&mut section)?;
    section.finish()?;
    Ok(auto)
}
