//! LEDBAT: RFC 6817; and LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus) as a variant.
//!
//! Both keep the queueing delay at `target`: the least of the last four delays above the least of
//! the last ten minutes. RFC 6817: the window moves by `gain * (target - delay) / target` segments a
//! round trip, never beyond the flight and `allowed_increase`. LEDBAT++: slow start with a gain
//! that is smaller on short paths (§4.1, §4.2: 1 / min(16, ceil(2 · target / base))) and ends at
//! three quarters of the target; the same gain a round trip below the target, and a decrease in
//! proportion to window and excess, of half the window at the most, above it (§4.3); and slowdowns
//! to two segments for two round trips, so that all see the path without a queue (§4.4): the first
//! two round trips after slow start, each next after nine times the length of the last. The way
//! back from one is that slow start too, up to the window before.
//! Different from RFC 6817: delays are round trips, as in LEDBAT++, since no clock of the receiver
//! is known here, so a queue on the way back counts; the initial window is that of all algorithms,
//! not two; slow start, on which it is silent, ends at three quarters of the target; a window that
//! is not used shrinks, but does not grow. Without a single RTT sample it is Reno.

use serde::{Deserialize, Serialize};

use crate::parameter::{Millis, Thousandths, choices, parameters};
use crate::window::slow_start::SlowStart;
use crate::window::windowed::{Cause, Law, Windowed};
use crate::window::{Window, mss};
use crate::{About, AckEvent, Nanos, Path, Preset, Range, Signals, Value};

mod delays;

use delays::Delays;

/// Smallest window, segments (RFC 6817 MIN_CWND; §4.4).
const MIN_CWND_SEGMENTS: u64 = 2;
/// Round trips from slow start to the first slowdown, and of a slowdown at the least window.
const SLOWDOWN_ROUNDS: u64 = 2;
/// Time until the next slowdown, in lengths of the last.
const SLOWDOWN_SPACING: u64 = 9;

choices! {
    /// Which LEDBAT.
    LedbatVariant {
        /// RFC 6817.
        Rfc6817 = "rfc6817",
        /// draft-irtf-iccrg-ledbat-plus-plus.
        PlusPlus = "ledbat++",
    }
}

parameters! {
    /// What can be set of LEDBAT.
    LedbatParameters {
        /// RFC 6817, or LEDBAT++.
        variant: LedbatVariant = LedbatVariant::Rfc6817, LedbatVariant::RANGE;
        /// Queueing delay to keep (RFC 6817: 100 ms at the most; LEDBAT++ 60).
        target: Millis = Millis(100), Range::whole(1, 100, "ms");
        /// Segments a round trip without a queue (RFC 6817 GAIN; LEDBAT++ divides it on short paths).
        gain: Thousandths = Thousandths(1000), Range::number(0.01, 1.0, "segments");
        /// By how much the window may exceed the flight (RFC 6817 ALLOWED_INCREASE).
        allowed_increase: u32 = 1, Range::whole(1, 1000, "segments");
        /// LEDBAT++: the gain is divided by this at the most (§4.2).
        gain_divisor: u32 = 16, Range::whole(1, 1000, "");
    }
    Preset {
        name: "ledbat++",
        meaning: "draft-irtf-iccrg-ledbat-plus-plus",
        values: &[
            ("variant", Value::Choice("ledbat++")),
            ("target", Value::Number(60.0)),
        ],
    },
}

/// LEDBAT.
pub type Ledbat = Windowed<LedbatLaw>;

/// Where LEDBAT++ is in its cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    /// The first slow start.
    Start,
    /// Congestion avoidance, until the next slowdown.
    Avoid,
    /// At the least window.
    Slowdown,
    /// Slow start back to the window before.
    Return,
}

/// A window that keeps the queueing delay at a target.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LedbatLaw {
    pub(crate) delays: Delays,
    stage: Stage,
    /// LEDBAT++: the stage ends at this time.
    until: Nanos,
    /// LEDBAT++: when the last slowdown began.
    slowdown_at: Nanos,
    /// What the window has been moved by, less than a byte.
    fraction: f64,
}

impl LedbatLaw {
    /// Queueing delay as a multiple of the target.
    fn excess(&self, p: &LedbatParameters) -> f64 {
        self.delays.queueing() as f64 / p.target.nanos().max(1) as f64
    }

    fn gain(&self, p: &LedbatParameters) -> f64 {
        let gain = p.gain.get() as f64 / 1000.0;
        match p.variant {
            LedbatVariant::Rfc6817 => gain,
            LedbatVariant::PlusPlus => gain / self.divisor(p) as f64,
        }
    }

    fn divisor(&self, p: &LedbatParameters) -> u64 {
        let most = u64::from(p.gain_divisor.max(1));
        match self.delays.base() {
            None => most,
            Some(base) => (2 * p.target.nanos()).div_ceil(base.max(1)).clamp(1, most),
        }
    }

    /// Segments by which the window moves in a round trip.
    fn change(&self, window: &Window, path: &Path, p: &LedbatParameters) -> f64 {
        let (gain, excess) = (self.gain(p), self.excess(p));
        match p.variant {
            LedbatVariant::Rfc6817 => gain * (1.0 - excess),
            LedbatVariant::PlusPlus if excess <= 1.0 => gain,
            LedbatVariant::PlusPlus => {
                let segments = window.segments(path);
                (gain - segments * (excess - 1.0)).max(-segments / 2.0)
            }
        }
    }

