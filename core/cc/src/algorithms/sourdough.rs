//! The sender with which Kaur and Leavitt reproduced Compound TCP (Stanford CS244, 2018; `controller.cc` of their sender
//! "sourdough"), read from its published source.
//!
//! It takes a packet for lost whose ACK comes `late` after its sending, since it knows of no queue's end, and reacts at
//! most once in `hold`. Reno's part of the window grows by a packet per window. The delay window moves with every ACK, where
//! the paper moves it once a round trip. A loss in slow start leaves one packet; slow start ends once the smoothed
//! RTT is above `slow_start_rtt`.
//!
//! Different here: a window that is not used, or in recovery, does not grow; an ACK for several packets counts as so many, all
//! with the RTT that it measures; what was lost is sent again, which their sender leaves; a packet that is lost, or marked,
//! counts whether or not `hold` has passed, but once a window; the time-out is the sender's, not 400 ms.

use serde::{Deserialize, Serialize};

use crate::parameter::{Millis, Thousandths, parameters};
use crate::window::{MAX_CWND_BYTES, inherited_window, mss};
use crate::{
    About, AckEvent, Beginning, CongestionControl, CongestionEvent, Control, Nanos, Path, Phase,
    Preset, Range, Signals, Value,
};

/// Weight of an RTT sample in the smoothed RTT.
const RTT_WEIGHT: f64 = 0.05;

parameters! {
    /// What can be set of the sender.
    SourdoughParameters {
        /// An RTT above this counts as a loss.
        late: Millis = Millis(155), Range::whole(1, 60_000, "ms");
        /// From one reaction to a loss to the next, at least.
        hold: Millis = Millis(80), Range::whole(0, 60_000, "ms");
        /// A smoothed RTT above this ends slow start.
        slow_start_rtt: Millis = Millis(125), Range::whole(1, 60_000, "ms");
        /// There is a delay window: Compound TCP; without it, Reno.
        delay_window: bool = true, Range::Flag;
        /// With every ACK the delay window grows by alpha * window^k - 1 packets.
        alpha: Thousandths = Thousandths(1000), Range::number(0.001, 4.0, "");
        /// Share of the window that a loss takes.
        beta: Thousandths = Thousandths(300), Range::number(0.05, 0.9, "");
        /// Exponent of that growth.
        k: Thousandths = Thousandths(100), Range::number(0.05, 0.95, "");
        /// From so many packets in the queue on, the delay window shrinks.
        gamma: u32 = 30, Range::whole(1, 10_000, "segments");
        /// Share of the queue by which it shrinks with every ACK.
        zeta: Thousandths = Thousandths(20), Range::number(0.001, 4.0, "");
    }
    Preset {
        name: "reno",
        meaning: "Their Reno: no delay window",
        values: &[("delay_window", Value::Flag(false))],
    },
}

/// The sender of Kaur and Leavitt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sourdough {
    parameters: SourdoughParameters,
    /// Reno's part, packets; at least 1.
    reno: f64,
    /// Delay window, packets.
    delay: f64,
    /// Both, in whole packets, bytes.
    cwnd: u64,
    slow_start: bool,
    /// Smoothed, ns, and from nothing.
    rtt: f64,
    /// Least, ns.
    base_rtt: Nanos,
    /// No reaction to a loss until then.
    held_until: Nanos,
}

impl Sourdough {
    fn restart(&mut self) {
        self.reno = 1.0;
        self.delay = 0.0;
        self.slow_start = true;
    }

    /// Reacts to a loss, and to no late ACK for so long as `hold` says.
    fn lose(&mut self, now: Nanos) {
        self.held_until = now + self.parameters.hold.nanos();
        if self.slow_start {
            self.reno = 1.0;
            return;
        }
        let before = self.reno;
        self.reno /= 2.0;
        if self.reno <= 1.0 {
            self.restart();
        } else if self.parameters.delay_window {
            let left = (self.reno + self.delay) * (1.0 - share(self.parameters.beta));
            self.delay = (left - libm::floor(before) / 2.0).max(0.0);
        }
    }

    /// Packets of the window that wait, by the smoothed RTT.
    fn queue(&self, window: f64) -> f64 {
        if self.rtt <= 0.0 || self.base_rtt == Nanos::MAX {
            return 0.0;
        }
        window * (1.0 - self.base_rtt as f64 / self.rtt)
    }

