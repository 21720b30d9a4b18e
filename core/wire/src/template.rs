//! ACKs made from the headers of a packet seen before.

use serde::{Deserialize, Serialize};

use crate::options::{self, ALIGNED_TIMESTAMPS, NOP};
use crate::{Addr, ChecksumState, Flags, SackBlocks, Segment, Timestamps, headers};

/// Ethernet and two VLAN tags, bytes.
const LINK_MAX_BYTES: usize = 22;
const HEADERS_MAX_BYTES: usize = LINK_MAX_BYTES + 40;

/// Headers up to and including IP of a packet, from which pure ACKs in the same direction can be
/// made. IPv4 options and IPv6 extension headers are not carried over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Template {
    /// Link and IP header; the latter with open length and checksum.
    #[serde(with = "as_bytes")]
    headers: [u8; HEADERS_MAX_BYTES],
    link_len: u8,
    v6: bool,
    ports: [u8; 4],
}

/// The headers as a string of bytes: serde knows arrays of up to 32 elements.
mod as_bytes {
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::{Serialize, Serializer};

    use super::HEADERS_MAX_BYTES;

    pub(super) fn serialize<S: Serializer>(
        headers: &[u8; HEADERS_MAX_BYTES],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        headers.as_slice().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<[u8; HEADERS_MAX_BYTES], D::Error> {
        let bytes = <&[u8]>::deserialize(from)?;
        let wrong = |_| D::Error::invalid_length(bytes.len(), &"the headers of a packet");
        bytes.try_into().map_err(wrong)
    }
}

/// What a pure ACK says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AckFields {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Flags, to be given with [`Flags::ACK`].
    pub flags: Flags,
    /// Window field, unscaled.
    pub window: u16,
    /// Timestamps option.
    pub timestamps: Option<Timestamps>,
    /// SACK option; beside timestamps only the first three blocks find room.
    pub sack: SackBlocks,
}

impl AckFields {
    fn sack_blocks(&self) -> usize {
        let room = if self.timestamps.is_some() { 3 } else { 4 };
        usize::from(self.sack.count).min(room)
    }

    fn options_len(&self) -> usize {
        let timestamps = if self.timestamps.is_some() { 12 } else { 0 };
        match self.sack_blocks() {
            0 => timestamps,
            blocks => timestamps + 4 + 8 * blocks,
        }
    }
}

impl Template {
    /// From a packet: `seg` is what [`crate::parse`] made of `head`. Addresses, DSCP, TTL or hop
    /// limit and flow label are kept; ECN is cleared (RFC 3168 §6.1.4: pure ACKs are Not-ECT).
    pub fn of(head: &[u8], seg: &Segment) -> Template {
        let ip = usize::from(seg.at.ip);
        let link_len = ip.min(LINK_MAX_BYTES).min(head.len());
        let byte = |offset: usize| head.get(ip + offset).copied().unwrap_or(0);
        let mut headers = [0; HEADERS_MAX_BYTES];
        headers[..link_len].copy_from_slice(&head[..link_len]);
        let (src, dst) = (seg.key.src, seg.key.dst);
        if seg.at.v6 {
            let first = u32::from_be_bytes([byte(0), byte(1), byte(2), byte(3)]);
            let header = headers::ipv6(first & !(3 << 20), byte(7), src, dst);
            headers[link_len..link_len + 40].copy_from_slice(&header);
        } else {
            let header = headers::ipv4(byte(1) & !3, byte(8), src, dst);
            headers[link_len..link_len + 20].copy_from_slice(&header);
        }
        let [a, b] = seg.key.src_port.to_be_bytes();
        let [c, d] = seg.key.dst_port.to_be_bytes();
        Template {
            headers,
            link_len: link_len as u8,
            v6: seg.at.v6,
            ports: [a, b, c, d],
        }
    }

    /// Whether a packet of the same connection has the same MAC addresses: they may change under way.
    #[inline]
    pub fn has_addresses_of(&self, head: &[u8]) -> bool {
        head.first_chunk::<12>() == self.headers.first_chunk()
    }

    /// Length of the frame that [`Template::write_ack`] makes of `fields`, bytes.
    pub fn ack_len(&self, fields: &AckFields) -> usize {
        self.headers_len() + 20 + fields.options_len()
    }

    /// Writes a whole frame to the start of `buf`: IPv4 id 0 and DF, full checksums. Returns its
    /// length, or `None` if `buf` is shorter.
    pub fn write_ack(&self, buf: &mut [u8], fields: &AckFields) -> Option<usize> {
        let len = self.ack_len(fields);
        let frame = buf.get_mut(..len)?;
        let (below, tcp) = frame.split_at_mut(self.headers_len());
        below.copy_from_slice(&self.headers[..below.len()]);

        let offset = ((20 + fields.options_len()) as u16 / 4) << 12;
        tcp[..4].copy_from_slice(&self.ports);
        tcp[4..8].copy_from_slice(&fields.seq.to_be_bytes());
        tcp[8..12].copy_from_slice(&fields.ack.to_be_bytes());
        tcp[12..14].copy_from_slice(&(offset | fields.flags.0 & 0x1ff).to_be_bytes());
        tcp[14..16].copy_from_slice(&fields.window.to_be_bytes());
        tcp[16..20].fill(0);
        write_options(&mut tcp[20..], fields);

        let ip = usize::from(self.link_len);
        headers::close(frame, ip, self.v6, self.addresses(), ChecksumState::Full);
        Some(len)
    }

    fn headers_len(&self) -> usize {
        usize::from(self.link_len) + if self.v6 { 40 } else { 20 }
    }

    fn addresses(&self) -> (Addr, Addr) {
        let ip = &self.headers[usize::from(self.link_len)..];
        let bits = |at: usize, len: usize| {
            let bytes = ip.iter().skip(at).take(len);
            Addr(bytes.fold(0, |bits, &byte| bits << 8 | u128::from(byte)))
        };
        if self.v6 {
            (bits(8, 16), bits(24, 16))
        } else {
            (bits(12, 4), bits(16, 4))
        }
    }
}

/// `place` is exactly as long as the options are.
fn write_options(place: &mut [u8], fields: &AckFields) {
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        place[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    if let Some(ts) = fields.timestamps {
        put(&ALIGNED_TIMESTAMPS);
        put(&ts.val.to_be_bytes());
        put(&ts.ecr.to_be_bytes());
    }
    let blocks = fields.sack_blocks();
    if blocks > 0 {
        put(&[NOP, NOP, options::SACK, 2 + 8 * blocks as u8]);
        for (left, right) in fields.sack.iter().take(blocks) {
            put(&left.to_be_bytes());
            put(&right.to_be_bytes());
        }
    }
}
