//! Experiments as files: what to run, what came of it, and whether that is good enough.
//!
//! [`Experiment::parse`] turns a file into a list of [`Run`]s, each of them with a [`Setup`] with
//! nothing left open; a back end turns each of those into an [`Observed`]; [`rows`], [`check`] and
//! [`output`] are made of these and know nothing of the back end. Does no I/O.
//!
//! Cases × sweep are the *cells* of an experiment: the same conditions for all contestants. In a
//! cell, every repetition has a seed of its own, which all contestants share, so that they meet
//! the same losses.
#![forbid(unsafe_code)]

mod advice;
mod algorithm;
mod arrived;
mod axis;
pub mod check;
mod condition;
mod experiment;
mod file;
pub mod finding;
pub mod map;
pub mod metric;
pub mod observed;
pub mod output;
pub mod paper;
mod response;
pub mod rows;
mod scalar;
pub mod setup;
mod sizes;
pub mod statistics;
mod window;

pub use axis::Axis;
pub use condition::{Condition, Test};
pub use experiment::{BackendName, Cell, Charts, Experiment, Run, Settings};
pub use observed::Observed;
pub use rows::Row;
pub use scalar::Scalar;
pub use setup::Setup;
pub use sizes::Sizes;
pub use windlass_policy::ConfigError;
