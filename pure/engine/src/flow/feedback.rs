//! What the sender gets to see of the receiver's ACKs.
//!
//! Loss stays hidden: SACK blocks, duplicate ACKs and ECE are taken out. So does the shape that
//! would end the sender's slow start (HyStart: a long train of ACKs, or nine inflated RTT samples
//! in a round): ACKs are thinned in time while the RTT that the sender sees is raised, and a gap is
//! made in them every third of an RTT.

use windlass_cc::{MILLISECOND, Nanos};
use windlass_wire::{Editor, Flags, Segment, Timestamps};

use super::Flow;
use crate::context::Context;
use crate::{Pkt, Pool, seq};

/// A gap in the ACKs that ends an ACK train (Linux HyStart: 2 ms, `tcp_cubic.c` 6.12), ns.
const TRAIN_GAP: Nanos = 2_300_000;
/// Below this RTT there is no need for gaps, and no room, ns.
const GAP_MIN_RTT: Nanos = 8 * MILLISECOND;
/// HyStart ends slow start at the ninth raised sample in a round without any that is not. So many
/// are shown as they come,
const UNTHINNED_RAISED: u32 = 3;
/// and from then on so many per RTT, wherever the sender's rounds begin.
const THINNED_PER_RTT: Nanos = 5;

/// An ACK that waits.
#[derive(Clone, Copy, Debug)]
struct Pending {
    pkt: Pkt,
    segment: Segment,
    ack: u64,
    release_at: Nanos,
}

/// What has been shown, and what waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Feedback {
    /// Highest ACK shown.
    pub ack: u64,
    /// Right edge shown.
    pub edge: u64,
    /// The largest window shown, bytes: the sender takes ACKs that are older by so much (RFC 5961 §5.2).
    pub max_window: u32,
    /// Highest TSval shown: it may not decrease, or the sender drops the ACK (PAWS).
    pub tsval: Option<u32>,
    /// The window field the receiver said last.
    pub window_said: u16,
    /// The receiver's latest TSecr.
    pub tsecr: u32,
    /// The receiver's next sequence number.
    pub receiver_next: u32,
    pending: Option<Pending>,
    shown_at: Nanos,
    gap_until: Nanos,
    next_gap_at: Nanos,
    pub updated_at: Nanos,
    /// The sender's own round: it ends when this is shown as acknowledged.
    round_end: u64,
    round_began: Nanos,
    /// ACKs shown, since the last one that gave the sender an RTT sample that was not raised.
    raised_run: u32,
    /// How long its last round took: its RTT with everything the box adds.
    sender_rtt: Nanos,
    /// When the newest segment acknowledged came from the sender.
    pub newest_arrived_at: Nanos,
    /// A probe of the sender that was swallowed, to be reported by DSACK.
    pub absorbed: Option<(u64, u64)>,
}

impl Feedback {
    pub(crate) fn new(edge: u64, receiver_next: u32) -> Self {
        Feedback {
            ack: 1,
            edge,
            max_window: 0,
            tsval: None,
            window_said: 0,
            tsecr: 0,
            receiver_next,
            pending: None,
            shown_at: 0,
            gap_until: 0,
            next_gap_at: 0,
            updated_at: 0,
            round_end: 0,
            round_began: 0,
            raised_run: 0,
            sender_rtt: 0,
            newest_arrived_at: 0,
            absorbed: None,
        }
    }

    pub(crate) fn poll_at(&self) -> Option<Nanos> {
        self.pending.map(|p| p.release_at)
    }

    /// The receiver's data has been shown with this TSval: no ACK of it may look older.
    pub(crate) fn raise_tsval(&mut self, tsval: u32) {
        self.tsval = self
            .tsval
            .filter(|shown| seq::later(*shown, tsval))
            .or(Some(tsval));
    }

