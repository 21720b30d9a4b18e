//! Giving a flow back to its sender when repair here cannot finish in time, taking it over again,
//! and letting go of it for good.

use super::Flow;
use crate::context::Context;
use crate::maybe::Maybe;
use crate::{HandBack, Happened, PassReason, Pkt, Pool, Why};

/// Transmissions of the segment at `una` by the box, after which its sender may take over.
const TRIES_BEFORE_HAND_BACK: u8 = 8;
/// Retransmissions of it by the sender: the first may be a tail probe, the second means business.
const SENDER_TRIES_BEFORE_HAND_BACK: u8 = 2;

impl Flow {
    /// The sender retransmits `start..end`, which the box has not been able to deliver yet.
    pub(crate) fn consider_hand_back<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        (start, end): (u64, u64),
    ) {
        let Some(front) = self.board.front() else {
            return;
        };
        if start >= front.end {
            // A tail probe lies there, once (RFC 8985 §7.3); a time-out begins with the first that the
            // sender misses. One who times out beyond has seen ACKs that have not come through here.
            let again = self.hands.trouble.edit().beyond_una.replace(start) == Some(start);
            if again || self.is_timed_out() {
                self.hand_back(ctx, HandBack::SenderTimedOut);
            }
            return;
        }
        let trouble = self.hands.trouble.edit();
        trouble.beyond_una = Maybe::NONE;
        if end < front.end && end - start < u64::from(self.host.path().mss) {
            // It cuts its segments anew, because the path's MTU has become smaller: what is held
            // does not fit any more.
            return self.hand_back(ctx, HandBack::Resegmented);
        }
        trouble.sender_tries = trouble.sender_tries.saturating_add(1);
        let repeats = trouble.sender_tries >= SENDER_TRIES_BEFORE_HAND_BACK;
        let tried = front.transmissions >= TRIES_BEFORE_HAND_BACK;
        if front.pkt.is_none() {
            self.hand_back(ctx, HandBack::NotHeld);
        } else if tried && repeats {
            self.hand_back(ctx, HandBack::SenderRepeats);
        } else if self.is_timed_out() && ctx.now.saturating_sub(front.sent_at) >= self.first_rto() {
            // Its time-out is shorter than what that of the box has become by doubling. On a bare wire this would leave now.
            self.mark_all_lost(ctx);
        }
    }

    /// The sender repairs from here on: it sees the receiver's ACKs as they are, and what it
    /// retransmits goes through. What waits here still leaves at a pace ([`Flow::is_backlog`]): at once, it would overflow the
    /// queue that has just lost something.
    pub(crate) fn hand_back<P: Pool>(&mut self, ctx: &mut Context<'_, P>, why: HandBack) {
        if self.hands.are_senders() {
            return;
        }
        let happened = Happened::HandedBack {
            why,
            outstanding_bytes: self.board.nxt().saturating_sub(self.board.una()),
            srtt: self.host.path().srtt,
            lost_segments: self.cold.tally().lost,
        };
        ctx.notices.add(self.setup.sender, happened);
        self.forget_reaction();
        ctx.counters.handed_back += 1;
        self.cold.tally_mut().handed_back += 1;
        self.timers.rack_at = Maybe::NONE;
        self.timers.probe_at = Maybe::NONE;
        self.hands.trouble.edit().back_until = Maybe::some(self.board.nxt());
        self.release_pending(ctx);
        self.free_packets(ctx, self.board.unsent().unwrap_or(self.board.len()));
        self.tell_sacked(ctx);
        self.pump(ctx);
    }

    /// What waits and begins before `end` leaves at once.
    pub(super) fn send_waiting<P: Pool>(&mut self, ctx: &mut Context<'_, P>, end: u64) {
        while let Some(index) = self.board.unsent()
            && self.board.piece(index).start < end
        {
            self.transmit(ctx, index, Why::First);
        }
    }

    /// What begins at `start` waited for its turn when the flow was handed back.
    pub(super) fn is_backlog(&self, start: u64) -> bool {
        self.hands.back_until().is_some_and(|until| start < until)
    }

    /// Takes the flow over again once nothing is left of what the sender had to repair: no SACK
    /// block that it has been shown may be withdrawn (it would look like reneging).
    pub(crate) fn consider_take_over<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        let Some(until) = self.hands.back_until() else {
            return;
        };
        if self.board.una() >= until
            && self.board.sacked_bytes() == 0
            && self.board.lost_bytes() == 0
            && self.host.episode().is_none()
        {
            let trouble = self.hands.trouble.edit();
            if let Some(reason) = trouble.leaving {
                return self.release_all(ctx, reason);
            }
            trouble.back_until = Maybe::NONE;
            self.pacing.pacer.forgive(ctx.now);
            ctx.counters.taken_over += 1;
            ctx.notices.add(self.setup.sender, Happened::TakenOver);
        }
    }

    /// Lets go of the flow: what waits is sent, nothing is held, everything passes.
    pub(crate) fn release_all<P: Pool>(&mut self, ctx: &mut Context<'_, P>, reason: PassReason) {
        if self.hands.pass.is_some() {
            return;
        }
        self.break_off_transfer(self.acked_at);
        self.send_what_waits(ctx);
        self.free_packets(ctx, self.board.len());
        ctx.held.segments -= self.board.release();
        if let Some(copies) = self.copies.edit_known() {
            copies.shrink();
        }
        self.hands.pass = Some(reason);
        (
            self.timers.rto_at,
            self.timers.probe_at,
            self.timers.rack_at,
        ) = (Maybe::NONE, Maybe::NONE, Maybe::NONE);
    }

    /// Sends all data that wait, and the ACK that does.
    pub(crate) fn send_what_waits<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        if self.hands.pass.is_some() {
            return;
        }
        self.send_waiting(ctx, u64::MAX);
        self.release_pending(ctx);
    }

    /// The receiver has given up: what has not been sent is not sent any more.
    pub(crate) fn discard_unsent<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        while let Some(pkt) = self.board.discard_unsent() {
            self.drop_packet(ctx, pkt);
        }
    }

    /// Frees the packets of the first `count` segments.
    pub(super) fn free_packets<P: Pool>(&mut self, ctx: &mut Context<'_, P>, count: usize) {
        for index in 0..count {
            let pkt = self.board.take_packet(index);
            self.drop_packet(ctx, pkt);
        }
    }

    /// Frees a held packet and takes it off the books.
    pub(crate) fn drop_packet<P: Pool>(&mut self, ctx: &mut Context<'_, P>, pkt: Option<Pkt>) {
        let Some(pkt) = pkt else { return };
        let bytes = ctx.pool.len(pkt);
        self.board.freed(u64::from(bytes));
        ctx.held.remove(self.setup.prefix, bytes);
        ctx.pool.free(pkt);
    }
}
