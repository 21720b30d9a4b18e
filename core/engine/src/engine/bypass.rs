//! A bypass: nothing is enforced, and mostly nobody shows the engine what goes by. Connections that were governed rest
//! meanwhile, and are governed again afterwards (`conn/rest.rs`).

use windlass_wire::{Flags, FlowKey, Segment};

use super::Engine;
use crate::counters::PassReason;
use crate::maybe::Maybe;
use crate::port::is_undamaged;
use crate::{Nanos, Pkt, Pool, Tx};

impl Engine {
    /// Turns enforcement off for all flows at once, or on again. What waits is sent. A connection that was governed is
    /// governed again after the end, once both of its ends have been seen to agree; new ones are from their SYN on. If the
    /// engine was not shown what went by, call [`Engine::forget_renamed`] afterwards.
    pub fn set_bypass<P: Pool>(&mut self, on: bool, now: Nanos, pool: &mut P, out: &mut Vec<Tx>) {
        if on && !self.told.bypass {
            self.rest(now, pool, out);
        }
        self.told.bypass = on;
    }

    fn rest<P: Pool>(&mut self, now: Nanos, pool: &mut P, out: &mut Vec<Tx>) {
        let all: Vec<u32> = self.conns.iter().map(|(index, _)| index as u32).collect();
        for index in all {
            let (mut ctx, conns, wheel) = self.split(now, pool, out);
            let conn = &mut conns[index as usize];
            conn.rest(&mut ctx);
            ctx.notices.name(conn);
            conn.armed_at = Maybe::NONE;
            Self::arm(wheel, conn, index, now, ctx.limits);
        }
        self.forget_handshakes();
    }

    /// Lets go of every connection, as before a stop: what waits is sent, nothing is held.
    pub fn release<P: Pool>(
        &mut self,
        now: Nanos,
        reason: PassReason,
        pool: &mut P,
        out: &mut Vec<Tx>,
    ) {
        let (mut ctx, conns, ..) = self.split(now, pool, out);
        for (_, conn) in conns.iter_mut() {
            conn.let_go(&mut ctx, reason);
            ctx.notices.name(conn);
        }
        self.forget_handshakes();
    }

    /// Of a handshake nothing is held, and what follows it passes in any case.
    fn forget_handshakes(&mut self) {
        while let Some((index, _)) = self.half_open.oldest() {
            self.forget_half_open(index);
        }
    }

    /// Whether bypass is on.
    pub fn bypass(&self) -> bool {
        self.told.bypass
    }

    /// A packet that goes by while bypass is on. Who sends a SYN or a reset ends a connection: what is known of it says
    /// nothing of the next one of that name.
    pub(super) fn mind_bypassed<P: Pool>(&mut self, segment: &Segment, pkt: Pkt, pool: &P) {
        if !segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::RST) {
            return;
        }
        if let Some(index) = self.whole(&segment.key.canonical().0)
            && is_undamaged(pool, pkt, segment)
        {
            self.forget(index);
        }
    }

    /// Forgets connections that rest, and of which a SYN or a reset has gone by unseen: those that are not `same`. Looks at
    /// so many at most, from this place of the table on. The place to go on from; 0 after the last.
    pub fn forget_renamed(
        &mut self,
        (place, most): (usize, usize),
        same: impl Fn(&FlowKey) -> bool,
    ) -> usize {
        let end = place.saturating_add(most).min(self.conns.capacity());
        for index in place..end {
            let conn = self.conns.get(index);
            if conn.is_some_and(|conn| conn.is_resting() && !same(&conn.key)) {
                self.forget(index as u32);
            }
        }
        if end == self.conns.capacity() { 0 } else { end }
    }
}