    pub(crate) fn note_receiver(&mut self, segment: &Segment) {
        self.window_said = segment.window;
        let next = segment.seq.wrapping_add(segment.seq_len());
        if seq::later(next, self.receiver_next) {
            self.receiver_next = next;
        }
        if let Some(stamps) = segment.options.timestamps
            && (self.tsecr == 0 || seq::later(stamps.ecr, self.tsecr))
        {
            self.tsecr = stamps.ecr;
        }
    }
}

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
        let advanced = ack > self.feedback.ack;
        if self.feedback.pending.is_some_and(|p| p.ack <= ack) {
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
        let to = self.setup.sender;
        if !self.enforcing() {
            return ctx.emit(pkt, to, segment);
        }
        let outstanding = self.board.nxt() > ack;
        if ack < self.feedback.ack || (self.in_charge() && ack == self.feedback.ack && outstanding)
        {
            return self.show_duplicate(ctx, segment, pkt, ack);
        }
        if self
            .feedback
            .pending
            .is_some_and(|waiting| waiting.ack > ack)
        {
            // Overtaken by the one that waits.
            ctx.counters.acks_absorbed += 1;
            return ctx.pool.free(pkt);
        }
        let wait_until = if self.in_charge() && outstanding {
            self.hold_ack_until(ctx.now)
        } else {
            0
        };
        let room = ctx.held.packets < ctx.limits.held_packets_total;
        if wait_until <= ctx.now || !room {
            self.drop_pending(ctx);
            return self.release_ack(ctx, segment, pkt, ack);
        }
        let release_at = match self.feedback.pending {
            Some(earlier) => earlier.release_at,
            None => wait_until,
        };
        self.drop_pending(ctx);
        ctx.held.add(ctx.pool.len(pkt));
        self.feedback.pending = Some(Pending {
            pkt,
            segment: *segment,
            ack,
            release_at,
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
        let target = self.target_edge(ctx.limits.held_bytes_per_flow);
        let gain = self.edge_gain(self.feedback.ack, target);
        let useful = gain >= 2 * u64::from(self.host.path().mss) || (gain > 0 && self.at_edge());
        // The third ACK of the handshake, and a question whether the sender is alive (RFC 9293
        // §3.8.4), advance nothing and mean something all the same.
        let first = self.feedback.shown_at == 0;
        let keepalive = seq::later(self.feedback.receiver_next, segment.seq);
        if ack == self.feedback.ack && (first || keepalive) {
            return self.release_ack(ctx, segment, pkt, ack);
        }
        if ack == self.feedback.ack && useful && self.feedback.pending.is_none() {
            return self.release_ack(ctx, segment, pkt, ack);
        }
        ctx.counters.acks_absorbed += 1;
        ctx.pool.free(pkt);
    }

    /// Until when the next ACK should wait; a time in the past: not at all.
    fn hold_ack_until(&self, now: Nanos) -> Nanos {
        let thin = match self.ack_interval(now) {
            0 => 0,
            interval => self.feedback.shown_at + interval,
        };
        thin.max(self.feedback.gap_until)
    }

    /// The interval at which ACKs are shown, 0 when they are not thinned.
    pub(crate) fn ack_interval(&self, now: Nanos) -> Nanos {
        if !self.verdict.headroom || self.host.path().srtt == 0 {
            return 0;
        }
        if self.feedback.raised_run < UNTHINNED_RAISED || !self.sample_is_raised(now) {
            return 0;
        }
        let rtt = self.host.path().latest_rtt.max(self.host.path().srtt);
        rtt.max(self.feedback.sender_rtt) / THINNED_PER_RTT
    }

    /// The RTT that the sender would measure if it were shown the newest ACK now, queue in the box
    /// included, is on its way to HyStart's threshold (`tcp_cubic.c` 6.12: an eighth of the
    /// minimum, between 4 and 16 ms).
    fn sample_is_raised(&self, now: Nanos) -> bool {
        let sample = now - self.feedback.newest_arrived_at;
        let threshold = (self.host.path().min_rtt / 8).clamp(4 * MILLISECOND, 16 * MILLISECOND);
        sample > self.host.path().min_rtt.saturating_add(threshold / 2)
    }

    /// A waiting ACK may have come due.
    pub(crate) fn on_feedback_timer<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        if self
            .feedback
            .pending
            .is_some_and(|p| p.release_at <= ctx.now)
        {
            self.release_pending(ctx);
        }
    }

    /// Shows the waiting ACK now.
    pub(crate) fn release_pending<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        if let Some(pending) = self.feedback.pending.take() {
            ctx.held.remove(ctx.pool.len(pending.pkt));
            self.release_ack(ctx, &pending.segment, pending.pkt, pending.ack);
        }
    }

    pub(super) fn drop_pending<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        if let Some(pending) = self.feedback.pending.take() {
            ctx.counters.acks_thinned += 1;
            ctx.held.remove(ctx.pool.len(pending.pkt));
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
                return ctx.pool.free(pkt);
            }
        }
        self.write_ack(ctx, segment, pkt, ack);
        ctx.emit(pkt, self.setup.sender, segment);
    }

    /// Rewrites the acknowledgement in place.
    fn write_ack<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        segment: &Segment,
        pkt: Pkt,
        ack: u64,
    ) {
        let target = self.target_edge(ctx.limits.held_bytes_per_flow);
        let window = self.show_edge(ack, target);
        let dsack = self.dsack_due(ack);
        let mut editor = Editor::new(ctx.pool.head_mut(pkt), segment);
        editor.set_window(window);
        if self.handed_back_until.is_none() {
            match dsack {
                Some((left, right)) if segment.at.sack != 0 => {
                    editor.keep_sack((
                        seq::number(self.setup.iss, left),
                        seq::number(self.setup.iss, right),
                    ));
                    self.feedback.absorbed = None;
                    ctx.counters.dsacks_told += 1;
                }
                _ => editor.blank_sack(),
            }
            if self.setup.ecn && segment.flags.has(Flags::ECE) {
                editor.set_flags(segment.flags.without(Flags::ECE));
                ctx.counters.ece_hidden += 1;
            }
        }
        if let Some(stamps) = segment.options.timestamps {
            let val = self
                .feedback
                .tsval
                .filter(|shown| seq::later(*shown, stamps.val))
                .unwrap_or(stamps.val);
            if val != stamps.val {
                editor.set_timestamps(Timestamps {
                    val,
                    ecr: stamps.ecr,
                });
            }
            self.feedback.tsval = Some(val);
        }
        self.note_shown(ctx.now, ack);
    }

    pub(super) fn note_shown(&mut self, now: Nanos, ack: u64) {
        let news = ack > self.feedback.ack;
        self.feedback.ack = self.feedback.ack.max(ack);
        self.feedback.shown_at = now;
        if ack >= self.feedback.round_end {
            if self.feedback.round_began > 0 {
                self.feedback.sender_rtt = now - self.feedback.round_began;
            }
            self.feedback.round_end = self.board.nxt().max(ack + 1);
            self.feedback.round_began = now;
        }
        if news && self.sample_is_raised(now) {
            self.feedback.raised_run = self.feedback.raised_run.saturating_add(1);
        } else if news {
            self.feedback.raised_run = 0;
        }
        if self.verdict.headroom
            && now >= self.feedback.next_gap_at
            && self.host.path().min_rtt != Nanos::MAX
            && self.host.path().min_rtt >= GAP_MIN_RTT
        {
            self.feedback.gap_until = now + TRAIN_GAP;
            self.feedback.next_gap_at =
                now + self.host.path().srtt.max(self.host.path().min_rtt) / 3;
        }
    }

    /// The sender was idle: the time since its last round began is no RTT.
    pub(super) fn restart_rounds(&mut self) {
        self.feedback.round_began = 0;
        self.feedback.round_end = 0;
    }
}
