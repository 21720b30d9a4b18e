//! TCP Hybla: C. Caini, R. Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks",
//! Int. J. of Satellite Communications and Networking 22, 2004; and Linux `tcp_hybla.c` 6.12.
//!
//! With ρ = RTT / RTT0, one at least, a segment delivered adds 2^ρ − 1 segments in slow start and
//! ρ² / W in avoidance, so that a long path fills as fast, in seconds, as one of RTT0. The RTT is
//! the least one seen (Linux: the least smoothed one): with the present one, the flow's own queue
//! would make it faster. 2^ρ is 16 at 100 ms and 16 million at 600 ms; `max_growth` bounds what a
//! round trip may multiply the window by. The window starts at ten segments, not at ρ, and the
//! caller paces.
//!
//! Profile `linux` is the module: ρ in eighths, fractions of 1/128 rounded down, one segment's
//! credit per ACK, whatever it covers, and Reno while recovery is open after a timeout. Its clamp
//! of 65,535 segments is left out, and what it drops of a fraction whenever the window grows.

use serde::{Deserialize, Serialize};

use crate::parameter::{Millis, parameters};
use crate::scale::mul_div;
use crate::window::slow_start::SlowStart;
use crate::window::windowed::{Cause, Law, Windowed};
use crate::window::{Window, mss};
use crate::{About, AckEvent, Nanos, Path, Preset, Profile, Range, Signals, Value};

parameters! {
    /// What can be set of TCP Hybla.
    HyblaParameters {
        /// Who is followed: the paper ("rfc") or the Linux module, which counts ACKs.
        profile: Profile = Profile::Rfc, Profile::RANGE;
        /// RTT of the connection that it is to be as fast as, RTT0.
        rtt0: Millis = Millis(25), Range::whole(1, 1000, "ms");
        /// Most that a round trip may multiply the window by: 2^ρ up to it, ρ being RTT / RTT0. 16 is ρ = 4, 100 ms.
        max_growth: u32 = 16, Range::whole(2, 65_536, "");
    }
    Preset {
        name: "linux",
        meaning: "the Linux module, its bound on 2^ρ included",
        values: &[("profile", Value::Choice("linux")), ("max_growth", Value::Number(65_536.0))],
    },
}

/// TCP Hybla.
pub type Hybla = Windowed<HyblaLaw>;

/// Reno, sped up by what the path is longer than a reference path.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HyblaLaw {
    /// The RTT that `rho` and `factor` are for.
    min_rtt: Nanos,
    /// RTT / RTT0, one at least.
    rho: f64,
    /// Bytes that slow start adds for each delivered, within bounds.
    factor: f64,
    /// The window that `price` is for, bytes; 0: none.
    at: u64,
    /// Bytes delivered that earn a segment in avoidance.
    price: u64,
}

/// Largest exponent in Linux.
const LINUX_MAX_RHO: u64 = 16;
/// Linux counts parts of a segment in 128ths.
const LINUX_PARTS: f64 = 128.0;

impl HyblaLaw {
    fn at_rtt(min_rtt: Nanos, p: &HyblaParameters) -> Self {
        let rtt = if min_rtt == Nanos::MAX { 0 } else { min_rtt };
        let rtt0 = p.rtt0.nanos();
        let (rho, growth) = match p.profile {
            Profile::Rfc => {
                let rho = (rtt as f64 / rtt0 as f64).max(1.0);
                (rho, libm::exp2(rho))
            }
            Profile::Linux => {
                let eighths = mul_div(rtt, 8, rtt0).max(8);
                let whole = libm::exp2((eighths / 8).min(LINUX_MAX_RHO) as f64);
                let part = libm::floor(libm::exp2((eighths % 8) as f64 / 8.0) * LINUX_PARTS);
                (eighths as f64 / 8.0, whole * part / LINUX_PARTS)
            }
        };
        HyblaLaw {
            min_rtt,
            rho,
            factor: growth.min(f64::from(p.max_growth)) - 1.0,
            at: 0,
            price: 0,
        }
    }

    /// The price of a segment at a new window.
    fn look_up(&mut self, window: &Window, path: &Path, p: &HyblaParameters) {
        self.at = window.cwnd;
        let mss = mss(path);
        let squared = self.rho * self.rho;
        let price = match p.profile {
            Profile::Rfc => libm::ceil(window.cwnd as f64 / squared) as u64,
            Profile::Linux => {
                let parts = libm::floor(LINUX_PARTS * squared / (window.cwnd / mss).max(1) as f64);
                if parts == 0.0 {
                    window.cwnd
                } else {
                    libm::ceil(LINUX_PARTS * mss as f64 / parts) as u64
                }
            }
        };
        self.price = price.max(mss / u64::from(p.max_growth - 1));
    }

    /// Bytes that this ACK adds in slow start for each that it delivers.
    fn slow_start_factor(&self, event: &AckEvent, path: &Path, p: &HyblaParameters) -> f64 {
        match p.profile {
            Profile::Rfc => self.factor,
            Profile::Linux if event.in_recovery => 1.0,
            Profile::Linux if event.delivered > mss(path) => {
                self.factor * mss(path) as f64 / event.delivered as f64
            }
            Profile::Linux => self.factor,
        }
    }
}

impl Law for HyblaLaw {
    type Parameters = HyblaParameters;
    type Undo = ();
    const ABOUT: About = About {
        summary: "TCP Hybla: a long path fills as fast as a short one",
        source: "Caini, Firrincieli, IJSCN 22, 2004; Linux tcp_hybla.c 6.12",
        advice: "For satellite and other paths of 100 ms and more, where Reno and CUBIC need many \
                 seconds to fill the link. It still halves at every loss. Slow start overshoots by \
                 up to 16 times, so shallow queues lose much at the start (lower max_growth); and \
                 on shared links it takes more than flows with its RTT expect.",
        signals: Signals::LOSS,
    };

    fn new(path: &Path, parameters: &HyblaParameters) -> Self {
        HyblaLaw::at_rtt(path.min_rtt, parameters)
    }

    fn slow_start(parameters: &HyblaParameters, path: &Path) -> SlowStart {
        SlowStart::Scaled {
            factor: HyblaLaw::at_rtt(path.min_rtt, parameters).factor,
        }
    }

    fn on_ack(&mut self, event: &AckEvent, window: &mut Window, path: &Path, p: &HyblaParameters) {
        if path.min_rtt != self.min_rtt {
            *self = HyblaLaw::at_rtt(path.min_rtt, p);
        }
        if window.in_slow_start() {
            let factor = self.slow_start_factor(event, path, p);
            window.slow_start = SlowStart::Scaled { factor };
        }
    }

    fn avoid(
        &mut self,
        bytes: u64,
        event: &AckEvent,
        window: &mut Window,
        path: &Path,
        p: &HyblaParameters,
    ) {
        if p.profile == Profile::Linux && event.in_recovery {
            window.add_segments(window.cwnd, bytes, path);
            return;
        }
        if window.cwnd != self.at {
            self.look_up(window, path, p);
        }
        let credited = match p.profile {
            Profile::Rfc => bytes,
            Profile::Linux => bytes.min(mss(path)),
        };
        window.add_segments(self.price, credited, path);
    }

    fn reduce(&mut self, _: Cause, window: &Window, _: &Path, _: &HyblaParameters) -> u64 {
        window.cwnd / 2
    }

    fn save(&self) {}

    fn restore(&mut self, (): ()) {}
}

#[cfg(test)]
mod tests;
