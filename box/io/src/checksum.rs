//! Completing the checksums of packets in more than one piece (RFC 1071).

/// A running Internet checksum over pieces of any length.
#[derive(Default)]
pub(crate) struct Sum {
    sum: u64,
    odd: bool,
}

impl Sum {
    /// Adds the next piece.
    pub(crate) fn add(&mut self, mut piece: &[u8]) {
        if self.odd {
            let Some((&first, rest)) = piece.split_first() else {
                return;
            };
            self.sum += u64::from(first);
            self.odd = false;
            piece = rest;
        }
        let (pairs, last) = piece.as_chunks::<2>();
        self.sum += pairs
            .iter()
            .map(|&pair| u64::from(u16::from_be_bytes(pair)))
            .sum::<u64>();
        if let [last] = last {
            self.sum += u64::from(*last) << 8;
            self.odd = true;
        }
    }

    /// The complement of the folded sum, as it is stored in a header. Never 0, as UDP needs it;
    /// in TCP 0xffff is the same number.
    pub(crate) fn finish(self) -> u16 {
        let mut sum = self.sum;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        match !(sum as u16) {
            0 => 0xffff,
            checksum => checksum,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_rfc_1071() {
        let mut sum = Sum::default();
        sum.add(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(sum.finish(), !0xddf2);
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(bytes in prop::collection::vec(any::<u8>(), 0..300),
                                cuts in prop::collection::vec(0usize..300, 0..5)) {
            let mut whole = Sum::default();
            whole.add(&bytes);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut pieces = Sum::default();
            let mut from = 0;
            for cut in cuts.into_iter().chain([bytes.len()]) {
                pieces.add(&bytes[from..cut]);
                from = cut;
            }
            prop_assert_eq!(pieces.finish(), whole.finish());
        }
    }
}
