//! The table of connections: where in memory the one with a name is.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use slab::Slab;
use windlass_wire::FlowKey;

use crate::conn::Conn;

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
}

impl Table {
    /// `seed` keeps others from choosing what names have in common.
    pub(super) fn new(seed: u64) -> Table {
        Table {
            entries: HashTable::new(),
            hasher: FixedState::with_seed(seed),
        }
    }

    fn hash(&self, key: &FlowKey) -> u32 {
        (self.hasher.hash_one(key) >> 32) as u32
    }

    /// The place of the connection with this name.
    #[inline]
    pub(super) fn get(&self, key: &FlowKey, conns: &Slab<Conn>) -> Option<u32> {
        let hash = self.hash(key);
        let is_it = |entry: &Entry| {
            let conn = conns.get(entry.place as usize);
            entry.hash == hash && conn.is_some_and(|conn| conn.key == *key)
        };
        let found = self.entries.find(Entry::spread(hash), is_it);
        found.map(|entry| entry.place)
    }

    /// The connection with this name, which was not there, is at `place`.
    pub(super) fn insert(&mut self, key: &FlowKey, place: u32) {
        let hash = self.hash(key);
        let spread = |entry: &Entry| Entry::spread(entry.hash);
        let entry = Entry { hash, place };
        self.entries
            .insert_unique(Entry::spread(hash), entry, spread);
    }

    /// There is none with this name any more, which was at `place`.
    pub(super) fn remove(&mut self, key: &FlowKey, place: u32) {
        let hash = Entry::spread(self.hash(key));
        if let Ok(found) = self.entries.find_entry(hash, |entry| entry.place == place) {
            found.remove();
        }
    }
}
