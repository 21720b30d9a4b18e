//! Copa: Arun and Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet",
//! NSDI 2018, §2; with the differences of Meta's mvfst as a variant.
//!
//! Followed: the target rate 1 / (delta · d_q), d_q the standing RTT (least of srtt / 2) above the
//! least RTT of ten seconds; the window's step of v / (delta · cwnd) segments per segment delivered
//! toward it; the velocity v, doubled every round trip once the direction has been the same for
//! three; slow start until the rate exceeds the target; pacing at 2 · cwnd / standing RTT; the
//! competitive mode, in which 1/delta grows by one a round trip and is halved by loss, when the
//! queue has not been nearly empty for five round trips. In the default mode loss changes nothing,
//! and marks never do.
//! Different: an unused window does not grow (it may shrink); per byte, not per ACK; v never asks
//! for more than a window per round trip (the authors' genericCC bounds it likewise); 1/delta never
//! falls below that of the default mode; a timeout leaves two segments and begins slow start again;
//! the window is at most twice what the path delivers in a round trip (and an initial window): where
//! the least RTT was measured over a queue that others keep full, no loss would ever stop it.
//! The variant `mvfst`: doubling in one step per round trip, no bound on v, pacing by the smoothed
//! RTT; d_q from the newest RTT (`delay = "latest"`) or, with the standing RTT, one of a whole srtt
//! and a direction that must last four round trips.

use serde::{Deserialize, Serialize};

use crate::parameter::{Millis, Thousandths, choices, parameters};
use crate::scale::{bytes_over, rate_over};
use crate::window::{MAX_CWND_BYTES, inherited_window, initial_window, mss};
use crate::windowed_filter::{WindowedMax, WindowedMin};
use crate::{
    About, AckEvent, Beginning, CongestionControl, CongestionEvent, Control, Nanos, Path, Phase,
    Preset, Range, Signal, Signals, Value,
};

mod mode;
mod velocity;

use mode::Mode;
use velocity::{Direction, Velocity};

/// Smallest window, segments.
const MIN_CWND_SEGMENTS: u64 = 2;

choices! {
    /// Whose Copa.
    CopaVariant {
        /// The paper's.
        Paper = "paper",
        /// Meta's mvfst.
        Mvfst = "mvfst",
    }
}

choices! {
    /// Which RTT shows the queue.
    CopaDelay {
        /// The least of a part of a round trip.
        Standing = "standing",
        /// The newest.
        Latest = "latest",
    }
}

parameters! {
    /// What can be set of Copa.
    CopaParameters {
        /// Inverse of the segments that the flow keeps queued, in the default mode (§2.2: 0.5; mvfst 0.05).
        delta: Thousandths = Thousandths(500), Range::number(0.004, 4.0, "");
        /// Competes with flows that fill the queue, when there seem to be any (§2.2).
        competitive: bool = true, Range::Flag;
        /// The RTT that shows the queue (§2.1: the standing one).
        delay: CopaDelay = CopaDelay::Standing, CopaDelay::RANGE;
        /// How long a minimum of the RTT is believed (§2.1).
        min_rtt_filter_ms: Millis = Millis(10_000), Range::whole(1000, 600_000, "ms");
        /// The paper's rules, or mvfst's.
        variant: CopaVariant = CopaVariant::Paper, CopaVariant::RANGE;
    }
    Preset {
        name: "mvfst",
        meaning: "Meta's mvfst with its defaults: 20 segments queued, no competitive mode",
        values: &[
            ("delta", Value::Number(0.05)),
            ("competitive", Value::Flag(false)),
            ("delay", Value::Choice("latest")),
            ("variant", Value::Choice("mvfst")),
        ],
    },
}

/// Copa.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Copa {
    parameters: CopaParameters,
    /// Bytes.
    cwnd: f64,
    /// Window before the last timeout.
    before_timeout: f64,
    min_rtt: WindowedMin,
    standing_rtt: WindowedMin,
    max_rtt: WindowedMax,
    has_seen_rtt: bool,
    slow_start: bool,
    /// When slow start last doubled (`mvfst`).
    doubled: Option<Nanos>,
    velocity: Velocity,
    mode: Mode,
}

