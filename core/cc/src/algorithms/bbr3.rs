//! BBR v3: draft-ietf-ccwg-bbr (editor's copy of 2026-08-03), in bytes and nanoseconds.
//!
//! The draft's constants are used throughout; Linux's v3 branch differs in two (drain gain 0.35
//! for 0.5, DOWN gain 0.91 for 0.90). There is no reaction to ECN, as in the draft.
//! Different: losses come per ACK, not per packet, so all that one ACK marks lost counts as one
//! burst sent with the newest delivered packet's flight; the pacing rate is never nothing.

use serde::{Deserialize, Serialize};

use crate::parameter::{Millis, Thousandths, parameters};
use crate::rounds::Rounds;
use crate::scale::{mul_div, rate_over};
use crate::seeded::Seeded;
use crate::window::{inherited_window, initial_window, mss};
use crate::{
    About, AckEvent, Beginning, ByteRate, CongestionControl, CongestionEvent, Control, MILLISECOND,
    Nanos, Path, Phase, Preset, Range, RateSample, Signal, Signals, Value,
};

mod limits;
mod loss;
mod memory;
mod model;
mod probe_bw;
mod probe_rtt;
mod state;

use memory::{Aggregation, Latest, Model, Probing};
use state::{AckPhase, FullPipe, MinRtt, State, Undo};

/// Gains and shares are in thousandths.
const UNIT: u64 = 1000;
/// 4 ln 2.
const STARTUP_PACING_GAIN: u64 = 2770;
const DEFAULT_CWND_GAIN: u64 = 2000;
const UP_CWND_GAIN: u64 = 2250;
const PROBE_RTT_CWND_GAIN: u64 = 500;
/// Smallest window, segments (`MinPipeCwnd`).
const MIN_PIPE_SEGMENTS: u64 = 4;
/// A bound that is not set.
const UNBOUNDED: u64 = u64::MAX;

parameters! {
    /// What can be set of BBR v3.
    Bbr3Parameters {
        /// Pacing gain of Drain.
        drain_gain: Thousandths = Thousandths(500), Range::number(0.1, 0.95, "");
        /// Pacing gain of ProbeBW_DOWN.
        down_gain: Thousandths = Thousandths(900), Range::number(0.5, 0.99, "");
        /// Pacing gain of ProbeBW_UP.
        up_gain: Thousandths = Thousandths(1250), Range::number(1.01, 2.0, "");
        /// Share of a flight whose loss says that the flight was too large (LossThresh).
        loss_threshold: Thousandths = Thousandths(20), Range::number(0.001, 0.5, "");
        /// What a round with loss leaves of the short-term model (Beta).
        beta: Thousandths = Thousandths(700), Range::number(0.1, 0.95, "");
        /// Share of the long-term bound left to others while cruising (Headroom).
        headroom: Thousandths = Thousandths(150), Range::number(0.0, 0.5, "");
        /// How long a minimum of the RTT is believed (MinRTTFilterLen).
        min_rtt_filter_ms: Millis = Millis(10_000), Range::whole(1000, 600_000, "ms");
        /// Time between two ProbeRTT (ProbeRTTInterval).
        probe_rtt_interval_ms: Millis = Millis(5000), Range::whole(500, 600_000, "ms");
        /// How long ProbeRTT lasts at the least (ProbeRTTDuration).
        probe_rtt_ms: Millis = Millis(200), Range::whole(10, 1000, "ms");
    }
    Preset {
        name: "linux",
        meaning: "the two constants in which Linux' v3 branch differs from the draft",
        values: &[
            ("drain_gain", Value::Number(0.347)),
            ("down_gain", Value::Number(0.91)),
        ],
    },
}

/// BBR v3.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bbr3 {
    parameters: Bbr3Parameters,
    state: State,
    started: bool,
    cwnd: u64,
    prior_cwnd: u64,
    pacing_rate: ByteRate,
    /// The first RTT sample has fixed the initial pacing rate.
    has_seen_rtt: bool,
    rounds: Rounds,
    /// Round in which Drain began.
    drain_start: u64,
    full: FullPipe,
    model: Model,
    latest: Latest,
    /// A recovery episode is open, since this round.
    recovery_round: Option<u64>,
    undo: Undo,
    min_rtt: MinRtt,
    /// Samples of data sent below this count of delivered bytes are application-limited.
    app_limited_until: u64,
    idle_restart: bool,
    aggregation: Aggregation,
    probing: Probing,
    random: Seeded,
}

impl Bbr3 {
    fn max_bw(&self) -> ByteRate {
        self.model.max_bw[0].max(self.model.max_bw[1])
    }

    fn save_cwnd(&mut self) {
        if self.recovery_round.is_none() && self.state != State::ProbeRtt {
            self.prior_cwnd = self.cwnd;
        } else {
            self.prior_cwnd = self.prior_cwnd.max(self.cwnd);
        }
    }

    /// Times can't be known before the first event.
    fn start_clock(&mut self, now: Nanos) {
        if self.started {
            return;
        }
        self.started = true;
        self.min_rtt.stamp = now;
        self.min_rtt.probe_stamp = now;
        self.aggregation.start = now;
        self.probing.cycle_stamp = now;
    }

    /// The sample as this flow sees it: data sent under ProbeRTT's small window says no more about
    /// the path than data of an application that has little to send.
    fn sample(&self, event: &AckEvent) -> Option<RateSample> {
        event.rate.map(|mut sample| {
            sample.app_limited |= sample.prior_delivered < self.app_limited_until;
            sample
        })
    }

    fn enter_startup(&mut self) {
        self.state = State::Startup;
    }

