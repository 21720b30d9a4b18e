//! How packets reach the engine: AF_XDP beside a Linux bridge, or AF_PACKET instead of one.
//!
//! With AF_XDP the box's two interfaces are ports of a Linux bridge. A small XDP program takes the
//! governed TCP packets out and passes everything else; it hangs on a link that dies with the
//! process, so that after `kill -9` the bridge forwards every flow with the next packet.
//!
//! [`Session::open`] checks the interfaces, attaches the program and yields one [`AnyDriver`] per
//! queue, each of which is the packet pool and the two ports of one worker.
#![warn(clippy::undocumented_unsafe_blocks)]

mod any;
pub mod bridge;
mod checksum;
mod driver;
mod error;
mod ethtool;
pub mod interface;
mod memory;
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
pub use program::XdpCounters;
pub use scheduling::{run_first_in_first_out, run_soon};
pub use session::Session;
pub use sys::{monotonic_ns, separate_open_files, thread_cpu_ns};
