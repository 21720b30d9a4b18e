//! What two boxes tell each other of marks, and what is done when nothing is told.

use serde::{Deserialize, Serialize};
use windlass_wire::{Ecn, Flags, MarkedBytes, PeerOption, Segment, Template};

use super::{Peer, Stage, stamp};
use crate::context::{Context, partial_at};
use crate::{Counters, Pkt, Pool, Side, Why, seq};

/// So much may be acknowledged, by so many packets, without a report before the other box is taken
/// to be gone. From then on nothing is marked that nobody would report.
const SILENT_BYTES_MAX: u64 = 1 << 20;
const SILENT_ACKS_MAX: u32 = 8;
/// A report of its own leaves for every so many full segments, as ACKs do (RFC 5681 §4.2).
const SEGMENTS_PER_REPORT: u32 = 2;

/// A byte of the guest arrives so often at most: with the box's repairs and copies, and what the
/// network doubles. What claims more is no report of the other box.
const ARRIVALS_PER_BYTE: u64 = 4;
/// A report that says so much less than another has been overtaken by it.
const OVERTAKEN_BYTES_MAX: u32 = 1 << 30;

/// What has been acknowledged since the last report.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Silence {
    ack: Option<u32>,
    bytes: u64,
    acks: u32,
}

impl Peer {
    /// Counts what arrives from the other guest, second copies included.
    pub(super) fn count(&mut self, segment: &Segment) {
        self.arrived.total = self.arrived.total.wrapping_add(segment.payload_len);
        if segment.ecn == Ecn::Ce {
            self.arrived.ce = self.arrived.ce.wrapping_add(segment.payload_len);
        }
    }

    /// Takes a report in. How much is newly marked, bytes; an older report says nothing.
    pub(super) fn hear(&mut self, counters: &mut Counters, counts: MarkedBytes) -> u64 {
        if self.stage == Stage::Answered {
            counters.peers_found += 1;
            self.stage = Stage::There;
        }
        if self.stage != Stage::There {
            return 0;
        }
        let (iss, peer_iss) = self.numbers;
        let counts = counts.masked(peer_iss, iss);
        let total = counts.total.wrapping_sub(self.heard.total);
        let marked = counts.ce.wrapping_sub(self.heard.ce);
        let overtaken = self.heard.total.wrapping_sub(counts.total) <= OVERTAKEN_BYTES_MAX;
        let bytes = self.heard_bytes + u64::from(total);
        let plausible = bytes <= ARRIVALS_PER_BYTE * self.left_bytes && marked <= total;
        if !plausible && !overtaken {
            counters.reports_refused += 1;
            return 0;
        }
        counters.reports_heard += 1;
        (self.silence.bytes, self.silence.acks) = (0, 0);
        if !plausible {
            return 0;
        }
        self.heard = counts;
        self.heard_bytes = bytes;
        u64::from(marked)
    }

    /// An acknowledgement without a report.
    pub(super) fn note_silence(&mut self, counters: &mut Counters, segment: &Segment) {
        if !self.is_there() || !segment.flags.has(Flags::ACK) {
            return;
        }
        let last = self.silence.ack.unwrap_or(segment.ack);
        if seq::later(segment.ack, last) {
            self.silence.bytes += u64::from(segment.ack.wrapping_sub(last));
            self.silence.acks += 1;
        }
        if self.silence.ack.is_none() || seq::later(segment.ack, last) {
            self.silence.ack = Some(segment.ack);
        }
        if self.silence.bytes > SILENT_BYTES_MAX && self.silence.acks > SILENT_ACKS_MAX {
            self.gone(&mut counters.peers_lost);
        }
    }

    /// Tells what has arrived: in the guest's packet if there is room, else beside it.
    pub(super) fn report<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        segment: &mut Segment,
        pkt: Pkt,
        window: u16,
    ) {
        // One that others have overtaken may be refused over there, with what it reports.
        let overtaken = |shown| seq::later(shown, segment.ack);
        let active = matches!(self.stage, Stage::Answered | Stage::There)
            && !self.shown_ack.is_some_and(overtaken);
        if !active || !segment.flags.has(Flags::ACK) || self.told == Some(self.arrived) {
            return;
        }
        let head = ctx.pool.head(pkt);
        let known = self.template.as_ref();
        if known.is_none_or(|template| !template.has_addresses_of(head)) {
            self.template = Some(Template::of(head, segment));
        }
        let says = PeerOption::Report(self.arrived.masked(self.numbers.0, self.numbers.1));
        let header = u32::from(segment.at.payload - segment.at.tcp);
        let fits = header + segment.payload_len + says.bytes().1 as u32 <= self.full_bytes;
        let longer = fits.then(|| stamp::with_option(ctx, segment, pkt, says));
        if let Some(longer) = longer.flatten() {
            *segment = longer;
            ctx.counters.reports_carried += 1;
            self.told = Some(self.arrived);
        } else if self.worth_a_packet() {
            self.report_alone(ctx, segment, window);
        }
    }

    fn worth_a_packet(&self) -> bool {
        let Some(told) = self.told else {
            return true;
        };
        let fresh = self.arrived.total.wrapping_sub(told.total);
        fresh >= SEGMENTS_PER_REPORT * self.full_bytes || self.arrived.ce != told.ce
    }

    /// A packet of the box's own (FACK). It is ECN-capable, or switches that mark would drop it; and
    /// for a guest whose box has died it is an old ACK, which says nothing.
    fn report_alone<P: Pool>(&mut self, ctx: &mut Context<'_, P>, segment: &Segment, window: u16) {
        let (Some(template), Some(shown)) = (&self.template, self.shown_ack) else {
            return;
        };
        let fields = windlass_wire::AckFields {
            seq: segment.seq,
            ack: shown.wrapping_sub(1),
            flags: Flags::ACK,
            window,
            timestamps: segment.options.timestamps,
            ..Default::default()
        };
        let len = template.ack_len(&fields) as u32;
        let Some(pkt) = ctx.pool.alloc(len) else {
            return;
        };
        let made = template.write_ack(ctx.pool.head_mut(pkt), &fields);
        let bare = made.and_then(|_| windlass_wire::parse(ctx.pool.head(pkt), len).ok());
        let says = PeerOption::ReportAlone(self.arrived.masked(self.numbers.0, self.numbers.1));
        let full = bare.and_then(|bare| stamp::with_option(ctx, &bare, pkt, says));
        let Some(mut full) = full else {
            return ctx.pool.free(pkt);
        };
        stamp::set_ecn(ctx, &mut full, pkt, Ecn::Ect0);
        ctx.counters.reports_alone += 1;
        self.told = Some(self.arrived);
        ctx.emit_partial(pkt, Side::Outside, partial_at(&full), Why::Report);
    }
}
