//! The ProbeBW cycle: DOWN, CRUISE, REFILL, UP (§"ProbeBW Algorithm Details").

use super::{AckPhase, Bbr3, MIN_PIPE_SEGMENTS, State, UNBOUNDED, UNIT};
use crate::scale::mul_div;
use crate::window::mss;
use crate::{AckEvent, Nanos, Path, RateSample, SECOND};

/// A probe at the latest after this many rounds, so that Reno and CUBIC get their share.
const RENO_ROUNDS: u64 = 63;
/// And after 2 to 3 s.
const PROBE_WAIT_BASE: Nanos = 2 * SECOND;
/// Grain of the random part of the wait.
const PROBE_WAIT_STEPS: u32 = 1_000_000;
const MAX_UP_ROUNDS: u32 = 30;

impl Bbr3 {
    pub(super) fn start_down(&mut self, now: Nanos, path: &Path) {
        self.reset_congestion_signals();
        self.probing.up_acked_per_increment = UNBOUNDED;
        self.probing.rounds_since_up = self.random.below(2);
        self.probing.wait = PROBE_WAIT_BASE
            + self.random.below(PROBE_WAIT_STEPS) * (SECOND / u64::from(PROBE_WAIT_STEPS));
        self.probing.cycle_stamp = now;
        self.probing.ack_phase = AckPhase::ProbeStopping;
        self.rounds.restart(path.delivered);
        self.state = State::Down;
    }

    pub(super) fn start_cruise(&mut self) {
        self.state = State::Cruise;
    }

    pub(super) fn start_refill(&mut self, path: &Path) {
        self.reset_shortterm();
        self.probing.up_rounds = 0;
        self.probing.up_acked = 0;
        self.probing.prev_precautionary = false;
        self.probing.ack_phase = AckPhase::Refilling;
        self.rounds.restart(path.delivered);
        self.state = State::Refill;
    }

    fn start_up(&mut self, sample: Option<&RateSample>, path: &Path) {
        self.probing.ack_phase = AckPhase::ProbeStarting;
        self.rounds.restart(path.delivered);
        self.full.reset(sample.map_or(0, |s| s.rate));
        self.state = State::Up;
        self.raise_longterm_slope(path);
    }

    pub(super) fn update_cycle(
        &mut self,
        event: &AckEvent,
        sample: Option<&RateSample>,
        path: &Path,
    ) {
        if !self.full.reached || self.adapt_longterm(event, sample, path) {
            return;
        }
        match self.state {
            State::Down | State::Cruise => {
                if self.is_time_to_probe(event.now, path) {
                    self.start_refill(path);
                } else if self.state == State::Down && self.is_time_to_cruise(event, path) {
                    self.start_cruise();
                }
            }
            State::Refill => {
                if self.rounds.start {
                    // The refilled pipe delivers from now on what shows the effect of the probe.
                    self.probing.is_sample = true;
                    self.start_up(sample, path);
                }
            }
            State::Up => {
                if self.is_time_to_go_down(event, sample) {
                    self.probing.prev_too_high = false;
                    self.start_down(event.now, path);
                }
            }
            State::Startup | State::Drain | State::ProbeRtt => {}
        }
    }

    pub(super) fn is_time_to_probe(&self, now: Nanos, path: &Path) -> bool {
        let reno_rounds = (self.target_inflight(path) / mss(path)).min(RENO_ROUNDS);
        now > self.probing.cycle_stamp.saturating_add(self.probing.wait)
            || self.probing.rounds_since_up >= reno_rounds
    }

    fn is_time_to_cruise(&self, event: &AckEvent, path: &Path) -> bool {
        event.inflight <= self.inflight_with_headroom(path)
            && event.inflight <= self.inflight(self.max_bw(), path)
    }

    fn is_time_to_go_down(&mut self, event: &AckEvent, sample: Option<&RateSample>) -> bool {
        if self.probing.prev_too_high && event.inflight >= self.model.inflight_longterm {
            self.probing.prev_precautionary = true;
            return true;
        }
        if event.cwnd_limited && self.cwnd >= self.model.inflight_longterm {
            // The bound, not the path, keeps the bandwidth from growing.
            self.full.reset(sample.map_or(0, |s| s.rate));
            return false;
        }
        self.full.now
    }

    /// What the flight should be: the BDP, unless congestion cut the window below it.
    pub(super) fn target_inflight(&self, path: &Path) -> u64 {
        self.bdp(self.model.bw, UNIT, path).min(self.cwnd)
    }

    pub(super) fn inflight_with_headroom(&self, path: &Path) -> u64 {
        if self.model.inflight_longterm == UNBOUNDED {
            return UNBOUNDED;
        }
        let headroom = mul_div(
            self.model.inflight_longterm,
            self.parameters.headroom.get(),
            UNIT,
        )
        .max(mss(path));
        self.model
            .inflight_longterm
            .saturating_sub(headroom)
            .max(MIN_PIPE_SEGMENTS * mss(path))
    }

    pub(super) fn raise_longterm_slope(&mut self, path: &Path) {
        let growth = 1u64 << self.probing.up_rounds;
        self.probing.up_rounds = (self.probing.up_rounds + 1).min(MAX_UP_ROUNDS);
        self.probing.up_acked_per_increment = (self.cwnd / growth).max(mss(path));
    }

    /// Raises the long-term bound while the flow fills it: by 1, 2, 4… segments per round.
    pub(super) fn probe_longterm_upward(&mut self, event: &AckEvent, path: &Path) {
        if !event.cwnd_limited || self.cwnd < self.model.inflight_longterm {
            return;
        }
        self.probing.up_acked = self.probing.up_acked.saturating_add(event.delivered);
        let per_increment = self.probing.up_acked_per_increment.max(1);
        let increments = self.probing.up_acked / per_increment;
        if increments > 0 {
            self.probing.up_acked -= increments * per_increment;
            let raise = increments.saturating_mul(mss(path));
            self.model.inflight_longterm = self.model.inflight_longterm.saturating_add(raise);
        }
        if self.rounds.start {
            self.raise_longterm_slope(path);
        }
    }

    /// Follows the ACKs of a probe and moves the long-term bounds. True if it changed the state.
    fn adapt_longterm(
        &mut self,
        event: &AckEvent,
        sample: Option<&RateSample>,
        path: &Path,
    ) -> bool {
        if self.probing.ack_phase == AckPhase::ProbeStarting && self.rounds.start {
            self.probing.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.probing.ack_phase == AckPhase::ProbeStopping && self.rounds.start {
            self.probing.is_sample = false;
            self.probing.ack_phase = AckPhase::Init;
            if self.state.is_probe_bw() {
                if sample.is_some_and(|s| !s.app_limited) {
                    self.advance_max_bw();
                }
                if self.probing.prev_precautionary && !self.probing.prev_too_high {
                    self.start_refill(path);
                    return true;
                }
            }
        }
        if self.model.inflight_longterm != UNBOUNDED && !self.is_inflight_too_high(sample) {
            if let Some(sample) = sample {
                self.model.inflight_longterm =
                    self.model.inflight_longterm.max(sample.tx_in_flight);
            }
            if self.state == State::Up {
                self.probe_longterm_upward(event, path);
            }
        }
        false
    }
}
