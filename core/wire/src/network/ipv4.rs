//! The IPv4 header (RFC 791 §3.1).

use super::{Network, TRUNCATED};
use crate::link::Link;
use crate::{Addr, Ecn, Unparsed};

/// More fragments, or an offset.
const MF_OR_OFFSET: u16 = 0x3fff;

/// Reads the header that `link` has arrived at.
#[inline(always)]
pub(super) fn ipv4(head: &[u8], frame_len: u32, link: &Link) -> Result<Network, Unparsed> {
    let ip = link.at;
    let header: &[u8; 20] = head[ip..].first_chunk().ok_or(TRUNCATED)?;
    let header_len = u32::from(header[0] & 0xf) * 4;
    if header[0] >> 4 != 4 || header_len < 20 {
        return Err(Unparsed::Malformed("IPv4 version or header length"));
    }
    // 0 is BIG TCP (a GSO packet over 64 KiB) or damage: the true length is not in the packet.
    let total_len = u32::from(u16::from_be_bytes([header[2], header[3]]));
    if total_len < header_len || ip as u32 + total_len > frame_len {
        return Err(Unparsed::Malformed("IPv4 total length"));
    }
    let mapped = |at: usize| {
        let v4 = u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        Addr(0xffff_0000_0000 | u128::from(v4))
    };
    Ok(Network {
        ip,
        transport: ip + header_len as usize,
        transport_len: total_len - header_len,
        v6: false,
        fragment: u16::from_be_bytes([header[6], header[7]]) & MF_OR_OFFSET != 0,
        protocol: header[9],
        ecn: Ecn::from_bits(header[1]),
        src: mapped(12),
        dst: mapped(16),
        vlans: link.vlans,
    })
}
