//! Compound TCP: Tan, Song, Zhang and Sridharan, INFOCOM 2006; draft-sridharan-tcpm-ctcp-02; and
//! L. Andrew's Linux module 1.3 (Caltech 2008), which is followed where nothing else is said.
//!
//! The window is the sum of Reno's and a delay window that grows by a power of the window while the
//! queue is shorter than `gamma` segments, and gives the queue back when it is longer. What the
//! sources do not agree on is a parameter (`compound/parameters.rs`). On a timeout the delay window
//! is given up and base RTT and gamma are learned anew; after idling the base RTT is kept.
//!
//! Different from the module: growth counts bytes; below `low_window`, and in slow start, what there
//! is of the delay window becomes Reno's instead of being dropped, which would be a second cut after
//! a loss; with growth by dwnd^k the delay window counts as `low_window` while it is smaller, or it
//! could never begin; spread growth takes one round trip, with no factor for delayed ACKs.

use core::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::parameter::Thousandths;
use crate::rtt_round::RttRound;
use crate::scale::mul_div;
use crate::window::slow_start::SlowStart;
use crate::window::windowed::{Cause, Law, Windowed};
use crate::window::{Window, mss};
use crate::{About, AckEvent, Nanos, Path, Signals};

mod parameters;

use parameters::{CompoundParameters, GrowthBase, QueueRtt};

/// The least that giving way to a queue leaves, segments.
const MIN_CWND_SEGMENTS: u64 = 2;
/// A tuned gamma is this share of the backlog of Reno's part.
const GAMMA_OF_BACKLOG: f32 = 0.75;

/// Compound TCP.
pub type Compound = Windowed<CompoundLaw>;

/// The delay window beside Reno's, which is the rest of the window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompoundLaw {
    round: RttRound,
    /// Delay window, bytes.
    dwnd: u64,
    /// The whole window when last seen, to know a change that is not this law's.
    seen: u64,
    /// Bytes by which the delay window grows for each delivered in this round.
    spread: f32,
    /// Tuned gamma, thousandths of a segment.
    gamma: Option<NonZeroU32>,
    /// Segments of Reno's part in the queue; `None` if not measured since the last loss.
    reno_backlog: Option<f32>,
}

/// What a loss changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Before {
    dwnd: u64,
    gamma: Option<NonZeroU32>,
}

fn share(thousandths: Thousandths) -> f64 {
    f64::from(thousandths.0) / 1000.0
}

impl CompoundLaw {
    fn gamma(&self, p: &CompoundParameters) -> f32 {
        self.gamma
            .map_or(p.gamma as f32, |gamma| gamma.get() as f32 / 1000.0)
    }

    /// Shares a cut that something else made between the two parts, in proportion.
    fn notice(&mut self, cwnd: u64) {
        if cwnd < self.seen {
            self.dwnd = mul_div(self.dwnd, cwnd, self.seen);
        }
        self.dwnd = self.dwnd.min(cwnd);
        self.seen = cwnd;
    }

    /// The delay window becomes a part of Reno's.
    fn give_up(&mut self) {
        self.dwnd = 0;
        self.spread = 0.0;
        self.reno_backlog = None;
    }

    fn grow(&mut self, bytes: u64, window: &mut Window) {
        let before = window.cwnd;
        window.set(before.saturating_add(bytes));
        self.dwnd += window.cwnd - before;
        self.seen = window.cwnd;
    }

    fn shrink(&mut self, bytes: u64, window: &mut Window, path: &Path) {
        let most = window.cwnd.saturating_sub(MIN_CWND_SEGMENTS * mss(path));
        let bytes = bytes.min(self.dwnd).min(most);
        self.dwnd -= bytes;
        window.set(window.cwnd - bytes);
        // Not a return to slow start.
        window.ssthresh = window.ssthresh.min(window.cwnd);
        self.seen = window.cwnd;
    }

    /// Bytes by which the delay window is to grow in a round trip.
    fn increase(&self, window: &Window, path: &Path, p: &CompoundParameters) -> f64 {
        let mss = mss(path) as f64;
        let base = match p.growth_base {
            GrowthBase::Window => window.segments(path),
            GrowthBase::DelayWindow => (self.dwnd as f64 / mss).max(f64::from(p.low_window)),
        };
        let segments = share(p.alpha) * libm::pow(base, share(p.k)) - 1.0;
        segments.max(0.0) * mss
    }

