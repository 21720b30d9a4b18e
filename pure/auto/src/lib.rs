//! Learning which algorithm is best for whom ([`Chooser`]), and trials of several side by side
//! ([`Trial`]), from the transfers of real flows.
//!
//! Neither knows algorithms or packets: there are *arms*, by number, and [`Transfer`]s. Time and dice
//! are arguments, all memory is bounded.
#![forbid(unsafe_code)]

mod beliefs;
mod chooser;
mod evidence;
mod trial;

pub use beliefs::{ArmBelief, Belief};
pub use chooser::{ARMS_MAX, Chooser, ChooserConfig};
pub use evidence::{CLASS_NAMES, CLASSES, class_of};
pub use trial::{ArmReport, Finding, Quantile, Trial, TrialReport};

/// Nanoseconds.
pub type Nanos = u64;

/// Data of a flow from the first byte that waited until nothing was outstanding any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// Bytes acknowledged.
    pub bytes: u64,
    /// How long it took, ns, never 0.
    pub duration: Nanos,
}

impl Transfer {
    /// Logarithm of the goodput in bytes per second: what is compared, so that a factor counts the
    /// same on slow and on fast paths.
    fn log_goodput(&self) -> f64 {
        let seconds = self.duration.max(1) as f64 / 1e9;
        libm::log(self.bytes.max(1) as f64 / seconds)
    }
}
