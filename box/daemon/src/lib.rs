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
mod faults;
mod footprint;
mod heart;
mod interface_claim;
mod last_events;
pub mod log;
mod memory;
pub mod metrics;
mod open;
mod processor;
mod recorder;
mod regular_file;
mod report;
mod run;
mod service;
mod session_workers;
mod settings;
mod supervise;
mod trace;
mod upgrade;
mod worker;

pub use advice::AdviceReport;
pub use error::RunError;
pub use open::Opened;
pub use report::{FlowReport, TenantReport};
pub use run::run;
pub use settings::{Reload, Settings};
pub use trace::{TraceLine, TraceSettings};
pub use upgrade::SUCCESSOR_VARIABLE;
