#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod factory;
mod path;

pub use factory::{CongestionControl, NotAWindow};
pub use path::PathController;
pub use windlass_cc::{AlgorithmId, Catalog, Settings, Value};
pub use windlass_cc_quic::Report;
