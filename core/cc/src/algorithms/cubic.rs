//! CUBIC: RFC 9438, with HyStart++ (RFC 9406) as its slow start.
//!
//! The curve, K, the Reno-friendly estimate with its switch of alpha to 1, fast convergence,
//! timeouts and the way back from spurious losses follow the RFC. Where it leaves a choice:
//! growth is per segment delivered, not per ACK (§4.4 read literally would halve the growth under
//! delayed ACKs; Linux counts segments as well); the reduction is of the window (Linux), not of
//! FlightSize; an ECN mark leaves at least two segments, like a loss. The look-ahead is the
//! smoothed RTT as in the RFC; Linux uses the minimum.
//!
//! `profile = "linux"` follows `tcp_cubic.c` 6.12 instead, in its integers (`cubic/linux.rs`).

use serde::{Deserialize, Serialize};

use crate::parameter::{Profile, Thousandths, parameters};
use crate::scale::mul_div;
use crate::window::slow_start::{SlowStart, SlowStartRule};
use crate::window::windowed::{Cause, Law, Windowed};
use crate::window::{Window, mss};
use crate::{About, AckEvent, Nanos, Path, Preset, Range, SECOND, Signals, Spare, Value};

mod curve;
mod linux;

use curve::Curve;
use linux::LinuxCurve;

parameters! {
    /// What can be set of CUBIC.
    CubicParameters {
        /// Scale of the curve, C (RFC 9438 §5).
        c: Thousandths = Thousandths(400), Range::number(0.01, 4.0, "segments/s³");
        /// Share of the window that a loss leaves (RFC 9438 §4.6).
        beta: Thousandths = Thousandths(700), Range::number(0.1, 0.95, "");
        /// Share of the window that an ECN mark leaves: like a loss, or 0.85 with ABE (RFC 8511).
        ecn_beta: Thousandths = Thousandths(700), Range::number(0.1, 0.95, "");
        /// Give way further after a loss below the old plateau (RFC 9438 §4.7).
        fast_convergence: bool = true, Range::Flag;
        /// Never be slower than Reno would be (RFC 9438 §4.3).
        reno_friendly: bool = true, Range::Flag;
        /// Whose arithmetic is followed. Linux' has C and beta built in.
        profile: Profile = Profile::Rfc, Profile::RANGE;
        /// How the first slow start ends.
        slow_start: SlowStartRule = SlowStartRule::HyStartPlusPlus, SlowStartRule::RANGE;
    }
    Preset {
        name: "abe",
        meaning: "Alternative Backoff with ECN (RFC 8511)",
        values: &[("ecn_beta", Value::Number(0.85))],
    },
    Preset {
        name: "linux",
        meaning: "Linux 6.12: its integer arithmetic, and HyStart",
        values: &[
            ("profile", Value::Choice("linux")),
            ("slow_start", Value::Choice("hystart")),
        ],
    },
}

/// CUBIC.
pub type Cubic = Windowed<CubicLaw>;

/// The curve, by the arithmetic of either profile. There is none before the first slow start ends: most flows are over by then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Shape {
    /// RFC 9438.
    Rfc(Spare<Curve>),
    /// Linux 6.12.
    Linux(Spare<LinuxCurve>),
}

/// A window that is a cubic function of the time since the last reduction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CubicLaw {
    shape: Shape,
    last_ack: Nanos,
}

impl CubicLaw {
    /// Keeps the curve from running while the window is not what holds the flow back (RFC 9438
    /// §4.2: t leaves out the time in which cwnd did not grow because of the application).
    fn skip_time(&mut self, now: Nanos) {
        let span = now.saturating_sub(self.last_ack);
        match &mut self.shape {
            Shape::Rfc(curve) => {
                if let Some(curve) = curve.edit_known() {
                    curve.shift(span, now);
                }
            }
            Shape::Linux(curve) => {
                if let Some(curve) = curve.edit_known() {
                    curve.shift(span, now);
                }
            }
        }
        self.last_ack = now;
    }
}

/// Growth by the curve of the RFC.
fn follow(
    curve: &mut Curve,
    bytes: u64,
    now: Nanos,
    window: &mut Window,
    path: &Path,
    p: &CubicParameters,
) {
    let mss = mss(path);
    let cwnd = window.segments(path);
    let elapsed = curve.elapsed(now, cwnd, p);
    let estimate = curve.estimate(bytes as f64 / mss as f64, cwnd, p);
    if p.reno_friendly && curve.at(elapsed, p) < estimate {
        let friendly = (estimate * mss as f64) as u64;
        window.set(window.cwnd.max(friendly));
        return;
    }
    let ahead = elapsed + path.srtt as f64 / SECOND as f64;
    let target = curve.at(ahead, p).clamp(cwnd, 1.5 * cwnd);
    let gap = ((target - cwnd) * mss as f64) as u64;
    if gap > 0 {
        // (target - cwnd) / cwnd segments per segment delivered, as the price of one.
        let price = mul_div(window.cwnd, mss, gap);
        window.add_segments(price, bytes, path);
    }
}

