//! The daemon behind `windlass run`.
//!
//! It has one worker thread per queue. Each worker has its own engine and its own driver, and workers share nothing on the
//! packet path. A control socket answers requests about them.
//!
//! [`run`] does everything: it opens the interfaces, governs, and stops in order at SIGTERM or SIGINT. After that, the
//! kernel's bridge carries every flow. [`control::ask`] is the client's end of the socket.
#![forbid(unsafe_code)]

mod advice;
mod bridge;
mod changes;
mod command;
mod complaints;
pub mod config_files;
pub mod control;
mod error;
pub mod events;
mod faults;
#[cfg(feature = "schema")]
mod figures_schema;
mod flow_schema;
mod footprint;
mod heart;
mod interface_claim;
mod introducing;
mod last_events;
pub mod log;
mod memory;
pub mod metrics;
mod open;
mod overview;
mod processor;
mod recorder;
mod regular_file;
mod report;
mod rules;
mod run;
mod service;
mod session_workers;
mod settings;
mod standby;
mod supervise;
mod telling;
mod trace;
mod upgrade;
pub mod view;
mod worker;

pub use advice::AdviceReport;
pub use error::RunError;
pub use flow_schema::FLOW_SCHEMA;
pub use open::Opened;
pub use overview::{OverviewReport, TrafficReport, WorkerReport};
pub use report::{FlowReport, TenantReport};
pub use rules::{ExplainReport, JudgedReport, RuleReport};
pub use run::run;
pub use settings::{Reload, Settings};
pub use trace::{TraceLine, TraceSettings};
pub use upgrade::SUCCESSOR_VARIABLE;
