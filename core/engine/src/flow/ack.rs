//! What comes from the receiver: scored, sampled, told to the algorithm.

use windlass_cc::host::{Ack, Delivery, Standing};
use windlass_cc::{Nanos, Signal};
use windlass_wire::{Flags, Segment, Template};

use super::Flow;
use crate::context::Context;
use crate::maybe::Maybe;
use crate::{PassReason, Pkt, Pool, seq};

/// One acknowledgement, as far as it has been scored.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Score {
    /// What the algorithm will hear of it.
    pub ack: Ack,
    /// It covers a retransmission.
    repaired: bool,
    /// The highest end that had arrived before it, as an offset. Its blocks come newest first (RFC 2018 §4): among themselves they
    /// say nothing of reordering.
    fack: u64,
}

impl Flow {
    /// Takes an acknowledgement in. The offset it acknowledges, or `None` if it means nothing here.
    pub(crate) fn on_ack<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        segment: &Segment,
        pkt: Pkt,
    ) -> Option<u64> {
        if self.hands.pass.is_some() {
            return None;
        }
        let ack = seq::offset(self.setup.iss, segment.ack, self.board.una()).filter(|a| *a >= 1)?;
        if ack > self.board.nxt() {
            // Data that was never seen here has arrived: it took another way.
            self.release_all(ctx, PassReason::UnseenData);
            return None;
        }
        ctx.counters.ack_packets += 1;
        let same_window = self.view.window_said() == segment.window;
        self.note_receiver(ctx.pool.head(pkt), segment, ack);
        let mut score = Score {
            ack: Ack::new(self.came_at(ctx, pkt), self.board.pipe()),
            repaired: false,
            fack: self.board.fack(),
        };
        let dsack = self.note_dsack(ctx, segment, ack);
        if ack > self.board.una() {
            self.advance(ctx, ack, &mut score);
        }
        if self.setup.receiver_sacks {
            self.score_sack(ctx, segment, &mut score);
        } else if ack == self.board.una()
            && score.ack.acked() == 0
            && Self::is_pure_ack(segment)
            && self.board.inflight() > 0
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
        let overtaken = seq::later(self.view.receiver_next(), segment.seq);
        let closes = segment.window == 0 && !overtaken;
        if ack > self.board.una()
            || (ack == self.board.una() && (closes || edge > self.receiver_edge))
        {
            self.receiver_edge = edge;
            self.timers.persist_at = Maybe::NONE;
        }
        let known = self.cold.template.as_ref();
        if known.is_none_or(|template| !template.has_addresses_of(head)) {
            self.cold.template = Some(Template::of(head, segment));
        }
        self.view.note_receiver(segment);
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
        if self.is_of_copy(left, right) {
            return true;
        }
        self.board.note_dsack(ack);
        self.cold.tally_mut().spurious_bytes += u64::from(right.wrapping_sub(left));
        if self.host.episode().is_some() && self.board.note_needless() {
            ctx.counters.spurious += 1;
            self.host.spurious(ctx.now);
        }
        true
    }

    fn is_of_copy(&mut self, left: u32, right: u32) -> bool {
        let una = self.board.una();
        let of = |number| seq::offset(self.setup.iss, number, una);
        let (Some(left), Some(right)) = (of(left), of(right)) else {
            return false;
        };
        let copies = self.copies.edit_known();
        copies.is_some_and(|copies| copies.explain(left, right))
    }

    /// The cumulative ACK moves to `ack`.
    fn advance<P: Pool>(&mut self, ctx: &mut Context<'_, P>, ack: u64, score: &mut Score) {
        score.ack.set_acked(ack - self.board.una());
        while self.board.front().is_some_and(|front| front.end <= ack) {
            self.deliver(0, score);
            if let Some(piece) = self.board.pop_acked(ack) {
                ctx.held.segments -= 1;
                self.view.note_acked(piece.arrived_at);
                self.drop_packet(ctx, piece.pkt);
            }
        }
        self.board.advance(ack, u64::from(self.host.path().mss));
        self.hands.note_progress();
        if ack == self.board.nxt() {
            self.cold.transfers.on_all_acked(ctx.now, ack);
        }
        self.timers.unanswered = 0;
        if !self.has_short_queue() {
            // Here a time-out is hardly ever too early, and each doubling that stays costs seconds.
            self.timers.backoff = 0;
        }
        let repairing = self.host.episode();
        if !self.setup.receiver_sacks && repairing.is_some_and(|e| ack < e.point && !e.timeout) {
            // RFC 6582 §3.2 step 3: a partial ACK names the next hole.
            self.mark_lost(ctx, 0, &mut score.ack);
        }
    }

    /// The piece at `index` has reached the receiver.
    fn deliver(&mut self, index: usize, score: &mut Score) {
        let Some(piece) = self.board.deliver(index) else {
            return;
        };
        let (at, sent_at) = (score.ack.at(), piece.sent_at);
        let once =
            self.board
                .note_delivery(at, &piece, score.fack, self.host.path().recent_min_rtt());
        let delivery = Delivery {
            bytes: piece.len(),
            sent_at,
            position: piece.end,
            snapshot: Some(piece.snapshot),
        };
        self.host.delivered(&mut score.ack, &delivery);
        score.repaired |= piece.transmissions > 1;
        if once {
            if let Some(train) = &mut self.train {
                train.on_delivered(sent_at, piece.end, piece.copies);
            }
            score.ack.offer_rtt(sent_at);
        } else if piece.transmissions == 1 {
            self.note_loss();
        }
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
                seq::offset(self.setup.iss, left, self.board.una()),
                seq::offset(self.setup.iss, right, self.board.una()),
            ) else {
                continue;
            };
            let limit = ctx.limits.sack_ranges_per_flow;
            ctx.fresh.clear();
            let merged = self
                .board
                .add_sacked((start, end), limit, |s, e| ctx.fresh.push((s, e)));
            let Some(merged) = merged else { continue };
            // Only what is new is looked at: a block may cover everything that is outstanding.
            for part in 0..ctx.fresh.len() {
                let (start, end) = ctx.fresh[part];
                self.sack_pieces((start, end), merged, score);
            }
        }
        self.shed_sacked(ctx);
    }

    /// The pieces that the fresh part of a range has completed.
    fn sack_pieces(&mut self, (start, end): (u64, u64), merged: (u64, u64), score: &mut Score) {
        let Some(mut index) = self.board.index_of(start) else {
            return;
        };
        while index < self.board.len() && self.board.piece(index).start < end {
            let piece = self.board.piece(index);
            let covered = merged.0 <= piece.start && piece.end <= merged.1;
            if piece.sent && !piece.sacked && covered {
                self.deliver(index, score);
                self.board.keep_sacked(index);
            }
            index += 1;
        }
    }

    /// A duplicate ACK of a receiver without SACK (RFC 5681 §3.2): something arrived, out of order.
    fn score_duplicate<P: Pool>(&mut self, ctx: &mut Context<'_, P>, score: &mut Score) {
        let duplicates = self.board.note_duplicate(u64::from(self.host.path().mss));
        if duplicates == 3 && self.host.episode().is_none() {
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
        if let Some(rtt) = score.ack.rtt() {
            self.take_sample(ctx, rtt);
        }
        self.host.measure(&mut score.ack, now);
        let mut held_in_vain = 0;
        if let Some(train) = &mut self.train {
            train.on_ack(score.ack.at(), self.host.path());
            if train.judge(score.ack.at(), self.host.counts().0, self.host.path()) {
                self.host.pipe_full(now);
            }
            held_in_vain = train.take_held_in_vain();
        }
        let news = score.ack.delivered() > 0 || score.ack.acked() > 0;
        self.finish_probe(now, dsack, score.ack.before());
        if news {
            self.detect_losses(ctx, &mut score.ack);
        }
        if !self.enforcing() {
            self.watch_ack(now, segment, &score.ack);
        }
        self.host.settle(self.board.pipe());
        self.enter_recovery(now, &score.ack);
        let marked = self.take_marks(segment, score.ack.delivered());
        self.on_marks(now, &mut score.ack, marked, segment);
        let standing = Standing {
            inflight: self.told_inflight(),
            cwnd_limited: self.host.usage().limited(&self.host.control()),
            in_recovery: self.host.in_recovery(self.board.una()),
        };
        self.host.finish_ack(now, &score.ack, &standing);
        if self.host.take_failed() {
            ctx.counters.plugin_faults += 1;
        }
        self.leave_recovery(now);
        self.note_growth(now);
        self.note_usual_window();
        let same_policy = self.generation == ctx.generation;
        if let Some(switching) = self.verdict.switching.filter(|_| same_policy) {
            self.review(ctx, switching, marked.unwrap_or(0), score.ack.rate());
        }
        self.update_pacing();
        self.note_lost_time(ctx, held_in_vain, PassReason::WrongGuess);
        self.note_late_ack(ctx, &score.ack);
        self.consider_take_over(ctx);
        if news {
            self.arm_timers_on_ack(now);
        }
    }

    /// How long an answer takes is known. The ACK of what was sent twice does not say it: on a short path, a time-out stays as
    /// long as it has become until there is a sample (Karn and Partridge 1987; Linux: `tcp_ack_update_rtt`, `tcp_input.c` 6.12).
    fn take_sample<P: Pool>(&mut self, ctx: &mut Context<'_, P>, rtt: Nanos) {
        ctx.histograms.rtt_ns.record(rtt);
        self.board.allow_probe();
        self.timers.backoff = 0;
    }

    /// Opens a recovery episode for newly noticed loss, unless one is open. One that this very ACK
    /// ends is followed by the next at once; also where what was sent since it began had been noticed
    /// to be lost in it, and is still being repaired (RFC 6675 §5; Linux: `tp->lost_out`).
    pub(crate) fn enter_recovery(&mut self, now: Nanos, ack: &Ack) {
        let repairing = self.board.front().filter(|oldest| oldest.is_repaired());
        let over = self.host.is_recovered(self.board.una());
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
        self.board.begin_episode();
        self.watch_recovery(now, news);
        self.host
            .congested(now, Signal::Loss, self.board.sent_nxt(), ack.before(), lost);
    }

    pub(crate) fn leave_recovery(&mut self, now: Nanos) {
        if self.host.is_recovered(self.board.una()) {
            self.board.end_episode();
            self.host.recovered(now);
        }
    }

    /// The algorithm hears of marks once per window. Where the ends use ECN, the receiver gets its CWR from the box, since
    /// the sender will not see the ECE (RFC 3168 §6.1.2). Nobody gets one who has not asked: the other box may have told of
    /// the mark.
    fn on_marks(&mut self, now: Nanos, ack: &mut Ack, marked: Option<u64>, segment: &Segment) {
        if self
            .host
            .marked(now, ack, marked, self.board.una(), self.board.sent_nxt())
            && let Some(owed) = self.words.owed.edit_known()
        {
            owed.cwr_asked = false;
        }
        let asks = self.setup.ecn && segment.flags.has(Flags::ECE);
        if asks && self.host.is_marked() && !self.words.owed.read().cwr_asked {
            let in_charge = self.in_charge();
            let owed = self.words.owed.edit();
            owed.cwr_asked = true;
            owed.cwr_due = in_charge;
        }
    }

    /// The other box says that so many bytes more were marked; `None`: there is no other box.
    pub(crate) fn hear_marks(&mut self, marked: Option<u64>) {
        if marked.is_none() && self.cold.rare.get().is_none() {
            return;
        }
        let marks = &mut self.cold.rare.edit().marks;
        let due = marks.due.get().unwrap_or(0);
        marks.due = marked.map(|marked| due + marked).into();
        marks.bytes += marked.unwrap_or(0);
    }

    /// How much of what has been delivered was marked, bytes; `None`: no mark is reported. The
    /// other box counts; ends say only that there were marks: ECE where ECN was agreed. What such
    /// an ACK delivers counts as marked: exact for receivers of RFC 8257, too much for those of
    /// RFC 3168, which repeat it until they see CWR.
    fn take_marks(&mut self, segment: &Segment, delivered: u64) -> Option<u64> {
        if let Some(rare) = self.cold.rare.edit_known()
            && let Some(due) = rare.marks.due.get()
        {
            let marked = due.min(delivered);
            rare.marks.due = Maybe::some(due - marked);
            return (marked > 0).then_some(marked);
        }
        let echo = segment.flags.has(Flags::ECE) && !segment.flags.has(Flags::SYN);
        (self.setup.ecn && echo).then_some(delivered)
    }
}
