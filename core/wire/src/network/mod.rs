//! From the IP header to the transport header: where it is and whose it is.
//!
//! `box/io/bpf/wire/network.h` says the same in the XDP program.

mod ipv4;
mod ipv6;

use crate::checksum::TCP;
use crate::link::{self, ETHERTYPE_IPV4, ETHERTYPE_IPV6};
use crate::{Addr, Ecn, Unparsed};
use ipv4::ipv4;
use ipv6::ipv6;

pub use ipv6::{EXTENSION_BYTES_MAX, EXTENSION_HEADERS_MAX};

/// Protocol numbers (IANA).
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;

/// A header that is needed is not in the frame, or not in its first part.
pub(crate) const TRUNCATED: Unparsed = Unparsed::Malformed("headers not in the first part");

/// What the layers below the transport say.
pub(crate) struct Network {
    /// Offset of the IP header.
    pub ip: usize,
    /// Offset of the transport header.
    pub transport: usize,
    /// Length of transport header and payload by the IP header, bytes. It fits the frame.
    pub transport_len: u32,
    pub v6: bool,
    /// It is a part of a packet: what is at `transport` may be no header.
    pub fragment: bool,
    pub protocol: u8,
    pub ecn: Ecn,
    pub src: Addr,
    pub dst: Addr,
    pub vlans: [u16; 2],
}

/// Reads everything up to the transport header of an unfragmented packet.
#[inline(always)]
pub(crate) fn network(head: &[u8], frame_len: u32) -> Result<Network, Unparsed> {
    let net = whole_or_part(head, frame_len)?;
    match net.fragment {
        true => Err(Unparsed::Fragment),
        false => Ok(net),
    }
}

/// An IP packet that is no TCP segment: of another protocol, or a fragment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OtherPacket {
    /// Who has sent it.
    pub src: Addr,
    /// The protocol as IANA numbers them; of a fragment of IPv6, 44.
    pub protocol: u8,
    /// Bytes behind the IP header and its extensions.
    pub len: u32,
}

impl OtherPacket {
    /// ICMP or ICMPv6: path MTU and neighbours are found with it.
    pub fn is_icmp(&self) -> bool {
        matches!(self.protocol, ICMP | ICMPV6)
    }
}

/// Reads a frame that [`crate::parse`] refuses as [`Unparsed::NotTcp`] or [`Unparsed::Fragment`]. `None`: it is neither.
pub fn other_packet(head: &[u8], frame_len: u32) -> Option<OtherPacket> {
    let net = whole_or_part(head, frame_len).ok()?;
    (net.fragment || net.protocol != TCP).then_some(OtherPacket {
        src: net.src,
        protocol: net.protocol,
        len: net.transport_len,
    })
}

#[inline(always)]
fn whole_or_part(head: &[u8], frame_len: u32) -> Result<Network, Unparsed> {
    let head = &head[..head.len().min(frame_len as usize)];
    let link = link::walk(head)?;
    match link.ethertype {
        ETHERTYPE_IPV4 => ipv4(head, frame_len, &link),
        ETHERTYPE_IPV6 => ipv6(head, frame_len, &link),
        _ => Err(Unparsed::NotIp),
    }
}
