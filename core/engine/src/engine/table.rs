//! The table of connections: where in memory the one with a name is.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use windlass_wire::FlowKey;

use super::half_open::KEPT_PLACES;

/// The name itself stands in the connection: what is here is a part of its hash, and the place.
#[derive(Clone, Copy, Debug)]
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
#[derive(Debug)]
pub(super) struct Table {
    entries: HashTable<Entry>,
    hasher: FixedState,
    /// How often a connection has left.
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

    /// The places of those whose names have this number.
    pub(super) fn of_number(&self, number: u32) -> impl Iterator<Item = u32> + '_ {
        let entries = self.entries.iter_hash(Entry::spread(number));
        let same = entries.filter(move |entry| entry.hash == number);
        same.map(|entry| entry.place)
    }

    /// The place of the connection with this name, which `has_name` says of a place.
    #[inline]
    pub(super) fn get(&self, key: &FlowKey, has_name: impl Fn(u32) -> bool) -> Option<u32> {
        let hash = self.hash(key);
        let is_it = |entry: &Entry| entry.hash == hash && has_name(entry.place);
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
        self.moves += 1;
    }

    /// As long as this is the same, each connection is where it was found.
    pub(super) fn moves(&self) -> u64 {
        self.moves
    }

    /// Gives back what more than a few names have taken, once there are none.
    pub(super) fn shrink(&mut self) {
        if self.entries.is_empty() {
            self.entries
                .shrink_to(KEPT_PLACES, |entry| Entry::spread(entry.hash));
        }
    }
}
