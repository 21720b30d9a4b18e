//! What a sender may not do, however it behaves: go beyond the edge that it has been shown, or
//! faster than its caps allow.

use windlass_cc::Nanos;
use windlass_wire::Segment;

use super::{Copies, Flow, LimitedBy};
use crate::context::Context;
use crate::maybe::Maybe;
use crate::{Fate, Pkt, Pool};

impl Flow {
    /// The sender is held to its window by force.
    pub(super) fn polices(&self) -> bool {
        self.enforcing() && self.verdict.police_tolerance.is_some()
    }

    /// Drops data that the sender was not allowed to send: beyond the edge it has been shown, and
    /// what follows data that was dropped, so that a sender who does not care gains nothing by going
    /// on. True if the packet is gone.
    pub(super) fn police<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        segment: &Segment,
        pkt: Pkt,
        (start, end): (u64, u64),
    ) -> bool {
        let Some(tolerance) = self.verdict.police_tolerance.filter(|_| self.enforcing()) else {
            return false;
        };
        let policed_at = self
            .hands
            .trouble
            .get()
            .and_then(|trouble| trouble.policed_at.get());
        let follows = policed_at == Some(self.board.nxt()) && start > self.board.nxt();
        let beyond = end > self.view.edge() + u64::from(tolerance);
        if !beyond && !follows && !self.repeats_too_soon(ctx.now, start, end) {
            if start <= self.board.nxt()
                && let Some(trouble) = self.hands.trouble.edit_known()
            {
                trouble.policed_at = Maybe::NONE;
            }
            return false;
        }
        if end > self.board.nxt() {
            self.hands.trouble.edit().policed_at = Maybe::some(self.board.nxt());
        }
        self.drop_policed(ctx, segment, pkt);
        true
    }

    /// Drops data beyond the edge of a sender that is held to its window by force. True if the packet is
    /// gone.
    pub(crate) fn police_refused<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        segment: &Segment,
        pkt: Pkt,
    ) -> bool {
        let policed = self.polices() && segment.payload_len > 0;
        if policed {
            let nxt = self.board.nxt();
            self.hands.trouble.edit().policed_at.get_or_insert(nxt);
            self.drop_policed(ctx, segment, pkt);
        }
        policed
    }

    fn drop_policed<P: Pool>(&mut self, ctx: &mut Context<'_, P>, segment: &Segment, pkt: Pkt) {
        let bytes = u64::from(segment.payload_len);
        ctx.counters.policed += 1;
        let tally = self.cold.tally_mut();
        tally.policed += 1;
        tally.policed_bytes += bytes;
        if let Some(account) = self
            .tenant(ctx.generation)
            .and_then(|id| ctx.tenants.get_mut(usize::from(id.0)))
        {
            account.info.policed_packets += 1;
            account.info.policed_bytes += bytes;
        }
        ctx.swallow(pkt, Fate::Policed);
    }

    /// A flow in its sender's hands is repaired by it, but not twice in half a round trip. When the box has sent it last says
    /// nothing: the sender has not seen that.
    fn repeats_too_soon(&self, now: Nanos, start: u64, end: u64) -> bool {
        if end > self.board.nxt()
            || self.in_charge()
            || self.host.path().recent_min_rtt() == Nanos::MAX
        {
            return false;
        }
        let piece = self.board.index_of(start.max(self.board.una()));
        piece.is_some_and(|index| {
            self.board.piece(index).arrived_at + self.host.path().recent_min_rtt() / 2 > now
        })
    }

    /// Whether it is this flow's turn among those of its tenant; if not, it waits for it. A turn is for
    /// as many packets as the flow's priority says, if so many wait.
    pub(super) fn is_its_turn<P: Pool>(&mut self, ctx: &mut Context<'_, P>, bytes: u64) -> bool {
        let Some(id) = self.tenant(ctx.generation) else {
            return true;
        };
        let Some(account) = ctx.tenants.get_mut(usize::from(id.0)) else {
            return true;
        };
        let turn = match self.pacing.turn.get() {
            Some(turn) => turn,
            None => {
                let waiting = self.board.queued() + self.board.lost_bytes();
                let most = u64::from(self.verdict.priority.max(1));
                let packets = waiting.div_ceil(bytes.max(1)).clamp(1, most);
                self.pacing.turn_left = (packets - 1) as u8;
                account.take_turn(ctx.now, bytes * packets)
            }
        };
        self.pacing.turn = Maybe::some(turn);
        turn <= ctx.now
    }

    /// `bytes` have left: the turn is used up, or goes on with the next packet.
    pub(super) fn charge_tenant<P: Pool>(&mut self, ctx: &mut Context<'_, P>, bytes: u64) {
        let turn = self.pacing.turn.take();
        let Some(account) = self
            .tenant(ctx.generation)
            .and_then(|id| ctx.tenants.get_mut(usize::from(id.0)))
        else {
            return;
        };
        account.info.bytes_sent += bytes;
        if self.pacing.turn_left > 0 {
            self.pacing.turn_left -= 1;
            self.pacing.turn = turn.map(|turn| turn + account.time_for(bytes)).into();
        }
    }

    /// When a flow that is limited so wants to be called.
    pub(super) fn waits_until(&self) -> Maybe {
        match self.pacing.limited_by {
            LimitedBy::Pacing | LimitedBy::Guess => Maybe::some(self.pacing.pacer.next),
            LimitedBy::Tenant => self.pacing.turn,
            LimitedBy::Sender => self.copies.get().and_then(Copies::poll_at).into(),
            LimitedBy::Cwnd if self.path_loses() => {
                self.copies.get().and_then(Copies::planned_at).into()
            }
            LimitedBy::Receiver if self.board.inflight() == 0 => self.timers.persist_at,
            LimitedBy::Receiver | LimitedBy::Cwnd => Maybe::NONE,
        }
    }
}
