//! Connections that move from one box to another, which share nothing but what they tell each other.

use windlass_wire::FlowKey;

use super::Engine;
use crate::conn::{Conn, Introduced, Introduction};
use crate::maybe::Maybe;
use crate::{Nanos, Pool, Tx};

/// Connections that have been adopted, or have ended, while nobody asks: further ones are not told of.
const UNTOLD_MAX: usize = 65_536;

impl Engine {
    /// Tells `each` of the governed connections that another box does not know well, beginning with this place of the
    /// table, and looking at so many at most. The place to go on from; 0 after the last. `listener`: a number for the other
    /// box; to another one everything is news.
    pub fn introduce(
        &mut self,
        now: Nanos,
        listener: u32,
        (place, most): (usize, usize),
        mut each: impl FnMut(Introduction),
    ) -> usize {
        let end = place.saturating_add(most).min(self.conns.capacity());
        for index in place..end {
            if let Some(conn) = self.conns.get_mut(index)
                && let Some(introduction) = conn.introduce(now, listener)
            {
                each(introduction);
            }
        }
        if end == self.conns.capacity() { 0 } else { end }
    }

    /// Another box has told of a connection. If its packets come here, it is governed from where both ends are seen to
    /// agree. What this engine knows better stays as it is.
    pub fn introduced<P: Pool>(
        &mut self,
        now: Nanos,
        introduced: &Introduced,
        pool: &mut P,
        out: &mut Vec<Tx>,
    ) {
        if let Some(index) = self.whole(&introduced.key()) {
            return self.hear_again(now, index, introduced, pool, out);
        }
        if self.half_open.find(&introduced.key()).is_some() {
            // Its SYNs come here: other engines of this box, which were told as well, may forget it.
            return self.note_adopted(introduced.key());
        }
        self.counters.introduced += 1;
        let full =
            self.expected >= self.limits.flows / 2 || self.connections() >= self.limits.flows;
        if full || self.told.memory_full || self.told.bypass {
            self.counters.introduced_in_vain += 1;
            return;
        }
        let bucket = self.admission.bucket(introduced.key().src);
        let seed = self.next_seed();
        let (mut ctx, ..) = self.split(now, pool, out);
        let conn = Conn::introduced(introduced, &mut ctx, (bucket, seed));
        let Some(conn) = conn else {
            self.counters.introduced_in_vain += 1;
            return;
        };
        let index = self.conns.insert(conn) as u32;
        self.table.insert(&introduced.key(), index);
        self.admission.add(bucket);
        self.expected += 1;
        self.arm_again(index, now);
        self.follow(index);
    }

    fn hear_again<P: Pool>(
        &mut self,
        now: Nanos,
        index: u32,
        introduced: &Introduced,
        pool: &mut P,
        out: &mut Vec<Tx>,
    ) {
        let (mut ctx, conns, _) = self.split(now, pool, out);
        let conn = &mut conns[index as usize];
        if conn.is_only_introduced() {
            let place = (
                conn.books.bucket,
                ctx.limits.flows as u64 ^ u64::from(index),
            );
            if let Some(newer) = Conn::introduced(introduced, &mut ctx, place) {
                conn.replace(newer);
            }
        } else if conn.may_be_elsewhere(now) {
            conn.catch_up(&mut ctx, introduced);
            ctx.notices.name(conn);
        } else {
            // Other engines of this box were told as well, and do not know that it is here.
            self.note_adopted(introduced.key());
        }
        self.arm_again(index, now);
    }

    /// A connection has ended where another box has seen it.
    pub fn ended_elsewhere<P: Pool>(
        &mut self,
        now: Nanos,
        key: &FlowKey,
        pool: &mut P,
        out: &mut Vec<Tx>,
    ) {
        let Some(index) = self.whole(&key.canonical().0) else {
            return;
        };
        let (mut ctx, conns, _) = self.split(now, pool, out);
        let conn = &mut conns[index as usize];
        if conn.is_only_introduced() {
            self.forget(index);
        } else if conn.may_be_elsewhere(now) {
            conn.wait_elsewhere(&mut ctx);
            self.arm_again(index, now);
        }
    }

    /// Another engine of this box has seen the connection, which was introduced to all of them.
    pub fn leave_to_another(&mut self, key: &FlowKey) {
        if let Some(index) = self.whole(&key.canonical().0)
            && self.conns[index as usize].is_only_introduced()
        {
            // Its packets are still wanted.
            self.conns[index as usize].books.followed = false;
            self.forget(index);
        }
    }

    /// Tells `each` of the connections that were introduced, and have been seen here since the last call.
    pub fn take_adopted(&mut self, each: impl FnMut(FlowKey)) {
        self.news.adopted.drain(..).for_each(each);
    }

    /// It is followed here. Of those beyond a limit, other engines of this box may keep what they were told.
    pub(super) fn note_adopted(&mut self, key: FlowKey) {
        if self.news.adopted.len() < UNTOLD_MAX {
            self.news.adopted.push(key);
        }
    }

    /// It has ended, or seems to.
    pub(super) fn note_ended(&mut self, key: FlowKey) {
        if self.news.ended.len() < UNTOLD_MAX {
            self.news.ended.push(key);
        }
    }

    /// Tells `each` of the connections that have ended since the last call.
    pub fn take_ended(&mut self, each: impl FnMut(FlowKey)) {
        self.news.ended.drain(..).for_each(each);
    }

    fn arm_again(&mut self, index: u32, now: Nanos) {
        let conn = &mut self.conns[index as usize];
        conn.armed_at = Maybe::NONE;
        Self::arm(&mut self.wheel, conn, index, now, &self.limits);
    }
}
