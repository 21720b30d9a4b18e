//! All rules and prefixes: who is held out, and what follows from what becomes of them.

use super::history::{HISTORY_HOURS, hour_of};
use super::place::Place;
use super::rule::Rule;
use super::score::Score;
use super::state::State;
use super::{Drawn, GuardConfig, Lot, Share};
use crate::evidence::class_of;
use crate::places::Places;
use crate::{Nanos, Transfer};

/// Rules that are remembered at most; of more than these, the last ones are not guarded.
pub const RULES_MAX: usize = 256;
/// A rule has its first held-out transfers when there are so many.
const FIRST_TRANSFERS: f64 = 20.0;
/// A prefix with so many governed transfers, and fewer than [`HELD_OUT_WANTED`] that were held out, is thinly tested.
const GOVERNED_SEEN: f64 = 20.0;
const HELD_OUT_WANTED: f64 = 3.0;
/// Share that is held out where it is.
const THIN_SHARE: f64 = 0.1;
/// Share that is held out at a prefix whose governed flows seem to be slower.
const DOUBTED_SHARE: f64 = 0.5;
/// Hours of history that are remembered of all rules together.
const HOURS_MAX: usize = 16 * HISTORY_HOURS as usize;

/// A rule's number, and the first address of a prefix.
pub(super) type Key = (u16, u128);

/// Holds flows out, compares, and says where to withdraw. Its clock counts from 1970.
#[derive(Clone, Debug)]
pub struct Guard {
    pub(super) config: GuardConfig,
    pub(super) rules: Vec<Rule>,
    pub(super) places: Places<Key, Place>,
    /// The hour at which histories were last shortened.
    shortened_at: u32,
}

impl Guard {
    /// One that knows nothing.
    pub fn new(config: GuardConfig) -> Guard {
        Guard {
            rules: Vec::new(),
            places: Places::new(config.prefixes),
            shortened_at: 0,
            config,
        }
    }

    /// The number of the rule that is called so and does this, from now on. `None`: there is no room, and none of the others
    /// has been idle for as long as histories last.
    pub fn rule(&mut self, name: &str, what: &str, now: Nanos) -> Option<u16> {
        let known = |rule: &Rule| rule.name == name && rule.what == what;
        if let Some(at) = self.rules.iter().position(known) {
            return Some(at as u16);
        }
        let rule = Rule::new(name.to_owned(), what.to_owned(), now);
        if self.rules.len() < RULES_MAX {
            self.rules.push(rule);
            return Some(self.rules.len() as u16 - 1);
        }
        let forgotten = |rule: &Rule| hour_of(now) > hour_of(rule.seen) + HISTORY_HOURS;
        let at = self.rules.iter().position(forgotten)?;
        self.rules[at] = rule;
        for (key, place) in self.places.iter_mut() {
            if usize::from(key.0) == at {
                *place = Place::new(Share::of(self.config.share), now);
            }
        }
        Some(at as u16)
    }

    /// What a new flow draws; `dice` is the flow's own number, which nobody foresees and which stays: a flow that is held
    /// out with a small share is held out with any larger one.
    pub fn draw(&self, rule: u16, prefix: u128, dice: u64) -> Option<Drawn> {
        let share = self.share(rule, prefix)?;
        Some(share.draw(rule, dice))
    }

    /// What it draws when nothing can be looked up.
    pub fn draw_blindly(config: &GuardConfig, rule: u16, dice: u64) -> Drawn {
        Share::of(config.share).draw(rule, dice)
    }

    /// A flow begins that has drawn this.
    pub fn begin(&mut self, drawn: Drawn, prefix: u128, now: Nanos) {
        let state = self.state(drawn.rule, prefix);
        let Some(rule) = self.rules.get_mut(usize::from(drawn.rule)) else {
            return;
        };
        rule.hour(now).begin(Lot::of(&drawn), state);
        self.shorten_history(now);
    }

    /// A flow that has drawn this has made a transfer. Only the first that is larger than its class before counts: a flow is
    /// drawn once, so what it does again is no more evidence.
    pub fn learn(&mut self, drawn: Drawn, prefix: u128, transfer: &Transfer, now: Nanos) {
        let class = class_of(transfer.bytes);
        if transfer.largest_before > 0 && class <= class_of(transfer.largest_before) {
            return;
        }
        let half_life = self.config.half_life;
        let Some(share) = self.share(drawn.rule, prefix) else {
            return;
        };
        let key = (drawn.rule, prefix);
        if self.places.get(&key).is_none() {
            self.insert(key, Place::new(share, now));
        }
        let (Some(place), Some(rule)) = (
            self.places.get_mut(&key),
            self.rules.get_mut(usize::from(drawn.rule)),
        ) else {
            return;
        };
        rule.fade(now, half_life);
        place.fade(now, half_life);
        let was_decided = place.level.state.is_decided();
        let before = place.counted;
        place.set_share(share, &rule.noises);
        rule.note_transfer(place, drawn, transfer, now);
        if place.is_suddenly_slower() && place.level.state != State::Withdrawn {
            // What the rule counts of it stays: it was so then.
            if was_decided {
                rule.undecided.add(before);
            }
            place.forget();
            place.level.doubt(now);
            return self.judge_rule(drawn.rule, now);
        }
        if place.number == 0 && place.level.is_testable() {
            rule.tested += 1;
            place.number = rule.tested;
        }
        let score = place.score(&rule.noises);
        place.counted = score;
        let error = error_of_prefix(self.config.error, place.number);
        let withdrawn = place.level.state == State::Withdrawn;
        let state = place.level.judge(score, error, now, half_life);
        if withdrawn && state != State::Withdrawn {
            place.forget();
        }
        let was = (before, was_decided);
        rule.recount(was, (place.counted, state.is_decided()), now);
        self.judge_rule(drawn.rule, now);
    }

