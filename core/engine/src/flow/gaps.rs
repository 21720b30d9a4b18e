//! Gaps in what the sender sends: packets that were lost, or overtaken, before they came to the box.
//!
//! Only the sender can fill them. Until it has, it sees the receiver's ACKs and SACK blocks as they are. The box goes on
//! holding, repairing, pacing and steering. The loss is told to the box's algorithm, which answers for the whole path; so
//! the sender's own reaction to it is taken back: the ACK that ends its recovery echoes a timestamp from before it began,
//! and the sender undoes what it did (RFC 3522, RFC 4015; Linux: `tcp_packet_delayed`, `tcp_input.c` 6.12).

use serde::{Deserialize, Serialize};
use windlass_cc::Nanos;
use windlass_cc::host::Ack;
use windlass_wire::Segment;

use super::Flow;
use super::scoreboard::Piece;
use crate::context::{Context, partial_at};
use crate::limits::RTO_MIN;
use crate::{Fate, HandBack, Pkt, Pool};

/// Of so many bytes of the stream,
const DENSITY_BYTES: u64 = 1 << 20;
/// as many may be missing before the sender repairs alone: more loss than that is a queue that overflows.
const MISSING_BYTES_MAX: u64 = 1 << 16;
/// A sender's reaction comes within so many of its round trips.
const REACTION_ROUND_TRIPS: Nanos = 2;
/// A gap that is filled after so many round trips and so much more, ns, was filled after the sender's time-out.
const SLOW_ROUND_TRIPS: Nanos = 4;
const SLOW_MIN: Nanos = RTO_MIN;
/// A sender that does so as often repairs better alone: it may not know SACK, because another box speaks for it.
const SLOW_FILLS_MAX: u8 = 2;
/// ACKs that echo the old timestamp: one may be lost on its way to the sender.
const CALMING_ACKS: u8 = 3;

/// What is missing, and what becomes of the sender's reaction.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Gaps {
    /// Bytes that were missing since this offset.
    counted_from: u64,
    missing: u64,
    /// What the receiver had echoed when the sender began to react: older than its first retransmission.
    echo: Option<u32>,
    /// The sender's reaction ends when this has been acknowledged.
    reacts_until: u64,
    /// ACKs from there on that still take it back; 0: it does not react.
    acks_left: u8,
    /// Gaps that were filled late.
    slow_fills: u8,
    /// When the sender has last been shown what the receiver says.
    shown_at: Nanos,
}

impl Flow {
    /// Its sender fills gaps: it sees what the receiver says, although the box is in charge.
    #[inline]
    pub(super) fn is_frank(&self) -> bool {
        self.board.una() < self.hands.gap_until()
    }

    /// What is outstanding waits for the sender alone. Not so if the receiver has SACKed what it expects next: it has
    /// let go of that (RFC 2018 §8), and the box has it.
    pub(super) fn waits_for_sender(&self) -> bool {
        let missing = self.board.missing_bytes();
        let alone = self.board.inflight() == 0 && self.board.lost_bytes() == missing;
        let next_is_missing = self.board.front().is_some_and(|front| front.missing);
        next_is_missing && alone && self.in_charge()
    }

    /// What lies before `start` has not come.
    pub(super) fn on_gap<P: Pool>(&mut self, ctx: &mut Context<'_, P>, start: u64) {
        let len = start - self.board.nxt();
        let bears = self.in_charge() && self.bears_gap(len);
        self.board.skip_to(start, ctx.now);
        ctx.held.segments += 1;
        if bears {
            ctx.counters.gaps += 1;
            self.release_pending(ctx);
            self.show_gap(ctx.now, start);
        } else if self.enforcing() {
            self.hand_back(ctx, HandBack::Gap);
        }
    }

    /// Few enough bytes are missing, and the sender can be told which.
    fn bears_gap(&mut self, len: u64) -> bool {
        let gaps = &mut self.cold.rare.edit().gaps;
        if self.board.nxt() - gaps.counted_from > DENSITY_BYTES {
            (gaps.counted_from, gaps.missing) = (self.board.nxt(), 0);
        }
        gaps.missing += len;
        let few = gaps.missing <= MISSING_BYTES_MAX;
        let able = gaps.slow_fills < SLOW_FILLS_MAX && !self.polices();
        few && able && self.setup.receiver_sacks && self.setup.sender_sacks
    }

