//! What the box says to the sender in its own words: window updates, repeated ACKs, DSACKs. The ACK
//! number is always one that the receiver has sent.

use windlass_cc::{MILLISECOND, Nanos};
use windlass_wire::{AckFields, Flags, SackBlocks, Timestamps};

use super::Flow;
use super::scale::scaled;
use crate::context::Context;
use crate::{Pool, Why, seq};

/// A window update of the box's own at most this often, ns; on short paths sixteen times in a round trip.
const UPDATE_INTERVAL: Nanos = MILLISECOND;
const UPDATE_SIXTEENTHS: Nanos = 1;
/// SACK blocks that have room beside timestamps (RFC 2018 §3).
const SACK_BLOCKS: usize = 3;
/// Such updates each time the sender uses up what it may be ahead.
const UPDATES_PER_ALLOWANCE: u64 = 4;

impl Flow {
    /// Repeats the acknowledgement that was written into a packet of the receiver which waits in
    /// the box for its turn.
    pub(crate) fn repeat_ack<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        if self.enforcing() {
            self.make_ack(ctx, self.view.ack());
        }
    }

    /// The absorbed probe, once `ack` covers it: a DSACK block tells a sender that does SACK that
    /// its probe repaired nothing.
    pub(super) fn dsack_due(&self, ack: u64) -> Option<(u64, u64)> {
        let absorbed = self.view.absorbed_below(ack);
        absorbed.filter(|_| self.setup.sender_sacks)
    }

    /// The sender sent what the receiver has: it needs the ACK it has not seen, and the news that
    /// nothing was lost.
    pub(crate) fn answer_known_data<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        start: u64,
        end: u64,
    ) {
        self.view.absorb(start, end);
        self.drop_pending(ctx);
        self.make_ack(ctx, self.board.una());
    }

    /// After sending: the edge has moved with what was sent. The sender is told before it has used
    /// up what it was shown, since it waits for room for a burst.
    pub(crate) fn offer_room<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        let interval = scaled(UPDATE_INTERVAL, self.round_trip(), UPDATE_SIXTEENTHS);
        if !self.in_charge() || self.view.since_update(ctx.now) < interval {
            return;
        }
        let allowance = self.queue_allowance();
        if self.view.edge() > self.board.nxt() + allowance {
            return;
        }
        let aim = self.aim_ahead(ctx.limits.held_bytes_per_flow, allowance);
        let gain = self.edge_gain(self.view.ack(), aim);
        if gain < self.least_news(allowance) && !self.ends_wait_for_delayed_ack(gain) {
            return;
        }
        self.view.note_update(ctx.now);
        self.make_ack(ctx, self.view.ack());
    }

    /// An update is worth its packet from so many bytes on. With a window of few segments, the sender would else have nothing on
    /// its way when the window opens.
    fn least_news(&self, allowance: u64) -> u64 {
        let mss = u64::from(self.host.path().mss);
        match self.has_few_segments() {
            true => mss,
            false => (allowance / UPDATES_PER_ALLOWANCE).max(2 * mss),
        }
    }

    /// One segment is on its way, and its receiver waits for the next one before it acknowledges (RFC 1122 §4.2.3.2). The
    /// sender has room for a part of one, and sends no part, until the edge moves by so much. This happens to a sender that may
    /// be one and a half segments ahead.
    fn ends_wait_for_delayed_ack(&self, gain: u64) -> bool {
        let mss = u64::from(self.host.path().mss);
        let room = self.view.edge().saturating_sub(self.board.nxt());
        let one_is_on_its_way = self.board.inflight() < 2 * mss;
        self.has_few_segments() && one_is_on_its_way && room < mss && room + gain >= mss
    }

    /// What the receiver has SACKed, which was hidden from the sender: from here on it repairs, and would else hear of
    /// its losses by its own time-out.
    pub(super) fn tell_sacked<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        let blocks = self.blocks(self.board.sacked_ranges(SACK_BLOCKS));
        if self.enforcing() && self.setup.sender_sacks && blocks.count > 0 {
            self.send_ack(ctx, self.board.una(), blocks);
        }
    }

    /// An ACK of the box's own making: a number the receiver has sent, nothing newer than has been
    /// shown in its timestamp. False if there is no memory for it.
    pub(super) fn make_ack<P: Pool>(&mut self, ctx: &mut Context<'_, P>, ack: u64) -> bool {
        let dsack = self.dsack_due(ack);
        let sack = self.blocks(dsack.into_iter());
        let sent = self.send_ack(ctx, ack, sack);
        if sent && dsack.is_some() {
            self.view.forget_absorbed();
            ctx.counters.dsacks_told += 1;
        }
        sent
    }

    /// At most [`SACK_BLOCKS`] ranges of the stream as SACK blocks.
    fn blocks(&self, ranges: impl Iterator<Item = (u64, u64)>) -> SackBlocks {
        let mut sack = SackBlocks::default();
        for (block, range) in sack.blocks.iter_mut().zip(ranges.take(SACK_BLOCKS)) {
            *block = self.numbers(range);
            sack.count += 1;
        }
        sack
    }

    fn send_ack<P: Pool>(&mut self, ctx: &mut Context<'_, P>, ack: u64, sack: SackBlocks) -> bool {
        let Some(template) = self.cold.template else {
            return false;
        };
        let timestamps = match (self.setup.timestamps, self.view.tsval()) {
            (false, _) => None,
            (true, Some(val)) => Some(Timestamps {
                val,
                ecr: self.tsecr_that_calms(ack).unwrap_or(self.view.tsecr()),
            }),
            (true, None) => return false,
        };
        let mut fields = AckFields {
            seq: self.view.receiver_next(),
            ack: seq::number(self.setup.iss, ack),
            flags: Flags::ACK,
            window: 0,
            timestamps,
            sack,
        };
        let Some(pkt) = ctx.pool.alloc(template.ack_len(&fields) as u32) else {
            return false;
        };
        let aim = self.aim(ctx.limits.held_bytes_per_flow);
        fields.window = self.show_edge(ack, aim);
        if template
            .write_ack(ctx.pool.head_mut(pkt), &fields)
            .is_none()
        {
            ctx.pool.free(pkt);
            return false;
        }
        self.note_shown(ctx.now, ack);
        ctx.counters.acks_made += 1;
        ctx.emit_partial(pkt, self.setup.sender, 0, Why::AckMade);
        true
    }

    /// The last acknowledgement shown, as header fields (for packets of the other direction).
    pub(crate) fn shown_fields(&mut self) -> (u32, u16) {
        let units = self.view.repeat_window(self.setup.scale);
        (seq::number(self.setup.iss, self.view.ack()), units)
    }
}
