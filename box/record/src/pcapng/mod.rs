//! Captures of both interfaces.

mod read;
mod write;

pub use read::{Capture, Captured, Direction, Interface, NoCapture};
pub use write::write;

/// How a file names the interfaces of a box, so that `windlass verdict` knows them again.
pub(crate) const DESCRIPTIONS: [&str; 2] = ["windlass inside", "windlass outside"];
