//! Bandwidth, aggregation and the full pipe (§"Updating Network Path Model Parameters").

use super::{Bbr3, UNIT};
use crate::scale::{bytes_over, mul_div};
use crate::{AckEvent, Path, RateSample};

/// Growth that counts as growth, thousandths.
const FULL_BW_GROWTH: u64 = 1250;
const FULL_BW_ROUNDS: u32 = 3;
/// Rounds over which aggregation is the maximum; one before the pipe is full.
const EXTRA_ACKED_ROUNDS: u64 = 10;

impl Bbr3 {
    pub(super) fn update_latest_signals(&mut self, sample: Option<&RateSample>, path: &Path) {
        self.latest.round_start = false;
        let Some(sample) = sample else { return };
        self.latest.bw = self.latest.bw.max(sample.rate);
        self.latest.inflight = self.latest.inflight.max(sample.delivered);
        if sample.prior_delivered >= self.latest.round_delivered {
            self.latest.round_delivered = path.delivered;
            self.latest.round_start = true;
        }
    }

    pub(super) fn advance_latest_signals(&mut self, sample: Option<&RateSample>) {
        if let Some(sample) = sample
            && self.latest.round_start
        {
            self.latest.bw = sample.rate;
            self.latest.inflight = sample.delivered;
        }
    }

    pub(super) fn update_congestion_signals(&mut self, sample: Option<&RateSample>, path: &Path) {
        self.update_max_bw(sample, path);
        if self.latest.round_start {
            self.adapt_lower_bounds();
            self.latest.loss_in_round = false;
        }
    }

    fn update_max_bw(&mut self, sample: Option<&RateSample>, path: &Path) {
        let Some(sample) = sample else {
            self.rounds.on_no_sample();
            return;
        };
        if self
            .rounds
            .on_sample(sample.prior_delivered, path.delivered)
        {
            self.probing.rounds_since_up += 1;
        }
        // An application-limited sample is a lower bound: good only if it raises the maximum.
        if sample.rate >= self.max_bw() || !sample.app_limited {
            self.model.max_bw[1] = self.model.max_bw[1].max(sample.rate);
        }
    }

    /// A ProbeBW cycle is over; its maximum counts for one more.
    pub(super) fn advance_max_bw(&mut self) {
        if self.model.max_bw[1] > 0 {
            self.model.max_bw = [self.model.max_bw[1], 0];
        }
    }

    pub(super) fn update_extra_acked(&mut self, event: &AckEvent) {
        let span = event.now.saturating_sub(self.aggregation.start);
        let mut expected = bytes_over(self.model.bw, span);
        if self.aggregation.delivered <= expected {
            self.aggregation.delivered = 0;
            self.aggregation.start = event.now;
            expected = 0;
        }
        self.aggregation.delivered = self.aggregation.delivered.saturating_add(event.delivered);
        let extra = self
            .aggregation
            .delivered
            .saturating_sub(expected)
            .min(self.cwnd);
        let window = if self.full.reached {
            EXTRA_ACKED_ROUNDS
        } else {
            1
        };
        self.aggregation
            .extra_acked
            .update(window, self.rounds.count, extra);
    }

    pub(super) fn check_full_pipe(&mut self, sample: Option<&RateSample>) {
        let Some(sample) = sample else { return };
        if self.full.now || !self.rounds.start || sample.app_limited {
            return;
        }
        if sample.rate >= mul_div(self.full.bw, FULL_BW_GROWTH, UNIT) {
            self.full.reset(sample.rate);
            return;
        }
        self.full.rounds += 1;
        self.full.now = self.full.rounds >= FULL_BW_ROUNDS;
        self.full.reached |= self.full.now;
    }
}
