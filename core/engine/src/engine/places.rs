//! Places in the table: who gets one, and who gives his up.

use slab::Slab;
use windlass_cc::SECOND;
use windlass_wire::{Flags, FlowKey, Segment};

use super::Engine;
use crate::conn::Conn;
use crate::{Nanos, PassReason, Pool, Side, Tx};

/// How long a handshake may take under a flood, ns.
const PRESSED_HANDSHAKE_TIMEOUT: Nanos = 10 * SECOND;
/// Handshakes forgotten in one call, at most.
const EVICTED_AT_ONCE: usize = 64;

impl Engine {
    /// A handshake for the table of those, if this is its SYN.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn admit<P: Pool>(
        &mut self,
        now: Nanos,
        key: FlowKey,
        swapped: bool,
        from: Side,
        segment: &Segment,
        pool: &mut P,
        out: &mut Vec<Tx>,
    ) -> Result<u32, PassReason> {
        if !is_first_syn(segment) {
            return Err(PassReason::NoSyn);
        }
        let bucket = self.admission.bucket(segment.key.src);
        self.admission.admits(bucket, &self.limits)?;
        self.evict_half_open(now, pool, out);
        if self.connections() >= self.limits.flows {
            return Err(PassReason::FlowLimit);
        }
        if self.told.memory_full {
            return Err(PassReason::MemoryLimit);
        }
        self.counters.connections += 1;
        let first_end = if swapped { from.other() } else { from };
        let conn = Conn::new(key, first_end, bucket, now, self.next_seed());
        let folded = conn.fold().expect("nothing is known of it yet");
        self.admission.begin(bucket);
        Ok(self.half_open.insert(folded))
    }

    /// The dice of the next connection.
    pub(super) fn next_seed(&mut self) -> u64 {
        self.seed = self
            .seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.seed
    }

    /// Takes a connection out of the books that holds nothing any more.
    pub(super) fn forget(&mut self, index: u32) {
        let conn = self.conns.remove(index as usize);
        self.table.remove(&conn.key, index);
        self.wheel.cancel(index);
        self.expected -= usize::from(conn.is_only_introduced() && self.expected > 0);
        if conn.books.followed {
            self.news.follows.push((conn.key, None));
        }
        if conn.books.half_open {
            self.admission.end_handshake(conn.books.bucket);
        }
        self.admission.end(conn.books.bucket);
    }

    /// Makes room for another handshake.
    pub(super) fn evict_half_open<P: Pool>(&mut self, now: Nanos, pool: &mut P, out: &mut Vec<Tx>) {
        let conns = &self.conns;
        self.admission
            .tidy(|index, began| is_under_way(conns, index, began));
        if self.admission.is_full(&self.limits) {
            self.evict_oldest(now, Nanos::MAX, pool, out);
        }
    }

    /// Under a flood, handshakes that take long are not waited for.
    pub(super) fn evict_slow<P: Pool>(&mut self, now: Nanos, pool: &mut P, out: &mut Vec<Tx>) {
        let before = now.saturating_sub(PRESSED_HANDSHAKE_TIMEOUT);
        for _ in 0..EVICTED_AT_ONCE {
            if !self.evict_oldest(now, before, pool, out) {
                return;
            }
        }
    }

    /// Forgets the handshake that began first, if it did before `before`: it is least likely to be completed. Not one
    /// by chance: a handshake that is the oldest of as many has waited for longest.
    pub(super) fn evict_oldest<P: Pool>(
        &mut self,
        now: Nanos,
        before: Nanos,
        pool: &mut P,
        out: &mut Vec<Tx>,
    ) -> bool {
        let conns = &self.conns;
        let under_way = |index, began| is_under_way(conns, index, began);
        let old = |oldest: &(u32, Nanos)| oldest.1 < before;
        let whole = self.admission.oldest(under_way).filter(old);
        let folded = self.half_open.oldest().filter(old);
        let first = |&(_, began): &(u32, Nanos)| whole.is_none_or(|(_, other)| began <= other);
        if let Some((index, _)) = folded.filter(first) {
            self.counters.half_open_evicted += 1;
            self.forget_half_open(index);
            return true;
        }
        let Some((index, _)) = whole else {
            return false;
        };
        self.counters.half_open_evicted += 1;
        let (mut ctx, conns, _) = self.split(now, pool, out);
        let conn = &mut conns[index as usize];
        conn.let_go(&mut ctx, PassReason::Closed);
        ctx.notices.name(conn);
        self.forget(index);
        true
    }
}

/// The handshake that began then in this place of the slab has not ended.
fn is_under_way(conns: &Slab<Conn>, index: u32, began: Nanos) -> bool {
    let conn = conns.get(index as usize);
    conn.is_some_and(|conn| conn.began == began && conn.books.half_open)
}

/// A SYN that begins a connection.
pub(super) fn is_first_syn(segment: &Segment) -> bool {
    let flags = segment.flags;
    flags.has(Flags::SYN) && !flags.has(Flags::ACK) && !flags.has(Flags::RST)
}
