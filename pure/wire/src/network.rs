//! Ethernet, VLAN tags and the IP header: where the transport header is and whose it is.

use crate::{Addr, Ecn, Unparsed};

/// Ethertypes of IPv4 and IPv6.
pub(crate) const ETHERTYPE_IPV4: u16 = 0x0800;
pub(crate) const ETHERTYPE_IPV6: u16 = 0x86dd;
/// Ethertypes of VLAN tags: IEEE 802.1Q (customer) and 802.1ad (service).
pub(crate) const ETHERTYPE_CTAG: u16 = 0x8100;
pub(crate) const ETHERTYPE_STAG: u16 = 0x88a8;

/// IPv6 extension headers that are walked before a packet is given up as malformed.
const EXTENSION_HEADERS_MAX: usize = 8;
/// Bytes of IPv6 extension headers that are walked.
const EXTENSION_BYTES_MAX: usize = 2048;

const TRUNCATED: Unparsed = Unparsed::Malformed("headers not in the first part");

/// What the layers below the transport say.
pub(crate) struct Network {
    /// Offset of the IP header.
    pub ip: usize,
    /// Offset of the transport header.
    pub transport: usize,
    /// Length of transport header and payload by the IP header, bytes. It fits the frame.
    pub transport_len: u32,
    pub v6: bool,
    pub protocol: u8,
    pub ecn: Ecn,
    pub src: Addr,
    pub dst: Addr,
    pub vlan: u16,
    pub inner_vlan: u16,
}

/// Reads everything up to the transport header of an unfragmented packet.
#[inline(always)]
pub(crate) fn network(head: &[u8], frame_len: u32) -> Result<Network, Unparsed> {
    let head = &head[..head.len().min(frame_len as usize)];
    let ethernet: &[u8; 14] = head.first_chunk().ok_or(Unparsed::NotIp)?;
    let ethertype = u16::from_be_bytes([ethernet[12], ethernet[13]]);
    if ethertype == ETHERTYPE_IPV4 {
        return ipv4(head, frame_len, 14, [0; 2]);
    }
    let (ip, ethertype, vlans) = tags(head, ethertype)?;
    match ethertype {
        ETHERTYPE_IPV4 => ipv4(head, frame_len, ip, vlans),
        ETHERTYPE_IPV6 => ipv6(head, frame_len, ip, vlans),
        _ => Err(Unparsed::NotIp),
    }
}

/// Skips up to two VLAN tags: offset behind them, the ethertype there, and their ids.
fn tags(head: &[u8], mut ethertype: u16) -> Result<(usize, u16, [u16; 2]), Unparsed> {
    let mut at = 14;
    let mut vlans = [0; 2];
    for vlan in &mut vlans {
        if ethertype != ETHERTYPE_CTAG && ethertype != ETHERTYPE_STAG {
            break;
        }
        let tag: &[u8; 4] = head[at..].first_chunk().ok_or(Unparsed::NotIp)?;
        *vlan = u16::from_be_bytes([tag[0], tag[1]]) & 0xfff;
        ethertype = u16::from_be_bytes([tag[2], tag[3]]);
        at += 4;
    }
    Ok((at, ethertype, vlans))
}

#[inline(always)]
fn ipv4(head: &[u8], frame_len: u32, ip: usize, vlans: [u16; 2]) -> Result<Network, Unparsed> {
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
    // More fragments, or an offset.
    if u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0 {
        return Err(Unparsed::Fragment);
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
        protocol: header[9],
        ecn: Ecn::from_bits(header[1]),
        src: mapped(12),
        dst: mapped(16),
        vlan: vlans[0],
        inner_vlan: vlans[1],
    })
}

fn ipv6(head: &[u8], frame_len: u32, ip: usize, vlans: [u16; 2]) -> Result<Network, Unparsed> {
    let header: &[u8; 40] = head[ip..].first_chunk().ok_or(TRUNCATED)?;
    if header[0] >> 4 != 6 {
        return Err(Unparsed::Malformed("IPv6 version"));
    }
    let payload_len = u32::from(u16::from_be_bytes([header[4], header[5]]));
    let end = ip as u32 + 40 + payload_len;
    if end > frame_len {
        return Err(Unparsed::Malformed("IPv6 payload length"));
    }
    let (protocol, transport) = extensions(head, ip + 40, header[6])?;
    let transport_len = end
        .checked_sub(transport as u32)
        .ok_or(Unparsed::Malformed("IPv6 extension header length"))?;
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
        protocol,
        ecn: Ecn::from_bits(header[1] >> 4),
        src: address(8),
        dst: address(24),
        vlan: vlans[0],
        inner_vlan: vlans[1],
    })
}

/// Walks the IPv6 extension headers at `at` (RFC 8200 §4): upper-layer protocol and its offset.
fn extensions(head: &[u8], mut at: usize, mut next: u8) -> Result<(u8, usize), Unparsed> {
    const HOP_BY_HOP: u8 = 0;
    const ROUTING: u8 = 43;
    const FRAGMENT: u8 = 44;
    const DESTINATION: u8 = 60;

    let limit = at + EXTENSION_BYTES_MAX;
    for _ in 0..=EXTENSION_HEADERS_MAX {
        match next {
            FRAGMENT => return Err(Unparsed::Fragment),
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

impl Ecn {
    /// The code point in the two low bits.
    #[inline]
    pub(crate) fn from_bits(bits: u8) -> Ecn {
        match bits & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// The code point.
    #[inline]
    pub(crate) fn bits(self) -> u8 {
        match self {
            Ecn::NotEct => 0,
            Ecn::Ect1 => 1,
            Ecn::Ect0 => 2,
            Ecn::Ce => 3,
        }
    }
}