    fn judge_rule(&mut self, number: u16, now: Nanos) {
        let half_life = self.config.half_life;
        let error = self.config.error / 2.0;
        let score = self.score_of_rule(number, error);
        let rule = &mut self.rules[usize::from(number)];
        let withdrawn = rule.level.state == State::Withdrawn;
        let state = rule.level.judge(score, error, now, half_life);
        if withdrawn && state != State::Withdrawn {
            self.forget(number);
        }
    }

    /// What prefixes of which nothing is decided say together. One of them withdraws itself, not the rule: its receivers may
    /// make their transfers slow on purpose. So where they say that governing harms, the loudest counts as much as all
    /// others together at most.
    fn score_of_rule(&self, number: u16, error: f64) -> Score {
        let all = self.rules[usize::from(number)].undecided;
        if all.interval(error).0 <= 0.0 {
            return all;
        }
        let of_rule = self.places.iter().filter(|(key, _)| key.0 == number);
        let undecided = of_rule.filter(|(_, place)| !place.level.state.is_decided());
        let scores = undecided.map(|(_, place)| place.counted);
        let loudest = scores.max_by(|a, b| a.sum.total_cmp(&b.sum));
        let mut loudest = loudest.unwrap_or_default();
        let mut others = all;
        others.subtract(loudest);
        if others.sum < loudest.sum {
            loudest.fade(others.sum.max(0.0) / loudest.sum);
        }
        others.add(loudest);
        others
    }

    /// The rule is tried again, wherever nothing else has been decided.
    fn forget(&mut self, number: u16) {
        let rule = &mut self.rules[usize::from(number)];
        rule.undecided = Default::default();
        rule.level.counts = Default::default();
        for (key, place) in self.places.iter_mut() {
            if key.0 == number && !place.level.state.is_decided() {
                rule.overall.subtract(place.counted);
                place.forget();
            }
        }
    }

    /// Where there is no room, the place that is forgotten is one that nothing is decided of, and then the oldest. What it
    /// knew remains known of its rule.
    pub(super) fn insert(&mut self, key: Key, place: Place) {
        let worth = |place: &Place| (place.level.state.is_decided(), place.seen);
        self.places.insert(key, place, worth);
    }

    /// What is in force at a prefix: its own state if that is decided, else the rule's.
    pub fn state(&self, rule: u16, prefix: u128) -> State {
        let own = self.places.get(&(rule, prefix)).map(|place| place.level);
        let own = own.unwrap_or_default().state;
        let of_rule = |rule: &Rule| rule.level.state;
        let rule = self.rules.get(usize::from(rule)).map_or(own, of_rule);
        match (own, rule) {
            (own, _) if own.is_decided() => own,
            (_, State::Withdrawn) => State::Withdrawn,
            (State::Doubted, _) => own,
            (_, rule) => rule,
        }
    }

    /// Share of the new flows that is held out; `None`: there is no such rule.
    fn share(&self, rule: u16, prefix: u128) -> Option<Share> {
        let level = self.rules.get(usize::from(rule))?.level;
        let place = self.places.get(&(rule, prefix)).map(|place| place.level);
        let own = place.unwrap_or_default();
        let busy = own.count(Lot::Governed) >= GOVERNED_SEEN;
        let thin = busy && own.count(Lot::HeldOut) < HELD_OUT_WANTED;
        let new = level.count(Lot::HeldOut) < FIRST_TRANSFERS;
        let config = &self.config;
        let share = match (self.state(rule, prefix), own.state) {
            (State::Withdrawn, _) => 1.0,
            (_, State::Proven) => config.proven_share,
            (_, State::Doubted) => DOUBTED_SHARE,
            (State::Doubted, _) => config.first_share,
            _ if new => config.first_share,
            _ if thin => THIN_SHARE.max(config.share),
            (State::Proven, _) => config.proven_share,
            _ => config.share,
        };
        Some(Share::of(share))
    }

    /// Hours that are too old go, and the oldest where they are too many.
    fn shorten_history(&mut self, now: Nanos) {
        if hour_of(now) == self.shortened_at {
            return;
        }
        self.shortened_at = hour_of(now);
        let mut oldest = self.shortened_at.saturating_sub(HISTORY_HOURS);
        loop {
            let mut hours = 0;
            for rule in &mut self.rules {
                while rule.history.front().is_some_and(|h| h.hour < oldest) {
                    rule.history.pop_front();
                }
                hours += rule.history.len();
            }
            if hours <= HOURS_MAX {
                return;
            }
            oldest += 1;
        }
    }
}

/// Of the error that all prefixes of a rule have together, half of it all, that of the `number`th that is tested.
fn error_of_prefix(error: f64, number: u32) -> f64 {
    let number = f64::from(number.max(1));
    let all = core::f64::consts::PI * core::f64::consts::PI / 6.0;
    error / 2.0 / (all * number * number)
}
