//! `algorithm = "auto"` and `[auto]`: what flows get that policy leaves to experience.

use std::sync::{Arc, Mutex, PoisonError};

use foldhash::quality::FixedState;
use std::hash::BuildHasher;
use windlass_auto::{Belief, CLASSES, Chooser, ChooserConfig};
use windlass_cc::{AlgorithmId, Nanos, SECOND, Settings};
use windlass_engine::{Arm, Comparison, Transfer, Verdict};
use windlass_wire::{Addr, FlowKey};

use crate::algorithm;
use crate::error::Wrong;
use crate::prefix::Prefix;
use crate::priors;
use crate::read::{Section, Value};

/// The word that stands in the place of an algorithm.
pub(crate) const AUTO: &str = "auto";
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
/// Length of the IPv4-mapped prefix (RFC 4291 §2.5.5.2), bits.
const MAPPED_BITS: u64 = 96;
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
    fn priors(&self) -> Vec<[f64; CLASSES]> {
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

/// What is learned, shared by all workers: they ask when a connection begins and tell when a transfer
/// ends, and never wait for each other. Who finds it in use takes the arm that is best by the priors,
/// or leaves the transfer out.
#[derive(Clone, Debug)]
pub struct Auto {
    config: AutoConfig,
    first: usize,
    chooser: Arc<Mutex<Chooser>>,
}

/// What is believed of one prefix.
#[derive(Clone, PartialEq, Debug)]
pub struct PrefixBelief {
    /// The prefix; `None`: any that nothing is known of.
    pub prefix: Option<Prefix>,
    /// By the order of the arms.
    pub belief: Belief,
}

impl Auto {
    /// One that knows nothing.
    pub(crate) fn new(config: AutoConfig) -> Auto {
        let chooser = Chooser::new(ChooserConfig {
            priors: config.priors(),
            explore: config.explore,
            half_life: config.half_life,
            prefixes: config.prefixes,
            tail_weight: config.tail_weight,
        });
        Auto {
            config,
            first: chooser.beliefs(0)[0].best().0,
            chooser: Arc::new(Mutex::new(chooser)),
        }
    }

    /// How it chooses.
    pub fn config(&self) -> &AutoConfig {
        &self.config
    }

    /// The arms, by the names under which they are kept.
    pub fn arm_names(&self) -> Vec<String> {
        self.config.arms.iter().map(Settings::to_string).collect()
    }

    /// What is believed, of every prefix; and first, of those that nothing is known of.
    pub fn beliefs(&self, now: Nanos) -> Vec<PrefixBelief> {
        let chooser = self.chooser.lock().unwrap_or_else(PoisonError::into_inner);
        let beliefs = chooser.beliefs(now);
        let named = beliefs.into_iter().map(|belief| PrefixBelief {
            prefix: belief.prefix.map(|base| self.prefix_of(base)),
            belief,
        });
        named.collect()
    }

    /// Does something with the chooser.
    pub fn with_chooser<T>(&self, then: impl FnOnce(&mut Chooser) -> T) -> T {
        let mut chooser = self.chooser.lock().unwrap_or_else(PoisonError::into_inner);
        then(&mut chooser)
    }

    /// Goes on with what another has learned, where both choose among the same arms; else with what
    /// there is about those that remain.
    pub(crate) fn inherit(&mut self, old: &Auto, now: Nanos) {
        if old.config == self.config {
            self.chooser = Arc::clone(&old.chooser);
            return;
        }
        if old.config.bits == self.config.bits {
            let map: Vec<Option<usize>> = old
                .config
                .arms
                .iter()
                .map(|arm| self.config.arms.iter().position(|new| new == arm))
                .collect();
            old.with_chooser(|old| self.with_chooser(|new| new.inherit(old, &map, now)));
        }
    }

    /// The verdict of a flow to `dst`.
    pub(crate) fn choose(&self, dst: Addr, dice: u64, verdict: Verdict) -> Verdict {
        let arm = match self.chooser.try_lock() {
            Ok(chooser) => chooser.choose(self.key(dst), dice).0,
            Err(_) => self.first,
        };
        Verdict {
            algorithm: self.config.arms[arm],
            arm: Some(Arm {
                by: Comparison::Auto,
                number: arm as u8,
            }),
            ..verdict
        }
    }

    pub(crate) fn learn(&self, dst: Addr, arm: u8, transfer: &Transfer, now: Nanos) {
        if let Ok(mut chooser) = self.chooser.try_lock() {
            chooser.learn(self.key(dst), usize::from(arm), transfer, now);
        }
    }

    fn mask(&self, addr: u128) -> u128 {
        let v4 = Addr(addr).ip().is_ipv4();
        let bits = match v4 {
            true => MAPPED_BITS + u64::from(self.config.bits[0]),
            false => u64::from(self.config.bits[1]),
        };
        u128::MAX.checked_shl(128 - bits as u32).unwrap_or(0)
    }

    fn key(&self, addr: Addr) -> u128 {
        addr.0 & self.mask(addr.0)
    }

    fn prefix_of(&self, base: u128) -> Prefix {
        Prefix::of(base, self.mask(base))
    }
}

/// Dice for a flow: nobody foresees them who does not know the seed, and the same flow at the same
/// time gets the same.
pub(crate) fn dice(seed: u64, salt: u64, flow: &FlowKey, now: Nanos) -> u64 {
    FixedState::with_seed(seed).hash_one((salt, flow, now))
}
