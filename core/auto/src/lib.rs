//! Learns from the transfers of real flows which algorithm is best for which receivers ([`Chooser`]), and compares several
//! side by side ([`Trial`]).
//!
//! Neither knows algorithms or packets. They know *arms*, by number, and [`Transfer`]s. Time and random numbers are
//! arguments. All memory is bounded.
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
