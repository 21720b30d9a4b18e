//! Scalable TCP: T. Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks",
//! CCR 33(2), 2003; and Linux `tcp_scalable.c` 6.12.
//!
//! The two differ below a hundred segments. The paper (profile `rfc`) is Reno up to `low_window`
//! and grows by a hundredth of a segment per segment beyond; Linux grows by a segment per round
//! trip up to a hundred segments, gives an eighth back at any size, in whole segments, and so
//! nothing at all below eight.

use serde::{Deserialize, Serialize};

use crate::parameter::parameters;
use crate::window::slow_start::{SlowStart, SlowStartRule};
use crate::window::windowed::{Cause, Law, Windowed};
use crate::window::{Window, mss};
use crate::{About, AckEvent, Path, Preset, Profile, Range, Signals, Value};

parameters! {
    /// What can be set of Scalable TCP.
    ScalableParameters {
        /// Who is followed for small windows: the paper ("rfc") or the Linux module.
        profile: Profile = Profile::Rfc, Profile::RANGE;
        /// Segments delivered that earn one segment of growth: 1/a.
        ai_count: u32 = 100, Range::whole(10, 10_000, "segments");
        /// Share of the window that a loss, mark or timeout takes: b.
        md: f64 = 0.125, Range::number(0.01, 0.5, "");
        /// Window up to which the paper's law is Reno's ("rfc" only).
        low_window: u32 = 16, Range::whole(0, 10_000, "segments");
        /// How the first slow start ends.
        slow_start: SlowStartRule = SlowStartRule::Standard, SlowStartRule::RANGE;
    }
    Preset {
        name: "ns-3",
        meaning: "twice the growth, to make up for delayed ACKs (ns-3, older Linux)",
        values: &[("profile", Value::Choice("linux")), ("ai_count", Value::Number(50.0))],
    },
}

/// Scalable TCP.
pub type Scalable = Windowed<ScalableLaw>;

/// Growth in proportion to the window: the time to come back from a loss does not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScalableLaw;

impl Law for ScalableLaw {
    type Parameters = ScalableParameters;
    type Undo = ();
    const ABOUT: About = About {
        summary: "Scalable TCP: 1 % per round trip up, an eighth down",
        source: "Kelly, CCR 33(2), 2003; Linux tcp_scalable.c 6.12",
        advice: "Recovers from a loss in 13 round trips at any speed: for one or a few long \
                 transfers on a private fast path. Not on shared ones: it takes far more than its \
                 share from Reno and CUBIC, flows of its own kind that lose together never become \
                 equal, and it keeps every queue full.",
        signals: Signals::LOSS,
    };

    fn new(_path: &Path, _parameters: &ScalableParameters) -> Self {
        ScalableLaw
    }

    fn slow_start(parameters: &ScalableParameters, _path: &Path) -> SlowStart {
        parameters.slow_start.start()
    }

    fn avoid(
        &mut self,
        bytes: u64,
        _event: &AckEvent,
        window: &mut Window,
        path: &Path,
        p: &ScalableParameters,
    ) {
        let scalable = u64::from(p.ai_count) * mss(path);
        let price = match p.profile {
            Profile::Rfc if window.cwnd <= low_window(p, path) => window.cwnd,
            Profile::Rfc => scalable,
            Profile::Linux => scalable.min(window.cwnd),
        };
        window.add_segments(price, bytes, path);
    }

    fn reduce(&mut self, _: Cause, window: &Window, path: &Path, p: &ScalableParameters) -> u64 {
        match p.profile {
            Profile::Rfc if window.cwnd <= low_window(p, path) => window.cwnd / 2,
            Profile::Rfc => (window.cwnd as f64 * (1.0 - p.md)) as u64,
            Profile::Linux => {
                let segments = window.cwnd / mss(path);
                let taken = (segments as f64 * p.md) as u64;
                (segments - taken) * mss(path)
            }
        }
    }

    fn save(&self) {}

    fn restore(&mut self, (): ()) {}
}

/// In bytes.
fn low_window(p: &ScalableParameters, path: &Path) -> u64 {
    u64::from(p.low_window) * mss(path)
}

#[cfg(test)]
mod tests;
