//! Integer arithmetic on bytes, nanoseconds and rates: no rounding that depends on the machine.

use crate::{ByteRate, Nanos, SECOND};

/// `a * b / d`, rounded down, saturating. The common case never leaves 64 bits.
pub fn mul_div(a: u64, b: u64, d: u64) -> u64 {
    let d = d.max(1);
    match a.checked_mul(b) {
        Some(product) => product / d,
        None => {
            let wide = u128::from(a) * u128::from(b) / u128::from(d);
            u64::try_from(wide).unwrap_or(u64::MAX)
        }
    }
}

/// Bytes that `rate` delivers in `span`.
pub fn bytes_over(rate: ByteRate, span: Nanos) -> u64 {
    mul_div(rate, span, SECOND)
}

/// The rate that delivers `bytes` in `span`.
pub fn rate_over(bytes: u64, span: Nanos) -> ByteRate {
    mul_div(bytes, SECOND, span)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_beyond_64_bits_are_exact_and_quotients_saturate() {
        assert_eq!(mul_div(u64::MAX, 3, 6), u64::MAX / 2);
        assert_eq!(mul_div(u64::MAX, u64::MAX, 1), u64::MAX);
        assert_eq!(bytes_over(12_500_000, 40_000_000), 500_000);
        assert_eq!(rate_over(500_000, 40_000_000), 12_500_000);
    }
}
