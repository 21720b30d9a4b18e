//! BIC: Xu, Harfoush, Rhee, "Binary Increase Congestion Control for Fast Long-Distance Networks",
//! INFOCOM 2004, with the constants and the integer arithmetic of Linux `tcp_bic.c` 6.12.
//!
//! Growth is so many segments delivered for one. Profile `linux` also has the module's division
//! by the mean number of segments per ACK. It dates from when the kernel counted ACKs; now that
//! the kernel counts segments, it makes growth under delayed ACKs twice as fast as the paper's, and
//! faster still under stretch ACKs. Profile `rfc` (the paper) leaves it out. In both, a spurious
//! reduction gives the old maximum back (Linux forgets it).

use serde::{Deserialize, Serialize};

use crate::parameter::parameters;
use crate::window::slow_start::{SlowStart, SlowStartRule};
use crate::window::windowed::{Cause, Law, Windowed};
use crate::window::{Window, mss};
use crate::{About, AckEvent, MILLISECOND, Nanos, Path, Preset, Profile, Range, Signals, Value};

parameters! {
    /// What can be set of BIC.
    BicParameters {
        /// Who is followed: the paper ("rfc"), or the Linux module, which grows faster the more segments an ACK covers.
        profile: Profile = Profile::Rfc, Profile::RANGE;
        /// Share of the window that a loss, mark or timeout leaves.
        beta: f64 = 0.8, Range::number(0.1, 0.95, "");
        /// Most that the window grows by in a round trip, S_max.
        max_increment: u32 = 16, Range::whole(1, 1000, "segments");
        /// Window up to which it is Reno.
        low_window: u32 = 14, Range::whole(0, 10_000, "segments");
        /// Growth close to the old maximum: a segment in a quarter of so many round trips.
        smooth_part: u32 = 20, Range::whole(4, 1000, "round trips");
        /// Give way further after a loss below the old maximum.
        fast_convergence: bool = true, Range::Flag;
        /// How the first slow start ends.
        slow_start: SlowStartRule = SlowStartRule::Standard, SlowStartRule::RANGE;
    }
    Preset {
        name: "ns-3",
        meaning: "the defaults of ns-3's TcpBic",
        values: &[("smooth_part", Value::Number(5.0))],
    },
}

/// Part of the distance to the old maximum that is gone in a round trip (Linux `BICTCP_B`).
const SEARCH: u64 = 4;
/// Most segments that growth may cost while no loss has shown a maximum: 5 % per round trip.
const DEAREST_BEFORE_LOSS: u64 = 20;
/// Fractions of a segment in the mean per ACK.
const RATIO_SHIFT: u32 = 4;
/// After this time the price is worked out again, since the mean per ACK has moved (Linux: HZ/32).
const PRICE_AGE: Nanos = 31 * MILLISECOND;

/// BIC.
pub type Bic = Windowed<BicLaw>;

/// A binary search for the window at which the last loss happened, and slow growth beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BicLaw {
    /// Window before the last reduction, or less after fast convergence, segments; 0: none yet.
    last_max: u64,
    /// The window that `price` is for, bytes.
    at: u64,
    /// Bytes delivered that earn a segment.
    price: u64,
    /// When that was worked out.
    priced: Nanos,
    /// Mean segments per ACK, sixteenths (Linux `delayed_ack`).
    ratio: u32,
}

impl BicLaw {
    /// Segments delivered that earn one at a window of `cwnd` segments.
    fn count(&self, cwnd: u64, p: &BicParameters) -> u64 {
        let max_increment = u64::from(p.max_increment);
        let slowest = cwnd.saturating_mul(u64::from(p.smooth_part)) / SEARCH;
        if cwnd <= u64::from(p.low_window) {
            return cwnd;
        }
        let count = if cwnd < self.last_max {
            match (self.last_max - cwnd) / SEARCH {
                step if step > max_increment => cwnd / max_increment,
                0 | 1 => slowest,
                step => cwnd / step,
            }
        } else {
            match cwnd - self.last_max {
                beyond if beyond < SEARCH => slowest,
                beyond if beyond < max_increment * (SEARCH - 1) => {
                    cwnd.saturating_mul(SEARCH - 1) / beyond
                }
                _ => cwnd / max_increment,
            }
        };
        let dearest = if self.last_max == 0 {
            DEAREST_BEFORE_LOSS
        } else {
            u64::MAX
        };
        let ratio = match p.profile {
            Profile::Rfc => 1 << RATIO_SHIFT,
            Profile::Linux => u64::from(self.ratio),
        };
        (count.min(dearest).saturating_mul(1 << RATIO_SHIFT) / ratio.max(1)).max(1)
    }

