//! Views over Ethernet, VLAN, IPv4, IPv6 and TCP headers, and rewriting that keeps every checksum
//! as valid, or as partial, as it came. Nothing here panics on any input.
//!
//! A frame is read from the outside to the inside: the link layers (`link`), the IP header and IPv6's
//! extension headers (`network`), the TCP header (`parse`). Each loop has a limit with a name:
//! [`LINK_LAYERS_MAX`], [`EXTENSION_HEADERS_MAX`] and [`EXTENSION_BYTES_MAX`].
//!
//! # To add a link layer
//!
//! 1. Write `src/link/NAME.rs`: the ethertype, and a view that implements `Layer`. It says what is inside and
//!    where that begins. If connections of the layer can be the same but for a number in it, `name` puts the
//!    number where [`FlowKey`] gets it from.
//! 2. Add one line to the match in `link::walk`, and raise [`LINK_LAYERS_MAX`] if more layers may lie upon each other. A
//!    tunnel over IP (GRE, VXLAN) is a layer too: its view begins at the outer IP header, and its line has a condition,
//!    since not every packet is such a tunnel's.
//! 3. Do the same in C, for the XDP program: `box/io/bpf/wire/NAME.h`, one line in `link.h`, the limit in `limits.h`.
//! 4. Add frames with the layer to `tests/frames/frames.txt`, truncated and too deep ones too. The tests of this crate and of
//!    `box/io` run both parsers over the table, and over mutations of it, and compare them.
#![forbid(unsafe_code)]

mod checksum;
mod edit;
mod encode;
mod frame;
mod headers;
mod insert;
mod key;
mod link;
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
pub use link::LINK_LAYERS_MAX;
pub use network::{EXTENSION_BYTES_MAX, EXTENSION_HEADERS_MAX};
pub use parse::{flow_of, parse};
pub use peer::{MarkedBytes, PeerOption};
pub use rewrite::{AckRewrite, DataRewrite, SackRewrite};
pub use segment::{
    ChecksumState, Ecn, Flags, Layout, SackBlocks, Segment, TcpOptions, Timestamps, Unparsed,
};
pub use template::{AckFields, Template};
