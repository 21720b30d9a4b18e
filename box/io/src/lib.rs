//! How packets reach the engine: by AF_XDP beside a Linux bridge, or by AF_PACKET in place of a bridge.
//!
//! With AF_XDP, the two interfaces of Windlass are ports of a Linux bridge. A small XDP program takes the governed TCP
//! packets out, and passes all others. Its link ends with the process. So after `kill -9`, the bridge forwards every flow
//! from the next packet on.
//!
//! [`Session::open`] checks the interfaces, attaches the program, and returns one [`AnyDriver`] per queue. A driver is
//! the packet pool and the two ports of one worker.
#![warn(clippy::undocumented_unsafe_blocks)]

mod any;
pub mod bridge;
mod checksum;
mod driver;
mod error;
mod ethtool;
pub mod handover;
pub mod interface;
mod memory;
mod memory_holder;
mod netlink;
pub mod packet;
mod program;
mod pulse;
mod scheduling;
mod session;
mod sys;
pub mod tcp_info;
pub mod watch;
pub mod xdp;

pub use any::AnyDriver;
pub use driver::{
    Driver, DriverConfig, DriverInfo, DriverStats, Follows, FrameStats, Mode, Prefer, SideStats,
};
pub use error::OpenError;
pub use memory_holder::MemoryHolder;
pub use program::XdpCounters;
pub use scheduling::{run_first_in_first_out, run_soon};
pub use session::Session;
pub use sys::{monotonic_ns, separate_open_files, thread_cpu_ns};
