//! What losses do to the model (§"Updating the Model Upon Packet Loss").

use super::{AckPhase, Bbr3, State, UNBOUNDED, UNIT, Undo};
use crate::scale::mul_div;
use crate::{AckEvent, Nanos, Path, RateSample};

/// Lost ranges in a round that end Startup.
const STARTUP_FULL_LOSS_RANGES: u32 = 6;

impl Bbr3 {
    fn too_high(&self, lost: u64, tx_in_flight: u64) -> bool {
        lost > mul_div(tx_in_flight, self.parameters.loss_threshold.get(), UNIT)
    }

    pub(super) fn is_inflight_too_high(&self, sample: Option<&RateSample>) -> bool {
        sample.is_some_and(|s| self.too_high(s.lost, s.tx_in_flight))
    }

    /// First loss of a round: the round ends when data sent after it is delivered.
    pub(super) fn note_loss(&mut self, path: &Path) {
        if !self.latest.loss_in_round {
            self.latest.round_delivered = path.delivered;
            self.save_state();
        }
        self.latest.loss_in_round = true;
    }

    fn save_state(&mut self) {
        self.save_cwnd();
        self.undo = Undo {
            state: None,
            bw_shortterm: self.model.bw_shortterm,
            inflight_shortterm: self.model.inflight_shortterm,
            inflight_longterm: self.model.inflight_longterm,
        };
    }

    /// All that one ACK marks lost, taken as one burst.
    pub(super) fn on_lost(&mut self, event: &AckEvent, sample: Option<&RateSample>, path: &Path) {
        self.note_loss(path);
        self.latest.lost_ranges = self.latest.lost_ranges.saturating_add(event.lost_ranges);
        if !self.probing.is_sample {
            return;
        }
        let (tx_in_flight, lost, app_limited) = match sample {
            Some(s) => (s.tx_in_flight, s.lost.max(event.lost), s.app_limited),
            None => (event.inflight_before, event.lost, true),
        };
        if self.too_high(lost, tx_in_flight) {
            let threshold = self.parameters.loss_threshold.get();
            let level = inflight_at_loss(threshold, tx_in_flight, lost, event.lost);
            self.on_inflight_too_high(event.now, level, app_limited, path);
        }
    }

    fn on_inflight_too_high(&mut self, now: Nanos, level: u64, app_limited: bool, path: &Path) {
        self.probing.prev_too_high = true;
        // One reaction per probe.
        self.probing.is_sample = false;
        if !app_limited {
            let beta = self.parameters.beta.get();
            let least = mul_div(self.target_inflight(path), beta, UNIT);
            self.model.inflight_longterm = level.max(least);
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(now, path);
        }
    }

    /// Startup ends in loss: a round of recovery or more, over 2 % lost, in six places.
    pub(super) fn check_startup_loss(
        &mut self,
        event: &AckEvent,
        sample: Option<&RateSample>,
        path: &Path,
    ) {
        let ranges = self.latest.lost_ranges;
        if !self.latest.round_start {
            return;
        }
        self.latest.lost_ranges = 0;
        let recovering = event.in_recovery
            && self
                .recovery_round
                .is_some_and(|round| self.rounds.count > round);
        if self.state == State::Startup
            && recovering
            && ranges >= STARTUP_FULL_LOSS_RANGES
            && self.is_inflight_too_high(sample)
        {
            self.undo.state = Some(State::Startup);
            self.full.reached = true;
            self.model.inflight_longterm = self
                .bdp(self.model.bw, UNIT, path)
                .max(self.latest.inflight);
        }
    }

    /// Once per round with loss, outside probing: down towards what was last delivered.
    pub(super) fn adapt_lower_bounds(&mut self) {
        if self.state.is_probing() || !self.latest.loss_in_round {
            return;
        }
        if self.model.bw_shortterm == UNBOUNDED {
            self.model.bw_shortterm = self.max_bw();
        }
        if self.model.inflight_shortterm == UNBOUNDED {
            self.model.inflight_shortterm = self.cwnd;
        }
        let beta = self.parameters.beta.get();
        self.model.bw_shortterm = self
            .latest
            .bw
            .max(mul_div(self.model.bw_shortterm, beta, UNIT));
        self.model.inflight_shortterm =
            self.latest
                .inflight
                .max(mul_div(self.model.inflight_shortterm, beta, UNIT));
    }

    pub(super) fn reset_shortterm(&mut self) {
        self.model.bw_shortterm = UNBOUNDED;
        self.model.inflight_shortterm = UNBOUNDED;
    }

    pub(super) fn reset_congestion_signals(&mut self) {
        self.latest.loss_in_round = false;
        self.latest.bw = 0;
        self.latest.inflight = 0;
    }

    /// The recovery was a mistake: bounds no lower than before it, and back to the probe that it
    /// ended.
    pub(super) fn undo_loss(&mut self, path: &Path) {
        self.latest.loss_in_round = false;
        self.full.reset(0);
        let undo = self.undo;
        self.model.bw_shortterm = self.model.bw_shortterm.max(undo.bw_shortterm);
        self.model.inflight_shortterm = self.model.inflight_shortterm.max(undo.inflight_shortterm);
        self.model.inflight_longterm = self.model.inflight_longterm.max(undo.inflight_longterm);
        self.undo.state = None;
        match undo.state {
            Some(State::Startup) if self.state != State::Startup => {
                self.full.reached = false;
                if self.state != State::ProbeRtt {
                    self.enter_startup();
                    self.probing.ack_phase = AckPhase::Init;
                }
            }
            Some(State::Up) if self.state.is_probe_bw() && self.state != State::Up => {
                self.start_refill(path);
            }
            _ => {}
        }
    }
}

/// At what flight did the losses cross the `threshold` (thousandths), within the burst of `size`
/// bytes?
pub(super) fn inflight_at_loss(threshold: u64, tx_in_flight: u64, lost: u64, size: u64) -> u64 {
    let before = tx_in_flight.saturating_sub(size);
    let lost_before = lost.saturating_sub(size);
    let allowed = mul_div(before, threshold, UNIT).saturating_sub(lost_before);
    before.saturating_add(mul_div(allowed, UNIT, UNIT - threshold))
}
