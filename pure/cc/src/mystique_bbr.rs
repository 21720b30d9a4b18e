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

use crate::parameter::{Millis, Thousandths, choices, parameters};
use crate::scale::{bytes_over, mul_div, rate_over};
use crate::window::{MAX_CWND_BYTES, inherited_window, initial_window, mss};
use crate::{
    About, AckEvent, ByteRate, CongestionControl, CongestionEvent, Control, Nanos, Path, Phase,
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
    /// `Nanos::MAX` while unknown.
    min_rtt: Nanos,
    /// 0 while unknown.
    max_bw: ByteRate,
    /// Start of the period; `None` before the first ACK and after idling.
    period_start: Option<Nanos>,
}

impl MystiqueBbr {
    fn measure(&mut self, event: &AckEvent) {
        if let Some(rtt) = event.rtt {
            self.min_rtt = self.min_rtt.min(rtt);
        }
        if let Some(sample) = event.rate {
            self.max_bw = self.max_bw.max(sample.rate);
        }
    }

    /// Once a period: both estimates a step toward a worse path. What the next ACKs show to be
    /// better than that counts again.
    fn step_back(&mut self, now: Nanos, path: &Path) {
        let start = *self.period_start.get_or_insert(now);
        if now.saturating_sub(start) < self.parameters.period.nanos() {
            return;
        }
        self.period_start = Some(now);
        let span = match self.parameters.bw_step_per {
            StepSpan::RoundTrip => self.min_rtt.max(1),
            StepSpan::Second => SECOND,
        };
        let bw_step = rate_over(u64::from(self.parameters.bw_step) * mss(path), span);
        // Never to nothing: a rate of nothing would mean that it is unknown.
        let least = rate_over(mss(path), self.min_rtt.max(1)).min(self.max_bw);
        self.max_bw = self.max_bw.saturating_sub(bw_step).max(least);
        if self.min_rtt != Nanos::MAX {
            let t_step = mul_div(self.min_rtt, self.parameters.t_step.get(), 1000);
            self.min_rtt = self.min_rtt.saturating_add(t_step);
        }
    }

    fn is_known(&self) -> bool {
        self.max_bw > 0 && self.min_rtt != Nanos::MAX
    }

    fn target(&self, path: &Path) -> u64 {
        let floor = MIN_CWND_SEGMENTS * mss(path);
        if !self.is_known() {
            return initial_window(path).max(floor);
        }
        let product = bytes_over(self.max_bw, self.min_rtt);
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

    fn new(path: &Path, parameters: &MystiqueBbrParameters, _seed: u64) -> Self {
        let mut mystique = MystiqueBbr {
            parameters: *parameters,
            cwnd: 0,
            min_rtt: path.min_rtt,
            max_bw: path.max_bw,
            period_start: None,
        };
        mystique.cwnd = if mystique.is_known() {
            inherited_window(path)
        } else {
            mystique.target(path)
        };
        mystique
    }

    fn on_ack(&mut self, event: &AckEvent, path: &Path) {
        self.measure(event);
        self.step_back(event.now, path);
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
        self.cwnd = self.cwnd.max(self.target(path).min(inherited_window(path)));
    }

    fn on_idle_restart(&mut self, _now: Nanos, _idle: Nanos, _path: &Path) {
        self.period_start = None;
    }

    fn control(&self) -> Control {
        let phase = if self.is_known() {
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
#[path = "mystique_bbr_tests.rs"]
mod tests;
