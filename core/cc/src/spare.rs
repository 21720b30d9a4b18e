//! State that most flows never need.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// State with memory of its own from the first time that it changes. Until then it is as it begins. It is written as if it
/// were always there.
#[derive(Clone, Debug)]
pub struct Spare<T>(Option<Box<T>>);

impl<T> Default for Spare<T> {
    fn default() -> Self {
        Spare(None)
    }
}

impl<T: Default> Spare<T> {
    /// Known from the beginning.
    pub fn of(value: T) -> Self {
        Spare(Some(Box::new(value)))
    }

    /// `None`: it is as it begins.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        self.0.as_deref()
    }

    /// To be changed.
    #[inline]
    pub fn edit(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }

    /// To be changed, if it is not as it begins.
    #[inline]
    pub fn edit_known(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }

    /// A copy.
    pub fn read(&self) -> T
    where
        T: Copy,
    {
        self.get().copied().unwrap_or_default()
    }

    /// It is as it begins, and has no memory.
    pub fn clear(&mut self) {
        self.0 = None;
    }
}

impl<T: Default + PartialEq> PartialEq for Spare<T> {
    fn eq(&self, other: &Self) -> bool {
        match (self.get(), other.get()) {
            (None, None) => true,
            (Some(one), Some(other)) => one == other,
            (Some(one), None) | (None, Some(one)) => *one == T::default(),
        }
    }
}

impl<T: Default + Serialize> Serialize for Spare<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Some(known) => known.serialize(serializer),
            None => T::default().serialize(serializer),
        }
    }
}

impl<'de, T: Default + PartialEq + Deserialize<'de>> Deserialize<'de> for Spare<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let known = T::deserialize(deserializer)?;
        Ok(Spare((known != T::default()).then(|| Box::new(known))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_written_as_if_it_were_always_there() {
        let mut spare: Spare<u32> = Spare::default();
        assert_eq!(postcard::to_allocvec(&spare), postcard::to_allocvec(&0u32));
        let read: Spare<u32> = postcard::from_bytes(&[0]).expect("a number");
        assert_eq!((read.get(), read.read()), (None, 0));
        *spare.edit() += 7;
        let bytes = postcard::to_allocvec(&spare).expect("plain data");
        let read: Spare<u32> = postcard::from_bytes(&bytes).expect("a number");
        assert_eq!(read.get(), Some(&7));
    }
}
