//! Connections that move from one box to another, which share nothing but what they tell each other.

use windlass_cc::Catalog;
use windlass_wire::FlowKey;

use super::Engine;
use crate::conn::{Conn, Introduction};
use crate::{Nanos, Pool, Tx};

impl Engine {
    /// Tells `each` of the governed connections that another box does not know well, beginning with this place of the
    /// table, and looking at so many at most. The place to go on from; 0 after the last.
    pub fn introduce(
        &mut self,
        now: Nanos,
        place: usize,
        most: usize,
        mut each: impl FnMut(Introduction),
    ) -> usize {
        let end = place.saturating_add(most).min(self.conns.capacity());
        for index in place..end {
            if let Some(conn) = self.conns.get_mut(index)
                && let Some(introduction) = conn.introduce(now)
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
        introduction: &Introduction,
        catalog: &Catalog,
        pool: &mut P,
        out: &mut Vec<Tx>,
    ) {
        if let Some(&index) = self.table.get(&introduction.key) {
            return self.hear_again(now, index, introduction, catalog, pool, out);
        }
        self.counters.introduced += 1;
        if self.conns.len() >= self.limits.flows || self.memory_full || self.bypass {
            self.counters.introduced_in_vain += 1;
            return;
        }
        let bucket = self.admission.bucket(introduction.key.src);
        let seed = self.next_seed();
        let (mut ctx, ..) = self.split(now, pool, out);
        let conn = Conn::introduced(introduction, &mut ctx, (bucket, seed), catalog);
        let Some(conn) = conn else {
            self.counters.introduced_in_vain += 1;
            return;
        };
        let index = self.conns.insert(conn) as u32;
        self.table.insert(introduction.key, index);
        self.admission.add(bucket);
        self.arm_again(index, now);
        self.follow(index);
    }

    fn hear_again<P: Pool>(
        &mut self,
        now: Nanos,
        index: u32,
        introduction: &Introduction,
        catalog: &Catalog,
        pool: &mut P,
        out: &mut Vec<Tx>,
    ) {
        let (mut ctx, conns, _) = self.split(now, pool, out);
        let conn = &mut conns[index as usize];
        if conn.is_only_introduced() {
            let place = (conn.bucket, ctx.limits.flows as u64 ^ u64::from(index));
            if let Some(newer) = Conn::introduced(introduction, &mut ctx, place, catalog) {
                conn.replace(newer);
            }
        } else if conn.may_be_elsewhere(now) {
            conn.catch_up(&mut ctx, introduction);
            ctx.notices.name(conn);
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
        let Some(&index) = self.table.get(&key.canonical().0) else {
            return;
        };
        let (mut ctx, conns, _) = self.split(now, pool, out);
        let conn = &mut conns[index as usize];
        if conn.is_only_introduced() {
            self.forget(index);
        } else if conn.may_be_elsewhere(now) {
            // What is held for it is of no use any more.
            conn.lose_sight(&mut ctx);
            self.arm_again(index, now);
        }
    }

    fn arm_again(&mut self, index: u32, now: Nanos) {
        let conn = &mut self.conns[index as usize];
        conn.armed_at = None;
        Self::arm(&mut self.wheel, conn, index, now, &self.limits);
    }
}
