//! IP headers from nothing, and the lengths and checksums that close a packet.

use crate::checksum::{self, TCP, TCP_CHECKSUM};
use crate::{Addr, ChecksumState};

/// Largest value of the IPv4 total length and the IPv6 payload length fields, bytes.
pub(crate) const IP_LEN_MAX_BYTES: usize = 65_535;

/// An IPv4 header before TCP: id 0 and DF, length and checksum open.
pub(crate) fn ipv4(tos: u8, ttl: u8, src: Addr, dst: Addr) -> [u8; 20] {
    let mut header = [
        0x45, tos, 0, 0, 0, 0, 0x40, 0, ttl, TCP, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ];
    header[12..16].copy_from_slice(&(src.0 as u32).to_be_bytes());
    header[16..].copy_from_slice(&(dst.0 as u32).to_be_bytes());
    header
}

/// An IPv6 header before TCP, length open. `class_and_label` are the 28 bits behind the version.
pub(crate) fn ipv6(class_and_label: u32, hop_limit: u8, src: Addr, dst: Addr) -> [u8; 40] {
    let mut header = [0; 40];
    header[..4].copy_from_slice(&(6 << 28 | class_and_label & 0x0fff_ffff).to_be_bytes());
    header[6] = TCP;
    header[7] = hop_limit;
    header[8..24].copy_from_slice(&src.0.to_be_bytes());
    header[24..].copy_from_slice(&dst.0.to_be_bytes());
    header
}

/// Fills in IP length, IPv4 header checksum and TCP checksum of a frame that ends with its packet,
/// whose IP header at `ip` has no options or extensions.
pub(crate) fn close(
    frame: &mut [u8],
    ip: usize,
    v6: bool,
    (src, dst): (Addr, Addr),
    state: ChecksumState,
) {
    let Some((header, tcp)) = frame
        .get_mut(ip..)
        .and_then(|packet| packet.split_at_mut_checked(if v6 { 40 } else { 20 }))
    else {
        return;
    };
    if v6 {
        header[4..6].copy_from_slice(&(tcp.len() as u16).to_be_bytes());
    } else {
        header[2..4].copy_from_slice(&((tcp.len() + 20) as u16).to_be_bytes());
        header[10..12].fill(0);
        let sum = !checksum::sum(header);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    let pseudo = checksum::pseudo_header(src, dst, TCP, tcp.len() as u32);
    let Some(field) = tcp.get_mut(TCP_CHECKSUM..TCP_CHECKSUM + 2) else {
        return;
    };
    field.fill(0);
    let sum = match state {
        ChecksumState::Partial => checksum::fold(pseudo),
        ChecksumState::Full => !checksum::fold(pseudo + u64::from(checksum::sum(tcp))),
    };
    tcp[TCP_CHECKSUM..TCP_CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
}
