//! What is asked and answered about `auto` and about trials.

use serde::{Deserialize, Serialize};
use windlass_auto::TrialReport;
use windlass_cc::Catalog;
use windlass_engine::Nanos;
use windlass_policy::{Policy, RuleTried, SharedTrial, Tried};

const NANOS_PER_SECOND: Nanos = 1_000_000_000;
const PERMILLE: f64 = 1000.0;

/// What `auto` believes, and what it has tried.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AutoReport {
    /// The algorithms among which it chooses.
    pub arms: Vec<String>,
    /// Share of the flows that explore.
    pub explore: f64,
    /// Prefix by prefix; first, any that nothing is known of.
    pub prefixes: Vec<AutoPrefix>,
    /// The rules with `algorithm = "auto"`, in order.
    #[serde(default)]
    pub rules: Vec<AutoRule>,
}

/// What a rule has tried since windlass was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AutoRule {
    /// Its name.
    pub rule: String,
    /// By the order of the arms.
    pub arms: Vec<AutoTried>,
}

/// How often flows of a rule got an algorithm, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AutoTried {
    /// Flows that got it, each direction of a connection by itself.
    pub flows: u64,
    /// Of these, those that explored: another algorithm was believed to be best.
    pub explored: u64,
    /// Transfers that have ended.
    pub transfers: u64,
    /// What a transfer has moved in its time, over all of them, bit/s; `null`: none has ended.
    pub goodput_bps: Option<u64>,
}

impl From<&RuleTried> for AutoRule {
    fn from(tried: &RuleTried) -> AutoRule {
        let arm = |arm: &Tried| AutoTried {
            flows: arm.flows,
            explored: arm.explored,
            transfers: arm.transfers,
            goodput_bps: arm.goodput_bps(),
        };
        AutoRule {
            rule: tried.rule.clone(),
            arms: tried.arms.iter().map(arm).collect(),
        }
    }
}

/// What is believed of a prefix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AutoPrefix {
    /// The prefix; `null`: any that nothing is known of.
    pub prefix: Option<String>,
    /// The algorithm that flows get unless they explore.
    pub best: String,
    /// Probability that it is better than the next.
    pub sure: f64,
    /// Since something was learned, s.
    pub age_s: u64,
    /// By the order of the arms.
    pub arms: Vec<AutoArm>,
}

/// What is believed of an algorithm at a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AutoArm {
    /// Its goodput beside that of all the others, less what its spread costs: 1.1 is a tenth more.
    pub worth: f64,
    /// Standard error of the logarithm of that.
    pub error: f64,
    /// Transfers that it rests on, older ones less.
    pub transfers: f64,
}

impl AutoReport {
    pub(crate) fn new(policy: &Policy, now: Nanos) -> AutoReport {
        let auto = policy.auto();
        let arms = auto.arm_names();
        let prefixes = auto.beliefs(now).into_iter().map(|known| {
            let (best, sure) = known.belief.best();
            let arm = known.belief.arms.iter().map(|arm| AutoArm {
                worth: arm.score.exp(),
                error: arm.error,
                transfers: arm.transfers,
            });
            AutoPrefix {
                prefix: known.prefix.map(|p| p.to_string()),
                best: arms[best].clone(),
                sure,
                age_s: known.belief.age / NANOS_PER_SECOND,
                arms: arm.collect(),
            }
        });
        AutoReport {
            explore: auto.config().explore,
            prefixes: prefixes.collect(),
            rules: policy.tried().iter().map(AutoRule::from).collect(),
            arms,
        }
    }

    /// Leaves out prefixes beyond so many, those with the fewest transfers. The first stays, which is any that nothing is
    /// known of. Returns how many were left out.
    pub(crate) fn shorten(&mut self, most: usize) -> u64 {
        let transfers = |p: &AutoPrefix| -> f64 { p.arms.iter().map(|arm| arm.transfers).sum() };
        if let Some((_, known)) = self.prefixes.split_first_mut() {
            known.sort_by(|a, b| transfers(b).total_cmp(&transfers(a)));
        }
        let omitted = self.prefixes.len().saturating_sub(most + 1);
        self.prefixes.truncate(most + 1);
        omitted as u64
    }
}

/// What is tried at this moment, and what has come of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TrialsReport {
    /// The trial that runs; `null`: none does.
    pub trial: Option<TrialAnswer>,
    /// What `auto` has tried and believes, of the prefixes with the most transfers.
    pub auto: AutoReport,
    /// Prefixes that are known besides.
    pub prefixes_omitted: u64,
}

/// How a trial stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TrialAnswer {
    /// The rule whose flows take part; `null`: all that are governed.
    pub rule: Option<String>,
    /// What is compared.
    pub arms: Vec<String>,
    /// Share of the new flows that take part.
    pub share: f64,
    /// What came of it.
    #[cfg_attr(feature = "schema", schema(value_type = super::trial_schema::TrialReport))]
    pub report: TrialReport,
    /// The same in words, a line for each arm beside the first.
    pub verdict: Vec<String>,
}

impl TrialAnswer {
    pub(crate) fn new(trial: &SharedTrial) -> TrialAnswer {
        let arms: Vec<String> = trial.arms.iter().map(ToString::to_string).collect();
        let report = trial.report();
        let words = report.findings.iter();
        let words = words.map(|(arm, finding)| finding.words(&arms[*arm], &arms[0]));
        TrialAnswer {
            rule: trial.rule.clone(),
            share: trial.share,
            verdict: words.collect(),
            report,
            arms,
        }
    }
}

/// The trial that a request asks for.
pub(crate) fn trial(
    rule: Option<String>,
    arms: &[String],
    share_permille: u32,
    catalog: &Catalog,
) -> Result<SharedTrial, String> {
    let settings = arms
        .iter()
        .map(|arm| catalog.settings(arm).map_err(|e| format!("{e}")));
    let settings: Vec<_> = settings.collect::<Result<_, String>>()?;
    if !(2..=windlass_auto::ARMS_MAX).contains(&settings.len()) {
        let most = windlass_auto::ARMS_MAX;
        return Err(format!(
            "a trial compares 2 to {most} algorithms, not {}",
            arms.len()
        ));
    }
    let share = f64::from(share_permille) / PERMILLE;
    if !(0.001..=1.0).contains(&share) {
        return Err("the share of a trial is 0.1 % to 100 %".to_owned());
    }
    Ok(SharedTrial::new(rule, settings, share))
}
