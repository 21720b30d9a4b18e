//! Whether payload is the same on both sides.
//!
//! Where the file has the bytes, they are compared. Where it has only headers, the TCP checksums tell: from checksum,
//! addresses and header follows the sum of the payload. What that proves is in docs/recorder.md: a receiver that verifies
//! its checksums, and has acknowledged the segment, has taken a payload of the same sum.

use windlass_wire::{ChecksumState, Segment};

use crate::pcapng::Captured;

/// Offset of the checksum in the TCP header (RFC 9293 §3.1).
const CHECKSUM_AT: usize = 16;
/// TCP in the pseudo-header.
const PROTOCOL: u64 = 6;

/// How two segments of the same bytes compare.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Compared {
    /// All bytes are the same.
    SameBytes,
    /// Their sums are the same, and what bytes there are.
    SameSums,
    /// The byte at this place of the payload differs.
    OtherByte(usize),
    OtherSum,
    /// A checksum has not been completed when it was captured.
    Unknown,
}

/// A segment of a capture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Data<'a> {
    pub segment: &'a Segment,
    pub captured: &'a Captured<'a>,
}

impl<'a> Data<'a> {
    /// What was captured of the payload.
    pub(super) fn bytes(&self) -> &'a [u8] {
        let at = usize::from(self.segment.at.payload);
        let rest = self.captured.data.get(at..).unwrap_or_default();
        &rest[..rest.len().min(self.segment.payload_len as usize)]
    }

    /// The sum of the payload that the checksum stands for, modulo 65,535; `None` if the checksum is partial.
    fn sum(&self) -> Option<u64> {
        let segment = self.segment;
        if segment.checksum != ChecksumState::Full {
            return None;
        }
        let header = self.captured.data;
        let header = header.get(usize::from(segment.at.tcp)..usize::from(segment.at.payload))?;
        let length = header.len() as u64 + u64::from(segment.payload_len);
        let words = |value: u128| (0..8).map(move |at| (value >> (16 * at)) as u64 & 0xffff);
        // Only the last 32 bits of an IPv4 address are in the pseudo-header.
        let address = |value: u128| match segment.at.v6 {
            true => value,
            false => value & 0xffff_ffff,
        };
        let pseudo: u64 = words(address(segment.key.src.0))
            .chain(words(address(segment.key.dst.0)))
            .sum();
        let (pairs, _) = header.as_chunks::<2>();
        let word = |pair: &[u8; 2]| u64::from(u16::from_be_bytes(*pair));
        let all: u64 = pairs.iter().map(word).sum();
        let checksum = word(pairs.get(CHECKSUM_AT / 2)?);
        let known = (pseudo + PROTOCOL + length + all - checksum) % 0xffff;
        Some((0xffff - checksum + 0xffff - known) % 0xffff)
    }

    /// The same range of the stream, once as it came and once as it left.
    pub(super) fn compare(&self, other: &Data<'_>) -> Compared {
        let (a, b) = (self.bytes(), other.bytes());
        let both = a.len().min(b.len());
        if let Some(at) = (0..both).find(|&at| a[at] != b[at]) {
            return Compared::OtherByte(at);
        }
        if both == self.segment.payload_len as usize {
            return Compared::SameBytes;
        }
        match (self.sum(), other.sum()) {
            (Some(a), Some(b)) if a == b => Compared::SameSums,
            (Some(_), Some(_)) => Compared::OtherSum,
            _ => Compared::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_wire::{Addr, FrameSpec, parse};

    fn frame(payload: &[u8], window: u16, v6: bool) -> Vec<u8> {
        let address = |last: u128| match v6 {
            true => Addr(0x2001_0db8 << 96 | last),
            false => Addr(0xffff_0a00_0000 | last),
        };
        let mut spec = FrameSpec {
            window,
            payload: payload.to_vec(),
            ..FrameSpec::default()
        };
        (spec.key.src, spec.key.dst) = (address(1), address(2));
        spec.build()
    }

    fn with<T>(frame: &[u8], kept: usize, ask: impl FnOnce(Data<'_>) -> T) -> T {
        let segment = parse(frame, frame.len() as u32).expect("a segment");
        let captured = Captured {
            number: 1,
            time: 0,
            interface: 0,
            direction: None,
            length: frame.len() as u32,
            data: &frame[..kept.min(frame.len())],
        };
        ask(Data {
            segment: &segment,
            captured: &captured,
        })
    }

    #[test]
    fn the_sum_of_a_payload_follows_from_its_headers() {
        for v6 in [false, true] {
            let payload: Vec<u8> = (0..=254).collect();
            let mut other = payload.clone();
            other[100] ^= 4;
            let [a, b, c] =
                [(&payload, 1), (&payload, 999), (&other, 1)].map(|(p, w)| frame(p, w, v6));
            let headers = a.len() - payload.len();
            let compared =
                |x: &[u8], y: &[u8], kept| with(x, kept, |x| with(y, kept, |y| x.compare(&y)));
            assert_eq!(compared(&a, &b, headers), Compared::SameSums);
            assert_eq!(compared(&a, &c, headers), Compared::OtherSum);
            assert_eq!(compared(&a, &b, 2000), Compared::SameBytes);
            assert_eq!(compared(&a, &c, 2000), Compared::OtherByte(100));
            assert_eq!(compared(&a, &c, headers + 101), Compared::OtherByte(100));
        }
    }
}
