//! The payload: made once for a run, so that sending and checking it costs next to nothing.

use windlass_sim::Rng;

/// Distinguishes the payload's random numbers from those of the links.
const STREAM: u64 = 0x70_61_79;
/// The content repeats itself after so many bytes, a prime: no segment or buffer size divides it.
const PERIOD: usize = 65_521;
/// Flows differ by their place in the period.
const FLOW_STRIDE: u64 = 7_919;
/// Most bytes of one slice.
pub(super) const SLICE_BYTES: usize = 1 << 17;

/// Random bytes.
#[derive(Debug)]
pub(super) struct Pattern {
    bytes: Vec<u8>,
}

impl Pattern {
    pub(super) fn new(seed: u64) -> Pattern {
        let mut random = Rng::new(seed, STREAM);
        let words = std::iter::repeat_with(|| random.bits().to_le_bytes());
        let period: Vec<u8> = words.flatten().take(PERIOD).collect();
        let endless = period.iter().cycle().copied();
        Pattern {
            bytes: endless.take(PERIOD + SLICE_BYTES).collect(),
        }
    }

    /// The bytes of a flow from `offset` on: `len` of them, or [`SLICE_BYTES`] if that is less.
    pub(super) fn slice(&self, flow: usize, offset: u64, len: u64) -> &[u8] {
        let start = (offset + flow as u64 * FLOW_STRIDE) % PERIOD as u64;
        let len = len.min(SLICE_BYTES as u64) as usize;
        &self.bytes[start as usize..][..len]
    }

    /// Where bytes of a flow, received at `offset`, first differ from what was sent.
    pub(super) fn difference(&self, flow: usize, offset: u64, received: &[u8]) -> Option<u64> {
        let mut at = offset;
        for part in received.chunks(SLICE_BYTES) {
            let sent = self.slice(flow, at, part.len() as u64);
            if part != sent {
                let differing = part.iter().zip(sent).position(|(a, b)| a != b)?;
                return Some(at + differing as u64);
            }
            at += part.len() as u64;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_in_any_pieces_is_the_same() {
        let pattern = Pattern::new(3);
        let mut sent = Vec::new();
        while sent.len() < 400_000 {
            let piece = pattern.slice(5, sent.len() as u64, 1 + sent.len() as u64 / 3);
            sent.extend_from_slice(piece);
        }
        assert_eq!(pattern.difference(5, 0, &sent), None);
        assert_eq!(pattern.difference(5, 1000, &sent[1000..]), None);
        assert_eq!(pattern.slice(5, 0, u64::MAX).len(), SLICE_BYTES);
    }

    #[test]
    fn wrong_bytes_are_found_where_they_are() {
        let pattern = Pattern::new(3);
        let mut sent: Vec<u8> = (0..3)
            .flat_map(|i| pattern.slice(0, i * 131_072, 131_072).to_vec())
            .collect();
        assert_eq!(pattern.difference(0, 0, &sent), None);
        sent[300_000] ^= 1;
        assert_eq!(pattern.difference(0, 0, &sent), Some(300_000));
        // A segment that is left out, another flow, another seed.
        sent.drain(1448..2896);
        assert!(
            pattern
                .difference(0, 0, &sent)
                .is_some_and(|at| (1448..1460).contains(&at))
        );
        let own = pattern.slice(0, 0, 100).to_vec();
        assert!(pattern.difference(1, 0, &own).is_some());
        assert!(Pattern::new(4).difference(0, 0, &own).is_some());
    }
}
