//! Conditions on the live path: what they ask about is measured here, policy says what it asks for,
//! and a change of algorithm that it brings stays for a while.

use serde::{Deserialize, Serialize};
use windlass_cc::{MILLISECOND, Nanos, Path, RateSample};

use super::Flow;
use crate::context::Context;
use crate::decide::{LivePath, Switching};
use crate::{Happened, Pool};

/// Policy is asked once a round trip, but not more often than this, ns.
const INTERVAL_MIN: Nanos = 10 * MILLISECOND;

/// Bytes of a flow so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Counts {
    delivered: u64,
    lost: u64,
    marked: u64,
}

impl Counts {
    /// Lost of sent, and marked of delivered, since `before`; `None` if there was nothing.
    fn ratios_since(&self, before: &Counts) -> Option<(f64, f64)> {
        let delivered = (self.delivered - before.delivered) as f64;
        let lost = (self.lost - before.lost) as f64;
        let marked = (self.marked - before.marked) as f64;
        let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        (delivered + lost > 0.0).then(|| (ratio(lost, delivered + lost), ratio(marked, delivered)))
    }
}

/// What is remembered between two questions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Review {
    started: Nanos,
    in_force: Option<u8>,
    /// Since when a condition's algorithm has been in charge; `None`: it may be replaced at once.
    since: Option<Nanos>,
    /// Policy is not asked before.
    next: Nanos,
    counts: Counts,
    /// At the beginning of the last half dwell and of this one.
    halves: [Counts; 2],
    half_until: Nanos,
    /// Of loss and of marks.
    ratios: (f64, f64),
    app_limited: bool,
    switches: u32,
}

impl Review {
    pub(crate) fn new(now: Nanos) -> Review {
        Review {
            started: now,
            in_force: None,
            since: None,
            next: 0,
            counts: Counts::default(),
            halves: [Counts::default(); 2],
            half_until: 0,
            ratios: (0.0, 0.0),
            app_limited: false,
            switches: 0,
        }
    }

    pub(crate) fn in_force(&self) -> Option<u8> {
        self.in_force
    }

    pub(crate) fn switches(&self) -> u32 {
        self.switches
    }

    /// Reads a word of each of its cache lines.
    pub(super) fn touch(&self) -> u64 {
        self.started ^ self.halves[0].lost ^ self.half_until ^ u64::from(self.switches)
    }

    /// Another list is asked from now on, and at once.
    pub(crate) fn forget_list(&mut self) {
        self.in_force = None;
        self.since = None;
        self.next = 0;
    }

    /// Brings the ratios up to date.
    fn measure(&mut self, now: Nanos, dwell: Nanos) {
        if let Some(ratios) = self.counts.ratios_since(&self.halves[0]) {
            self.ratios = ratios;
        }
        if now >= self.half_until {
            self.halves = match dwell {
                0 => [self.counts; 2],
                _ => [self.halves[1], self.counts],
            };
            self.half_until = now + dwell / 2;
        }
    }

    fn age(&self, now: Nanos) -> Nanos {
        now - self.started.min(now)
    }

    fn live_path(&self, now: Nanos, path: &Path) -> LivePath {
        let (loss_ratio, ce_ratio) = self.ratios;
        LivePath {
            rtt: path.srtt,
            min_rtt: path.min_rtt,
            rtt_var: path.rttvar,
            loss_ratio,
            ce_ratio,
            delivery_rate: path.max_bw,
            bytes_acked: path.delivered,
            age: self.age(now),
            app_limited: self.app_limited,
        }
    }

    fn held(&self, now: Nanos, dwell: Nanos) -> bool {
        self.since.is_some_and(|since| now < since + dwell)
    }
}

impl Flow {
    /// After an ACK: policy is asked whether the path, as it is now, wants another algorithm.
    pub(super) fn review<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        switching: Switching,
        marked: u64,
        rate: Option<RateSample>,
    ) {
        let (now, dwell) = (ctx.now, switching.dwell);
        let began = self.cold.began;
        let path = self.host.path();
        let history = self.cold.history.edit();
        let review = history
            .review
            .get_or_insert_with(|| Box::new(Review::new(began)));
        review.counts.marked += marked;
        if let Some(rate) = rate {
            review.app_limited = rate.app_limited;
        }
        if (dwell > 0 && now < review.next) || path.srtt == 0 {
            return;
        }
        review.counts.delivered = path.delivered;
        review.counts.lost = path.lost;
        review.measure(now, dwell);
        review.next = now + path.srtt.max(INTERVAL_MIN);
        if review.held(now, dwell) {
            return;
        }
        let live = review.live_path(now, path);
        let choice = ctx.policy.choose(switching.list, review.in_force, &live);
        let Some(choice) = choice else {
            return;
        };
        review.in_force = choice.condition;
        let from = self.host.controller().id();
        if !self.switch(choice.algorithm, ctx.verdicts) {
            return;
        }
        ctx.counters.flows_switched += 1;
        let happened = Happened::Switched {
            from,
            to: self.host.controller().id(),
            list: switching.list,
            condition: choice.condition,
        };
        ctx.notices.add(self.setup.sender, happened);
        if let Some(review) = self.cold.review_mut() {
            // What less than half a dwell has shown is no ground to stay on.
            review.since = (review.age(now) >= dwell / 2).then_some(now);
            review.switches += 1;
        }
    }

    /// Another list of conditions is asked from now on, and at once.
    pub(super) fn forget_list(&mut self) {
        if let Some(review) = self.cold.review_mut() {
            review.forget_list();
        }
    }
}
