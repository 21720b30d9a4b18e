//! Growth by whole segments against a credit of acknowledged bytes (appropriate byte counting,
//! RFC 3465 §2.1 as RFC 5681 §3.1 recommends it; the credit rule of Linux `tcp_cong_avoid_ai`).

/// Bytes acknowledged that have not yet earned a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct AdditiveIncrease {
    credit: u64,
}

impl AdditiveIncrease {
    /// Segments that `acked` bytes earn at a price of `price` bytes each. A stretch ACK earns as
    /// much as the ACKs that it stands for.
    pub fn segments(&mut self, price: u64, acked: u64) -> u64 {
        let price = price.max(1);
        let mut earned = 0;
        if self.credit >= price {
            // The price fell below what had been saved at the old one: pay out one segment, not a
            // burst.
            self.credit = 0;
            earned = 1;
        }
        self.credit = self.credit.saturating_add(acked);
        let whole = self.credit / price;
        self.credit -= whole * price;
        earned + whole
    }

    /// Forgets the credit.
    pub fn clear(&mut self) {
        self.credit = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_ack_earns_what_its_parts_would() {
        let (mut parts, mut whole) = (AdditiveIncrease::default(), AdditiveIncrease::default());
        let by_parts: u64 = (0..25).map(|_| parts.segments(10_000, 1_000)).sum();
        assert_eq!(by_parts, 2);
        assert_eq!(whole.segments(10_000, 25_000), by_parts);
        assert_eq!(parts, whole);
    }

    #[test]
    fn a_fall_in_price_pays_one_segment_of_old_credit() {
        let mut increase = AdditiveIncrease::default();
        assert_eq!(increase.segments(100_000, 90_000), 0);
        assert_eq!(increase.segments(10_000, 1_000), 1);
        assert_eq!(increase.segments(10_000, 8_999), 0);
        assert_eq!(increase.segments(10_000, 1), 1);
    }
}
