//! Plugins: congestion control algorithms that are WebAssembly modules, beside those of `windlass-cc`.
//!
//! `sdk/c/windlass.h` is the interface that a module is written to; docs/plugins.md explains it. A module
//! is compiled once, and every worker has one instance of it; the state of a flow is bytes that are
//! copied in before a call and out after it. A call may take [`CALL_FUEL`] instructions and
//! [`MEMORY_BYTES_MAX`] of memory, and nothing but the functions of the interface is there to be
//! imported: no clock, no randomness, no files. One that fails is replaced by the policy's
//! fallback within the same call ([`windlass_cc::Failed`]).
//!
//! The feature `host`, on by default, is what compiles and runs modules. A build without it refuses
//! each of them with [`PluginError::NoHost`].

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
pub use absent::{add, statuses};
pub use error::PluginError;
pub use folder::{Folder, add_file, load_installed};
#[cfg(feature = "host")]
pub use module::{add, statuses};

use windlass_cc::AlgorithmId;

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
    /// Flows that have left it because it failed, in this process.
    pub faults: u32,
    /// It is not asked any more.
    pub suspended: bool,
    /// What it did last, in words.
    pub last_fault: Option<String>,
}

/// Instructions that one call may take, about 50 µs; then the plugin has failed.
pub const CALL_FUEL: u64 = 100_000;
/// Bytes of memory that an instance may have: 16 pages.
pub const MEMORY_BYTES_MAX: usize = 16 * 65_536;
/// Bytes that a module may have.
pub const MODULE_BYTES_MAX: usize = 1 << 20;
/// Calls that may fail, over all flows, before a plugin is not asked any more.
pub const FAULTS_MAX: u32 = 8;
/// The version of the interface that is spoken here.
pub const ABI_VERSION: i32 = 1;