    fn look_up(&mut self, now: Nanos, window: &Window, path: &Path, p: &BicParameters) {
        self.at = window.cwnd;
        self.priced = now;
        let count = self.count(window.cwnd / mss(path), p);
        self.price = count.saturating_mul(mss(path));
    }

    fn forget(&mut self) {
        *self = BicLaw {
            last_max: 0,
            at: 0,
            price: 0,
            priced: 0,
            ratio: 2 << RATIO_SHIFT,
        };
    }
}

impl Law for BicLaw {
    type Parameters = BicParameters;
    type Undo = u64;
    const ABOUT: About = About {
        summary: "BIC: binary search for the window of the last loss",
        source: "Xu, Harfoush, Rhee, INFOCOM 2004; Linux tcp_bic.c 6.12",
        advice: "The forerunner of CUBIC, for long fast paths that lose little: back near the old \
                 window within a few round trips, then steady. CUBIC is kinder in every respect: \
                 BIC grows by round trips, so it takes much from Reno, above all on short paths, \
                 and from flows with a longer RTT. It fills every queue.",
        signals: Signals::LOSS,
    };

    fn new(_path: &Path, _parameters: &BicParameters) -> Self {
        let mut law = BicLaw {
            last_max: 0,
            at: 0,
            price: 0,
            priced: 0,
            ratio: 0,
        };
        law.forget();
        law
    }

    fn slow_start(parameters: &BicParameters, _path: &Path) -> SlowStart {
        parameters.slow_start.start()
    }

    fn on_ack(&mut self, event: &AckEvent, _: &mut Window, path: &Path, p: &BicParameters) {
        if p.profile == Profile::Linux && !event.in_recovery {
            let segments = event.delivered / mss(path);
            let segments = u32::try_from(segments).unwrap_or(u32::MAX).min(1 << 16);
            self.ratio = self.ratio - (self.ratio >> RATIO_SHIFT) + segments;
        }
    }

    fn avoid(
        &mut self,
        bytes: u64,
        event: &AckEvent,
        window: &mut Window,
        path: &Path,
        p: &BicParameters,
    ) {
        let aged = p.profile == Profile::Linux && event.now.saturating_sub(self.priced) > PRICE_AGE;
        if window.cwnd != self.at || aged {
            self.look_up(event.now, window, path, p);
        }
        window.add_segments(self.price, bytes, path);
    }

    fn reduce(&mut self, cause: Cause, window: &Window, path: &Path, p: &BicParameters) -> u64 {
        let cwnd = window.cwnd / mss(path);
        if matches!(cause, Cause::Timeout | Cause::RepeatedTimeout) {
            self.forget();
        } else {
            self.last_max = if p.fast_convergence && cwnd < self.last_max {
                (cwnd as f64 * (1.0 + beta(p)) / 2.0) as u64
            } else {
                cwnd
            };
            self.at = 0;
        }
        if cwnd <= u64::from(p.low_window) {
            return window.cwnd / 2;
        }
        match p.profile {
            Profile::Rfc => (window.cwnd as f64 * beta(p)) as u64,
            Profile::Linux => (cwnd as f64 * beta(p)) as u64 * mss(path),
        }
    }

    fn save(&self) -> u64 {
        self.last_max
    }

    fn restore(&mut self, last_max: u64) {
        self.last_max = last_max;
        self.at = 0;
    }
}

/// The share that a reduction leaves; in whole 1024ths as Linux has it: 819 of them for 0.8.
fn beta(p: &BicParameters) -> f64 {
    match p.profile {
        Profile::Rfc => p.beta,
        Profile::Linux => libm::floor(p.beta * 1024.0) / 1024.0,
    }
}

#[cfg(test)]
mod tests;
