//! What comes from the receiver: scored, sampled, told to the algorithm.

use windlass_cc::host::{Ack, Delivery, Standing};
use windlass_cc::{Nanos, Signal};
use windlass_wire::{Flags, Segment, Template};

use super::{Flow, Undo};
use crate::context::Context;
use crate::{PassReason, Pkt, Pool, Room, seq};

/// One acknowledgement, as far as it has been scored.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Score {
    /// What the algorithm will hear of it.
    pub ack: Ack,
    /// It covers a retransmission.
    repaired: bool,
}

impl Flow {
    /// Takes an acknowledgement in. The offset it acknowledges, or `None` if it means nothing here.
    pub(crate) fn on_ack<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        segment: &Segment,
        pkt: Pkt,
    ) -> Option<u64> {
        if self.pass.is_some() {
            return None;
        }
        let ack = seq::offset(self.setup.iss, segment.ack, self.una).filter(|a| *a >= 1)?;
        if ack > self.nxt {
            // Data that was never seen here has arrived: it took another way.
            self.release_all(ctx, PassReason::UnseenData);
            return None;
        }
        ctx.counters.ack_packets += 1;
        let same_window = self.feedback.window_said == segment.window;
        self.note_receiver(ctx.pool.head(pkt), segment, ack);
        let mut score = Score {
            ack: Ack::new(self.came_at(ctx, pkt), self.pipe()),
            repaired: false,
        };
        let dsack = self.note_dsack(ctx, segment, ack);
        if ack > self.una {
            self.advance(ctx, ack, &mut score);
        }
        if self.setup.receiver_sacks {
            self.score_sack(ctx, segment, &mut score);
        } else if ack == self.una
            && score.ack.acked() == 0
            && Self::is_pure_ack(segment)
            && self.inflight > 0
            && same_window
        {
            self.score_duplicate(ctx, &mut score);
        }
        self.after_score(ctx, segment, dsack, score);
        Some(ack)
    }

    /// When an ACK came, as samples count it: not before the one in front of it.
    fn came_at<P: Pool>(&mut self, ctx: &Context<'_, P>, pkt: Pkt) -> Nanos {
        let told = ctx.pool.arrived_at(pkt, ctx.now);
        self.acked_at = told.unwrap_or(ctx.now).max(self.acked_at).min(ctx.now);
        self.acked_at
    }

    /// The receiver's own window, sequence and headers.
    fn note_receiver(&mut self, head: &[u8], segment: &Segment, ack: u64) {
        let edge = ack + (u64::from(segment.window) << self.setup.scale);
        // A window that closes without acknowledging anything new is believed when it is zero, as
        // Linux does (`tcp_may_update_window`): otherwise the segment may have been overtaken.
        let overtaken = seq::later(self.feedback.receiver_next, segment.seq);
        let closes = segment.window == 0 && !overtaken;
        if ack > self.una || (ack == self.una && (closes || edge > self.receiver_edge)) {
            self.receiver_edge = edge;
            self.persist_at = None;
        }
        let known = self.template.as_ref();
        if known.is_none_or(|template| !template.has_addresses_of(head)) {
            self.template = Some(Template::of(head, segment));
        }
        self.feedback.note_receiver(segment);
    }

    /// RFC 2883: a first block below the ACK, or within the second block, reports a duplicate.
    fn note_dsack<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        segment: &Segment,
        ack: u64,
    ) -> bool {
        let mut blocks = segment.options.sack.iter();
        let Some((left, right)) = blocks.next() else {
            return false;
        };
        let below = !seq::later(right, segment.ack);
        let inside = blocks
            .next()
            .is_some_and(|(l, r)| !seq::later(l, left) && !seq::later(right, r));
        if !below && !inside {
            return false;
        }
        ctx.counters.dsacks_received += 1;
        self.rack.on_dsack(ack.max(self.una), self.sent_nxt);
        if self.copies.any_sent() {
            return true;
        }
        self.tally.spurious_bytes += u64::from(right.wrapping_sub(left));
        if self.host.episode().is_some() {
            self.undo.left = self.undo.left.saturating_sub(1);
            if self.undo.left == 0 && self.undo.resent > 0 {
                // Every retransmission of this episode arrived twice: nothing had been lost.
                ctx.counters.spurious += 1;
                self.host.spurious(ctx.now);
            }
        }
        true
    }

    /// The cumulative ACK moves to `ack`.
    fn advance<P: Pool>(&mut self, ctx: &mut Context<'_, P>, ack: u64, score: &mut Score) {
        let acked = ack - self.una;
        score.ack.set_acked(acked);
        while let Some(front) = self.hold.front() {
            if front.end > ack {
                break;
            }
            self.deliver(0, score);
            if let Some(piece) = self.hold.pop_front() {
                ctx.held.segments -= 1;
                self.feedback.newest_arrived_at = piece.arrived_at;
                if piece.sacked {
                    self.sacked_bytes -= piece.len();
                }
                self.drop_packet(ctx, piece.pkt);
            }
        }
        self.una = ack;
        self.beyond_una = None;
        if ack == self.nxt {
            self.transfers.on_all_acked(ctx.now, ack);
        }
        self.sacked.forget_below(ack);
        self.sent_nxt = self.sent_nxt.max(ack);
        self.dup_acks = 0;
        // One segment of what is acknowledged filled the hole; the rest had been counted.
        let counted = acked.saturating_sub(u64::from(self.host.path().mss));
        self.dup_bytes = self.dup_bytes.saturating_sub(counted);
        self.sender_tries = 0;
        self.rto_backoff = 0;
        let repairing = self.host.episode();
        if !self.setup.receiver_sacks && repairing.is_some_and(|e| ack < e.point && !e.timeout) {
            // RFC 6582 §3.2 step 3: a partial ACK names the next hole.
            self.mark_lost(ctx, 0, &mut score.ack);
        }
    }

    /// The piece at `index` has reached the receiver.
    fn deliver(&mut self, index: usize, score: &mut Score) {
        let piece = *self.hold.get(index);
        if piece.sacked || !piece.sent {
            return;
        }
        let len = piece.len();
        if piece.lost {
            self.lost_bytes -= len;
        } else {
            self.inflight -= len;
        }
        // Overtaken by a later one: the packet was lost, and this is its copy.
        let by_copy = piece.copied_at > 0 && piece.end < self.rack.fack;
        let once = piece.transmissions == 1 && !by_copy;
        let (at, sent_at) = (score.ack.at(), piece.sent_at);
        self.rack
            .on_delivered(at, sent_at, piece.end, !once, self.host.path().min_rtt);
        let delivery = Delivery {
            bytes: len,
            sent_at,
            position: piece.end,
            snapshot: Some(piece.snapshot),
        };
        self.host.delivered(&mut score.ack, &delivery);
        score.repaired |= piece.transmissions > 1;
        if once {
            self.train.on_delivered(sent_at, piece.end, piece.copies);
            score.ack.offer_rtt(sent_at);
        }
        let piece = self.hold.get_mut(index);
        piece.lost = false;
    }

    /// Takes the SACK blocks in (RFC 2018); each byte counts once.
    fn score_sack<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        segment: &Segment,
        score: &mut Score,
    ) {
        for (left, right) in segment.options.sack.iter() {
            let (Some(start), Some(end)) = (
                seq::offset(self.setup.iss, left, self.una),
                seq::offset(self.setup.iss, right, self.una),
            ) else {
                continue;
            };
            if start < self.una || end <= start || end > self.sent_nxt {
                continue;
            }
            let limit = ctx.limits.sack_ranges_per_flow;
            ctx.fresh.clear();
            let merged = self
                .sacked
                .add(start, end, limit, |s, e| ctx.fresh.push((s, e)));
            let Some(merged) = merged else { continue };
            // Only what is new is looked at: a block may cover everything that is outstanding.
            for part in 0..ctx.fresh.len() {
                let (start, end) = ctx.fresh[part];
                self.sack_pieces(ctx, (start, end), merged, score);
            }
        }
    }

    /// The pieces that the fresh part of a range has completed.
    fn sack_pieces<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        (start, end): (u64, u64),
        merged: (u64, u64),
        score: &mut Score,
    ) {
        let Some(mut index) = self.hold.index_of(start) else {
            return;
        };
        while index < self.hold.len() && self.hold.get(index).start < end {
            let piece = self.hold.get(index);
            let covered = merged.0 <= piece.start && piece.end <= merged.1;
            if piece.sent && !piece.sacked && covered {
                self.sacked_bytes += piece.len();
                self.deliver(index, score);
                let piece = self.hold.get_mut(index);
                piece.sacked = true;
                if ctx.pool.room() != Room::Enough && piece.pkt.is_some() {
                    // Should the receiver take its word back, the sender still has it.
                    ctx.counters.sacked_freed += 1;
                    let pkt = piece.pkt.take();
                    self.drop_packet(ctx, pkt);
                }
            }
            index += 1;
        }
    }

    /// A duplicate ACK of a receiver without SACK (RFC 5681 §3.2): something arrived, out of order.
    fn score_duplicate<P: Pool>(&mut self, ctx: &mut Context<'_, P>, score: &mut Score) {
        self.dup_acks += 1;
        self.dup_bytes = (self.dup_bytes + u64::from(self.host.path().mss)).min(self.inflight);
        if self.dup_acks == 3 && self.host.episode().is_none() {
            self.mark_lost(ctx, 0, &mut score.ack);
        }
    }

    /// Loss detection, samples, the algorithm, timers.
    fn after_score<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        segment: &Segment,
        dsack: bool,
        mut score: Score,
    ) {
        let now = ctx.now;
        if !self.setup.receiver_sacks && score.repaired {
            // Without SACK, what waited behind the hole is acknowledged late (RFC 6298 §3).
            score.ack.set_rtt(None);
        }
        self.rack.tlp_allowed |= score.ack.rtt().is_some();
        self.host.measure(&mut score.ack, now);
        self.train.on_ack(score.ack.at(), self.host.path());
        let news = score.ack.delivered() > 0 || score.ack.acked() > 0;
        self.finish_probe(now, dsack, score.ack.before());
        if news {
            self.detect_losses(ctx, &mut score.ack);
        }
        if !self.enforcing() {
            self.watch_ack(now, segment, &score.ack);
        }
        self.host.settle(self.pipe());
        self.enter_recovery(now, &score.ack);
        let marked = self.take_marks(segment, score.ack.delivered());
        self.on_marks(now, &mut score.ack, marked, segment);
        let standing = Standing {
            inflight: self.told_inflight(),
            cwnd_limited: self.host.usage().limited(&self.host.control()),
            in_recovery: self.host.in_recovery(self.una),
        };
        self.host.finish_ack(now, &score.ack, &standing);
        if self.host.take_failed() {
            ctx.counters.plugin_faults += 1;
        }
        self.leave_recovery(now);
        if let Some(switching) = self.verdict.switching {
            self.review(ctx, switching, marked.unwrap_or(0), score.ack.rate());
        }
        self.update_pacing();
        self.consider_take_over(ctx);
        if news {
            self.arm_timers_on_ack(now);
        }
    }

    /// Opens a recovery episode for newly noticed loss, unless one is open. One that this very ACK
    /// ends is followed by the next at once; also where what was sent since it began had been noticed
    /// to be lost in it, and is still being repaired (RFC 6675 §5; Linux: `tp->lost_out`).
    pub(crate) fn enter_recovery(&mut self, now: Nanos, ack: &Ack) {
        let repairing = self.hold.front().filter(|oldest| oldest.is_repaired());
        let over = self.host.is_recovered(self.una);
        let (news, lost) = match repairing {
            Some(oldest) if ack.lost() == 0 && over => (false, oldest.len()),
            _ => (true, ack.lost()),
        };
        if lost == 0 {
            return;
        }
        self.leave_recovery(now);
        if self.host.episode().is_some() {
            return;
        }
        self.undo = Undo::default();
        self.watch_recovery(now, news);
        self.host
            .congested(now, Signal::Loss, self.sent_nxt, ack.before(), lost);
    }

    pub(crate) fn leave_recovery(&mut self, now: Nanos) {
        if self.host.is_recovered(self.una) {
            self.dup_bytes = 0;
            self.rack.on_recovery_exit();
            self.host.recovered(now);
        }
    }

    /// The algorithm hears of marks once per window. Where the ends use ECN, the receiver gets its CWR from the box, since
    /// the sender will not see the ECE (RFC 3168 §6.1.2). Nobody gets one who has not asked: the other box may have told of
    /// the mark.
    fn on_marks(&mut self, now: Nanos, ack: &mut Ack, marked: Option<u64>, segment: &Segment) {
        if self.host.marked(now, ack, marked, self.una, self.sent_nxt) {
            self.cwr_asked = false;
        }
        let asks = self.setup.ecn && segment.flags.has(Flags::ECE);
        if asks && self.host.is_marked() && !self.cwr_asked {
            self.cwr_asked = true;
            self.cwr_due = self.in_charge();
        }
    }

    /// The other box says that so many bytes more were marked; `None`: there is no other box.
    pub(crate) fn hear_marks(&mut self, marked: Option<u64>) {
        self.marks_due = marked.map(|marked| self.marks_due.unwrap_or(0) + marked);
        self.marked_bytes += marked.unwrap_or(0);
    }

    /// How much of what has been delivered was marked, bytes; `None`: no mark is reported. The
    /// other box counts; ends say only that there were marks: ECE where ECN was agreed. What such
    /// an ACK delivers counts as marked: exact for receivers of RFC 8257, too much for those of
    /// RFC 3168, which repeat it until they see CWR.
    fn take_marks(&mut self, segment: &Segment, delivered: u64) -> Option<u64> {
        if let Some(due) = &mut self.marks_due {
            let marked = (*due).min(delivered);
            *due -= marked;
            return (marked > 0).then_some(marked);
        }
        let echo = segment.flags.has(Flags::ECE) && !segment.flags.has(Flags::SYN);
        (self.setup.ecn && echo).then_some(delivered)
    }
}
