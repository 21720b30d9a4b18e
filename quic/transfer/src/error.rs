//! What can go wrong, in words for an operator.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::{Fingerprint, limits};

/// The result of an operation that can fail as [`Error`] says.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a transfer did not happen, or broke off.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder.
    #[error("cannot {what} {}: {source}", path.display())]
    File {
        /// What was to be done with it: "read", "write".
        what: &'static str,
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It was being sent, and it changed.
    #[error("{} became shorter while it was sent: {found} of {expected} bytes", path.display())]
    Shrunk {
        /// Which file.
        path: PathBuf,
        /// Its size at the start, bytes.
        expected: u64,
        /// What could be read of it, bytes.
        found: u64,
    },
    /// A name that a file cannot have at the other end.
    #[error("{0:?} is no file name to send: plain UTF-8 of at most {max} bytes without a slash",
        max = limits::MAX_NAME_BYTES)]
    Name(String),
    /// The name of the host.
    #[error("cannot find the host {host}: {source}")]
    Resolve {
        /// As it was given.
        host: String,
        /// What the resolver says.
        source: io::Error,
    },
    /// No socket.
    #[error("cannot use the address {address}: {source}")]
    Socket {
        /// The address to listen on or to send from.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// Nobody answered.
    #[error(
        "{to} does not answer: is `windlass recv` running there, and is its UDP port reachable?"
    )]
    NoAnswer {
        /// The receiver.
        to: SocketAddr,
    },
    /// Somebody else answered.
    #[error("{to} has the fingerprint {found}, not {expected}: it is not the receiver you mean")]
    WrongFingerprint {
        /// The receiver.
        to: SocketAddr,
        /// As it was given.
        expected: Fingerprint,
        /// As it is.
        found: Fingerprint,
    },
    /// The other end said no.
    #[error("{peer} refuses: {why}")]
    Refused {
        /// The receiver.
        peer: SocketAddr,
        /// In its words.
        why: String,
    },
    /// The other end could not go on.
    #[error("{peer} could not go on: {why}")]
    Failed {
        /// The other end.
        peer: SocketAddr,
        /// In its words.
        why: String,
    },
    /// The connection is gone.
    #[error("the connection with {peer} broke off: {why}")]
    Broken {
        /// The other end.
        peer: SocketAddr,
        /// Why.
        why: String,
    },
    /// The other end speaks another language.
    #[error("{peer} does not speak as `windlass` of this version does: {why}")]
    Protocol {
        /// The other end.
        peer: SocketAddr,
        /// What it said, or did not say.
        why: String,
    },
    /// What arrived is not what was sent.
    #[error("what arrived as {} is not what was sent: its SHA-256 differs", path.display())]
    Damaged {
        /// The temporary file, which is removed.
        path: PathBuf,
    },
    /// The user ended it.
    #[error("interrupted")]
    Interrupted,
    /// The machine lacks something.
    #[error("cannot start: {0}")]
    Start(String),
}

impl Error {
    pub(crate) fn file(what: &'static str, path: &std::path::Path, source: io::Error) -> Error {
        Error::File {
            what,
            path: path.to_owned(),
            source,
        }
    }
}
