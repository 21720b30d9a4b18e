//! AF_PACKET: for where AF_XDP cannot run, and for the lab's links.
//!
//! A packet socket sees a copy of what the kernel also processes. In a bridge every frame would be
//! forwarded twice, so the interfaces must not be in one, and the driver forwards *all* frames
//! itself. Hence it is not fail-open: when the process ends, the wire is cut
//! ([`DriverInfo::fail_open`](crate::DriverInfo::fail_open) is false).

mod driver;
mod injector;
mod offload;
mod slab;
mod socket;
mod trunk;

pub use driver::PacketDriver;
pub use injector::{INJECT_MAX, Injector};
pub use offload::{Gso, Offload};
pub use socket::{Interface, Received};
pub use trunk::{Taken, Trunk};

/// Longest frame, bytes: a segment for offload with its headers.
pub const MAX_PACKET_BYTES: u32 = 65_536 + 256;
