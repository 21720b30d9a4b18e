//! What people are told.

use serde::{Deserialize, Serialize};

use super::LOTS;
use super::history::{LogHistogram, STATES};
use super::place::Place;
use super::rule::Rule;
use super::score::Score;
use super::state::State;
use super::table::{Guard, Key};
use crate::Nanos;
use crate::evidence::CLASSES;

/// Prefixes of a rule that a report names.
const PLACES_SHOWN: usize = 1000;

/// What governing saves of the completion time, as a share of it; below 0: it costs.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Gain {
    /// The best guess.
    pub estimate: f64,
    /// It is at least so much, at all times, with the probability that the guard is set to; `None`: nothing is known.
    pub low: Option<f64>,
    /// And at most so much.
    pub high: Option<f64>,
}

impl Gain {
    /// What a difference of logarithms means.
    pub fn of(score: Score, error: f64) -> Gain {
        let saved = |difference: f64| 1.0 - libm::exp(difference);
        let (low, high) = score.interval(error);
        let known = |bound: f64| bound.is_finite().then(|| saved(bound));
        Gain {
            estimate: saved(score.estimate()),
            low: known(high),
            high: known(low),
        }
    }
}

/// A prefix of a rule.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlaceReport {
    /// Its name.
    pub prefix: String,
    /// What is in force there.
    pub state: State,
    /// Since when, ns since 1970; 0: from the beginning.
    pub since: Nanos,
    /// When its last transfer ended, ns since 1970.
    pub seen: Nanos,
    /// Transfers, governed and held out, older ones less.
    pub transfers: [f64; 2],
    /// What governing is worth there.
    pub gain: Gain,
}

/// A rule.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RuleReport {
    /// Its name.
    pub name: String,
    /// What it does.
    pub what: String,
    /// What is in force at prefixes that nothing is decided of.
    pub state: State,
    /// Since when, ns since 1970; 0: from the beginning.
    pub since: Nanos,
    /// Transfers, governed and held out, older ones less.
    pub transfers: [f64; 2],
    /// What governing is worth, at all prefixes together.
    pub gain: Gain,
    /// The busiest prefixes, by address.
    pub places: Vec<PlaceReport>,
    /// Prefixes that there are besides.
    pub omitted: u64,
    /// Hour by hour, oldest first.
    pub hours: Vec<HourReport>,
    /// Completion times in seconds in these hours, by size, governed and held out. Each flow stands for those that might have
    /// drawn the other lot.
    pub times: [[LogHistogram; LOTS]; CLASSES],
}

/// An hour of a rule.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct HourReport {
    /// Hours since 1970.
    pub hour: u32,
    /// Flows that have begun, governed and held out, by the state in force at their prefix, in the order of [`State`].
    pub flows: [[u64; LOTS]; STATES],
    /// Transfers, governed and held out.
    pub transfers: [u64; LOTS],
    /// What was known at the end of the hour.
    pub gain: Gain,
}

/// Everything.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct GuardReport {
    /// Probability that a rule, or any prefix of it, is ever withdrawn without reason; and that an interval misses.
    pub error: f64,
    /// Rules, in the order in which they were first seen.
    pub rules: Vec<RuleReport>,
}

impl Guard {
    /// What is known now, with the hours from `since` on, in hours since 1970. `name`: what the prefix with this first address
    /// is called.
    pub fn report(&self, since: u32, name: impl Fn(u128) -> String) -> GuardReport {
        let rules = self.rules.iter().enumerate();
        let rules = rules.map(|(number, rule)| self.report_of(number as u16, rule, since, &name));
        GuardReport {
            error: self.config.error,
            rules: rules.collect(),
        }
    }

    fn report_of(
        &self,
        number: u16,
        rule: &Rule,
        since: u32,
        name: &impl Fn(u128) -> String,
    ) -> RuleReport {
        let error = self.config.error;
        let (places, omitted) = self.places_of(number, name);
        let mut times: [[LogHistogram; LOTS]; CLASSES] = Default::default();
        let mut hours = Vec::new();
        for hour in rule.history.iter().filter(|hour| hour.hour >= since) {
            for (sum, times) in times.iter_mut().flatten().zip(hour.times.iter().flatten()) {
                sum.merge(times);
            }
            hours.push(HourReport {
                hour: hour.hour,
                flows: hour.flows,
                transfers: hour.transfers,
                gain: Gain::of(hour.score, error),
            });
        }
        RuleReport {
            name: rule.name.clone(),
            what: rule.what.clone(),
            state: rule.level.state,
            since: rule.level.since,
            transfers: rule.level.counts,
            gain: Gain::of(rule.overall, error),
            places,
            omitted,
            hours,
            times,
        }
    }

    fn places_of(&self, number: u16, name: &impl Fn(u128) -> String) -> (Vec<PlaceReport>, u64) {
        let of_rule = self.places.iter().filter(|(key, _)| key.0 == number);
        let mut busiest: Vec<_> = of_rule.collect();
        let transfers = |place: &Place| place.level.counts.iter().sum::<f64>();
        busiest.sort_by(|(_, a), (_, b)| transfers(b).total_cmp(&transfers(a)));
        let omitted = busiest.len().saturating_sub(PLACES_SHOWN);
        busiest.truncate(PLACES_SHOWN);
        busiest.sort_by_key(|(key, _)| key.1);
        let report = |(key, place): (&Key, &Place)| PlaceReport {
            prefix: name(key.1),
            state: self.state(number, key.1),
            since: match place.level.state {
                State::Open => self.rules[usize::from(number)].level.since,
                _ => place.level.since,
            },
            seen: place.seen,
            transfers: place.level.counts,
            gain: Gain::of(place.counted, self.config.error),
        };
        (busiest.into_iter().map(report).collect(), omitted as u64)
    }
}
