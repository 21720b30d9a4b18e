//! `[metrics]`: everything that Windlass counts and measures, for Prometheus.
//!
//! `figures` collects, `names` makes the names of Prometheus of the one table of figures, `exposition` writes, and `server`
//! answers. A scrape asks each worker for a copy of its figures, as `windlass counters` does, and looks at no flow. So what
//! it costs does not depend on how many flows there are, and whoever takes the answer slowly holds a thread of the server
//! and no worker.

mod exposition;
mod figures;
mod http;
mod names;
mod server;
mod table;

pub(crate) use exposition::{Format, write};
pub(crate) use figures::{BoxFigures, EventFigures, GuardFigures, PluginFigures, collect};
pub(crate) use server::{Listener, Server};
pub use table::table;
