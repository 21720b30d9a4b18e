//! The flight recorder.
//!
//! * [`Tape`]: what a worker writes, packet by packet, into memory that is taken when it starts. No packet costs an
//!   allocation, a lock or a system call.
//! * [`Recording`]: what was read of the tapes of all workers.
//! * [`pcapng`] writes a recording as a capture of both interfaces, and reads such captures; [`qlog`] writes its flows.
//! * [`verdict`]: what a capture of both interfaces proves.
#![forbid(unsafe_code)]

mod describe;
mod entry;
pub mod pcapng;
pub mod qlog;
mod recording;
mod ring;
mod tape;
pub mod verdict;

pub use entry::{Damaged, Entry, HEADERS_MAX_BYTES, Mark, What};
pub use recording::{Chunk, Collector, Origin, Recording};
pub use ring::{Part, RecorderStats};
pub use tape::Tape;
