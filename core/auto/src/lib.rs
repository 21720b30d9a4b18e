//! Learns from the transfers of real flows which algorithm is best for which receivers ([`Chooser`]), and compares several
//! side by side ([`Trial`]), and whether governing is worth it at all ([`guard`]).
//!
//! None of them knows algorithms or packets. They know numbers and [`Transfer`]s. Time and random numbers are
//! arguments. All memory is bounded.
#![forbid(unsafe_code)]

mod beliefs;
mod chooser;
mod evidence;
pub mod guard;
mod places;
mod trial;

pub use beliefs::{ArmBelief, Belief};
pub use chooser::{ARMS_MAX, Chooser, ChooserConfig};
pub use evidence::{CLASS_NAMES, CLASSES, class_of};
pub use trial::{ArmReport, Finding, Quantile, Trial, TrialReport};

use windlass_engine::{Drawn, Nanos, Transfer};
