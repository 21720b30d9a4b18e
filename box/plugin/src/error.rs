//! Modules that cannot be used, and why.

use std::io;
use std::path::PathBuf;

use windlass_cc::plugin::{Fault, WrongPlugin};

/// A module cannot be an algorithm.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// It cannot be read or kept.
    #[error("{}: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// This build cannot run any.
    #[error(
        "this windlass was built without the plugin host, so it knows no algorithm that is a plugin: build it \
         without --no-default-features (cargo feature \"plugins\")"
    )]
    NoHost,
    /// It is larger than [`crate::MODULE_BYTES_MAX`].
    #[error(
        "a module of {0} bytes; at most {most} are taken: build it without debug information",
        most = crate::MODULE_BYTES_MAX
    )]
    TooLarge(usize),
    /// It is no WebAssembly, or uses what is not allowed here.
    #[error("not a module that can be run here: {0}")]
    Module(String),
    /// It lacks something that the interface asks for.
    #[error("the module has no {what}: {mend}")]
    Missing {
        /// What.
        what: String,
        /// How to mend it.
        mend: &'static str,
    },
    /// It wants to import what there is not.
    #[error(
        "the module imports {module}.{name}, which there is not: only the functions of windlass.h, \
         from module \"windlass\", are there"
    )]
    Import {
        /// The module it is imported from.
        module: String,
        /// Its name.
        name: String,
    },
    /// Another version of the interface.
    #[error(
        "the module speaks version {0} of the interface, and Windlass speaks {first} to {last}",
        first = crate::ABI_VERSIONS.start(),
        last = crate::ABI_VERSIONS.end()
    )]
    Abi(i32),
    /// What it says of itself cannot be read.
    #[error("what the module says of itself (windlass_about): {0}")]
    About(String),
    /// It cannot be taken in.
    #[error("{0}")]
    Refused(#[from] WrongPlugin),
    /// It failed when it was tried.
    #[error("tried with made-up events, it failed at number {number} ({event}): {fault}")]
    Failed {
        /// The event's number, from 0.
        number: usize,
        /// What it was.
        event: &'static str,
        /// What it did.
        fault: Fault,
    },
    /// Flows get into each other's way.
    #[error(
        "tried with made-up events, one flow decided otherwise at number {number} ({event}) when \
         another ran beside it: keep all that is remembered of a flow in its state"
    )]
    Entangled {
        /// The event's number, from 0.
        number: usize,
        /// What it was.
        event: &'static str,
    },
    /// There is none of this name.
    #[error("no plugin is called {name}; there are: {known}")]
    Unknown {
        /// The name.
        name: String,
        /// The names that there are.
        known: String,
    },
}

#[cfg(feature = "host")]
impl PluginError {
    /// What wasmtime says, in one line.
    pub(crate) fn wasm(error: wasmtime::Error) -> PluginError {
        let said = format!("{error:#}");
        let words: Vec<&str> = said.split_whitespace().collect();
        PluginError::Module(words.join(" "))
    }

    pub(crate) fn missing(what: impl Into<String>, mend: &'static str) -> PluginError {
        PluginError::Missing {
            what: what.into(),
            mend,
        }
    }
}
