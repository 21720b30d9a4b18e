//! TCP-Illinois: S. Liu, T. Başar, R. Srikant, "TCP-Illinois: A loss- and delay-based congestion
//! control algorithm for high-speed networks", Performance Evaluation 65, 2008; and Linux
//! `tcp_illinois.c` 6.12.
//!
//! Once per round trip the mean queueing delay sets the increase and the decrease, with the curves
//! and constants that paper and module share; a timeout resets both, as in the module. As in Linux,
//! the largest RTT never ages.
//!
//! Profile `rfc` is the paper: real numbers, growth by what is delivered, and rounds of little
//! delay must follow one another to bring the largest increase back. Profile `linux` is the module:
//! 128ths and 64ths; whole segments; growth by what the cumulative ACK advances, so that the ACK that
//! ends a recovery counts for all that it covers, a window or more, and the window leaps by up to
//! alpha segments; what is over when the window grows is dropped; rounds of little delay count
//! wherever they lie.

use serde::{Deserialize, Serialize};

use crate::parameter::parameters;
use crate::window::slow_start::{SlowStart, SlowStartRule};
use crate::window::windowed::{Cause, Law, Windowed};
use crate::window::{Window, mss, whole_segments};
use crate::{About, AckEvent, MILLISECOND, Nanos, Path, Profile, Range, Signals};

parameters! {
    /// What can be set of TCP-Illinois.
    IllinoisParameters {
        /// Growth while there is no queue.
        alpha_max: f64 = 10.0, Range::number(1.0, 100.0, "segments per round trip");
        /// Growth while the queue is at its longest.
        alpha_min: f64 = 0.3, Range::number(0.01, 1.0, "segments per round trip");
        /// Share of the window that a loss takes while the queue is short.
        beta_min: f64 = 0.125, Range::number(0.01, 0.5, "");
        /// Share of the window that a loss takes while the queue is long.
        beta_max: f64 = 0.5, Range::number(0.5, 0.9, "");
        /// Window below which it is Reno.
        win_thresh: u32 = 15, Range::whole(0, 10_000, "segments");
        /// Round trips without a queue before growth is the largest again.
        theta: u32 = 5, Range::whole(1, 100, "round trips");
        /// Who is followed: the paper ("rfc"), or the Linux module.
        profile: Profile = Profile::Rfc, Profile::RANGE;
        /// How the first slow start ends.
        slow_start: SlowStartRule = SlowStartRule::Standard, SlowStartRule::RANGE;
    }
}

/// Shares of the largest queueing delay: up to the first there is no queue, up to the second the
/// decrease is the smallest, from the third on it is the largest.
const ETA: [f64; 3] = [0.01, 0.1, 0.8];
/// Growth and decrease of small windows and after a timeout: Reno's.
const BASE: Response = Response {
    alpha: 1.0,
    beta: 0.5,
};
/// Units of the module's fixed point, of alpha and of beta.
const LINUX_UNITS: [f64; 2] = [128.0, 64.0];
/// No sample counts for more (Linux: 2^32 / 1280 µs).
const LONGEST_RTT: Nanos = 3_355 * MILLISECOND;

/// TCP-Illinois.
pub type Illinois = Windowed<IllinoisLaw>;

/// How far the window goes up and down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// Segments per round trip.
    alpha: f64,
    /// Share of the window.
    beta: f64,
}

/// AIMD whose increase falls and whose decrease rises with the queueing delay.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct IllinoisLaw {
    response: Response,
    /// Sum and number of the round's RTT samples.
    rtt_sum: Nanos,
    samples: u32,
    /// The round ends when more bytes than this have been delivered.
    round_end: u64,
    /// Rounds without a queue since the last with one.
    low_rounds: u8,
    /// A queue has been seen since growth was the largest.
    above: bool,
    /// Bytes that have been acknowledged since the window grew (Linux only).
    credit: u64,
}

impl IllinoisLaw {
    /// Growth of now, segments per round trip.
    #[cfg(test)]
    pub(crate) fn alpha_now(&self) -> f64 {
        self.response.alpha
    }

    /// The end of a round.
    fn update(&mut self, window: &Window, path: &Path, p: &IllinoisParameters) {
        if window.cwnd < u64::from(p.win_thresh) * mss(path) {
            self.response = BASE;
        } else if self.samples > 0 {
            let mean = self.rtt_sum / u64::from(self.samples);
            let longest = path.max_rtt.min(LONGEST_RTT);
            let delay = mean.saturating_sub(path.min_rtt) as f64;
            let most = longest.saturating_sub(path.min_rtt) as f64;
            let steps = |value: f64, unit: f64| match p.profile {
                Profile::Rfc => value,
                Profile::Linux => libm::floor(value * unit) / unit,
            };
            self.response = Response {
                alpha: steps(self.alpha(delay, most, p), LINUX_UNITS[0]),
                beta: steps(beta(delay, most, p), LINUX_UNITS[1]),
            };
        }
        self.rtt_sum = 0;
        self.samples = 0;
    }

