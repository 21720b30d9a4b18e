//! The IPv6 header (RFC 8200 §3) and its extension headers (§4).

use super::{Network, TRUNCATED};
use crate::link::Link;
use crate::{Addr, Ecn, Unparsed};

/// IPv6 extension headers that are walked before a packet is given up as malformed.
pub const EXTENSION_HEADERS_MAX: usize = 8;
/// Bytes of IPv6 extension headers that are walked.
pub const EXTENSION_BYTES_MAX: usize = 2048;

/// Kinds of extension headers that are known.
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION: u8 = 60;

/// Reads the header that `link` has arrived at.
pub(super) fn ipv6(head: &[u8], frame_len: u32, link: &Link) -> Result<Network, Unparsed> {
    let ip = link.at;
    let header: &[u8; 40] = head[ip..].first_chunk().ok_or(TRUNCATED)?;
    if header[0] >> 4 != 6 {
        return Err(Unparsed::Malformed("IPv6 version"));
    }
    // 0 is a jumbogram (RFC 2675) or nothing: no header fits into it.
    let payload_len = u32::from(u16::from_be_bytes([header[4], header[5]]));
    let end = ip as u32 + 40 + payload_len;
    if end > frame_len {
        return Err(Unparsed::Malformed("IPv6 payload length"));
    }
    let (protocol, transport) = extensions(head, ip + 40, header[6])?;
    let fragment = protocol == FRAGMENT;
    let transport_len = match end.checked_sub(transport as u32) {
        Some(len) => len,
        None if fragment => 0,
        None => return Err(Unparsed::Malformed("IPv6 extension header length")),
    };
    let address = |at: usize| {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&header[at..at + 16]);
        Addr(u128::from_be_bytes(bytes))
    };
    Ok(Network {
        ip,
        transport,
        transport_len,
        v6: true,
        fragment,
        protocol,
        ecn: Ecn::from_bits(header[1] >> 4),
        src: address(8),
        dst: address(24),
        vlans: link.vlans,
    })
}

/// Walks the extension headers at `at`, of which the first is a `next`: upper-layer protocol and its offset. What is behind a
/// fragment header is not looked at.
fn extensions(head: &[u8], mut at: usize, mut next: u8) -> Result<(u8, usize), Unparsed> {
    let limit = at + EXTENSION_BYTES_MAX;
    // Once more than there may be headers, for what is behind the last.
    for _ in 0..=EXTENSION_HEADERS_MAX {
        match next {
            HOP_BY_HOP | ROUTING | DESTINATION => {}
            upper => return Ok((upper, at)),
        }
        let extension: &[u8; 8] = head
            .get(at..)
            .and_then(<[u8]>::first_chunk)
            .ok_or(TRUNCATED)?;
        // The checksum then is over the last segment's address, and the destination not the end.
        if next == ROUTING && extension[3] != 0 {
            return Err(Unparsed::Malformed("routing header with segments left"));
        }
        next = extension[0];
        at += 8 + usize::from(extension[1]) * 8;
        if at > limit {
            break;
        }
    }
    Err(Unparsed::Malformed("too many IPv6 extension headers"))
}
