//! CUBIC: RFC 9438, with HyStart++ (RFC 9406) as its slow start.
//!
//! The curve, K, the Reno-friendly estimate with its switch of alpha to 1, fast convergence,
//! timeouts and the way back from spurious losses follow the RFC. Where it leaves a choice:
//! growth is per segment delivered, not per ACK (§4.4 read literally would halve the growth under
//! delayed ACKs; Linux counts segments as well); the reduction is of the window (Linux), not of
//! FlightSize; an ECN mark leaves at least two segments, like a loss. The look-ahead is the
//! smoothed RTT as in the RFC; Linux uses the minimum.

use serde::{Deserialize, Serialize};

use crate::parameter::parameters;
use crate::scale::mul_div;
use crate::slow_start::{SlowStart, SlowStartRule};
use crate::window::{Window, mss};
use crate::windowed::{Cause, Law, Windowed};
use crate::{About, AckEvent, Nanos, Path, Preset, Range, SECOND, Signals, Value};

mod curve;

use curve::Curve;

parameters! {
    /// What can be set of CUBIC.
    CubicParameters {
        /// Scale of the curve, C (RFC 9438 §5).
        c: f64 = 0.4, Range::number(0.01, 4.0, "segments/s³");
        /// Share of the window that a loss leaves (RFC 9438 §4.6).
        beta: f64 = 0.7, Range::number(0.1, 0.95, "");
        /// Share of the window that an ECN mark leaves: like a loss, or 0.85 with ABE (RFC 8511).
        ecn_beta: f64 = 0.7, Range::number(0.1, 0.95, "");
        /// Give way further after a loss below the old plateau (RFC 9438 §4.7).
        fast_convergence: bool = true, Range::Flag;
        /// Never be slower than Reno would be (RFC 9438 §4.3).
        reno_friendly: bool = true, Range::Flag;
        /// How the first slow start ends.
        slow_start: SlowStartRule = SlowStartRule::HyStartPlusPlus, SlowStartRule::RANGE;
    }
    Preset {
        name: "abe",
        meaning: "Alternative Backoff with ECN (RFC 8511)",
        values: &[("ecn_beta", Value::Number(0.85))],
    },
}

/// CUBIC.
pub type Cubic = Windowed<CubicLaw>;

/// A window that is a cubic function of the time since the last reduction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CubicLaw {
    curve: Curve,
    last_ack: Nanos,
}

impl CubicLaw {
    /// Keeps the curve from running while the window is not what holds the flow back (RFC 9438
    /// §4.2: t leaves out the time in which cwnd did not grow because of the application).
    fn skip_time(&mut self, now: Nanos) {
        self.curve.shift(now.saturating_sub(self.last_ack), now);
        self.last_ack = now;
    }
}

impl Law for CubicLaw {
    type Parameters = CubicParameters;
    type Undo = Curve;
    const ABOUT: About = About {
        summary: "CUBIC: cubic growth in time, HyStart++",
        source: "RFC 9438, RFC 9406",
        advice: "The default of most servers, and fair beside itself and Reno. Fills long fast \
                 paths that lose little. Not where packets are lost at random: at 100 ms and 1 % \
                 it stays below a hundredth of 1 Gbit/s; and it fills whatever queue there is.",
        signals: Signals::LOSS,
    };

    fn new(_path: &Path, _parameters: &CubicParameters) -> Self {
        CubicLaw {
            curve: Curve::default(),
            last_ack: 0,
        }
    }

    fn slow_start(parameters: &CubicParameters, _path: &Path) -> SlowStart {
        parameters.slow_start.start()
    }

    fn on_ack(&mut self, event: &AckEvent, window: &mut Window, _: &Path, _: &CubicParameters) {
        if window.in_slow_start() {
            self.last_ack = event.now;
        }
    }

    fn avoid(
        &mut self,
        bytes: u64,
        event: &AckEvent,
        window: &mut Window,
        path: &Path,
        parameters: &CubicParameters,
    ) {
        self.last_ack = event.now;
        let mss = mss(path);
        let cwnd = window.segments(path);
        let elapsed = self.curve.elapsed(event.now, cwnd, parameters);
        let estimate = self
            .curve
            .estimate(bytes as f64 / mss as f64, cwnd, parameters);
        if parameters.reno_friendly && self.curve.at(elapsed, parameters) < estimate {
            let friendly = (estimate * mss as f64) as u64;
            window.set(window.cwnd.max(friendly));
            return;
        }
        let ahead = elapsed + path.srtt as f64 / SECOND as f64;
        let target = self.curve.at(ahead, parameters).clamp(cwnd, 1.5 * cwnd);
        let gap = ((target - cwnd) * mss as f64) as u64;
        if gap > 0 {
            // (target - cwnd) / cwnd segments per segment delivered, as the price of one.
            let price = mul_div(window.cwnd, mss, gap);
            window.add_segments(price, bytes, path);
        }
    }

    fn held(&mut self, event: &AckEvent, _: &mut Window, _: &Path, _: &CubicParameters) {
        self.skip_time(event.now);
    }

    fn reduce(&mut self, cause: Cause, window: &Window, path: &Path, p: &CubicParameters) -> u64 {
        let cwnd = window.segments(path);
        match cause {
            Cause::Loss | Cause::Ecn => self.curve.on_congestion(cwnd, p),
            Cause::Timeout => self.curve.on_timeout(cwnd),
            Cause::RepeatedTimeout => self.curve.on_timeout(self.curve.prior()),
        }
        let beta = if cause == Cause::Ecn {
            p.ecn_beta
        } else {
            p.beta
        };
        // To the nearest byte: 0.7 × 100000 is 70000.
        libm::round(window.cwnd as f64 * beta) as u64
    }

    fn on_idle(&mut self, now: Nanos, _idle: Nanos, shrunk: bool) {
        self.skip_time(now);
        if shrunk {
            self.curve.end();
        }
    }

    fn save(&self) -> Curve {
        self.curve
    }

    fn restore(&mut self, curve: Curve) {
        self.curve = curve;
    }
}

#[cfg(test)]
#[path = "cubic/tests.rs"]
mod tests;
