//! Views over Ethernet, VLAN, IPv4, IPv6 and TCP headers, and rewriting that keeps every checksum
//! as valid, or as partial, as it came. Nothing here panics on any input.
#![forbid(unsafe_code)]

mod checksum;
mod edit;
mod encode;
mod frame;
mod headers;
mod insert;
mod key;
mod network;
mod options;
mod parse;
mod peer;
mod rewrite;
mod segment;
mod template;

pub use checksum::{complete_checksum, partial_checksum, verify_tcp, verify_tcp_parts};
pub use edit::Editor;
pub use encode::OptionWriter;
pub use frame::FrameSpec;
pub use insert::{insert_option, remove_option};
pub use key::{Addr, FlowKey, NoFlowKey};
pub use parse::parse;
pub use peer::{MarkedBytes, PeerOption};
pub use rewrite::{AckRewrite, DataRewrite, SackRewrite};
pub use segment::{
    ChecksumState, Ecn, Flags, Layout, SackBlocks, Segment, TcpOptions, Timestamps, Unparsed,
};
pub use template::{AckFields, Template};