impl Copa {
    fn take_rtt(&mut self, now: Nanos, rtt: Nanos, path: &Path) {
        let rtt = rtt.max(1);
        if !self.has_seen_rtt {
            self.has_seen_rtt = true;
            self.min_rtt.reset(now, rtt.min(path.min_rtt.max(1)));
            self.standing_rtt.reset(now, rtt);
            self.max_rtt.reset(now, rtt);
            return;
        }
        let p = &self.parameters;
        let whole = p.variant == CopaVariant::Mvfst && p.delay == CopaDelay::Standing;
        let span = if whole { path.srtt } else { path.srtt / 2 };
        self.min_rtt.update(p.min_rtt_filter_ms.nanos(), now, rtt);
        self.standing_rtt.update(span, now, rtt);
        let rounds = path.srtt.saturating_mul(mode::MAX_RTT_ROUNDS);
        self.max_rtt.update(rounds, now, rtt);
    }

    /// `d_q`, ns.
    fn queueing_delay(&self, path: &Path) -> Nanos {
        let rtt = match self.parameters.delay {
            CopaDelay::Standing => self.standing_rtt.get(),
            CopaDelay::Latest => path.latest_rtt,
        };
        rtt.saturating_sub(self.min_rtt.get())
    }

    /// Whether `cwnd / RTTstanding <= 1 / (delta * d_q)`.
    fn is_below_target(&self, path: &Path) -> bool {
        let wanted = mss(path) as f64 * self.mode.queued * self.standing_rtt.get() as f64;
        self.cwnd * self.queueing_delay(path) as f64 <= wanted
    }

    fn double(&mut self, event: &AckEvent, path: &Path) {
        let grown = match (self.parameters.variant, self.doubled) {
            (CopaVariant::Paper, _) => event.delivered as f64,
            (CopaVariant::Mvfst, Some(at)) if event.now.saturating_sub(at) > path.srtt => {
                self.doubled = Some(event.now);
                self.cwnd
            }
            (CopaVariant::Mvfst, at) => {
                self.doubled = at.or(Some(event.now));
                0.0
            }
        };
        self.set(self.cwnd + grown, path);
    }

    /// `v / (delta * cwnd)` for every segment delivered, bytes.
    fn step(&self, event: &AckEvent, path: &Path) -> f64 {
        let rate = self.velocity.get() * self.mode.queued * mss(path) as f64;
        rate * event.delivered as f64 / self.cwnd
    }

    fn set(&mut self, cwnd: f64, path: &Path) {
        let floor = (MIN_CWND_SEGMENTS * mss(path)) as f64;
        let most = MAX_CWND_BYTES.min(self.twice_what_is_delivered(path));
        self.cwnd = cwnd.clamp(floor, (most as f64).max(floor));
    }

    /// In a round trip, and an initial window.
    fn twice_what_is_delivered(&self, path: &Path) -> u64 {
        if path.max_bw == 0 || !self.has_seen_rtt {
            return u64::MAX;
        }
        let delivered = bytes_over(path.max_bw, self.standing_rtt.get());
        delivered
            .saturating_mul(2)
            .saturating_add(initial_window(path))
    }

    fn steer(&mut self, event: &AckEvent, path: &Path) {
        let below = self.is_below_target(path);
        if !(below && self.slow_start) {
            self.velocity
                .on_ack(event.now, self.cwnd, path, &self.parameters);
        }
        if !below {
            self.slow_start = false;
            self.velocity.turn(Direction::Down, event.now, self.cwnd);
            self.set(self.cwnd - self.step(event, path), path);
        } else if !event.cwnd_limited {
            // Nothing says that a larger window would be used.
        } else if self.slow_start {
            self.double(event, path);
        } else {
            self.velocity.turn(Direction::Up, event.now, self.cwnd);
            self.set(self.cwnd + self.step(event, path), path);
        }
        if self.parameters.variant == CopaVariant::Paper {
            let most = self.cwnd / mss(path) as f64 / self.mode.queued;
            self.velocity.limit(most);
        }
    }
}

