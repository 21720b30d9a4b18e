//! The table of connections: where in memory the one with a name is.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use slab::Slab;
use windlass_wire::FlowKey;

use super::half_open::{HalfOpen, KEPT_PLACES, Place};
use crate::conn::Conn;

/// A table that is emptier than this part is made smaller.
const SHRINK_BELOW: usize = 8;

/// The name itself stands in the connection: what is here is a part of its hash, and the place.
#[derive(Clone, Copy)]
struct Entry {
    hash: u32,
    place: u32,
}

impl Entry {
    /// All the bits that the table needs.
    fn spread(hash: u32) -> u64 {
        u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// Places of connections, by canonical name.
pub(super) struct Table {
    entries: HashTable<Entry>,
    hasher: FixedState,
    /// How often a connection has left its place.
    moves: u64,
}

impl Table {
    /// `seed` keeps others from choosing what names have in common.
    pub(super) fn new(seed: u64) -> Table {
        Table {
            entries: HashTable::new(),
            hasher: FixedState::with_seed(seed),
            moves: 0,
        }
    }

    /// 31 bits: two numbers of those that have 32 mean something else where packets are named by them.
    fn hash(&self, key: &FlowKey) -> u32 {
        (self.hasher.hash_one(key) >> 33) as u32
    }

    /// The number of this name, which few others have.
    pub(super) fn number(&self, key: &FlowKey) -> u32 {
        self.hash(key)
    }

    /// The whole connections whose names have this number.
    pub(super) fn whole_of(&self, number: u32) -> impl Iterator<Item = u32> + '_ {
        let entries = self.entries.iter_hash(Entry::spread(number));
        let same = entries.filter(move |entry| entry.hash == number);
        same.filter_map(|entry| match Place::unpack(entry.place) {
            Place::Whole(index) => Some(index),
            Place::HalfOpen(_) => None,
        })
    }

    /// The place of the connection with this name.
    #[inline]
    pub(super) fn get(
        &self,
        key: &FlowKey,
        conns: &Slab<Conn>,
        half_open: &HalfOpen,
    ) -> Option<Place> {
        let hash = self.hash(key);
        let has_name = |place: u32| match Place::unpack(place) {
            Place::Whole(index) => conns
                .get(index as usize)
                .is_some_and(|conn| conn.key == *key),
            Place::HalfOpen(index) => half_open.key(index) == Some(*key),
        };
        let is_it = |entry: &Entry| entry.hash == hash && has_name(entry.place);
        let found = self.entries.find(Entry::spread(hash), is_it);
        found.map(|entry| Place::unpack(entry.place))
    }

    /// The connection with this name, which was not there, is at `place`.
    pub(super) fn insert(&mut self, key: &FlowKey, place: Place) {
        let hash = self.hash(key);
        let spread = |entry: &Entry| Entry::spread(entry.hash);
        let entry = Entry {
            hash,
            place: place.pack(),
        };
        self.entries
            .insert_unique(Entry::spread(hash), entry, spread);
    }

    /// It is somewhere else now.
    pub(super) fn move_to(&mut self, key: &FlowKey, (from, to): (Place, Place)) {
        let hash = Entry::spread(self.hash(key));
        let found = self
            .entries
            .find_mut(hash, |entry| entry.place == from.pack());
        debug_assert!(found.is_some(), "it was there");
        if let Some(entry) = found {
            entry.place = to.pack();
        }
        self.moves += 1;
    }

    /// There is none with this name any more, which was at `place`.
    pub(super) fn remove(&mut self, key: &FlowKey, place: Place) {
        let hash = Entry::spread(self.hash(key));
        let at = |entry: &Entry| entry.place == place.pack();
        if let Ok(found) = self.entries.find_entry(hash, at) {
            found.remove();
        }
        self.moves += 1;
    }

    /// As long as this is the same, each connection is where it was found.
    pub(super) fn moves(&self) -> u64 {
        self.moves
    }

    /// What a flood has taken is given back once it is over.
    pub(super) fn shrink(&mut self) {
        let (len, capacity) = (self.entries.len(), self.entries.capacity());
        if capacity > KEPT_PLACES && len < capacity / SHRINK_BELOW {
            let spread = |entry: &Entry| Entry::spread(entry.hash);
            self.entries.shrink_to(2 * len, spread);
        }
    }
}
