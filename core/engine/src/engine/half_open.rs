//! Connections of which only SYNs have been seen, oldest first: they have a table of their own, in which each takes little.

use slab::Slab;
use windlass_wire::{FlowKey, Segment};

use super::Engine;
use super::table::Table;
use crate::conn::{Conn, Folded};
use crate::maybe::Maybe;
use crate::{Decision, Nanos, Pkt, Pool, Side, Tx};

const NONE: u32 = u32::MAX;
/// A list that is empty again gives its memory back if it had as many places.
pub(super) const KEPT_PLACES: usize = 1024;

#[derive(Clone, Copy, Debug)]
struct Slot {
    folded: Folded,
    older: u32,
    younger: u32,
}

/// What one takes, bytes (with its places in the table and in the list).
const _: () = assert!(size_of::<Slot>() <= 128);

/// Those of one engine. Their names are not among those of others: whoever looks for a connection that is open does not
/// wait for what this takes.
#[derive(Debug)]
pub(super) struct HalfOpen {
    names: Table,
    slots: Slab<Slot>,
    oldest: u32,
    youngest: u32,
}

impl HalfOpen {
    /// `seed` keeps others from choosing what names have in common.
    pub(super) fn new(seed: u64) -> HalfOpen {
        HalfOpen {
            names: Table::new(seed),
            slots: Slab::new(),
            oldest: NONE,
            youngest: NONE,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn find(&self, key: &FlowKey) -> Option<u32> {
        let slot = |index: u32| self.slots.get(index as usize);
        let has_name = |index| slot(index).is_some_and(|slot| slot.folded.key() == *key);
        self.names.get(key, has_name)
    }

    fn folded(&mut self, index: u32) -> &mut Folded {
        &mut self.slots[index as usize].folded
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Folded> + '_ {
        self.slots.iter().map(|(_, slot)| &slot.folded)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Folded> + '_ {
        self.slots.iter_mut().map(|(_, slot)| &mut slot.folded)
    }

    /// One more, the youngest.
    pub(super) fn insert(&mut self, folded: Folded) -> u32 {
        let slot = Slot {
            folded,
            older: self.youngest,
            younger: NONE,
        };
        let index = self.slots.insert(slot) as u32;
        self.names.insert(&folded.key(), index);
        match self.slots.get_mut(self.youngest as usize) {
            Some(before) => before.younger = index,
            None => self.oldest = index,
        }
        self.youngest = index;
        index
    }

    fn remove(&mut self, index: u32) -> Folded {
        let Slot {
            folded,
            older,
            younger,
        } = self.slots.remove(index as usize);
        self.names.remove(&folded.key(), index);
        match self.slots.get_mut(older as usize) {
            Some(slot) => slot.younger = younger,
            None => self.oldest = younger,
        }
        match self.slots.get_mut(younger as usize) {
            Some(slot) => slot.older = older,
            None => self.youngest = older,
        }
        folded
    }

    /// The oldest, and when it began.
    pub(super) fn oldest(&self) -> Option<(u32, Nanos)> {
        let slot = self.slots.get(self.oldest as usize)?;
        Some((self.oldest, slot.folded.began()))
    }

    /// What a flood has taken is given back once it is over.
    fn shrink(&mut self) {
        if self.slots.is_empty() && self.slots.capacity() > KEPT_PLACES {
            self.slots = Slab::new();
            self.names.shrink();
        }
    }
}

impl Engine {
    /// Gives a packet to a connection of which only SYNs have been seen.
    pub(super) fn hand_to_half_open<P: Pool>(
        &mut self,
        now: Nanos,
        index: u32,
        packet: (Side, &Segment, Pkt),
        pool: &mut P,
        out: &mut Vec<Tx>,
    ) -> Option<Decision> {
        let mut conn = self.half_open.folded(index).unfold();
        let tells = self.news.decisions.is_some();
        let (mut ctx, ..) = self.split(now, pool, out);
        let decision = conn.decide_on(&mut ctx, tells, packet);
        if conn.end_half_open() {
            self.admission.end_handshake(conn.books.bucket);
        }
        match conn.fold() {
            Some(folded) => self.keep_half_open(index, folded),
            None => self.make_whole(now, index, conn),
        }
        decision
    }

    /// It is as the packet has left it.
    fn keep_half_open(&mut self, index: u32, mut folded: Folded) {
        if !folded.followed {
            folded.followed = true;
            let key = folded.key();
            self.news.follows.push((key, Some(self.table.number(&key))));
        }
        *self.half_open.folded(index) = folded;
    }

    /// It has become more than a handshake.
    fn make_whole(&mut self, now: Nanos, index: u32, conn: Conn) {
        self.half_open.remove(index);
        let key = conn.key;
        let (half_open, began) = (conn.books.half_open, conn.began);
        let whole = self.conns.insert(conn) as u32;
        self.table.insert(&key, whole);
        if half_open {
            self.admission.note_whole(whole, began);
        }
        Self::arm(
            &mut self.wheel,
            &mut self.conns[whole as usize],
            whole,
            now,
            &self.limits,
        );
        self.follow(whole);
    }

    /// A whole connection that is nothing but a handshake again: what was planned for it has been done.
    pub(super) fn fold_again(&mut self, index: u32) {
        let conn = &self.conns[index as usize];
        if !conn.books.half_open {
            return;
        }
        let Some(folded) = conn.fold() else { return };
        let key = self.conns.remove(index as usize).key;
        self.wheel.cancel(index);
        self.table.remove(&key, index);
        self.half_open.insert(folded);
    }

    /// Takes one out of all books.
    pub(super) fn forget_half_open(&mut self, index: u32) {
        let folded = self.half_open.remove(index);
        let key = folded.key();
        if folded.followed {
            self.news.follows.push((key, None));
        }
        self.admission.end_handshake(folded.bucket);
        self.admission.end(folded.bucket);
    }

    /// Those that have not become a connection in time.
    pub(super) fn expire_half_open(&mut self, now: Nanos) {
        while let Some((index, began)) = self.half_open.oldest()
            && now >= began + self.limits.handshake_timeout
        {
            self.counters.idle_expired += 1;
            self.forget_half_open(index);
        }
        self.half_open.shrink();
    }

    /// When the oldest is forgotten.
    pub(super) fn half_open_until(&self) -> Maybe {
        let oldest = self.half_open.oldest();
        oldest
            .map(|(_, began)| began + self.limits.handshake_timeout)
            .into()
    }
}