    fn check_drain_done(&mut self, event: &AckEvent, path: &Path) {
        if self.state == State::Startup && self.full.reached {
            self.state = State::Drain;
            self.drain_start = self.rounds.count;
        }
        if self.state == State::Drain
            && (event.inflight <= self.inflight(self.model.bw, path)
                || self.rounds.count > self.drain_start + 3)
        {
            self.start_down(event.now, path);
        }
    }
}

impl CongestionControl for Bbr3 {
    type Parameters = Bbr3Parameters;
    const ABOUT: About = About {
        summary: "BBR v3: model of bandwidth and volume, bounded by loss",
        source: "draft-ietf-ccwg-bbr (editor's copy 4ce5e87, 2026-08-03)",
        advice: "BBR for links shared with others: it leaves head-room, and gives way once two per \
                 cent of a flight are lost. Where the path itself loses more than that (bad \
                 wireless) it falls far behind bbr; raise loss_threshold there, or use bbr.",
        signals: Signals {
            loss: false,
            ecn: false,
            delay: false,
        },
    };

    fn new(beginning: &Beginning<'_>, parameters: &Bbr3Parameters) -> Self {
        let (path, seed) = (beginning.path, beginning.seed);
        let measured = path.max_bw > 0 && path.min_rtt != Nanos::MAX;
        // ProbeBW would take eighty round trips to tenfold a rate that loss has kept low.
        let known = measured && beginning.knows_path() && !beginning.roomy;
        let cwnd = if measured {
            inherited_window(beginning).max(MIN_PIPE_SEGMENTS * mss(path))
        } else {
            initial_window(path)
        };
        let srtt = if path.srtt == 0 {
            MILLISECOND
        } else {
            path.srtt
        };
        let mut bbr = Bbr3 {
            parameters: *parameters,
            state: State::Startup,
            started: false,
            cwnd,
            prior_cwnd: 0,
            pacing_rate: mul_div(rate_over(cwnd, srtt), STARTUP_PACING_GAIN, UNIT).max(mss(path)),
            has_seen_rtt: path.srtt != 0,
            rounds: Rounds::default(),
            drain_start: 0,
            full: FullPipe::default(),
            model: Model::default(),
            latest: Latest::default(),
            recovery_round: None,
            undo: Undo::NONE,
            min_rtt: MinRtt::new(path),
            app_limited_until: 0,
            idle_restart: false,
            aggregation: Aggregation::default(),
            probing: Probing::default(),
            random: Seeded::new(seed),
        };
        bbr.rounds.restart(path.delivered);
        if known {
            bbr.model.max_bw = [0, path.max_bw];
            bbr.model.bw = path.max_bw;
            bbr.full.reached = true;
            bbr.start_down(0, path);
            bbr.set_pacing_rate(UNIT, path);
        }
        bbr
    }

    fn on_ack(&mut self, event: &AckEvent, path: &Path) {
        self.start_clock(event.now);
        let sample = self.sample(event);
        if event.lost > 0 {
            self.on_lost(event, sample.as_ref(), path);
        }
        self.update_latest_signals(sample.as_ref(), path);
        self.update_congestion_signals(sample.as_ref(), path);
        self.update_extra_acked(event);
        self.check_full_pipe(sample.as_ref());
        self.check_startup_loss(event, sample.as_ref(), path);
        self.check_drain_done(event, path);
        self.update_cycle(event, sample.as_ref(), path);
        self.update_min_rtt(event, path);
        self.check_probe_rtt(event, path);
        self.advance_latest_signals(sample.as_ref());
        self.model.bw = self.max_bw().min(self.model.bw_shortterm);
        self.set_pacing_rate(self.state.gains(&self.parameters).0, path);
        self.set_cwnd(event, path);
    }

    /// Loss is noted; the model answers it at the end of the round. ECN marks are not used.
    fn on_congestion(&mut self, event: &CongestionEvent, path: &Path) {
        if event.signal == Signal::Ecn {
            return;
        }
        self.save_cwnd();
        self.note_loss(path);
        self.recovery_round = Some(self.rounds.count);
    }

    fn on_recovery_exit(&mut self, _now: Nanos, path: &Path) {
        if self.recovery_round.take().is_some() {
            self.restore_cwnd(path);
        }
    }

    fn on_rto(&mut self, _now: Nanos, path: &Path) {
        self.save_cwnd();
        self.note_loss(path);
        self.recovery_round = Some(self.rounds.count);
        self.cwnd = path.inflight.saturating_add(mss(path)).min(self.cwnd);
    }

    fn on_spurious(&mut self, _now: Nanos, path: &Path) {
        self.recovery_round = None;
        self.undo_loss(path);
        self.restore_cwnd(path);
    }

    fn on_idle_restart(&mut self, now: Nanos, _idle: Nanos, path: &Path) {
        self.start_clock(now);
        self.idle_restart = true;
        self.aggregation.start = now;
        if self.state.is_probe_bw() {
            self.set_pacing_rate(UNIT, path);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(now, path);
        }
    }

    fn on_pipe_full(&mut self, _now: Nanos, _path: &Path) {
        self.full.now = true;
        self.full.reached = true;
    }

    fn control(&self) -> Control {
        Control {
            cwnd: self.cwnd,
            ssthresh: u64::MAX,
            pacing_rate: Some(self.pacing_rate),
            phase: match self.state {
                State::Startup => Phase::Startup,
                State::Drain => Phase::Drain,
                State::Down => Phase::ProbeBwDown,
                State::Cruise => Phase::ProbeBwCruise,
                State::Refill => Phase::ProbeBwRefill,
                State::Up => Phase::ProbeBwUp,
                State::ProbeRtt => Phase::ProbeRtt,
            },
        }
    }

    fn uses_prr(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod vectors;
