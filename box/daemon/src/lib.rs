//! The daemon: one worker thread per queue, each with its own engine and driver, sharing nothing;
//! and a control socket through which they are asked.
//!
//! [`run`] does everything from opening the interfaces to the orderly stop at SIGTERM or SIGINT,
//! after which the kernel's bridge carries every flow. [`control::ask`] is the other end of the
//! socket.
#![forbid(unsafe_code)]

mod advice;
mod bridge;
mod changes;
mod command;
pub mod config_files;
pub mod control;
mod crew;
mod error;
mod faults;
mod footprint;
mod memory;
mod open;
mod processor;
mod regular;
mod report;
mod run;
mod settings;
mod sole;
mod supervise;
mod told;
mod trace;
mod worker;

pub use advice::AdviceReport;
pub use error::RunError;
pub use open::Opened;
pub use report::{FlowReport, TenantReport};
pub use run::run;
pub use settings::{Reload, Settings};
pub use trace::{TraceLine, TraceSettings};
