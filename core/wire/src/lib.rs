//! Views of Ethernet, VLAN, IPv4, IPv6 and TCP headers, and rewriting. A checksum stays as valid, or as partial, as it
//! came. Nothing here panics on any input.
//!
//! A frame is read from the outside to the inside: link layers (`link`), the IP header and IPv6 extension headers
//! (`network`), the TCP header (`parse`). Each loop has a named limit: [`LINK_LAYERS_MAX`], [`EXTENSION_HEADERS_MAX`],
//! [`EXTENSION_BYTES_MAX`].
//!
//! # To add a link layer
//!
//! 1. Write `src/link/NAME.rs`: the ethertype, and a view that implements `Layer`. It says what is inside and where that
//!    begins. If a number in the layer tells connections apart, `name` puts the number where [`FlowKey`] gets it from.
//! 2. Add one line to the match in `link::walk`. If more layers may be nested now, raise [`LINK_LAYERS_MAX`]. A tunnel
//!    over IP (GRE, VXLAN) is a layer too: its view begins at the outer IP header, and its line has a condition.
//! 3. Do the same for the XDP program, in C: `box/io/bpf/wire/NAME.h`, one line in `link.h`, the limit in `limits.h`.
//! 4. Add frames to `tests/frames/frames.txt`, also truncated and too deep ones. The tests of this crate and of `box/io`
//!    compare both parsers on the table and on mutations of it.
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

pub use checksum::{complete_checksum, partial_checksum, verify_ip, verify_tcp, verify_tcp_parts};
pub use edit::Editor;
pub use encode::OptionWriter;
pub use frame::FrameSpec;
pub use insert::{insert_option, remove_option};
pub use key::{Addr, FlowKey, NoFlowKey};
pub use link::LINK_LAYERS_MAX;
pub use network::{EXTENSION_BYTES_MAX, EXTENSION_HEADERS_MAX, OtherPacket, other_packet};
pub use parse::{flow_of, header_len, parse};
pub use peer::{MarkedBytes, PeerOption};
pub use rewrite::{AckRewrite, DataRewrite, SackRewrite};
pub use segment::{
    ChecksumState, Ecn, Flags, Layout, SackBlocks, Segment, TcpOptions, Timestamps, Unparsed,
};
pub use template::{AckFields, Template};
