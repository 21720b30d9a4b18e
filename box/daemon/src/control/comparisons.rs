//! What is asked and answered about `auto` and about trials.

use serde::{Deserialize, Serialize};
use windlass_auto::TrialReport;
use windlass_cc::Catalog;
use windlass_engine::Nanos;
use windlass_policy::{Auto, SharedTrial};

const NANOS_PER_SECOND: Nanos = 1_000_000_000;
const PERMILLE: f64 = 1000.0;

/// What `auto` believes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AutoReport {
    /// The algorithms among which it chooses.
    pub arms: Vec<String>,
    /// Share of the flows that explore.
    pub explore: f64,
    /// Prefix by prefix; first, any that nothing is known of.
    pub prefixes: Vec<AutoPrefix>,
}

/// What is believed of a prefix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AutoPrefix {
    /// The prefix; `None`: any that nothing is known of.
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
pub struct AutoArm {
    /// Its goodput beside that of all the others, less what its spread costs: 1.1 is a tenth more.
    pub worth: f64,
    /// Standard error of the logarithm of that.
    pub error: f64,
    /// Transfers that it rests on, older ones less.
    pub transfers: f64,
}

impl AutoReport {
    pub(crate) fn new(auto: &Auto, now: Nanos) -> AutoReport {
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
            arms,
        }
    }
}

/// How a trial stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialAnswer {
    /// The rule whose flows take part; `None`: all that are governed.
    pub rule: Option<String>,
    /// What is compared.
    pub arms: Vec<String>,
    /// Share of the new flows that take part.
    pub share: f64,
    /// What came of it.
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
