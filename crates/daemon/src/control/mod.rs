//! The control socket: one JSON object a line, a request up, its answer down.
//!
//! ```text
//! > {"request":"bypass","on":true}
//! < {"answer":"bypass","on":true}
//! ```

mod client;
mod comparisons;
mod counters;
mod desk;
mod protocol;
mod server;

pub use client::{AskError, ask};
pub use comparisons::{AutoArm, AutoPrefix, AutoReport, TrialAnswer};
pub(crate) use desk::Desk;
pub use protocol::{Answer, PluginReport, Request, StatusReport};
pub(crate) use server::{Server, bind};

#[cfg(test)]
mod tests;
