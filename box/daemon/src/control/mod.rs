//! The control socket: one JSON object a line, a request up, its answer down.
//!
//! ```text
//! > {"request":"bypass","on":true}
//! < {"answer":"bypass","on":true}
//! ```

mod client;
mod comparisons;
mod counters;
mod deadline;
mod handler;
mod live;
mod places;
mod protocol;
mod recorded;
mod server;
mod socket;
#[cfg(feature = "schema")]
mod trial_schema;
mod watching;

pub use client::{AskError, ask};
pub use comparisons::{
    AutoArm, AutoPrefix, AutoReport, AutoRule, AutoTried, TrialAnswer, TrialsReport,
};
pub use counters::METRICS;
pub(crate) use counters::Sums;
pub(crate) use deadline::Deadline;
pub(crate) use handler::Handler;
pub(crate) use live::{Condition, Live};
pub(crate) use places::{Place, Places};
pub use protocol::{Answer, EventsReport, FlowNow, PluginReport, Request, StatusReport, Trouble};
pub(crate) use server::Server;
pub(crate) use socket::Socket;

#[cfg(test)]
pub(crate) mod tests;
