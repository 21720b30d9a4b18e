//! Experiments as files: what to run, what the results were, and whether they are good enough. This crate does no I/O.
//!
//! [`Experiment::parse`] turns a file into a list of [`Run`]s. Each run has a complete [`Setup`]. A back end turns each
//! setup into an [`Observed`]. From these come [`rows`], [`check`] and [`output`], which know nothing of the back end.
//!
//! Cases × sweep are the *cells* of an experiment. In a cell, all contestants have the same conditions. Each repetition in
//! a cell has its own seed. All contestants share it, so they meet the same losses.
#![forbid(unsafe_code)]

mod advice;
mod algorithm;
mod arrivals;
mod axis;
pub mod check;
mod condition;
mod experiment;
mod file;
pub mod finding;
mod lateness;
mod limits;
pub mod map;
pub mod metric;
mod mtu;
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
pub use lateness::Late;
pub use observed::Observed;
pub use rows::Row;
pub use scalar::Scalar;
pub use setup::Setup;
pub use sizes::Sizes;
pub use windlass_policy::ConfigError;
