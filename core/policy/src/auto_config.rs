//! `[auto]`: what experience is allowed.

use std::fmt::{self, Display, Formatter};

use windlass_auto::CLASSES;
use windlass_cc::{AlgorithmId, Catalog, Settings};

use crate::algorithm;
use crate::error::Wrong;
use crate::memory_config::MemoryConfig;
use crate::priors;
use crate::read::{Section, Value};

/// Where what was learned is kept, unless the file says otherwise.
pub const DEFAULT_AUTO_FILE: &str = "/var/lib/windlass/auto.json";

/// The arms of which nothing else is said: the best where packets are lost, the usual, and the one
/// that is gentler beside others (docs/compete.md).
const DEFAULT_ARMS: [AlgorithmId; 3] = [AlgorithmId::Bbr, AlgorithmId::Cubic, AlgorithmId::Bbr3];
/// The arm that leaves flows to their server.
const OBSERVE: &str = windlass_cc::plugin::LEFT_ALONE;
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

/// What experience chooses among.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum AutoArm {
    /// Flows are governed by it.
    Algorithm(Settings),
    /// Flows are left to their server, and only observed.
    Observe,
}

impl AutoArm {
    /// Its algorithm, if it governs.
    pub fn algorithm(&self) -> Option<Settings> {
        match self {
            AutoArm::Algorithm(settings) => Some(*settings),
            AutoArm::Observe => None,
        }
    }
}

impl Display for AutoArm {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            AutoArm::Algorithm(settings) => settings.fmt(f),
            AutoArm::Observe => f.write_str(OBSERVE),
        }
    }
}

/// The `[auto]` section.
#[derive(Clone, PartialEq, Debug)]
pub struct AutoConfig {
    /// What is chosen among, one algorithm at least; the first is the best guess.
    pub arms: Vec<AutoArm>,
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
            arms: DEFAULT_ARMS
                .iter()
                .map(|id| AutoArm::Algorithm((*id).into()))
                .collect(),
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
            Priors::Measured => measured(arm).map(|prior| prior + order(at) / 10.0),
        });
        prior.collect()
    }

    /// The first of its algorithms.
    pub(crate) fn first_algorithm(&self) -> Settings {
        let mut algorithms = self.arms.iter().filter_map(AutoArm::algorithm);
        algorithms.next().expect("one arm at least is an algorithm")
    }
}

/// A server that is left alone is taken for one with CUBIC.
fn measured(arm: &AutoArm) -> [f64; CLASSES] {
    let settings = arm.algorithm();
    priors::of(settings.map_or(AlgorithmId::Cubic, |settings| settings.id()))
}

fn arm(value: Value<'_>, catalog: &Catalog) -> Result<AutoArm, Wrong> {
    match !value.is_table() && value.text(OBSERVE).is_ok_and(|text| text == OBSERVE) {
        true => Ok(AutoArm::Observe),
        false => algorithm::read(value, catalog).map(AutoArm::Algorithm),
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
            .map(|value| arm(value, catalog))
            .collect::<Result<_, _>>()?;
    }
    if let Some(value) = section.take("unsafe") {
        for value in value.list("[\"scalable\"]")? {
            let settings = algorithm::read(value, catalog)?;
            let is_it = |arm: &AutoArm| arm.algorithm().is_some_and(|s| s.id() == settings.id());
            auto.arms.retain(|arm| !is_it(arm));
        }
    }
    let governs = auto.arms.iter().any(|arm| arm.algorithm().is_some());
    if !governs || auto.arms.len() > windlass_auto::ARMS_MAX {
        let what = match governs {
            true => format!("{} arms to choose among", auto.arms.len()),
            false => "no algorithm to choose".to_owned(),
        };
        let help = format!(
            "write 1 to {}, of which one at least is an algorithm that is not unsafe",
            windlass_auto::ARMS_MAX
        );
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
