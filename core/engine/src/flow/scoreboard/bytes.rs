//! A count of bytes under way, in four bytes.

use std::ops::{AddAssign, SubAssign};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes between the oldest offset that is not acknowledged and the newest: there are less than 2³¹ (RFC 9293 §3.4). They are
/// written as a `u64`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bytes(u32);

impl Bytes {
    /// Saturates: more than the sequence space holds cannot be under way.
    pub(super) fn new(bytes: u64) -> Bytes {
        debug_assert!(u32::try_from(bytes).is_ok(), "{bytes} bytes under way");
        Bytes(u32::try_from(bytes).unwrap_or(u32::MAX))
    }

    #[inline]
    pub(super) fn get(self) -> u64 {
        self.0.into()
    }
}

impl AddAssign<u64> for Bytes {
    #[inline]
    fn add_assign(&mut self, bytes: u64) {
        *self = Bytes::new(self.get() + bytes);
    }
}

impl SubAssign<u64> for Bytes {
    #[inline]
    fn sub_assign(&mut self, bytes: u64) {
        *self = Bytes::new(self.get() - bytes);
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.get().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = u64::deserialize(deserializer)?;
        let wrong = |_| serde::de::Error::custom("more bytes under way than a sequence space has");
        u32::try_from(bytes).map(Bytes).map_err(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_written_and_read_as_a_long_number() {
        let mut bytes = Bytes::default();
        bytes += 3_000_000_000;
        bytes -= 1;
        let written = postcard::to_allocvec(&bytes).expect("plain data");
        assert_eq!(Ok(written.clone()), postcard::to_allocvec(&bytes.get()));
        assert_eq!(postcard::from_bytes(&written), Ok(bytes));
        let too_many = postcard::to_allocvec(&(1u64 << 32)).expect("plain data");
        assert!(postcard::from_bytes::<Bytes>(&too_many).is_err());
    }
}
