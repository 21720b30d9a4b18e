//! Damage on a link: a bit that arrives as its opposite.

use windlass_wire::{ChecksumState, Segment, parse, verify_ip, verify_tcp};

use crate::rng::Rng;

/// The Ethernet header: a bridge would drop what is damaged there.
pub(crate) const ETHERNET_BYTES: usize = 14;
/// The stream of what a link draws for one packet that says which bit it is.
const BIT_STREAM: u64 = 0;

/// What a link can damage.
pub trait Damage {
    /// One bit behind the Ethernet header becomes its opposite; `choice` says which.
    fn damage(&mut self, choice: u64);
}

impl Damage for Vec<u8> {
    fn damage(&mut self, choice: u64) {
        flip(self, &mut Rng::new(choice, BIT_STREAM));
    }
}

/// Flips one bit of a frame, behind its Ethernet header. A frame that ends there stays as it is.
pub(crate) fn flip(frame: &mut [u8], rng: &mut Rng) {
    if frame.len() > ETHERNET_BYTES {
        let at = rng.between(ETHERNET_BYTES as u64, frame.len() as u64 - 1) as usize;
        frame[at] ^= 1 << rng.between(0, 7);
    }
}

/// Whether a damaged frame is still what its end has said: what is wrong is a field that no checksum covers. On a wire no checksum
/// is partial, whatever a flipped bit makes it look like.
pub(crate) fn is_right(frame: &[u8]) -> bool {
    parse(frame, frame.len() as u32).is_ok_and(|segment| {
        let on_wire = Segment {
            checksum: ChecksumState::Full,
            ..segment
        };
        verify_ip(frame, &on_wire) && verify_tcp(frame, &on_wire)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Where two frames of one length differ: byte and bits.
    fn differences(before: &[u8], after: &[u8]) -> Vec<(usize, u8)> {
        let pairs = before.iter().zip(after).enumerate();
        pairs
            .filter_map(|(at, (a, b))| (a != b).then_some((at, a ^ b)))
            .collect()
    }

    proptest! {
        #[test]
        fn exactly_one_bit_changes_and_never_in_the_ethernet_header(
            frame in proptest::collection::vec(any::<u8>(), 15..1600),
            choice: u64,
        ) {
            let (mut once, mut again) = (frame.clone(), frame.clone());
            once.damage(choice);
            again.damage(choice);
            prop_assert_eq!(&once, &again, "the same choice is the same bit");
            let changed = differences(&frame, &once);
            prop_assert_eq!(changed.len(), 1);
            let (at, bits) = changed[0];
            prop_assert!(at >= ETHERNET_BYTES && bits.count_ones() == 1, "{} {:#x}", at, bits);
            once.damage(choice);
            prop_assert_eq!(once, frame, "twice is not at all");
        }

        #[test]
        fn nothing_behind_the_ethernet_header_is_nothing_to_damage(len in 0..=14usize, choice: u64) {
            let mut frame = vec![7; len];
            frame.damage(choice);
            prop_assert_eq!(frame, vec![7; len]);
        }
    }

    #[test]
    fn every_bit_has_its_turn() {
        let mut seen = [0u8; 20];
        for choice in 0..2000 {
            let mut frame = vec![0; 20];
            frame.damage(choice);
            for (all, one) in seen.iter_mut().zip(&frame) {
                *all |= one;
            }
        }
        assert_eq!(seen[..ETHERNET_BYTES], [0; ETHERNET_BYTES]);
        assert_eq!(seen[ETHERNET_BYTES..], [0xff; 6]);
    }
}
