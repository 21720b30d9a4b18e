//! CUBIC: RFC 9438, with HyStart++ (RFC 9406) as its slow start.
//!
//! The curve, K, the Reno-friendly estimate with its switch of alpha to 1, fast convergence,
//! timeouts and the way back from spurious losses follow the RFC. Where it leaves a choice:
//! growth is per segment delivered, not per ACK (§4.4 read literally would halve the growth under
//! delayed ACKs; Linux counts segments as well); the reduction is of the window (Linux), not of
//! FlightSize; an ECN mark leaves at least two segments, like a loss. The look-ahead is the
//! smoothed RTT as in the RFC; Linux uses the minimum.

use crate::scale::mul_div;
use crate::slow_start::{HyStartPlusPlus, SlowStart};
use crate::window::{Window, mss};
use crate::{AckEvent, CongestionControl, CongestionEvent, Control, Nanos, Path, SECOND};

mod curve;

use curve::Curve;

/// Multiplicative decrease factor, tenths.
const BETA_TENTHS: u64 = 7;

/// CUBIC, with the slow start `S`.
#[derive(Clone, Debug)]
pub struct Cubic<S = HyStartPlusPlus> {
    window: Window,
    slow_start: S,
    curve: Curve,
    /// The curve as it was before the last reduction.
    saved_curve: Curve,
    last_ack: Nanos,
}

impl<S: SlowStart> Cubic<S> {
    fn avoid(&mut self, event: &AckEvent, bytes: u64, path: &Path) {
        let mss = mss(path);
        let cwnd = self.window.cwnd as f64 / mss as f64;
        let elapsed = self.curve.elapsed(event.now, cwnd);
        let estimate = self.curve.estimate(bytes as f64 / mss as f64, cwnd);
        if self.curve.at(elapsed) < estimate {
            let friendly = (estimate * mss as f64) as u64;
            self.window.set(self.window.cwnd.max(friendly));
            return;
        }
        let ahead = elapsed + seconds(path.srtt);
        let target = self.curve.at(ahead).clamp(cwnd, 1.5 * cwnd);
        let gap = ((target - cwnd) * mss as f64) as u64;
        if gap > 0 {
            // (target - cwnd) / cwnd segments per segment delivered, as the price of one.
            let price = mul_div(self.window.cwnd, mss, gap);
            self.window.add_segments(price, bytes, path);
        }
    }

    /// Keeps the curve from running while the window is not what holds the flow back (RFC 9438
    /// §4.2: t leaves out the time in which cwnd did not grow because of the application).
    fn skip_time(&mut self, now: Nanos) {
        self.curve.shift(now.saturating_sub(self.last_ack), now);
    }

    fn segments(&self, path: &Path) -> f64 {
        self.window.cwnd as f64 / mss(path) as f64
    }

    fn reduced(&self) -> u64 {
        mul_div(self.window.cwnd, BETA_TENTHS, 10)
    }
}

impl<S: SlowStart> CongestionControl for Cubic<S> {
    fn new(path: &Path, _seed: u64) -> Self {
        Cubic {
            window: Window::new(path),
            slow_start: S::default(),
            curve: Curve::default(),
            saved_curve: Curve::default(),
            last_ack: 0,
        }
    }

    fn on_ack(&mut self, event: &AckEvent, path: &Path) {
        match self.window.on_ack(&mut self.slow_start, event, path) {
            Some(0) => {}
            Some(bytes) => self.avoid(event, bytes, path),
            None => self.skip_time(event.now),
        }
        self.last_ack = event.now;
    }

    fn on_congestion(&mut self, _event: &CongestionEvent, path: &Path) {
        self.slow_start.finish();
        self.saved_curve = self.curve;
        self.curve.on_congestion(self.segments(path));
        self.window.reduce(self.reduced(), path);
    }

    fn on_recovery_exit(&mut self, _now: Nanos, _path: &Path) {
        self.window.recovered();
    }

    fn on_rto(&mut self, _now: Nanos, path: &Path) {
        self.slow_start.finish();
        let (curve, cwnd) = (self.curve, self.segments(path));
        let charged = self.window.collapse(self.reduced(), path);
        if charged {
            self.saved_curve = curve;
            self.curve.on_timeout(cwnd);
        } else {
            self.curve.on_timeout(curve.prior());
        }
    }

    fn on_spurious(&mut self, _now: Nanos, _path: &Path) {
        if self.window.undo() {
            self.curve = self.saved_curve;
        }
    }

    fn on_idle_restart(&mut self, now: Nanos, idle: Nanos, path: &Path) {
        self.skip_time(now);
        self.last_ack = now;
        if self.window.idle(idle, path) {
            self.curve.end();
        }
    }

    fn control(&self) -> Control {
        self.window.control(self.slow_start.is_conservative())
    }
}

fn seconds(span: Nanos) -> f64 {
    span as f64 / SECOND as f64
}

#[cfg(test)]
#[path = "cubic/tests.rs"]
mod tests;
