//! The Internet checksum (RFC 1071), its incremental form (RFC 1624), and partial sums as Linux
//! leaves them for the transmitter to complete.

use crate::network::{self, Network};
use crate::{Addr, ChecksumState, Segment};

/// Protocol number of TCP.
pub(crate) const TCP: u8 = 6;
/// Protocol number of UDP.
pub(crate) const UDP: u8 = 17;
/// Offset of the checksum field in a TCP header, bytes.
pub(crate) const TCP_CHECKSUM: usize = 16;
/// Offset of the checksum field in a UDP header, bytes.
const UDP_CHECKSUM: usize = 6;

/// Ones' complement addition down to 16 bits. Zero only if `sum` is zero.
#[inline]
pub(crate) fn fold(sum: u64) -> u16 {
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

/// Ones' complement sum of big-endian 16-bit words, folded; an odd last byte is the high half of a
/// word. Words are added in native order and swapped once at the end (RFC 1071 §2(B)).
#[inline]
pub(crate) fn sum(data: &[u8]) -> u16 {
    let (blocks, rest) = data.as_chunks::<64>();
    let (words, tail) = rest.as_chunks::<8>();
    let (mut total, mut carries) = match blocks {
        [] => (0, 0),
        blocks => sum_blocks(blocks),
    };
    for word in words {
        let (sum, carry) = total.overflowing_add(u64::from_ne_bytes(*word));
        (total, carries) = (sum, carries + u64::from(carry));
    }
    let halves = (total & 0xffff_ffff) + (total >> 32);
    u16::from_be(fold(halves + carries + sum_few(tail)))
}

/// The sum of fewer than eight bytes: not copied, since a copy of any length would be a call.
#[inline]
fn sum_few(bytes: &[u8]) -> u64 {
    let (fours, rest) = bytes.as_chunks::<4>();
    let (twos, rest) = rest.as_chunks::<2>();
    let four = fours.first().map_or(0, |word| u32::from_ne_bytes(*word));
    let two = twos.first().map_or(0, |word| u16::from_ne_bytes(*word));
    let one = rest
        .first()
        .map_or(0, |&byte| u16::from_ne_bytes([byte, 0]));
    u64::from(four) + u64::from(two) + u64::from(one)
}

/// The sum of words of 64 bits, and how often it has overflowed. Each block is a chain of additions with carry of its own, so that
/// the processor works on several at once.
fn sum_blocks(blocks: &[[u8; 64]]) -> (u64, u64) {
    let (mut total, mut carries) = (0u64, 0u64);
    for block in blocks {
        let (words, _) = block.as_chunks::<8>();
        let (mut sum, mut carry) = (0u64, false);
        for word in words {
            (sum, carry) = sum.carrying_add(u64::from_ne_bytes(*word), carry);
        }
        (total, carry) = total.carrying_add(sum, carry);
        // At most one for each block.
        carries = carries.wrapping_add(u64::from(carry));
    }
    (total, carries)
}

/// RFC 1624 equation 3: the checksum after 16-bit sum `old` under it has become `new`.
#[inline]
pub(crate) fn adjust(checksum: u16, old: u16, new: u16) -> u16 {
    !fold(u64::from(!checksum) + u64::from(!old) + u64::from(new))
}

/// Sum of the pseudo-header, unfolded (RFC 9293 §3.1, RFC 8200 §8.1). The prefix of an IPv4-mapped
/// address is one word of 0xffff, which is zero in ones' complement: one form does for both.
#[inline]
pub(crate) fn pseudo_header(src: Addr, dst: Addr, protocol: u8, len: u32) -> u64 {
    let words = |a: u128| {
        u64::from((a >> 96) as u32)
            + u64::from((a >> 64) as u32)
            + u64::from((a >> 32) as u32)
            + u64::from(a as u32)
    };
    words(src.0) + words(dst.0) + u64::from(protocol) + u64::from(len)
}

/// Whether the checksum of the IPv4 header is right; IPv6 has none. Who finds it wrong drops the packet, whatever TCP says of itself
/// (RFC 1122 §3.2.1.2). `head` holds all headers.
pub fn verify_ip(head: &[u8], seg: &Segment) -> bool {
    let header = usize::from(seg.at.ip)..usize::from(seg.at.tcp);
    let words = |ip: &[u8]| -> u64 {
        // Its length is counted in words of four bytes.
        let words = ip.as_chunks::<4>().0.iter();
        words.map(|word| u64::from(u32::from_ne_bytes(*word))).sum()
    };
    seg.at.v6 || head.get(header).is_some_and(|ip| fold(words(ip)) == 0xffff)
}

/// Full check of the TCP checksum of a frame of one part. A partial sum counts as valid; false also
/// if `frame` does not hold the whole segment.
pub fn verify_tcp(frame: &[u8], seg: &Segment) -> bool {
    if seg.checksum == ChecksumState::Partial {
        return true;
    }
    let start = usize::from(seg.at.tcp);
    let end = usize::from(seg.at.payload) + seg.payload_len as usize;
    match frame.get(start..end) {
        Some(tcp) => {
            let pseudo = pseudo_header(seg.key.src, seg.key.dst, TCP, tcp.len() as u32);
            fold(pseudo + u64::from(sum(tcp))) == 0xffff
        }
        None => false,
    }
}

/// The same for a frame of several parts, in their order.
pub fn verify_tcp_parts<'a>(parts: impl Iterator<Item = &'a [u8]>, seg: &Segment) -> bool {
    if seg.checksum == ChecksumState::Partial {
        return true;
    }
    let start = usize::from(seg.at.tcp);
    let end = usize::from(seg.at.payload) + seg.payload_len as usize;
    let (mut at, mut summed) = (0, 0);
    let mut total = pseudo_header(seg.key.src, seg.key.dst, TCP, (end - start) as u32);
    for part in parts {
        let first = start.saturating_sub(at).min(part.len());
        let last = end.saturating_sub(at).min(part.len());
        let part_sum = sum(&part[first..last.max(first)]);
        // Behind an odd number of bytes, high and low halves change places.
        total += u64::from(match summed % 2 {
            0 => part_sum,
            _ => part_sum.swap_bytes(),
        });
        summed += last.saturating_sub(first);
        at += part.len();
    }
    summed == end - start && fold(total) == 0xffff
}

