//! What a router says of a packet that is too long for its next link (RFC 792 with RFC 1191, RFC 8201).
//!
//! The checksum of the message is left out: nobody here looks at it.

use std::net::{Ipv4Addr, Ipv6Addr};

use windlass_wire::{Addr, FlowKey, Segment};

const ETHERNET_BYTES: usize = 14;
const V4_BYTES: usize = 20;
const V6_BYTES: usize = 40;
const ICMP_BYTES: usize = 8;
/// Ports and sequence number: so much of a packet is quoted behind its IP header.
const QUOTED_BYTES: usize = 8;
const ICMP: u8 = 1;
const ICMP_V6: u8 = 58;
const TCP: u8 = 6;
const UNREACHABLE: u8 = 3;
const FRAGMENTATION_NEEDED: u8 = 4;
const PACKET_TOO_BIG: u8 = 2;

/// A segment was too long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TooBig {
    /// Its sender's end first.
    pub key: FlowKey,
    pub seq: u32,
    /// Bytes of the longest IP packet that passes.
    pub mtu: u16,
}

/// The message to the sender of `frame`.
pub(crate) fn message(frame: &[u8], segment: &Segment, mtu: u16) -> Vec<u8> {
    let (ip, tcp) = (usize::from(segment.at.ip), usize::from(segment.at.tcp));
    let quoted = &frame[ip..tcp + QUOTED_BYTES];
    let mut message = Vec::new();
    // From the router, which is named like the end that the packet was for.
    message.extend_from_slice(&frame[6..12]);
    message.extend_from_slice(&frame[..6]);
    message.extend_from_slice(&frame[12..ETHERNET_BYTES]);
    let long = (ICMP_BYTES + quoted.len()) as u16;
    if segment.at.v6 {
        message.extend_from_slice(&[0x60, 0, 0, 0]);
        message.extend_from_slice(&long.to_be_bytes());
        message.extend_from_slice(&[ICMP_V6, 64]);
        message.extend_from_slice(&frame[ip + 24..ip + 40]);
        message.extend_from_slice(&frame[ip + 8..ip + 24]);
        message.extend_from_slice(&[PACKET_TOO_BIG, 0, 0, 0, 0, 0]);
    } else {
        message.extend_from_slice(&[0x45, 0]);
        message.extend_from_slice(&(V4_BYTES as u16 + long).to_be_bytes());
        message.extend_from_slice(&[0, 0, 0, 0, 64, ICMP, 0, 0]);
        message.extend_from_slice(&frame[ip + 16..ip + 20]);
        message.extend_from_slice(&frame[ip + 12..ip + 16]);
        message.extend_from_slice(&[UNREACHABLE, FRAGMENTATION_NEEDED, 0, 0, 0, 0]);
    }
    message.extend_from_slice(&mtu.to_be_bytes());
    message.extend_from_slice(quoted);
    message
}

/// Reads such a message.
pub(crate) fn read(frame: &[u8]) -> Option<TooBig> {
    let ip = frame.get(ETHERNET_BYTES..)?;
    let v6 = ip.first()? >> 4 == 6;
    let (header, protocol, kind) = match v6 {
        true => (V6_BYTES, (6, ICMP_V6), [PACKET_TOO_BIG, 0]),
        false => (V4_BYTES, (9, ICMP), [UNREACHABLE, FRAGMENTATION_NEEDED]),
    };
    let icmp = ip.get(header..)?;
    if *ip.get(protocol.0)? != protocol.1 || icmp.get(..2)? != kind {
        return None;
    }
    let quoted = icmp.get(ICMP_BYTES..)?;
    if *quoted.get(protocol.0)? != TCP {
        return None;
    }
    let (src, dst): (Addr, Addr) = match v6 {
        true => {
            let at = |from: usize| quoted.get(from..)?.first_chunk::<16>().copied();
            (
                Ipv6Addr::from(at(8)?).into(),
                Ipv6Addr::from(at(24)?).into(),
            )
        }
        false => {
            let at = |from: usize| quoted.get(from..)?.first_chunk::<4>().copied();
            (
                Ipv4Addr::from(at(12)?).into(),
                Ipv4Addr::from(at(16)?).into(),
            )
        }
    };
    let tcp = quoted.get(header..)?;
    let port = |at: usize| {
        tcp.get(at..)?
            .first_chunk()
            .copied()
            .map(u16::from_be_bytes)
    };
    Some(TooBig {
        key: FlowKey {
            src,
            dst,
            src_port: port(0)?,
            dst_port: port(2)?,
            ..FlowKey::default()
        },
        seq: u32::from_be_bytes(*tcp.get(4..)?.first_chunk()?),
        mtu: u16::from_be_bytes(*icmp.get(6..)?.first_chunk()?),
    })
}