    /// The increase at a mean queueing delay of `delay`, the largest known being `most`. Once there
    /// has been a queue, growth is the largest again only after `theta` rounds without one.
    fn alpha(&mut self, delay: f64, most: f64, p: &IllinoisParameters) -> f64 {
        let low = ETA[0] * most;
        if delay > low {
            self.above = true;
            if p.profile == Profile::Rfc {
                self.low_rounds = 0;
            }
            let (most, delay) = (most - low, delay - low);
            let steepness = (p.alpha_max - p.alpha_min) / p.alpha_min;
            return most * p.alpha_max / (most + delay * steepness);
        }
        if self.above {
            self.low_rounds += 1;
            if u32::from(self.low_rounds) < p.theta {
                return self.response.alpha;
            }
            self.above = false;
            self.low_rounds = 0;
        }
        p.alpha_max
    }
}

impl IllinoisLaw {
    /// A round has ended if more than its end has been delivered.
    fn check_round(&mut self, window: &Window, path: &Path, p: &IllinoisParameters) {
        if path.delivered > self.round_end {
            self.update(window, path, p);
            self.round_end = path.delivered.saturating_add(path.inflight);
        }
    }

    /// The module's growth by an ACK that advances by `bytes`.
    fn grow_linux(&mut self, bytes: u64, window: &mut Window, path: &Path) {
        self.credit = self.credit.saturating_add(bytes);
        let mss = mss(path);
        let delta = ((self.credit / mss) as f64 * self.response.alpha) as u64;
        let segments = delta / (window.cwnd / mss).max(1);
        if segments > 0 {
            window.set(window.cwnd.saturating_add(segments.saturating_mul(mss)));
            self.credit = 0;
        }
    }
}

/// The decrease: the least up to a tenth of the largest delay, the most from eight tenths on, and
/// on a straight line between.
fn beta(delay: f64, most: f64, p: &IllinoisParameters) -> f64 {
    let (low, high) = (ETA[1] * most, ETA[2] * most);
    if delay <= low {
        p.beta_min
    } else if delay >= high {
        p.beta_max
    } else {
        p.beta_min + (p.beta_max - p.beta_min) * (delay - low) / (high - low)
    }
}

impl Law for IllinoisLaw {
    type Parameters = IllinoisParameters;
    type Undo = Response;
    const ABOUT: About = About {
        summary: "TCP-Illinois: delay sets how far it goes up and down, loss when",
        source: "Liu, Basar, Srikant, Perf. Eval. 65, 2008; Linux tcp_illinois.c 6.12",
        advice: "For long fast paths that lose little: quick while the queue is empty, careful \
                 when it is long, and a loss without a queue costs an eighth. One outlier among \
                 the RTTs makes every queue look short for the rest of the flow, so not for \
                 wireless paths; it takes more than Reno where queues are deep, and fills them.",
        signals: Signals::LOSS,
    };

    fn new(_path: &Path, parameters: &IllinoisParameters) -> Self {
        IllinoisLaw {
            response: Response {
                alpha: parameters.alpha_max,
                beta: parameters.beta_max,
            },
            rtt_sum: 0,
            samples: 0,
            round_end: 0,
            low_rounds: 0,
            above: false,
            credit: 0,
        }
    }

    fn slow_start(parameters: &IllinoisParameters, _path: &Path) -> SlowStart {
        parameters.slow_start.start()
    }

    fn on_ack(
        &mut self,
        event: &AckEvent,
        window: &mut Window,
        path: &Path,
        p: &IllinoisParameters,
    ) {
        if let Some(rtt) = event.rtt {
            self.rtt_sum = self.rtt_sum.saturating_add(rtt.min(LONGEST_RTT));
            self.samples = self.samples.saturating_add(1);
        }
        // As Linux does it: the model lives on while the window is not the limit, and rests in
        // recovery.
        if !event.in_recovery {
            self.check_round(window, path, p);
        }
    }

    fn avoid(
        &mut self,
        bytes: u64,
        event: &AckEvent,
        window: &mut Window,
        path: &Path,
        p: &IllinoisParameters,
    ) {
        match p.profile {
            Profile::Rfc => {
                let price = (window.cwnd as f64 / self.response.alpha) as u64;
                window.add_segments(price, bytes, path);
            }
            Profile::Linux => self.grow_linux(event.acked, window, path),
        }
    }

    fn reduce(
        &mut self,
        cause: Cause,
        window: &Window,
        path: &Path,
        p: &IllinoisParameters,
    ) -> u64 {
        self.credit = 0;
        let taken = (window.cwnd as f64 * self.response.beta) as u64;
        let target = match p.profile {
            Profile::Rfc => window.cwnd - taken,
            Profile::Linux => window.cwnd - whole_segments(taken, path),
        };
        if matches!(cause, Cause::Timeout | Cause::RepeatedTimeout) {
            *self = IllinoisLaw {
                response: BASE,
                rtt_sum: 0,
                samples: 0,
                round_end: path.delivered.saturating_add(path.inflight),
                low_rounds: 0,
                above: false,
                credit: 0,
            };
        }
        target
    }

    fn save(&self) -> Response {
        self.response
    }

    fn restore(&mut self, response: Response) {
        self.response = response;
    }
}

#[cfg(test)]
mod tests;
