//! A flow whose packets have gone by unseen for a while: see `conn/sight.rs`.

use super::Flow;
use super::gaps::Gaps;
use crate::conn::Known;
use crate::context::Context;
use crate::maybe::Maybe;
use crate::{Pool, seq};

/// All sequence numbers.
const NUMBERS: u64 = 1 << 32;
/// An edge that was shown may lie beyond the receiver's by less than this (RFC 7323 §2.3), bytes.
const ROUNDING: u64 = 1 << 15;

impl Flow {
    /// Everything that was known of what is under way is forgotten. Nothing is sent: both ends have had
    /// their own way to repair it.
    pub(crate) fn lose_sight<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        if self.hands.pass.is_some() {
            return;
        }
        self.drop_pending(ctx);
        self.free_packets(ctx, self.board.len());
        ctx.held.segments -= self.board.forget_all();
        self.copies.clear();
        self.train = None;
        self.timers.backoff = 0;
        self.timers.unanswered = 0;
        self.host.forget_episodes();
        (
            self.timers.rto_at,
            self.timers.probe_at,
            self.timers.rack_at,
        ) = (Maybe::NONE, Maybe::NONE, Maybe::NONE);
        (self.pacing.turn, self.timers.persist_at) = (Maybe::NONE, Maybe::NONE);
        if let Some(owed) = self.words.owed.edit_known() {
            (owed.tsval_floor, owed.cwr_due) = (None, false);
        }
        if let Some(trouble) = self.hands.trouble.edit_known() {
            (trouble.policed_at, trouble.beyond_una) = (Maybe::NONE, Maybe::NONE);
            trouble.gap_until = 0;
        }
        if let Some(rare) = self.cold.rare.edit_known() {
            rare.gaps = Gaps::default();
        }
        self.view.forget_absorbed();
    }

    /// The ends have been seen to agree. What is outstanding now its sender repairs; then the flow is
    /// taken over again.
    pub(crate) fn resume(&mut self, sender: &Known, receiver: &Known) {
        if self.hands.pass.is_some() {
            return;
        }
        let near = self.board.una();
        let offsets = |near: u64| {
            let offset = |number| seq::offset(self.setup.iss, number, near);
            let (una, nxt) = (offset(receiver.acked)?, offset(sender.nxt)?);
            Some((una, nxt, offset(receiver.edge)?))
        };
        // Neither end goes back: what seems to lie behind has gone round.
        let is_on =
            |&(una, _, edge): &(u64, u64, u64)| una >= near && edge + ROUNDING >= self.view.edge();
        let on = offsets(near).filter(is_on);
        let Some((una, nxt, edge)) = on.or_else(|| offsets(near + NUMBERS)) else {
            return;
        };
        self.board.resume(una, nxt);
        self.receiver_edge = edge;
        self.view.resume(self.board.una(), edge, receiver.nxt);
        if let (Some(tsval), Some(tsecr)) = (receiver.tsval, receiver.tsecr) {
            self.view.resume_stamps(tsval, tsecr);
        }
        self.view.restart_rounds();
        self.hands.trouble.edit().back_until = Maybe::some(self.board.nxt());
    }

    /// It acknowledges more than has come from the sender.
    pub(crate) fn has_not_seen(&self, ack: u32) -> bool {
        let offset = seq::offset(self.setup.iss, ack, self.board.una());
        self.hands.pass.is_none() && offset.is_some_and(|ack| ack > self.board.nxt())
    }
}
