#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod clock;
mod endpoint;
mod observer;
mod path;

pub use endpoint::CongestionControl;
pub use observer::Observer;
pub use path::PathController;
pub use windlass_cc::{AlgorithmId, Catalog, Phase, Settings, Value};
pub use windlass_cc_quic::Report;
