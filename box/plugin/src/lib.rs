//! Plugins: congestion control algorithms as WebAssembly modules, in addition to those of `windlass-cc`.
//!
//! A module is written to the interface in `sdk/c/windlass.h`; docs/plugins.md explains it. It is compiled once, and every
//! worker has one instance. The state of a flow is bytes: they are copied in before a call, and out after it.
//! A call may use [`CALL_FUEL`] instructions, and an instance [`MEMORY_BYTES_MAX`] of memory. A module can import only the
//! functions of the interface: no clock, no randomness, no files. If a plugin fails, the policy's fallback replaces it
//! within the same call ([`windlass_cc::Failed`]).
//!
//! The feature `host` (on by default) compiles and runs modules. A build without it refuses each module with
//! [`PluginError::NoHost`].

#[cfg(feature = "host")]
mod about;
#[cfg(any(test, not(feature = "host")))]
#[cfg_attr(feature = "host", allow(dead_code))]
mod absent;
#[cfg(feature = "host")]
mod block;
#[cfg(feature = "host")]
mod check;
mod error;
mod folder;
#[cfg(feature = "host")]
mod host;
#[cfg(feature = "host")]
mod instance;
#[cfg(feature = "host")]
mod module;

#[cfg(not(feature = "host"))]
pub use absent::add;
pub use error::PluginError;
pub use folder::{Folder, add_file, installed, load_installed};
#[cfg(feature = "host")]
pub use module::add;

use std::ops::RangeInclusive;

use windlass_cc::plugin::PluginId;
use windlass_cc::{AlgorithmId, Catalog};

/// A plugin that has been taken in.
#[derive(Clone, Debug)]
pub struct Added {
    /// The algorithm.
    pub id: AlgorithmId,
    /// Made-up events that it was tried with.
    pub tried_events: usize,
}

/// How a plugin does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Its name.
    pub name: &'static str,
    /// Flows that have left it because it failed.
    pub faults: u32,
    /// It is not asked any more.
    pub suspended: bool,
    /// What it did last, in words.
    pub last_fault: Option<String>,
}

/// How each plugin of the catalog does, by name, the newest of each.
pub fn statuses(catalog: &Catalog) -> Vec<Status> {
    let status = |id: PluginId| {
        let health = id.description().code.health();
        Status {
            name: id.name(),
            faults: health.faults,
            suspended: health.suspended,
            last_fault: health.last_fault.map(|fault| fault.to_string()),
        }
    };
    catalog.plugins().into_iter().map(status).collect()
}

/// Instructions that one call may take, about 50 µs; then the plugin has failed.
pub const CALL_FUEL: u64 = 100_000;
/// Bytes of memory that an instance may have: 16 pages.
pub const MEMORY_BYTES_MAX: usize = 16 * 65_536;
/// Bytes that a module may have.
pub const MODULE_BYTES_MAX: usize = 1 << 20;
/// Calls that may fail, over all flows, before a plugin is not asked any more.
pub const FAULTS_MAX: u32 = 8;
/// The versions of the interface that are spoken here. In the first, an unknown `getMinRTT` was 0.
pub const ABI_VERSIONS: RangeInclusive<i32> = 1..=2;