/// In whole segments, as Linux counts.
fn whole(bytes: u64, path: &Path) -> u32 {
    u32::try_from(bytes / mss(path)).unwrap_or(u32::MAX)
}

impl Law for CubicLaw {
    type Parameters = CubicParameters;
    type Undo = Spare<Curve>;
    const ABOUT: About = About {
        summary: "CUBIC: cubic growth in time, HyStart++",
        source: "RFC 9438, RFC 9406",
        advice: "The default of most servers, and fair beside itself and Reno. Fills long fast \
                 paths that lose little. Not where packets are lost at random: at 100 ms and 1 % \
                 it stays below a hundredth of 1 Gbit/s; and it fills whatever queue there is.",
        signals: Signals::LOSS,
    };

    fn new(_path: &Path, parameters: &CubicParameters) -> Self {
        let shape = match parameters.profile {
            Profile::Rfc => Shape::Rfc(Spare::default()),
            Profile::Linux => Shape::Linux(Spare::default()),
        };
        CubicLaw { shape, last_ack: 0 }
    }

    fn slow_start(parameters: &CubicParameters, _path: &Path) -> SlowStart {
        parameters.slow_start.start()
    }

    fn on_ack(&mut self, event: &AckEvent, window: &mut Window, _: &Path, _: &CubicParameters) {
        if window.in_slow_start() {
            self.last_ack = event.now;
        }
        if let (Shape::Linux(curve), Some(rtt)) = (&mut self.shape, event.rtt) {
            curve.edit().on_rtt(event.now, rtt);
        }
    }

    fn avoid(
        &mut self,
        bytes: u64,
        event: &AckEvent,
        window: &mut Window,
        path: &Path,
        p: &CubicParameters,
    ) {
        self.last_ack = event.now;
        match &mut self.shape {
            Shape::Rfc(curve) => follow(curve.edit(), bytes, event.now, window, path, p),
            Shape::Linux(curve) => {
                let (cwnd, acked) = (whole(window.cwnd, path), whole(bytes, path));
                let price = curve.edit().price(event.now, cwnd, acked, p.reno_friendly);
                window.add_segments(u64::from(price) * mss(path), bytes, path);
            }
        }
    }

    fn held(&mut self, event: &AckEvent, _: &mut Window, _: &Path, _: &CubicParameters) {
        self.skip_time(event.now);
    }

    fn reduce(&mut self, cause: Cause, window: &Window, path: &Path, p: &CubicParameters) -> u64 {
        let beta = if cause == Cause::Ecn {
            p.ecn_beta
        } else {
            p.beta
        };
        match &mut self.shape {
            Shape::Rfc(curve) => {
                let cwnd = window.segments(path);
                let curve = curve.edit();
                match cause {
                    Cause::Loss | Cause::Ecn => curve.on_congestion(cwnd, p),
                    Cause::Timeout => curve.on_timeout(cwnd),
                    Cause::RepeatedTimeout => curve.on_timeout(curve.prior()),
                }
                mul_div(window.cwnd, beta.get(), 1000)
            }
            Shape::Linux(curve) => {
                let curve = curve.edit();
                let left = curve.on_congestion(whole(window.cwnd, path), p.fast_convergence);
                if matches!(cause, Cause::Timeout | Cause::RepeatedTimeout) {
                    curve.on_timeout();
                }
                u64::from(left) * mss(path)
            }
        }
    }

    fn on_idle(&mut self, now: Nanos, _idle: Nanos, shrunk: bool) {
        self.skip_time(now);
        if let Shape::Rfc(curve) = &mut self.shape
            && let Some(curve) = curve.edit_known()
            && shrunk
        {
            curve.end();
        }
    }

    /// Linux gives window and threshold back, and begins a new stage (`tcp_reno_undo_cwnd`).
    fn save(&self) -> Spare<Curve> {
        match &self.shape {
            Shape::Rfc(curve) => curve.clone(),
            Shape::Linux(_) => Spare::default(),
        }
    }

    fn restore(&mut self, saved: Spare<Curve>) {
        if let Shape::Rfc(curve) = &mut self.shape {
            *curve = saved;
        }
    }
}

#[cfg(test)]
mod tests;
