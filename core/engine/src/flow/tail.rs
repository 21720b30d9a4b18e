//! Copies of the end of what a sender had to send, newest segment first, while the path has room.
//!
//! A segment that is lost there comes a round trip late, because its loss shows only after one (Flach et al. 2013). A copy that leaves `x`
//! after the segment comes only `x` late. Newest first, copies and repairs meet in the middle: the end is half a round trip late at most.

use serde::{Deserialize, Serialize};
use windlass_cc::{Nanos, bytes_over};
use windlass_wire::{Flags, parse};

use super::Flow;
use super::copies::{COPIED_LOSS_PARTS, QUEUE_RTT_PARTS};
use crate::Pool;
use crate::context::Context;
use crate::maybe::Maybe;

/// One segment in so many that left for the first time may be copied so, and so many more.
const TAIL_PARTS: u32 = 4;
const TAIL_AT_ONCE: u32 = 32;
/// What was sent longer ago than the round trip less this part of it is about to be known as lost, or as delivered.
const KNOWN_RTT_PARTS: Nanos = 8;
/// Where the RTT has grown by more than this part of it, others share the queue: what start-up alone leaves in it is less.
const FULL_RTT_PARTS: Nanos = 2;

/// How far the copies of one tail have come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tail {
    /// Where it ends. If more is sent, another tail begins.
    end: u64,
    /// Its sender had no more to send: what ends here is the end of a message.
    ends_message: bool,
    /// What lies beyond has been looked at.
    below: u64,
    /// Bytes copied.
    copied: u64,
    /// When pacing lets the next one leave.
    at: Maybe,
    /// Copies of all tails.
    sent: u32,
    /// Segments were lost, or their copies arrived in their place, while no queue showed.
    path_loses: bool,
}

impl Tail {
    pub(super) fn poll_at(&self) -> Option<Nanos> {
        self.at.get()
    }

    pub(super) fn path_loses(&self) -> bool {
        self.path_loses
    }

    pub(super) fn is_within_budget(&self, first_transmissions: u32) -> bool {
        self.sent <= TAIL_AT_ONCE + first_transmissions / TAIL_PARTS
    }

    fn begin(&mut self, end: u64, ends_message: bool) {
        (self.end, self.below, self.copied) = (end, end, 0);
        self.ends_message = ends_message;
    }

    fn note_copy(&mut self, start: u64, bytes: u64) {
        self.below = start;
        self.copied += bytes;
        self.sent = self.sent.saturating_add(1);
    }
}

impl Flow {
    /// Nothing waits but for its time. Copies what was sent last, as far as the path has room.
    pub(super) fn send_tail<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        let at = match self.may_copy_tail() {
            true => self.copy_tail(ctx),
            false => Maybe::NONE,
        };
        if let Some(copies) = self.copies.edit_known() {
            copies.tail_mut().at = at;
        }
    }

    /// Says when to go on, if time alone keeps the next copy back.
    fn copy_tail<P: Pool>(&mut self, ctx: &mut Context<'_, P>) -> Maybe {
        let due = self.pacing.last_sent_at + self.verdict.redundancy.delay;
        if ctx.now < due {
            return Maybe::some(due);
        }
        self.find_tail(ctx);
        while let Some(index) = self.next_of_tail(ctx.now) {
            if !self.pacing.pacer.may_send(ctx.now) {
                return Maybe::some(self.pacing.pacer.next);
            }
            let piece = self.board.piece(index);
            let (start, len) = (piece.start, piece.len());
            self.copies.edit().tail_mut().note_copy(start, len);
            self.send_copy(ctx, start, false);
        }
        Maybe::NONE
    }

    /// Only where segments are lost, and not to a queue that overflows.
    fn may_copy_tail(&self) -> bool {
        self.verdict.redundancy.first_segments > 0
            && self.board.inflight() > 0
            && self.path_loses()
            && !self.has_lost(COPIED_LOSS_PARTS)
            && self.timers.unanswered == 0
            && self.in_charge()
            && !self.has_short_queue()
            && !self.queue_shows(FULL_RTT_PARTS)
    }

    /// Begins with another tail if more has been sent. A sender that stops for want of window is no end: what it sends next needs the
    /// place that copies would take.
    fn find_tail<P: Pool>(&mut self, ctx: &Context<'_, P>) {
        let end = self.board.sent_nxt();
        if self.copies.edit().tail().end == end {
            return;
        }
        let newest = self
            .board
            .last_sent()
            .and_then(|index| self.board.piece(index).pkt);
        let ends_message = newest.is_some_and(|pkt| {
            let flags = parse(ctx.pool.head(pkt), ctx.pool.len(pkt)).map(|segment| segment.flags);
            flags.is_ok_and(|flags| flags.has(Flags::PSH) || flags.has(Flags::FIN))
        });
        self.copies.edit().tail_mut().begin(end, ends_message);
    }

    /// The newest segment in flight that has no copy, while there is room for one.
    fn next_of_tail(&mut self, now: Nanos) -> Option<usize> {
        let srtt = self.host.path().srtt;
        let room = self.roomy_bdp().checked_sub(self.board.inflight())?;
        let copies = self.copies.edit();
        let within_budget = copies.tail_is_within_budget(&self.verdict.redundancy);
        if !copies.tail().ends_message || !within_budget {
            return None;
        }
        let tail = copies.tail_mut();
        loop {
            let index = self.board.index_of(tail.below.checked_sub(1)?)?;
            let piece = self.board.piece(index);
            let is_known = piece.sent_at + (srtt - srtt / KNOWN_RTT_PARTS) <= now;
            if is_known || tail.copied + piece.len() > room {
                return None;
            }
            if piece.in_flight() && piece.copied_at < piece.sent_at && piece.pkt.is_some() {
                return Some(index);
            }
            tail.below = piece.start;
        }
    }

    /// What the path holds, bytes. In start-up, a train of ACKs knows more of it than what has been carried.
    pub(super) fn roomy_bdp(&self) -> u64 {
        let path = self.host.path();
        let seen = self.train.as_ref().and_then(|train| train.perhaps());
        let rate = path.max_bw.max(seen.unwrap_or(0));
        match path.recent_min_rtt() {
            Nanos::MAX => 0,
            least => bytes_over(rate, least),
        }
    }

    /// A segment was lost, or its copy has arrived in its place. A full queue is no path that loses: others would pay for copies there.
    pub(super) fn note_loss(&mut self) {
        if !self.queue_shows(QUEUE_RTT_PARTS)
            && let Some(copies) = self.copies.edit_known()
        {
            copies.tail_mut().path_loses = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_has_its_own_copies_and_all_tails_one_budget() {
        let mut tail = Tail::default();
        tail.begin(10_000, true);
        tail.note_copy(8_552, 1_448);
        assert_eq!((tail.below, tail.copied), (8_552, 1_448));
        tail.begin(20_000, true);
        assert_eq!((tail.below, tail.copied), (20_000, 0));
        for copy in 0..TAIL_AT_ONCE {
            assert!(tail.is_within_budget(0), "copy {copy}");
            tail.note_copy(0, 1_448);
        }
        assert!(!tail.is_within_budget(0) && tail.is_within_budget(TAIL_PARTS));
    }
}
