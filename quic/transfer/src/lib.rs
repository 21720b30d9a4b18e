//! Bulk transfer over QUIC, with any of the algorithms in charge: the sender and receiver behind
//! `windlass send` and `windlass recv`.
//!
//! ```text
//! sender                                    receiver
//!   Offer { file, size } ─────────────────────▶        opens the partial file, hashes what is there
//!        ◀───────────────── Ready { have, sha256 } | Refused { why }
//!   Start { offset } ─────────────────────────▶        offset 0 if what is there is something else
//!   data, on a stream of its own ═════════════▶        written under a temporary name
//!   Finish { bytes, sha256 } ─────────────────▶        verified, synced, renamed
//!        ◀─────────────────── Done { bytes } | Failed { why, bytes }
//! ```
//!
//! The messages are JSON with a length before each (`message.rs`). A file has its final name only
//! when it is whole; what arrived of one that is not stays under its temporary name, and a later
//! transfer of the same file goes on behind it, if its hash says that it is the same.
//!
//! The receiver makes a certificate for its run and shows the SHA-256 of it; the sender takes no
//! other. That keeps the data from anybody else, but whoever reaches the port may send.
#![forbid(unsafe_code)]

mod error;
mod fingerprint;
mod limits;
mod message;
mod monitor;
mod outcome;
mod pin;
mod receive;
mod runtime;
mod send;
mod source;
mod store;
mod trace;
mod writer;

pub use error::{Error, Result};
pub use fingerprint::{Fingerprint, NotAFingerprint};
pub use limits::DEFAULT_PORT;
pub use outcome::{Progress, Received, Sent};
pub use receive::{Listening, ReceiveEvent, ReceiveOptions, receive};
pub use send::{SendOptions, What, send};