/// Completes a partial checksum in software: sums from byte `start` to the end of the frame and
/// stores the complement at `start + offset`. A frame that does not have these bytes is left alone.
///
/// As in Linux `skb_checksum_help`, padding behind the IP packet is summed too, so it has to be
/// zero or cut off, and a result of 0 is stored as 0xffff, which means the same to TCP and is the
/// only form UDP has.
pub fn complete_checksum(frame: &mut [u8], start: usize, offset: usize) {
    let Some(covered) = frame.get_mut(start..) else {
        return;
    };
    let checksum = match !sum(covered) {
        0 => 0xffff,
        other => other,
    };
    if let Some(field) = covered.get_mut(offset..).and_then(|f| f.first_chunk_mut()) {
        *field = checksum.to_be_bytes();
    }
}

/// `(csum_start, csum_offset)` in Linux terms if the frame is an unfragmented TCP or UDP packet over
/// IPv4 or IPv6 whose checksum field holds only the pseudo-header's sum. Options are not looked at.
/// `head` and `frame_len` are as for [`crate::parse`].
pub fn partial_checksum(head: &[u8], frame_len: u32) -> Option<(u16, u16)> {
    let net = network::network(head, frame_len).ok()?;
    let transport = head.get(net.transport..)?;
    let offset = match net.protocol {
        TCP if net.transport_len >= 20 => TCP_CHECKSUM,
        // A length of its own that is not the IP header's would be summed differently.
        UDP if u32::from(word(transport, 4)?) == net.transport_len => UDP_CHECKSUM,
        _ => return None,
    };
    let field = word(transport, offset)?;
    is_partial(head, &net, field).then_some((net.transport as u16, offset as u16))
}

/// Whether `field`, the checksum of a packet, is a partial sum. A field that equals it and yet is
/// right for the whole packet is full; if `head` does not hold the whole, partial is far likelier.
#[inline(always)]
pub(crate) fn is_partial(head: &[u8], net: &Network, field: u16) -> bool {
    let pseudo = pseudo_header(net.src, net.dst, net.protocol, net.transport_len);
    // By value: a reference to `net` would keep all of it in memory on the common path.
    field == fold(pseudo) && !verifies(head, net.transport, net.transport_len, pseudo)
}

#[cold]
fn verifies(head: &[u8], start: usize, len: u32, pseudo: u64) -> bool {
    head.get(start..start + len as usize)
        .is_some_and(|all| fold(pseudo + u64::from(sum(all))) == 0xffff)
}

/// The big-endian word at `at`.
#[inline]
pub(crate) fn word(data: &[u8], at: usize) -> Option<u16> {
    data.get(at..)?
        .first_chunk()
        .map(|bytes| u16::from_be_bytes(*bytes))
}

impl Segment {
    /// `(csum_start, csum_offset)` in Linux terms if the checksum is partial.
    pub fn partial(&self) -> Option<(u16, u16)> {
        (self.checksum == ChecksumState::Partial).then_some((self.at.tcp, TCP_CHECKSUM as u16))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_1071_example() {
        assert_eq!(
            sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]),
            0xddf2
        );
    }

    #[test]
    fn rfc_1624_example() {
        // The case in which RFC 1141 gives 0xffff.
        assert_eq!(adjust(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    #[test]
    fn fast_sum_is_the_plain_sum() {
        let data: Vec<u8> = (0..3000u32).map(|i| ((i * i) >> 3) as u8 | 0x80).collect();
        for len in (0..400).chain([1460, 2999, 3000]) {
            for start in [0, 1, 3].into_iter().filter(|&start| start <= len) {
                let bytes = &data[start..len];
                let word = |p: &[u8]| u64::from(p[0]) << 8 | u64::from(*p.get(1).unwrap_or(&0));
                let plain: u64 = bytes.chunks(2).map(word).sum();
                assert_eq!(sum(bytes), fold(plain), "{start}..{len}");
            }
        }
    }

    #[test]
    fn nothing_overflows() {
        assert_eq!(sum(&vec![0xff; 1 << 20]), 0xffff);
        assert_eq!(sum(&[0xff; 63]), 0xff00);
        assert_eq!(fold(u64::MAX), 0xffff);
        assert_eq!(fold(0xffff_0001), 1);
        assert_eq!(sum(&[0; 200]), 0);
    }
}
