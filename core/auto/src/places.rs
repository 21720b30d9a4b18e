//! A table with room for so many places; of those that have no room, one that is worth little is forgotten.

use std::hash::Hash;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// Places looked at for the one that is forgotten when there is no more room.
const FORGET_AMONG: usize = 16;

/// What is known of places, by their names.
#[derive(Clone, Debug)]
pub(crate) struct Places<K, V> {
    slots: Vec<(K, V)>,
    index: HashMap<K, u32, FixedState>,
    room: usize,
    /// Where to look next for one to forget.
    hand: usize,
}

impl<K: Copy + Eq + Hash, V> Places<K, V> {
    /// An empty table with this much room, at least 1.
    pub fn new(room: usize) -> Places<K, V> {
        Places {
            slots: Vec::new(),
            index: HashMap::with_hasher(FixedState::default()),
            room: room.max(1),
            hand: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn get(&self, key: &K) -> Option<&V> {
        let at = *self.index.get(key)?;
        self.slots.get(at as usize).map(|(_, value)| value)
    }

    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let at = *self.index.get(key)?;
        self.slots.get_mut(at as usize).map(|(_, value)| value)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.slots.iter().map(|(key, value)| (key, value))
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        self.slots.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// Keeps a place that is not there yet. Where there is no room, it takes that of one that is worth least, of some; the
    /// one that is forgotten is returned.
    pub fn insert<W: Ord>(&mut self, key: K, value: V, worth: impl Fn(&V) -> W) -> Option<(K, V)> {
        debug_assert!(!self.index.contains_key(&key));
        let count = self.slots.len();
        if count < self.room {
            self.index.insert(key, count as u32);
            self.slots.push((key, value));
            return None;
        }
        let looked_at = (0..FORGET_AMONG.min(count)).map(|n| (self.hand + n) % count);
        let at = looked_at
            .min_by_key(|at| worth(&self.slots[*at].1))
            .unwrap_or(0);
        self.hand = (self.hand + FORGET_AMONG) % count;
        self.index.remove(&self.slots[at].0);
        self.index.insert(key, at as u32);
        Some(std::mem::replace(&mut self.slots[at], (key, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_is_worth_least_makes_room() {
        let mut places = Places::new(3);
        for (key, value) in [(1, 30), (2, 10), (3, 20)] {
            assert_eq!(places.insert(key, value, |v| *v), None);
        }
        assert_eq!(places.insert(4, 40, |v| *v), Some((2, 10)));
        assert_eq!(places.len(), 3);
        assert_eq!((places.get(&2), places.get(&4)), (None, Some(&40)));
        *places.get_mut(&1).expect("it is there") = 5;
        assert_eq!(places.insert(5, 50, |v| *v), Some((1, 5)));
        places.iter_mut().for_each(|(_, value)| *value += 1);
        let mut all: Vec<(i32, i32)> = places.iter().map(|(key, value)| (*key, *value)).collect();
        all.sort_unstable();
        assert_eq!(all, [(3, 21), (4, 41), (5, 51)]);
    }
}