    /// The decision at the end of a round in congestion avoidance.
    fn end_round(&mut self, window: &mut Window, path: &Path, p: &CompoundParameters) {
        let mss = mss(path);
        if window.cwnd < u64::from(p.low_window) * mss {
            self.give_up();
            return;
        }
        let rtt = match p.rtt {
            QueueRtt::Min => self.round.min(),
            QueueRtt::Smoothed => path.srtt,
        };
        let queue = self.round.backlog(window.cwnd, rtt);
        let reno_queue = self.round.backlog(window.cwnd - self.dwnd, rtt);
        self.reno_backlog = Some(reno_queue as f32 / mss as f32);
        if (queue as f64) < f64::from(self.gamma(p)) * mss as f64 {
            let increase = self.increase(window, path, p);
            if p.spread {
                self.spread = (increase / window.cwnd as f64) as f32;
            } else {
                self.grow(increase as u64, window);
            }
        } else {
            self.shrink(mul_div(queue, p.zeta.get(), 1000), window, path);
        }
    }

    /// Gamma by emulation (TUBE): three quarters of the backlog that Reno's part had at the loss.
    fn tune(&mut self, p: &CompoundParameters) {
        let Some(backlog) = self.reno_backlog.take() else {
            return;
        };
        let lambda = share(p.lambda) as f32;
        let newest = GAMMA_OF_BACKLOG * backlog;
        let gamma = (1.0 - lambda) * self.gamma(p) + lambda * newest;
        let gamma = gamma.max(p.gamma_min as f32).min(p.gamma_max as f32);
        self.gamma = NonZeroU32::new((gamma * 1000.0) as u32);
    }
}

impl Law for CompoundLaw {
    type Parameters = CompoundParameters;
    type Undo = Before;
    const ABOUT: About = About {
        summary: "Compound TCP: Reno and a delay window that fills a long path while its queue is short",
        source: "Tan et al. 2006; draft-sridharan-tcpm-ctcp-02; L. Andrew's Linux module 1.3",
        advice: "Long fast paths shared with Reno: it takes what Reno leaves and gives it back as \
                 soon as a queue of 5 to 30 segments stands, and is never slower than Reno. Where \
                 others keep the queue full, as CUBIC does, it is no more than Reno; nor is it on \
                 slow paths of less than 38 segments, or at random loss of 1 % and more.",
        signals: Signals::LOSS_AND_DELAY,
    };

    fn new(path: &Path, _parameters: &CompoundParameters) -> Self {
        CompoundLaw {
            round: RttRound::new(path),
            dwnd: 0,
            seen: 0,
            spread: 0.0,
            gamma: None,
            reno_backlog: None,
        }
    }

    fn slow_start(parameters: &CompoundParameters, _path: &Path) -> SlowStart {
        parameters.slow_start.start()
    }

    fn on_ack(
        &mut self,
        event: &AckEvent,
        window: &mut Window,
        path: &Path,
        p: &CompoundParameters,
    ) {
        self.round.on_ack(event, path);
        self.notice(window.cwnd);
        if window.in_slow_start() {
            self.give_up();
        } else if self.round.ended() {
            self.spread = 0.0;
            if self.round.measured() && event.cwnd_limited && !event.in_recovery {
                self.end_round(window, path, p);
            }
        }
    }

    fn avoid(
        &mut self,
        bytes: u64,
        _event: &AckEvent,
        window: &mut Window,
        path: &Path,
        _parameters: &CompoundParameters,
    ) {
        window.add_segments(window.cwnd, bytes, path);
        let spread = bytes as f64 * f64::from(self.spread) + 0.5;
        self.grow(spread as u64, window);
    }

    fn reduce(&mut self, cause: Cause, window: &Window, _: &Path, p: &CompoundParameters) -> u64 {
        self.notice(window.cwnd);
        self.spread = 0.0;
        match cause {
            Cause::Loss | Cause::Ecn => {
                if p.gamma_tuning {
                    self.tune(p);
                }
                let reno = (window.cwnd - self.dwnd) / 2;
                let left = mul_div(window.cwnd, 1000 - p.beta.get(), 1000).max(reno);
                self.dwnd = left - reno;
                self.seen = left;
                left
            }
            Cause::Timeout | Cause::RepeatedTimeout => {
                self.give_up();
                self.gamma = None;
                self.round.forget_base();
                window.cwnd / 2
            }
        }
    }

    fn on_recovery_exit(&mut self, _: Nanos, _: &mut Window, path: &Path, _: &CompoundParameters) {
        self.round.restart(path);
        self.spread = 0.0;
        self.reno_backlog = None;
    }

    fn on_idle(&mut self, _now: Nanos, _idle: Nanos, _shrunk: bool) {
        self.give_up();
        self.gamma = None;
        self.round.restart_after_idle();
    }

    fn save(&self) -> Before {
        Before {
            dwnd: self.dwnd,
            gamma: self.gamma,
        }
    }

    fn restore(&mut self, before: Before) {
        self.dwnd = before.dwnd;
        self.gamma = before.gamma;
        self.seen = 0;
    }
}

#[cfg(test)]
mod tests;
