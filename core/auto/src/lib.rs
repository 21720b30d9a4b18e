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

use windlass_engine::{Nanos, Transfer};
