//! Bulk transfer over QUIC with any of the algorithms: the sender and receiver of `windlass send` and `windlass recv`.
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
//! Messages are JSON, each with its length before it (`message.rs`). A file gets its final name only when it is whole. An
//! incomplete file keeps its temporary name. A later transfer of the same file continues it if the hashes agree.
//!
//! The receiver makes a certificate for its run and shows the certificate's SHA-256. The sender accepts no other. So
//! nobody else can read the data, but anybody who reaches the port may send.
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
