//! TCP Vegas: Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global
//! Internet", IEEE JSAC 13(8), 1995; Linux `tcp_vegas.c` (6.12).
//!
//! Once per round trip the window moves by a segment, so that between `alpha` and `beta` segments
//! wait in the queue. Profile `linux`: the queue is `cwnd * (rtt - base) / base` in whole segments,
//! slow start doubles every round, and leaves with the window that the path holds plus one segment.
//! Profile `rfc`: the paper's `cwnd * (rtt - base) / rtt`, and doubling every other round. In both,
//! rounds of fewer than three RTT samples, recovery and timeouts are Reno's, the base RTT is learned
//! anew after idling, and a loss halves the window (both as in Linux; the paper's finer
//! retransmission timers are the sender's business).
//!
//! Different from Linux: rounds in which the window was not the limit decide nothing, since then it
//! is not the window that is in the network; the Reno parts count bytes, not ACKs.

use serde::{Deserialize, Serialize};

use crate::parameter::parameters;
use crate::rtt_round::RttRound;
use crate::scale::mul_div;
use crate::window::slow_start::SlowStart;
use crate::window::windowed::{Cause, Law, Windowed};
use crate::window::{Window, mss};
use crate::{About, AckEvent, Nanos, Path, Preset, Profile, Range, Signals, Value};

/// The least that a decision leaves, segments (Linux).
const MIN_CWND_SEGMENTS: u64 = 2;

parameters! {
    /// What can be set of Vegas.
    VegasParameters {
        /// Fewer segments in the queue: the window grows (Linux 2, paper 1).
        alpha: u32 = 2, Range::whole(1, 1000, "segments");
        /// More segments in the queue: the window shrinks (Linux 4, paper 3).
        beta: u32 = 4, Range::whole(1, 1000, "segments");
        /// More segments in the queue: slow start ends.
        gamma: u32 = 1, Range::whole(1, 1000, "segments");
        /// Linux, or the paper ("rfc"): how the queue is reckoned, and how fast slow start is.
        profile: Profile = Profile::Linux, Profile::RANGE;
    }
    Preset {
        name: "paper",
        meaning: "Brakmo and Peterson 1995",
        values: &[
            ("alpha", Value::Number(1.0)),
            ("beta", Value::Number(3.0)),
            ("profile", Value::Choice("rfc")),
        ],
    },
}

/// TCP Vegas.
pub type Vegas = Windowed<VegasLaw>;

/// A window that keeps a few segments in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VegasLaw {
    round: RttRound,
    /// Slow start pauses in this round.
    paused: bool,
}

impl VegasLaw {
    /// Segments in the queue.
    fn queue(&self, window: &Window, path: &Path, profile: Profile) -> f64 {
        let (rtt, base) = (self.round.min(), self.round.base());
        match profile {
            Profile::Linux => {
                let excess = rtt.saturating_sub(base) as f64;
                libm::floor(window.segments(path) * excess / base as f64)
            }
            Profile::Rfc => self.round.backlog(window.cwnd, rtt) as f64 / mss(path) as f64,
        }
    }

    /// The decision at the end of a round.
    fn decide(&mut self, window: &mut Window, path: &Path, p: &VegasParameters) {
        let mss = mss(path);
        let queue = self.queue(window, path, p.profile);
        let cwnd = window.cwnd;
        if window.in_slow_start() {
            if queue > f64::from(p.gamma) {
                let holds = mul_div(cwnd, self.round.base(), self.round.min());
                let rounded_up = holds / mss * mss + mss;
                window.set(cwnd.min(rounded_up).max(MIN_CWND_SEGMENTS * mss));
                window.leave_slow_start();
            }
        } else if queue > f64::from(p.beta) {
            window.set(cwnd.saturating_sub(mss).max(MIN_CWND_SEGMENTS * mss));
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if queue < f64::from(p.alpha) {
            window.set(cwnd.saturating_add(mss));
        }
        // Linux `tcp_current_ssthresh`.
        window.ssthresh = window.ssthresh.max(window.cwnd * 3 / 4);
    }

    /// The paper's slow start holds the window for a round, to compare, and grows in the next.
    fn alternate(&mut self, event: &AckEvent, window: &mut Window) {
        self.paused = !event.in_recovery && self.paused != self.round.ended();
        let factor = if self.paused { 0.0 } else { 1.0 };
        window.slow_start = SlowStart::Scaled { factor };
    }
}

impl Law for VegasLaw {
    type Parameters = VegasParameters;
    type Undo = ();
    const ABOUT: About = About {
        summary: "Vegas: keeps two to four segments in the queue, by the RTT",
        source: "Brakmo and Peterson 1995; Linux tcp_vegas.c 6.12",
        advice: "Low delay and hardly any loss of its own where it is alone: a private path, a \
                 queue per flow. Not beside loss-based flows in one queue: they fill it and Vegas \
                 yields until little is left. It takes a longer route for a queue until it next \
                 idles, ends slow start too early on paths with jitter, and halves on random loss.",
        signals: Signals::LOSS_AND_DELAY,
    };

    fn new(path: &Path, _parameters: &VegasParameters) -> Self {
        VegasLaw {
            round: RttRound::new(path),
            paused: false,
        }
    }

    fn on_ack(&mut self, event: &AckEvent, window: &mut Window, path: &Path, p: &VegasParameters) {
        self.round.on_ack(event, path);
        let alternates = p.profile == Profile::Rfc && window.in_slow_start();
        let comparable = !alternates || self.paused;
        if self.round.measured() && comparable && event.cwnd_limited && !event.in_recovery {
            self.decide(window, path, p);
        }
        if alternates {
            self.alternate(event, window);
        }
    }

    fn avoid(
        &mut self,
        bytes: u64,
        event: &AckEvent,
        window: &mut Window,
        path: &Path,
        _parameters: &VegasParameters,
    ) {
        if event.in_recovery || self.round.ended() && !self.round.measured() {
            window.add_segments(window.cwnd, bytes, path);
        }
    }

    fn reduce(&mut self, _: Cause, window: &Window, _: &Path, _: &VegasParameters) -> u64 {
        window.cwnd / 2
    }

    fn on_recovery_exit(&mut self, _: Nanos, _: &mut Window, path: &Path, _: &VegasParameters) {
        self.round.restart(path);
    }

    fn on_idle(&mut self, _now: Nanos, _idle: Nanos, _shrunk: bool) {
        self.round.forget_base();
        self.round.restart_after_idle();
    }

    fn save(&self) {}

    fn restore(&mut self, (): ()) {}
}

#[cfg(test)]
mod tests;
