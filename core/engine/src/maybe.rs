//! A number that may be missing, in eight bytes.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A time in ns, an offset of a stream or a rate, or none of them. An `Option<u64>` takes sixteen bytes, and a flow has a
/// dozen. It is written as one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Maybe(u64);

impl Maybe {
    /// No time of 584 years, and no stream of 16 EiB, is this.
    pub(crate) const NONE: Maybe = Maybe(u64::MAX);

    pub(crate) const fn some(value: u64) -> Maybe {
        match value {
            u64::MAX => Maybe(u64::MAX - 1),
            value => Maybe(value),
        }
    }

    #[inline]
    pub(crate) fn get(self) -> Option<u64> {
        (self.0 != u64::MAX).then_some(self.0)
    }

    #[inline]
    pub(crate) fn is_some(self) -> bool {
        self.0 != u64::MAX
    }

    /// The smallest of these, if there is any.
    #[inline]
    pub(crate) fn least<const N: usize>(all: [Maybe; N]) -> Maybe {
        let numbers = all.into_iter().map(|one| one.0);
        Maybe(numbers.min().unwrap_or(u64::MAX))
    }

    pub(crate) fn take(&mut self) -> Option<u64> {
        std::mem::replace(self, Maybe::NONE).get()
    }

    pub(crate) fn replace(&mut self, value: u64) -> Option<u64> {
        std::mem::replace(self, Maybe::some(value)).get()
    }

    /// What it is, and `value` from now on if it was missing.
    pub(crate) fn get_or_insert(&mut self, value: u64) -> u64 {
        if !self.is_some() {
            *self = Maybe::some(value);
        }
        self.0
    }
}

impl Default for Maybe {
    fn default() -> Self {
        Maybe::NONE
    }
}

impl From<Option<u64>> for Maybe {
    fn from(value: Option<u64>) -> Self {
        value.map_or(Maybe::NONE, Maybe::some)
    }
}

impl std::fmt::Debug for Maybe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(f)
    }
}

impl Serialize for Maybe {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.get().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Maybe {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(Maybe::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_written_and_read_as_an_option() {
        for option in [None, Some(0), Some(7), Some(u64::MAX - 1)] {
            let bytes = postcard::to_allocvec(&option).expect("plain data");
            assert_eq!(
                postcard::to_allocvec(&Maybe::from(option)),
                Ok(bytes.clone())
            );
            assert_eq!(postcard::from_bytes(&bytes), Ok(Maybe::from(option)));
        }
        assert_eq!(Maybe::some(u64::MAX).get(), Some(u64::MAX - 1));
        let least = Maybe::least([Maybe::NONE, Maybe::some(9), Maybe::some(5)]);
        assert_eq!((least.get(), Maybe::least([]).get()), (Some(5), None));
        let mut due = Maybe::NONE;
        assert_eq!((due.get_or_insert(5), due.get_or_insert(9)), (5, 5));
        assert_eq!(
            (due.replace(6), due.take(), due.take()),
            (Some(5), Some(6), None)
        );
    }
}
