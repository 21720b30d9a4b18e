//! Slow start: standard (RFC 5681 §3.1), limited (RFC 3742), HyStart++ (RFC 9406), Linux' HyStart,
//! and Hybla's, as a part of every window.
//!
//! Growth is by bytes delivered without the limit of L segments per ACK: RFC 9406 §4.3 asks for
//! none when the sender paces, and Linux has none. Rounds are counted in bytes delivered, since
//! this layer knows no sequence numbers.

use serde::{Deserialize, Serialize};

use crate::parameter::choices;
use crate::{AckEvent, Path};

mod hystart;
mod hystart_plus_plus;

pub use hystart::HyStart;
pub use hystart_plus_plus::HyStartPlusPlus;

/// What slow start makes of one ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Grow by so many bytes, up to the threshold. What lies beyond it counts for congestion
    /// avoidance.
    By(u64),
    /// The pipe is full: leave slow start at the present window.
    Exit,
}

choices! {
    /// How the first slow start of a flow ends.
    SlowStartRule {
        /// By loss alone.
        Standard = "standard",
        /// HyStart++ (RFC 9406).
        HyStartPlusPlus = "hystart++",
        /// HyStart as Linux has it (`tcp_cubic.c` 6.12).
        HyStart = "hystart",
    }
}

impl SlowStartRule {
    pub(crate) fn start(self) -> SlowStart {
        match self {
            SlowStartRule::Standard => SlowStart::Standard,
            SlowStartRule::HyStartPlusPlus => SlowStart::HyStartPlusPlus(Box::default()),
            SlowStartRule::HyStart => SlowStart::HyStart(Box::default()),
        }
    }
}

/// A way to run slow start, with its state. What finds its end has memory of its own, until it has found it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SlowStart {
    /// Doubling until something is lost.
    Standard,
    /// HyStart++.
    HyStartPlusPlus(Box<HyStartPlusPlus>),
    /// Linux' HyStart.
    HyStart(Box<HyStart>),
    /// At most half of so many bytes a round trip once the window is larger (RFC 3742 §2).
    Limited {
        /// `max_ssthresh`, bytes.
        max_ssthresh: u64,
    },
    /// So many bytes for each byte delivered (Hybla: 2^ρ − 1).
    Scaled {
        /// Bytes per byte.
        factor: f64,
    },
}

impl SlowStart {
    /// Takes one ACK of slow start in, also when the window may not grow by it. `cwnd` in bytes.
    pub(crate) fn on_ack(&mut self, event: &AckEvent, path: &Path, cwnd: u64) -> Growth {
        let growth = match self {
            SlowStart::Standard => Growth::By(event.delivered),
            SlowStart::HyStartPlusPlus(hystart) => hystart.on_ack(event, path),
            SlowStart::HyStart(hystart) => hystart.on_ack(event, path, cwnd),
            SlowStart::Limited { max_ssthresh } => {
                // RFC 3742 §2: K = int(cwnd / (max_ssthresh / 2)), growth by MSS / K per ACKed MSS.
                let k = cwnd.saturating_mul(2) / (*max_ssthresh).max(1);
                let k = if cwnd <= *max_ssthresh { 1 } else { k.max(1) };
                Growth::By(event.delivered / k)
            }
            SlowStart::Scaled { factor } => Growth::By((event.delivered as f64 * *factor) as u64),
        };
        if growth == Growth::Exit {
            self.finish();
        }
        growth
    }

    /// The first slow start is over: congestion was signalled, or its end was found. Later ones double until loss.
    pub(crate) fn finish(&mut self) {
        match self {
            SlowStart::HyStartPlusPlus(_) | SlowStart::HyStart(_) => *self = SlowStart::Standard,
            SlowStart::Standard | SlowStart::Limited { .. } | SlowStart::Scaled { .. } => {}
        }
    }

    /// In conservative slow start (RFC 9406).
    pub(crate) fn is_conservative(&self) -> bool {
        matches!(self, SlowStart::HyStartPlusPlus(hystart) if hystart.is_conservative())
    }
}