    /// Growth by ACKs for so many packets, in congestion avoidance.
    fn avoid(&mut self, packets: f64) {
        let p = self.parameters;
        self.reno += packets / (self.reno + self.delay);
        if !p.delay_window {
            return;
        }
        let window = self.reno + self.delay;
        let queue = self.queue(window);
        if queue < f64::from(p.gamma) {
            let more = share(p.alpha) * libm::pow(window, share(p.k)) - 1.0;
            self.delay += packets * more.max(0.0);
        } else {
            self.delay = (self.delay - packets * share(p.zeta) * queue).max(0.0);
        }
    }

    fn grow(&mut self, packets: f64) {
        if !self.slow_start {
            self.avoid(packets);
            return;
        }
        self.reno += packets;
        if self.rtt > self.parameters.slow_start_rtt.nanos() as f64 {
            self.slow_start = false;
        }
    }

    /// Brings the window in bytes up to date.
    fn settle(&mut self, path: &Path) {
        let most = MAX_CWND_BYTES as f64 / mss(path) as f64;
        self.reno = self.reno.clamp(1.0, most);
        self.delay = self.delay.clamp(0.0, most - self.reno);
        let packets = libm::floor(self.reno) + libm::floor(self.delay);
        self.cwnd = packets as u64 * mss(path);
    }

    fn measure(&mut self, rtt: Nanos, packets: f64) {
        let kept = libm::pow(1.0 - RTT_WEIGHT, packets);
        self.rtt = self.rtt * kept + rtt as f64 * (1.0 - kept);
        self.base_rtt = self.base_rtt.min(rtt);
    }
}

fn share(thousandths: Thousandths) -> f64 {
    f64::from(thousandths.0) / 1000.0
}

impl CongestionControl for Sourdough {
    type Parameters = SourdoughParameters;
    const ABOUT: About = About {
        summary: "The sender that reproduced Compound TCP: an RTT of 155 ms is a loss",
        source: "Kaur and Leavitt, Reproducing Compound TCP, Stanford CS244, 2018; its source",
        advice: "To repeat that report's results. Its constants are those of one path: a round trip \
                 of 80 ms and a queue of 75. A longer round trip is loss without end, and on a \
                 shorter one the queue grows until it overflows. Not for traffic that matters.",
        signals: Signals::LOSS_AND_DELAY,
    };

    fn new(beginning: &Beginning<'_>, parameters: &SourdoughParameters) -> Self {
        let path = beginning.path;
        let known = path.max_bw > 0;
        let reno = match known {
            true => inherited_window(beginning) as f64 / mss(path) as f64,
            false => 1.0,
        };
        let mut sender = Sourdough {
            parameters: *parameters,
            reno,
            delay: 0.0,
            cwnd: 0,
            slow_start: !beginning.knows_path(),
            rtt: path.srtt as f64,
            base_rtt: if known { path.min_rtt } else { Nanos::MAX },
            held_until: 0,
        };
        sender.settle(path);
        sender
    }

    fn on_ack(&mut self, event: &AckEvent, path: &Path) {
        let packets = event.delivered as f64 / mss(path) as f64;
        let late = event
            .rtt
            .is_some_and(|rtt| rtt > self.parameters.late.nanos());
        let lost = late && event.now > self.held_until;
        if lost {
            self.lose(event.now);
        }
        if let Some(rtt) = event.rtt {
            self.measure(rtt, packets);
        }
        if !lost && event.cwnd_limited && !event.in_recovery {
            self.grow(packets);
        }
        self.settle(path);
    }

    fn on_congestion(&mut self, event: &CongestionEvent, path: &Path) {
        self.lose(event.now);
        self.settle(path);
    }

    fn on_rto(&mut self, _now: Nanos, path: &Path) {
        self.restart();
        self.settle(path);
    }

    fn control(&self) -> Control {
        Control {
            cwnd: self.cwnd,
            ssthresh: u64::MAX,
            pacing_rate: None,
            phase: match self.slow_start {
                true => Phase::SlowStart,
                false => Phase::Avoidance,
            },
        }
    }
}

#[cfg(test)]
mod tests;