impl CongestionControl for Copa {
    type Parameters = CopaParameters;
    const ABOUT: About = About {
        summary: "Copa: it sends at 1 / (delta · queueing delay), and keeps two segments queued",
        source: "Arun and Balakrishnan, NSDI 2018; facebook/mvfst",
        advice: "Low delay at nearly full throughput on paths whose RTT is steady: video calls, \
                 games, a link that you own; and blind to random loss. Beside loss-based flows it \
                 sees the queue never empty and competes about as hard as Reno. Not on paths with \
                 jitter of more than a few milliseconds (Wi-Fi, cellular), which it takes for a \
                 queue, nor beside flows with a much longer RTT, which make it compete for nothing.",
        signals: Signals {
            loss: false,
            ecn: false,
            delay: true,
        },
    };

    fn new(beginning: &Beginning<'_>, parameters: &CopaParameters) -> Self {
        let path = beginning.path;
        let known = beginning.knows_path();
        let cwnd = if path.max_bw > 0 {
            inherited_window(beginning)
        } else {
            initial_window(path)
        };
        Copa {
            parameters: *parameters,
            cwnd: cwnd as f64,
            before_timeout: 0.0,
            min_rtt: WindowedMin::default(),
            standing_rtt: WindowedMin::default(),
            max_rtt: WindowedMax::default(),
            has_seen_rtt: false,
            slow_start: !known,
            doubled: None,
            velocity: Velocity::default(),
            mode: Mode::new(parameters),
        }
    }

    fn on_ack(&mut self, event: &AckEvent, path: &Path) {
        if let Some(rtt) = event.rtt {
            self.take_rtt(event.now, rtt, path);
        }
        if !self.has_seen_rtt {
            return;
        }
        let (min, max) = (self.min_rtt.get(), self.max_rtt.get());
        let delay = self.standing_rtt.get().saturating_sub(min);
        let nearly_empty = self.slow_start || mode::is_nearly_empty(delay, max.saturating_sub(min));
        self.mode
            .on_ack(event.now, nearly_empty, path.srtt, &self.parameters);
        if event.delivered > 0 {
            self.steer(event, path);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent, _path: &Path) {
        if event.signal == Signal::Loss {
            self.mode.on_loss(event.now, &self.parameters);
        }
    }

    fn on_rto(&mut self, now: Nanos, path: &Path) {
        self.mode.on_loss(now, &self.parameters);
        self.before_timeout = self.before_timeout.max(self.cwnd);
        self.set(0.0, path);
        self.slow_start = true;
        self.doubled = None;
        self.velocity = Velocity::default();
    }

    fn on_recovery_exit(&mut self, _now: Nanos, _path: &Path) {
        self.before_timeout = 0.0;
    }

    fn on_spurious(&mut self, _now: Nanos, path: &Path) {
        self.set(self.cwnd.max(self.before_timeout), path);
        self.before_timeout = 0.0;
    }

    fn on_idle_restart(&mut self, now: Nanos, _idle: Nanos, _path: &Path) {
        self.velocity = Velocity::default();
        self.mode.restart(now);
    }

    fn control(&self) -> Control {
        let cwnd = self.cwnd as u64;
        let phase = if self.slow_start {
            Phase::SlowStart
        } else {
            Phase::Avoidance
        };
        let round = self.standing_rtt.get();
        let pacing_rate = self.has_seen_rtt.then(|| rate_over(2 * cwnd, round).max(1));
        Control {
            cwnd,
            ssthresh: u64::MAX,
            pacing_rate,
            phase,
        }
    }

    fn uses_prr(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
