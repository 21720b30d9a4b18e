//! Sequence numbers as offsets from the initial one, so that nothing wraps.

use std::num::NonZeroU64;

/// The 64-bit offset of `seq` from `iss` that lies nearest to `near`; `None` if that would be
/// before the initial sequence number. Offset 0 is the SYN, 1 the first byte of data.
pub(crate) fn offset(iss: u32, seq: u32, near: u64) -> Option<u64> {
    let low = seq.wrapping_sub(iss);
    let distance = low.wrapping_sub(near as u32) as i32;
    near.checked_add_signed(i64::from(distance))
}

/// An offset of data, which is never 0: a type that leaves room for "none".
pub(crate) fn of_data(offset: u64) -> NonZeroU64 {
    debug_assert!(offset > 0);
    NonZeroU64::new(offset).unwrap_or(NonZeroU64::MIN)
}

/// The sequence number at `offset`.
pub(crate) fn number(iss: u32, offset: u64) -> u32 {
    iss.wrapping_add(offset as u32)
}

/// Whether timestamp or sequence number `a` is later than `b` (RFC 7323 §5.2).
pub(crate) fn later(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

/// Whether `a` is `b` or later. What is half the numbers away is neither earlier nor later.
pub(crate) fn reaches(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) >= 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_are_followed_in_both_directions() {
        let iss = 0xffff_fff0;
        assert_eq!(offset(iss, 0xffff_fff1, 0), Some(1));
        assert_eq!(offset(iss, 0x10, 1), Some(0x20));
        let far = 5 << 32 | 7;
        assert_eq!(offset(iss, number(iss, far), far + 1000), Some(far));
        assert_eq!(offset(iss, number(iss, far), far - 1000), Some(far));
        assert_eq!(offset(100, 99, 0), None);
    }

    #[test]
    fn later_is_modular() {
        assert!(later(5, u32::MAX));
        assert!(!later(7, 7));
        assert!(!later(6, 7));
        assert!(reaches(5, u32::MAX) && reaches(7, 7) && !reaches(6, 7));
        let half = 1 << 31;
        assert!(!reaches(7 + half, 7) && !reaches(7, 7 + half));
        assert!(!later(7 + half, 7) && !later(7, 7 + half));
    }
}