    /// What was missing comes.
    pub(super) fn fill_gap<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        segment: &Segment,
        pkt: Pkt,
        gap: usize,
        (start, end): (u64, u64),
    ) {
        let waited = ctx.now.saturating_sub(self.board.piece(gap).arrived_at);
        let bytes = u64::from(ctx.pool.len(pkt));
        ctx.held.add(self.setup.prefix, ctx.pool.len(pkt));
        let mut piece = Piece::arrived(start, end, ctx.now);
        piece.pkt = Some(pkt);
        ctx.fate = Fate::Held;
        (piece.ack, piece.window) = (segment.ack, self.words.latest.window);
        piece.partial_at = partial_at(segment);
        ctx.held.segments += self.board.fill(gap, piece, bytes) as u64;
        if let Some(stamps) = segment.options.timestamps {
            // The receiver sees it before what follows.
            self.raise_tsval_floor(stamps.val);
        }
        if waited > SLOW_ROUND_TRIPS * (self.host.path().srtt + self.near_rtt()) + SLOW_MIN {
            let gaps = &mut self.cold.rare.edit().gaps;
            gaps.slow_fills = gaps.slow_fills.saturating_add(1);
        }
        if waited >= self.least_reaction_time() {
            ctx.counters.sender_retransmissions_passed += 1;
            self.note_reaction();
            let mut ack = Ack::new(ctx.now, self.board.inflight());
            self.host.lost(&mut ack, end - start, true);
            self.report_loss(ctx, &ack);
        }
        self.pump(ctx);
    }

    /// No sender can know earlier that something was lost: what comes earlier was overtaken.
    fn least_reaction_time(&self) -> Nanos {
        self.host.path().min_rtt.saturating_add(self.near_rtt() / 2)
    }

    /// From here on the sender sees that what lies before `start` is missing.
    fn show_gap(&mut self, now: Nanos, start: u64) {
        if !self.may_react(now) {
            self.forget_reaction();
        }
        self.hands.trouble.edit().gap_until = start;
        if self.setup.timestamps {
            let gaps = &mut self.cold.rare.edit().gaps;
            let over = self.board.una() >= gaps.reacts_until;
            // Before it has echoed anything, there is nothing older that could be shown.
            let shown = Some(self.view.tsecr()).filter(|tsecr| *tsecr != 0);
            gaps.echo = gaps.echo.filter(|_| !over).or(shown);
        }
    }

    /// The sender has been shown what the receiver says.
    pub(super) fn note_frankness(&mut self, now: Nanos) {
        self.cold.rare.edit().gaps.shown_at = now;
    }

    /// A retransmission of the sender may come from what it has been shown.
    pub(super) fn may_react(&self, now: Nanos) -> bool {
        let round_trip = self.host.path().srtt + self.near_rtt();
        let shown_at = self.cold.rare.read().gaps.shown_at;
        shown_at > 0 && now - shown_at <= REACTION_ROUND_TRIPS * round_trip
    }

    /// The sender retransmits, because a gap was shown to it: its window is smaller until all that it has sent is
    /// acknowledged.
    pub(super) fn note_reaction(&mut self) {
        let until = self.board.nxt();
        let gaps = &mut self.cold.rare.edit().gaps;
        gaps.reacts_until = until;
        gaps.acks_left = CALMING_ACKS;
        let trouble = self.hands.trouble.edit();
        trouble.gap_until = trouble.gap_until.max(until);
    }

    /// The sender's reaction stands.
    pub(super) fn forget_reaction(&mut self) {
        if let Some(rare) = self.cold.rare.edit_known() {
            rare.gaps.echo = None;
            rare.gaps.acks_left = 0;
        }
    }

    /// What an ACK of `ack` echoes in place of what the receiver does, while the sender reacts to a gap.
    pub(super) fn tsecr_that_calms(&mut self, ack: u64) -> Option<u32> {
        if self.hands.gap_until() == 0 {
            // There has been none: nothing of the cold part is needed.
            return None;
        }
        let gaps = &mut self.cold.rare.edit().gaps;
        if gaps.acks_left == 0 || gaps.slow_fills >= SLOW_FILLS_MAX {
            return None;
        }
        if ack >= gaps.reacts_until {
            gaps.acks_left -= 1;
        }
        gaps.echo
    }
}
