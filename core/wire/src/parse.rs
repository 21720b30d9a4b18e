//! From a frame to a [`Segment`].

use crate::checksum::{self, TCP};
use crate::network::{Network, TRUNCATED, network};
use crate::options::Read;
use crate::{ChecksumState, Flags, FlowKey, Layout, Segment, Unparsed, options};

/// Length of a TCP header without options, bytes.
const TCP_BYTES: usize = 20;

/// Reads one Ethernet frame. `head` is its first contiguous part, which holds at least all headers
/// (else the frame is malformed); `frame_len` is the length of the whole frame, bytes.
///
/// Up to two VLAN tags (IEEE 802.1Q and 802.1ad), IPv4 with options, and IPv6 with hop-by-hop,
/// routing and destination options headers are understood. Lengths are those of the IP header:
/// padding behind it is allowed and GSO packets are too, up to 64 KiB.
///
/// # Errors
/// Whatever cannot be understood in full is refused, so that it is forwarded untouched.
pub fn parse(head: &[u8], frame_len: u32) -> Result<Segment, Unparsed> {
    let net = network(head, frame_len)?;
    let (header, options) = tcp(head, &net)?;
    let base = net.transport + TCP_BYTES;
    // Two places that assemble, so that the common one has all values in registers.
    if let Some(read) = options::read_aligned_timestamps(options, base) {
        return Ok(assemble(head, &net, header, &read));
    }
    let read = options::read(options, base).map_err(Unparsed::Malformed)?;
    Ok(assemble(head, &net, header, &read))
}

/// The flow of a frame by its headers alone. [`parse`] names the same, and reads the TCP options too.
///
/// The XDP program decides by exactly this whether a frame is one that the box could take:
/// `box/io/bpf/wire` says it in C, and a test in `box/io` compares the two.
///
/// # Errors
/// As from [`parse`], except that TCP options which contradict each other are not seen.
pub fn flow_of(head: &[u8], frame_len: u32) -> Result<FlowKey, Unparsed> {
    let net = network(head, frame_len)?;
    let (header, _) = tcp(head, &net)?;
    Ok(key(&net, header))
}

/// Length of the headers of a frame up to its TCP payload, bytes. `None` where [`flow_of`] says why.
pub fn header_len(head: &[u8], frame_len: u32) -> Option<usize> {
    let net = network(head, frame_len).ok()?;
    let (_, options) = tcp(head, &net).ok()?;
    Some(net.transport + TCP_BYTES + options.len())
}

/// The TCP header without its options, and the options.
#[inline(always)]
fn tcp<'a>(head: &'a [u8], net: &Network) -> Result<(&'a [u8; TCP_BYTES], &'a [u8]), Unparsed> {
    if net.protocol != TCP {
        return Err(Unparsed::NotTcp);
    }
    // Such a packet would go by the name of an IPv4 flow.
    if net.v6 && (net.src.0 >> 32 == 0xffff || net.dst.0 >> 32 == 0xffff) {
        return Err(Unparsed::Malformed("IPv4-mapped address in an IPv6 header"));
    }
    let bytes = head.get(net.transport..).ok_or(TRUNCATED)?;
    let header: &[u8; TCP_BYTES] = bytes.first_chunk().ok_or(TRUNCATED)?;
    let header_len = usize::from(header[12] >> 4) * 4;
    if header_len < TCP_BYTES || header_len as u32 > net.transport_len {
        return Err(Unparsed::Malformed("TCP data offset"));
    }
    let options = bytes.get(TCP_BYTES..header_len).ok_or(TRUNCATED)?;
    Ok((header, options))
}

#[inline(always)]
fn key(net: &Network, header: &[u8; TCP_BYTES]) -> FlowKey {
    let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let [vlan, inner_vlan] = net.vlans;
    FlowKey {
        src: net.src,
        dst: net.dst,
        src_port: word(0),
        dst_port: word(2),
        vlan,
        inner_vlan,
    }
}

#[inline(always)]
fn assemble(head: &[u8], net: &Network, header: &[u8; TCP_BYTES], read: &Read) -> Segment {
    let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let long = |at: usize| u32::from(word(at)) << 16 | u32::from(word(at + 2));
    let header_len = u32::from(header[12] >> 4) * 4;
    let partial = checksum::is_partial(head, net, word(checksum::TCP_CHECKSUM));
    Segment {
        key: key(net, header),
        seq: long(4),
        ack: long(8),
        flags: Flags(word(12) & 0x1ff),
        window: word(14),
        payload_len: net.transport_len - header_len,
        ecn: net.ecn,
        options: read.options,
        checksum: if partial {
            ChecksumState::Partial
        } else {
            ChecksumState::Full
        },
        at: Layout {
            ip: net.ip as u16,
            tcp: net.transport as u16,
            payload: net.transport as u16 + header_len as u16,
            timestamps: read.timestamps,
            sack: read.sack,
            peer: read.peer,
            v6: net.v6,
        },
    }
}
