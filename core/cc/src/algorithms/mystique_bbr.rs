//! Mystique's BBR: Zhang, Cui, Tso, Guan, Jia, Zhou, "A Fine-grained and Transparent Congestion
//! Control Enforcement Scheme", ANRW 2018, §3.1 and §3.2. BBR's two estimates without its four
//! modes, for a box that can hold a server back but not push it.
//!
//! Followed: the minimum of the RTT and the maximum of the rate over the whole flow, updated by
//! every ACK; every `period` min_rtt grows by `t_step` and max_bw falls by `bw_step`, until ACKs
//! correct them; the window is what the path holds; no pacing; loss and marks change nothing.
//! Different, or settled where the paper is silent: the rate is a delivery-rate sample (the paper
//! divides what one ACK acknowledges by the RTT); the window is `cwnd_gain` times the product, since
//! one that is exactly what has been delivered could never find more; it grows by what is delivered
//! at the most; the unit of `bw_step` is a parameter; time without ACKs makes no steps; after a
//! timeout the window begins at the flight, as BBR's does.
//!
//! What follows from the rule: above a gain of 1 the flow's own queue keeps the RTT above the
//! estimate, so nothing corrects the step of min_rtt, the window grows with it, and the queue
//! after it, until it overflows. With a gain of 1 nothing of this, but max_bw stays where it began.

use serde::{Deserialize, Serialize};

use crate::estimates::{Estimates, Steps};
use crate::parameter::{Millis, Thousandths, choices, parameters};
use crate::scale::{bytes_over, mul_div, rate_over};
use crate::window::{MAX_CWND_BYTES, inherited_window, initial_window, mss};
use crate::{
    About, AckEvent, Beginning, CongestionControl, CongestionEvent, Control, Nanos, Path, Phase,
    Range, SECOND, Signals,
};

/// Smallest window, segments (BBR's; the paper has none).
const MIN_CWND_SEGMENTS: u64 = 4;

choices! {
    /// The time that a step of the rate is measured against. The paper says "MSS" and no more.
    StepSpan {
        /// Segments per minimum RTT: the window loses them.
        RoundTrip = "rtt",
        /// Segments per second.
        Second = "second",
    }
}

parameters! {
    /// What can be set of Mystique's BBR.
    MystiqueBbrParameters {
        /// How often the estimates take a step back (§3.2).
        period: Millis = Millis(5000), Range::whole(100, 600_000, "ms");
        /// Share of itself by which min_rtt grows every period (§3.2: min_rtt/10).
        t_step: Thousandths = Thousandths(100), Range::number(0.0, 1.0, "");
        /// What max_bw loses every period (§3.2: one MSS), per bw_step_per.
        bw_step: u32 = 1, Range::whole(0, 10_000, "segments");
        /// The time that bw_step is measured against, which the paper does not name.
        bw_step_per: StepSpan = StepSpan::RoundTrip, StepSpan::RANGE;
        /// Window in bandwidth-delay products; the paper says the product itself, Linux' BBR takes 2.
        cwnd_gain: Thousandths = Thousandths(2000), Range::number(1.0, 4.0, "");
    }
}

/// Mystique's BBR.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MystiqueBbr {
    parameters: MystiqueBbrParameters,
    cwnd: u64,
    estimates: Estimates,
}

impl MystiqueBbr {
    /// The steps that the estimates take next; none while they are unknown.
    fn steps(&self, path: &Path) -> Steps {
        if !self.estimates.are_known() {
            return Steps::default();
        }
        let Estimates { min_rtt, .. } = self.estimates;
        let span = match self.parameters.bw_step_per {
            StepSpan::RoundTrip => min_rtt.max(1),
            StepSpan::Second => SECOND,
        };
        Steps {
            period: self.parameters.period.nanos(),
            t_step: mul_div(min_rtt, self.parameters.t_step.get(), 1000),
            bw_step: rate_over(u64::from(self.parameters.bw_step) * mss(path), span),
        }
    }

    fn target(&self, path: &Path) -> u64 {
        let floor = MIN_CWND_SEGMENTS * mss(path);
        if !self.estimates.are_known() {
            return initial_window(path).max(floor);
        }
        let product = bytes_over(self.estimates.max_bw, self.estimates.min_rtt);
        mul_div(product, self.parameters.cwnd_gain.get(), 1000)
            .min(MAX_CWND_BYTES)
            .max(floor)
    }
}

impl CongestionControl for MystiqueBbr {
    type Parameters = MystiqueBbrParameters;
    const ABOUT: About = About {
        summary: "Mystique's BBR: BBR's estimates without its modes, aged a step at a time",
        source: "Zhang et al., ANRW 2018 (Mystique), section 3.2",
        advice: "To repeat that paper's results. Blind to loss like bbr, which does the same and \
                 finds its way back sooner: here a path that has become slower is believed in for \
                 minutes, since the rate goes down by a segment in five seconds, and one \
                 compressed run of ACKs keeps it too high for as long. Its own queue is taken for \
                 the path, a tenth more every five seconds, so that within a minute any queue is \
                 full. Not beside other traffic that matters.",
        signals: Signals {
            loss: false,
            ecn: false,
            delay: false,
        },
    };

    fn new(beginning: &Beginning<'_>, parameters: &MystiqueBbrParameters) -> Self {
        let path = beginning.path;
        let mut mystique = MystiqueBbr {
            parameters: *parameters,
            cwnd: 0,
            estimates: Estimates::new(path),
        };
        mystique.cwnd = if mystique.estimates.are_known() {
            inherited_window(beginning)
        } else {
            mystique.target(path)
        };
        mystique
    }

    fn on_ack(&mut self, event: &AckEvent, path: &Path) {
        let steps = self.steps(path);
        self.estimates.measure(event);
        self.estimates.step_back(event.now, &steps, path);
        let grown = self.cwnd.saturating_add(event.delivered);
        self.cwnd = grown.min(self.target(path));
    }

    /// The paper's BBR takes no notice of loss.
    fn on_congestion(&mut self, _: &CongestionEvent, _: &Path) {}

    fn on_rto(&mut self, _now: Nanos, path: &Path) {
        let restart = path.inflight.saturating_add(mss(path));
        self.cwnd = self.cwnd.min(restart);
    }

    fn on_spurious(&mut self, _now: Nanos, path: &Path) {
        let most = inherited_window(&Beginning::new(path, 0));
        self.cwnd = self.cwnd.max(self.target(path).min(most));
    }

    fn on_idle_restart(&mut self, _now: Nanos, _idle: Nanos, _path: &Path) {
        self.estimates.on_idle();
    }

    fn control(&self) -> Control {
        let phase = if self.estimates.are_known() {
            Phase::Avoidance
        } else {
            Phase::SlowStart
        };
        Control {
            cwnd: self.cwnd,
            ssthresh: u64::MAX,
            pacing_rate: None,
            phase,
        }
    }

    fn uses_prr(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