    /// Moves the window by the part of a round trip's change that `bytes` delivered stand for.
    fn shift(&mut self, change: f64, bytes: u64, most: u64, window: &mut Window, path: &Path) {
        let part = bytes as f64 / window.cwnd.max(1) as f64;
        let moved = change * part * mss(path) as f64 + self.fraction;
        let whole = libm::trunc(moved);
        self.fraction = moved - whole;
        if whole >= 0.0 {
            let grown = window.cwnd.saturating_add(whole as u64);
            window.set(grown.min(most).max(window.cwnd));
        } else {
            let floor = (MIN_CWND_SEGMENTS * mss(path)).min(window.cwnd);
            window.set(window.cwnd.saturating_sub(-whole as u64).max(floor));
            window.ssthresh = window.ssthresh.min(window.cwnd);
        }
    }

    /// LEDBAT++: slowdowns.
    fn advance(
        &mut self,
        event: &AckEvent,
        window: &mut Window,
        path: &Path,
        p: &LedbatParameters,
    ) {
        let rounds = |n: u64| event.now.saturating_add(n.saturating_mul(path.srtt));
        match self.stage {
            Stage::Start if !window.in_slow_start() => {
                self.stage = Stage::Avoid;
                self.until = rounds(SLOWDOWN_ROUNDS);
            }
            Stage::Avoid if event.now >= self.until && !event.in_recovery => {
                self.stage = Stage::Slowdown;
                self.slowdown_at = event.now;
                self.until = rounds(SLOWDOWN_ROUNDS);
                window.ssthresh = window.cwnd;
                window.set(window.cwnd.min(MIN_CWND_SEGMENTS * mss(path)));
            }
            Stage::Slowdown if event.now >= self.until => self.stage = Stage::Return,
            Stage::Return if !window.in_slow_start() => {
                self.stage = Stage::Avoid;
                let length = event.now.saturating_sub(self.slowdown_at);
                let pause = length.saturating_mul(SLOWDOWN_SPACING);
                self.until = event.now.saturating_add(pause);
            }
            _ => {}
        }
        let factor = match self.stage {
            Stage::Slowdown => 0.0,
            _ => self.gain(p),
        };
        window.slow_start = SlowStart::Scaled { factor };
    }
}

impl Law for LedbatLaw {
    type Parameters = LedbatParameters;
    type Undo = ();
    const ABOUT: About = About {
        summary: "LEDBAT: gives way to all others, by the queueing delay",
        source: "RFC 6817, draft-irtf-iccrg-ledbat-plus-plus",
        advice: "For what can wait: updates, backups, replication beside traffic that people wait \
                 for. Uses what is left and steps back as soon as a queue builds. The preset \
                 ledbat++ is the better neighbour and shares fairly among its own; with RFC 6817 \
                 the flow that comes last gets most. Neither gives way where queues hold less than \
                 the target, or an AQM keeps them shorter: there it is another Reno. Not for \
                 anything that has a deadline.",
        signals: Signals::LOSS_AND_DELAY,
    };

    fn new(path: &Path, _: &LedbatParameters) -> Self {
        LedbatLaw {
            delays: Delays::new(path),
            stage: Stage::Start,
            until: 0,
            slowdown_at: 0,
            fraction: 0.0,
        }
    }

    fn slow_start(p: &LedbatParameters, path: &Path) -> SlowStart {
        match p.variant {
            LedbatVariant::Rfc6817 => SlowStart::Standard,
            LedbatVariant::PlusPlus => SlowStart::Scaled {
                factor: LedbatLaw::new(path, p).gain(p),
            },
        }
    }

    fn on_ack(&mut self, event: &AckEvent, window: &mut Window, path: &Path, p: &LedbatParameters) {
        if let Some(rtt) = event.rtt {
            self.delays.take(event.now, rtt);
        }
        if self.stage == Stage::Start && window.in_slow_start() && self.excess(p) > 0.75 {
            window.leave_slow_start();
        }
        if p.variant == LedbatVariant::PlusPlus {
            self.advance(event, window, path, p);
        }
        if !window.in_slow_start() && !event.in_recovery {
            let change = self.change(window, path, p);
            if change < 0.0 {
                self.shift(change, event.delivered, 0, window, path);
            }
        }
    }

    fn avoid(
        &mut self,
        bytes: u64,
        event: &AckEvent,
        window: &mut Window,
        path: &Path,
        p: &LedbatParameters,
    ) {
        if self.delays.base().is_none() {
            window.add_segments(window.cwnd, bytes, path);
            return;
        }
        let change = self.change(window, path, p);
        if change >= 0.0 {
            let ahead = u64::from(p.allowed_increase).saturating_mul(mss(path));
            let most = event.inflight_before.saturating_add(ahead);
            self.shift(change, bytes, most, window, path);
        }
    }

    /// RFC 6817 §2.4.2: half, once per round trip. In a slowdown it is the window before that counts.
    fn reduce(&mut self, _: Cause, window: &Window, _: &Path, _: &LedbatParameters) -> u64 {
        if self.stage == Stage::Slowdown {
            window.ssthresh / 2
        } else {
            window.cwnd / 2
        }
    }

    fn save(&self) {}

    fn restore(&mut self, (): ()) {}
}

#[cfg(test)]
mod tests;
