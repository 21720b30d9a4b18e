//! What the sender gets to see of the receiver's ACKs.
//!
//! Loss stays hidden: SACK blocks, duplicate ACKs and ECE are taken out. So does the shape that
//! would end the sender's slow start (HyStart: a long train of ACKs, or nine inflated RTT samples
//! in a round): ACKs are thinned in time while the RTT that the sender sees is raised, and a gap is
//! made in them every third of an RTT.

use windlass_wire::{AckRewrite, Flags, SackRewrite, Segment, parse};

use super::Flow;
use super::sender_view::Pending;
use crate::context::{Context, partial_at};
use crate::{Fate, Pkt, Pool, Why, seq};

impl Flow {
    /// A packet from the receiver that is more than an ACK: it goes on at once, with its
    /// acknowledgement rewritten. True if that is news to the sender.
    pub(crate) fn rewrite_ack<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        segment: &Segment,
        pkt: Pkt,
        ack: u64,
    ) -> bool {
        if !self.enforcing() {
            return false;
        }
        let advanced = ack > self.view.ack();
        if self
            .view
            .pending()
            .is_some_and(|waits| waits.ack.get() <= ack)
        {
            self.drop_pending(ctx);
        }
        self.write_ack(ctx, segment, pkt, ack);
        advanced
    }

    /// A pure ACK from the receiver: shown, kept for a while, or swallowed. Takes the packet over.
    pub(crate) fn show_ack<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        segment: &Segment,
        pkt: Pkt,
        ack: u64,
    ) {
        if !self.enforcing() {
            return ctx.emit(pkt, self.setup.sender, segment);
        }
        let outstanding = self.board.nxt() > ack;
        let shown = self.view.ack();
        if ack < shown || (self.in_charge() && !self.is_frank() && ack == shown && outstanding) {
            return self.show_duplicate(ctx, segment, pkt, ack);
        }
        if self
            .view
            .pending()
            .is_some_and(|waits| waits.ack.get() > ack)
        {
            // Overtaken by the one that waits.
            ctx.counters.acks_absorbed += 1;
            return ctx.swallow(pkt, Fate::AckHidden);
        }
        let wait_until = match self.in_charge() && !self.is_frank() && outstanding {
            true => self
                .view
                .hold_until(ctx.now, self.host.path(), self.verdict.headroom),
            false => 0,
        };
        let bytes = ctx.pool.len(pkt);
        let room = ctx.held.has_room(self.setup.prefix, bytes, ctx.limits);
        if wait_until <= ctx.now || !room {
            self.drop_pending(ctx);
            return self.release_ack(ctx, segment, pkt, ack);
        }
        let earlier = self.view.pending().map(|waits| waits.release_at);
        self.drop_pending(ctx);
        ctx.held.add(self.setup.prefix, ctx.pool.len(pkt));
        ctx.fate = Fate::AckWaits;
        self.view.wait(Pending {
            pkt,
            ack: seq::of_data(ack),
            release_at: earlier.unwrap_or(wait_until),
        });
    }

    /// An ACK that acknowledges nothing new to the sender. It goes on only if it opens the window.
    fn show_duplicate<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        segment: &Segment,
        pkt: Pkt,
        ack: u64,
    ) {
        let shown = self.view.ack();
        let aim = self.aim(ctx.limits.held_bytes_per_flow);
        let gain = self.edge_gain(shown, aim);
        let useful = gain >= 2 * u64::from(self.host.path().mss) || (gain > 0 && self.at_edge());
        // The third ACK of the handshake, and a question whether the sender is alive (RFC 9293
        // §3.8.4), advance nothing and mean something all the same.
        let keepalive = seq::later(self.view.receiver_next(), segment.seq);
        let means = self.view.is_new() || keepalive;
        if ack == shown && (means || useful && self.view.pending().is_none()) {
            return self.release_ack(ctx, segment, pkt, ack);
        }
        ctx.counters.acks_absorbed += 1;
        ctx.swallow(pkt, Fate::AckHidden);
    }

    /// A waiting ACK may have come due.
    pub(crate) fn on_ack_timer<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        if self.view.poll_at().is_some_and(|at| at <= ctx.now) {
            self.release_pending(ctx);
        }
    }

    /// Shows the waiting ACK now.
    pub(crate) fn release_pending<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        let Some(pending) = self.view.take_pending() else {
            return;
        };
        let len = ctx.pool.len(pending.pkt);
        ctx.held.remove(self.setup.prefix, len);
        // It was read when it came, and kept as it was.
        match parse(ctx.pool.head(pending.pkt), len) {
            Ok(segment) => self.release_ack(ctx, &segment, pending.pkt, pending.ack.get()),
            Err(_) => ctx.pool.free(pending.pkt),
        }
    }

    pub(super) fn drop_pending<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        if let Some(pending) = self.view.take_pending() {
            ctx.counters.acks_thinned += 1;
            ctx.held
                .remove(self.setup.prefix, ctx.pool.len(pending.pkt));
            ctx.pool.free(pending.pkt);
        }
    }

    fn release_ack<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        segment: &Segment,
        pkt: Pkt,
        ack: u64,
    ) {
        if self.dsack_due(ack).is_some() && segment.at.sack == 0 {
            // No room to say it in this packet: one of the box's own says the same and more.
            if self.make_ack(ctx, ack) {
                return ctx.swallow(pkt, Fate::AckReplaced);
            }
        }
        self.write_ack(ctx, segment, pkt, ack);
        ctx.emit_partial(pkt, self.setup.sender, partial_at(segment), Why::AckShown);
    }

    /// Rewrites the acknowledgement in place.
    fn write_ack<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        segment: &Segment,
        pkt: Pkt,
        ack: u64,
    ) {
        let rewrite = self.decide_ack(ctx.limits.held_bytes_per_flow, segment, ack);
        rewrite.apply(ctx.pool.head_mut(pkt), segment);
        if matches!(rewrite.sack, SackRewrite::Only(_)) {
            self.view.forget_absorbed();
            ctx.counters.dsacks_told += 1;
        }
        ctx.counters.ece_hidden += u64::from(rewrite.hide_ece);
        self.note_shown(ctx.now, ack);
        if self.is_frank() {
            self.note_frankness(ctx.now);
        }
    }

    /// What the sender is to read in this acknowledgement, which is shown from here on.
    fn decide_ack(&mut self, held_limit: u64, segment: &Segment, ack: u64) -> AckRewrite {
        let aim = self.aim(held_limit);
        let window = self.show_edge(ack, aim);
        let hides = !self.hands.are_senders();
        let frank = !hides || self.is_frank();
        let sack = match self.dsack_due(ack).filter(|_| segment.at.sack != 0) {
            _ if frank => SackRewrite::Keep,
            Some(block) => SackRewrite::Only(self.numbers(block)),
            None => SackRewrite::Blank,
        };
        let stamps = segment.options.timestamps;
        let tsval = stamps.map(|stamps| self.view.raise_tsval(stamps.val));
        AckRewrite {
            window,
            sack,
            hide_ece: hides && self.setup.ecn && segment.flags.has(Flags::ECE),
            tsval: tsval.filter(|tsval| stamps.is_none_or(|stamps| stamps.val != *tsval)),
            tsecr: self.tsecr_that_calms(ack),
        }
    }

    /// The other direction's data have been shown with this TSval.
    pub(crate) fn raise_shown_tsval(&mut self, tsval: u32) {
        self.view.raise_tsval(tsval);
    }

    /// The largest window shown, bytes.
    pub(crate) fn max_window_shown(&self) -> u32 {
        self.view.max_window()
    }

    /// A range of the stream as sequence numbers.
    pub(super) fn numbers(&self, (left, right): (u64, u64)) -> (u32, u32) {
        let number = |offset| seq::number(self.setup.iss, offset);
        (number(left), number(right))
    }

    pub(super) fn note_shown(&mut self, now: windlass_cc::Nanos, ack: u64) {
        let (nxt, headroom) = (self.board.nxt(), self.verdict.headroom);
        self.view.shown(now, ack, nxt, self.host.path(), headroom);
    }
}
