//! What comes from the sender: tracked, held, queued for sending.

use windlass_wire::{DataRewrite, Flags, Segment, Timestamps, parse};

use super::scoreboard::Piece;
use super::{Flow, Latest, TsvalFloor};
use crate::context::{Context, partial_at};
use crate::{Fate, HandBack, PassReason, Pkt, Pool, Room, Why, seq};

/// How far a sender may be ahead of what has been seen of it, bytes: who guesses numbers misses this.
pub(crate) const AHEAD_MAX: u64 = 1 << 24;

impl Flow {
    /// Data waits in the box for its first transmission.
    pub(crate) fn queued(&self) -> bool {
        self.board.queued() > 0
    }

    /// A packet from the sender, with data or without. Takes the packet over.
    pub(crate) fn on_data<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        segment: &Segment,
        pkt: Pkt,
    ) {
        let to = self.setup.sender.other();
        let len = u64::from(segment.seq_len());
        let start = seq::offset(self.setup.iss, segment.seq, self.board.nxt());
        if len == 0 || self.hands.pass.is_some() {
            return ctx.emit(pkt, to, segment);
        }
        let Some(start) = start.filter(|s| *s >= 1) else {
            return ctx.emit(pkt, to, segment);
        };
        ctx.counters.data_packets += 1;
        let end = start + len;
        if self.police(ctx, segment, pkt, (start, end)) {
            return;
        }
        if !self.polices() && end > self.allowed_edge() {
            self.on_data_beyond_edge(ctx, start);
        }
        if self.hands.pass.is_some() {
            return ctx.emit(pkt, to, segment);
        }
        if end <= self.board.nxt() {
            self.on_old_data(ctx, segment, pkt, start, end);
        } else {
            if start > self.board.nxt() {
                self.on_gap(ctx, start);
            }
            self.on_new_data(ctx, segment, pkt, self.board.nxt().max(start), end);
        }
    }

    /// A sender that goes on, in order, beyond the edge that it has been shown here has been shown
    /// another, by ACKs that take another way.
    fn on_data_beyond_edge<P: Pool>(&mut self, ctx: &mut Context<'_, P>, start: u64) {
        if self.enforcing() && start == self.board.nxt() {
            self.release_all(ctx, PassReason::OneWay);
        }
    }

    /// The same of data that is refused here: its sender may be far ahead, since such data is not kept
    /// track of.
    pub(crate) fn has_another_edge(&self, segment: &Segment) -> bool {
        let start = seq::offset(self.setup.iss, segment.seq, self.board.nxt());
        let ahead = start.and_then(|start| start.checked_sub(self.board.nxt()));
        self.enforcing() && ahead.is_some_and(|ahead| ahead <= AHEAD_MAX)
    }

    /// The acknowledgement that leaves in a packet of the sender, to be repeated by held ones.
    pub(crate) fn note_latest(&mut self, segment: &Segment, window: u16) {
        if !segment.flags.has(Flags::ACK) {
            return;
        }
        // Of those that acknowledge the same, the one with the newest data has the window (RFC 9293
        // §3.10.7.4, SND.WL1), or the one that opens it: a retransmission says what is true now. One
        // that comes once more, late, must not close it again.
        let newer = seq::later(segment.seq, self.words.latest.seq);
        let closes = window == 0 && segment.seq == self.words.latest.seq;
        let overtaken = segment.ack == self.words.latest.ack
            && !(newer || closes)
            && window <= self.words.latest.window;
        if seq::later(self.words.latest.ack, segment.ack) || overtaken {
            return;
        }
        self.words.latest = Latest {
            seq: segment.seq,
            ack: segment.ack,
            window,
            stamps: segment.options.timestamps.or(self.words.latest.stamps),
        };
    }

    /// The other direction has shown this acknowledgement: packets that are held repeat it.
    pub(crate) fn set_latest(&mut self, ack: u32, window: u16) {
        (self.words.latest.ack, self.words.latest.window) = (ack, window);
    }

    fn on_new_data<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        segment: &Segment,
        pkt: Pkt,
        start: u64,
        end: u64,
    ) {
        if self.board.len() >= ctx.limits.segments_per_flow
            || ctx.held.segments >= ctx.limits.segments_total
        {
            self.release_all(ctx, PassReason::SegmentLimit);
            return ctx.emit(pkt, self.setup.sender.other(), segment);
        }
        if self.board.una() == self.board.nxt() {
            self.on_restart(ctx);
            let begins =
                self.cold
                    .transfers
                    .on_data(ctx.now, self.board.una(), self.host.path().srtt);
            if begins {
                if let Some(trouble) = self.hands.trouble.edit_known() {
                    trouble.lost_ms = 0;
                }
                self.watch_transfer();
            }
        }
        let mut piece = Piece::arrived(start, end, ctx.now);
        piece.ack = segment.ack;
        piece.window = self.words.latest.window;
        piece.partial_at = partial_at(segment);
        if !self.enforcing() {
            return self.forward_unheld(ctx, piece, pkt);
        }
        let bytes = u64::from(ctx.pool.len(pkt));
        self.shed_sacked(ctx);
        if !self.has_room(ctx, pkt) {
            ctx.counters.unheld += 1;
            let of_prefix = !ctx.held.has_share(self.setup.prefix, ctx.limits);
            ctx.counters.unheld_of_prefix += u64::from(of_prefix);
            self.forward_unheld(ctx, piece, pkt);
            return self.note_unheld(ctx);
        }
        if let Some(trouble) = self.hands.trouble.edit_known() {
            trouble.unheld = 0;
        }
        ctx.held.add(self.setup.prefix, ctx.pool.len(pkt));
        piece.pkt = Some(pkt);
        ctx.fate = Fate::Held;
        self.board.take_in(piece, bytes);
        ctx.held.segments += 1;
        self.pump(ctx);
    }

    /// There is room to hold a packet.
    fn has_room<P: Pool>(&self, ctx: &Context<'_, P>, pkt: Pkt) -> bool {
        let bytes = ctx.pool.len(pkt);
        let has_room = ctx.held.has_room(self.setup.prefix, bytes, ctx.limits);
        has_room && ctx.pool.room() != Room::None
    }

    /// Where memory is short, or this prefix's share of it, what the receiver has SACKed goes first. Should it take its word back, the
    /// sender still has it.
    pub(crate) fn shed_sacked<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        while self.board.sacked_bytes() > 0
            && self.memory_is_short(ctx)
            && let Some(index) = self.board.next_sacked_held()
        {
            ctx.counters.sacked_freed += 1;
            let pkt = self.board.take_packet(index);
            self.drop_packet(ctx, pkt);
        }
    }

    fn memory_is_short<P: Pool>(&self, ctx: &Context<'_, P>) -> bool {
        let has_room = ctx.held.has_room(self.setup.prefix, 0, ctx.limits);
        ctx.pool.room() != Room::Enough || !has_room
    }

    /// Sends a new segment at once and keeps only its record. What is queued goes first.
    fn forward_unheld<P: Pool>(&mut self, ctx: &mut Context<'_, P>, piece: Piece, pkt: Pkt) {
        self.send_waiting(ctx, u64::MAX);
        let index = self.board.len();
        self.board.take_in(piece, 0);
        ctx.held.segments += 1;
        self.account_transmission(ctx, index);
        if !self.enforcing() {
            self.watch_new_data(ctx.now, piece.len());
        }
        ctx.emit_partial(pkt, self.setup.sender.other(), piece.partial_at, Why::First);
    }

    /// A retransmission, or a packet that was overtaken.
    fn on_old_data<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        segment: &Segment,
        pkt: Pkt,
        start: u64,
        end: u64,
    ) {
        self.cold.tally_mut().sender_retransmissions += 1;
        if !self.enforcing() {
            ctx.counters.sender_retransmissions_passed += 1;
            self.watch_retransmission(ctx, start);
            self.note_sender_retransmission(ctx, start, end);
            return ctx.emit(pkt, self.setup.sender.other(), segment);
        }
        let known = end <= self.view.ack();
        if known && (end - start <= 1 || self.board.una() == self.board.nxt()) {
            // The sender knows that the receiver has this: it asks whether the receiver is alive.
            return ctx.emit(pkt, self.setup.sender.other(), segment);
        }
        if end <= self.board.una() {
            // The receiver has it, but the ACK is still waiting here, or was lost on its way. Should this go on, its newer
            // TSval would make the receiver drop what is repaired here (PAWS).
            ctx.swallow(pkt, Fate::RepeatAnswered);
            ctx.counters.sender_retransmissions_absorbed += 1;
            return match known {
                true => self.repeat_ack(ctx),
                false => self.answer_known_data(ctx, start, end),
            };
        }
        if self.in_charge() {
            match self.board.missing_at((start, end)) {
                Some(gap) if self.has_room(ctx, pkt) => {
                    return self.fill_gap(ctx, segment, pkt, gap, (start, end));
                }
                _ if self.board.is_missing((start, end)) => self.hand_back(ctx, HandBack::Gap),
                _ => self.consider_hand_back(ctx, (start, end)),
            }
        }
        if self.in_charge() {
            ctx.counters.sender_retransmissions_absorbed += 1;
            ctx.fate = Fate::RepeatAbsorbed;
            self.replace_held(ctx, segment, pkt, (start, end));
            match self.may_react(ctx.now) {
                true => self.note_reaction(),
                false => self.view.absorb(start, end),
            }
            return self.pump(ctx);
        }
        // It does not overtake what waits here: what has left lies before what has not.
        self.send_waiting(ctx, end);
        ctx.counters.sender_retransmissions_passed += 1;
        self.note_sender_retransmission(ctx, start, end);
        if let Some(stamps) = segment.options.timestamps {
            self.raise_tsval_floor(stamps.val);
        }
        ctx.emit(pkt, self.setup.sender.other(), segment);
    }

    /// The newest that the sender says of a segment is what is repaired from here on. It keeps the
    /// TSval of the first, whose echo tells the sender that its own time-out was not needed (RFC 3522).
    fn replace_held<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        segment: &Segment,
        pkt: Pkt,
        (start, end): (u64, u64),
    ) {
        let same = |piece: &Piece| (piece.start, piece.end) == (start, end);
        let index = self.board.index_of(start.max(self.board.una()));
        let index = index.filter(|&index| same(self.board.piece(index)));
        let held = index.and_then(|i| Some((i, self.board.piece(i).pkt?)));
        // It may be longer, by options, than what is held may become.
        let fits = |old| {
            let longer = ctx.pool.len(pkt).saturating_sub(ctx.pool.len(old));
            ctx.held.bytes + u64::from(longer) <= ctx.limits.held_bytes_total
        };
        let Some((index, old)) = held.filter(|(_, old)| fits(*old)) else {
            return ctx.pool.free(pkt);
        };
        let before = parse(ctx.pool.head(old), ctx.pool.len(old)).ok();
        let first = before.and_then(|before| before.options.timestamps);
        if let (Some(first), Some(stamps)) = (first, segment.options.timestamps) {
            let rewrite = DataRewrite {
                timestamps: Some(Timestamps {
                    val: first.val,
                    ecr: stamps.ecr,
                }),
                ..DataRewrite::default()
            };
            rewrite.apply(ctx.pool.head_mut(pkt), segment);
        }
        let (freed, taken) = (ctx.pool.len(old), ctx.pool.len(pkt));
        ctx.held.add(self.setup.prefix, taken);
        ctx.held.remove(self.setup.prefix, freed);
        ctx.pool.free(old);
        self.board
            .replace_packet(index, pkt, u64::from(freed), u64::from(taken));
        self.board
            .note_words(index, segment.ack, self.words.latest.window);
        self.board.note_partial(index, partial_at(segment));
    }

    /// The TSval that packets have been given at least, if any.
    pub(crate) fn tsval_floor(&self) -> Option<u32> {
        self.words.owed.get()?.tsval_floor.map(|floor| floor.val)
    }

    /// From here on no packet leaves with an older TSval.
    pub(crate) fn raise_tsval_floor(&mut self, tsval: u32) {
        let owed = self.words.owed.edit();
        let una = self.board.una();
        let val = match owed.tsval_floor.filter(|floor| una < floor.until.get()) {
            Some(floor) if seq::later(floor.val, tsval) => floor.val,
            _ => tsval,
        };
        owed.tsval_floor = Some(TsvalFloor {
            val,
            until: seq::of_data(self.board.nxt()),
        });
    }

    /// The sender's own retransmission leaves: it counts like ours.
    fn note_sender_retransmission<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        start: u64,
        end: u64,
    ) {
        let Some(mut index) = self.board.index_of(start.max(self.board.una())) else {
            return;
        };
        while index < self.board.len() && self.board.piece(index).start < end {
            let piece = self.board.piece(index);
            let bytes = end.min(piece.end) - start.max(piece.start);
            if piece.sent && !piece.sacked {
                self.account_part(ctx, index, bytes);
                self.board.came_again(index, ctx.now);
            }
            index += 1;
        }
    }

    /// True for a packet that carries nothing but an acknowledgement.
    pub(crate) fn is_pure_ack(segment: &Segment) -> bool {
        const SPECIAL: Flags = Flags(Flags::SYN.0 | Flags::FIN.0 | Flags::RST.0 | Flags::URG.0);
        segment.payload_len == 0
            && segment.flags.has(Flags::ACK)
            && segment.flags.0 & SPECIAL.0 == 0
    }
}
