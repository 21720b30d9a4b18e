//! NewReno: RFC 5681 and RFC 6582.
//!
//! Congestion avoidance counts bytes (RFC 5681 §3.1, the recommended form), so that delayed,
//! stretched or divided ACKs make no difference; slow start takes the whole of a stretch ACK and
//! hands what lies beyond the threshold on to congestion avoidance, as Linux `tcp_reno` does.
//! Recovery itself is PRR's work.

use serde::{Deserialize, Serialize};

use crate::parameter::parameters;
use crate::window::Window;
use crate::window::slow_start::{SlowStart, SlowStartRule};
use crate::window::windowed::{Cause, Law, Windowed};
use crate::{About, AckEvent, Path, Preset, Range, Signals, Value};

parameters! {
    /// What can be set of NewReno.
    RenoParameters {
        /// Share of the window that an ECN mark leaves: 0.5 like a loss (RFC 3168), 0.8 with ABE (RFC 8511).
        ecn_beta: f64 = 0.5, Range::number(0.1, 0.95, "");
        /// How the first slow start ends.
        slow_start: SlowStartRule = SlowStartRule::Standard, SlowStartRule::RANGE;
    }
    Preset {
        name: "abe",
        meaning: "Alternative Backoff with ECN (RFC 8511)",
        values: &[("ecn_beta", Value::Number(0.8))],
    },
}

/// NewReno.
pub type Reno = Windowed<RenoLaw>;

/// One segment per round trip; half on loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenoLaw;

impl Law for RenoLaw {
    type Parameters = RenoParameters;
    type Undo = ();
    const ABOUT: About = About {
        summary: "NewReno: halves on loss, one segment per round trip",
        source: "RFC 5681, RFC 6582",
        advice: "The yardstick of fairness, and the safest beside old stacks. Good on short paths \
                 with little loss. Not for long fast paths: at 100 ms and 1 Gbit/s it needs a \
                 loss rate below 1e-8 and most of an hour to come back from one.",
        signals: Signals::LOSS,
    };

    fn new(_path: &Path, _parameters: &RenoParameters) -> Self {
        RenoLaw
    }

    fn slow_start(parameters: &RenoParameters, _path: &Path) -> SlowStart {
        parameters.slow_start.start()
    }

    fn avoid(
        &mut self,
        bytes: u64,
        _event: &AckEvent,
        window: &mut Window,
        path: &Path,
        _parameters: &RenoParameters,
    ) {
        window.add_segments(window.cwnd, bytes, path);
    }

    fn reduce(&mut self, cause: Cause, window: &Window, _: &Path, p: &RenoParameters) -> u64 {
        match cause {
            Cause::Ecn => (window.cwnd as f64 * p.ecn_beta) as u64,
            Cause::Loss | Cause::Timeout | Cause::RepeatedTimeout => window.cwnd / 2,
        }
    }

    fn save(&self) {}

    fn restore(&mut self, (): ()) {}
}

#[cfg(test)]
mod tests;
