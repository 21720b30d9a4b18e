//! The scoreboard of a flow: what its sender has sent, what has left the box, what has been delivered, and what is lost
//! (RFC 6675 §4, RACK: RFC 8985).
//!
//! Every count changes here and nowhere else. [`Scoreboard::check`] holds them against the pieces that they count.

mod bytes;
mod delivered;
mod hold;
mod rack;
mod ranges;
mod sent;

use bytes::Bytes;
pub(crate) use delivered::Overdue;
use serde::{Deserialize, Serialize};

use hold::Hold;
pub(crate) use hold::Piece;
use rack::Rack;
pub(crate) use rack::probe_timeout;
use ranges::Ranges;

use crate::Pkt;
use windlass_cc::Spare;

/// What one flow has under way. Offsets of the stream, and bytes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Scoreboard {
    hold: Hold,
    sacked: Spare<Ranges>,
    rack: Rack,
    /// Oldest offset not acknowledged by the receiver.
    una: u64,
    /// One past the highest offset received from the sender.
    nxt: u64,
    /// One past the highest offset sent to the receiver.
    sent_nxt: u64,
    inflight: Bytes,
    sacked_bytes: Bytes,
    lost_bytes: Bytes,
    /// Of these, bytes that have not come from the sender.
    missing_bytes: Bytes,
    /// Memory of the packets that are held for repair.
    held_bytes: u64,
    held_packets: u32,
    held_packets_max: u32,
    recovery: Spare<Recovery>,
}

/// What only recovery needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Recovery {
    /// For receivers without SACK: duplicate ACKs since `una` moved, and the bytes that they say
    /// have left the network, whichever those were (Linux `tcp_add_reno_sack`).
    dup_acks: u32,
    dup_bytes: Bytes,
    undo: Undo,
}

/// The retransmissions of the open recovery episode: if all of them were reported as duplicates, nothing had been lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Undo {
    /// Segments that have not been reported as duplicates.
    left: u32,
    /// Segments.
    resent: u32,
}

impl Default for Scoreboard {
    fn default() -> Self {
        Scoreboard {
            hold: Hold::default(),
            sacked: Spare::default(),
            rack: Rack::default(),
            una: 1,
            nxt: 1,
            sent_nxt: 1,
            inflight: Bytes::default(),
            sacked_bytes: Bytes::default(),
            lost_bytes: Bytes::default(),
            missing_bytes: Bytes::default(),
            held_bytes: 0,
            held_packets: 0,
            held_packets_max: 0,
            recovery: Spare::default(),
        }
    }
}

/// What it says.
impl Scoreboard {
    /// Oldest offset not acknowledged by the receiver.
    #[inline]
    pub(crate) fn una(&self) -> u64 {
        self.una
    }

    /// One past the highest offset received from the sender.
    #[inline]
    pub(crate) fn nxt(&self) -> u64 {
        self.nxt
    }

    /// One past the highest offset sent to the receiver.
    #[inline]
    pub(crate) fn sent_nxt(&self) -> u64 {
        self.sent_nxt
    }

    /// Bytes sent that are neither SACKed nor taken for lost.
    #[inline]
    pub(crate) fn inflight(&self) -> u64 {
        self.inflight.get()
    }

    /// The same less what duplicate ACKs speak for (RFC 6675 "pipe").
    #[inline]
    pub(crate) fn pipe(&self) -> u64 {
        let left = self.recovery.get().map_or(0, |open| open.dup_bytes.get());
        self.inflight.get().saturating_sub(left)
    }

    /// Bytes that the receiver holds out of order.
    #[inline]
    pub(crate) fn sacked_bytes(&self) -> u64 {
        self.sacked_bytes.get()
    }

    /// Bytes taken for lost and not sent again since.
    #[inline]
    pub(crate) fn lost_bytes(&self) -> u64 {
        self.lost_bytes.get()
    }

    /// Of these, bytes that have not come from the sender.
    #[inline]
    pub(crate) fn missing_bytes(&self) -> u64 {
        self.missing_bytes.get()
    }

    /// Bytes that wait for their first transmission.
    #[inline]
    pub(crate) fn queued(&self) -> u64 {
        self.nxt.saturating_sub(self.sent_nxt)
    }

    /// Everything the sender sent has been acknowledged.
    pub(crate) fn is_quiet(&self) -> bool {
        self.una == self.nxt && self.hold.is_empty()
    }

    /// Something has been sent and not been acknowledged.
    pub(crate) fn is_outstanding(&self) -> bool {
        self.sent_nxt > self.una
    }

    /// Packets held for repair, their memory, and the most packets at once.
    pub(crate) fn held(&self) -> (u32, u64, u32) {
        (self.held_packets, self.held_bytes, self.held_packets_max)
    }

    /// The packets held for repair.
    pub(crate) fn packets(&self) -> impl Iterator<Item = Pkt> + '_ {
        self.hold.iter().filter_map(|piece| piece.pkt)
    }

    /// Records of segments that are kept.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.hold.len()
    }

    /// The record of a segment.
    #[inline]
    pub(crate) fn piece(&self, index: usize) -> &Piece {
        self.hold.get(index)
    }

    /// The oldest record.
    #[inline]
    pub(crate) fn front(&self) -> Option<&Piece> {
        self.hold.front()
    }

    /// The piece that contains `offset`.
    pub(crate) fn index_of(&self, offset: u64) -> Option<usize> {
        self.hold.index_of(offset)
    }

    /// The first piece waiting for its first transmission.
    #[inline]
    pub(crate) fn unsent(&self) -> Option<usize> {
        self.hold.unsent()
    }

    /// The last piece that has been sent.
    pub(crate) fn last_sent(&self) -> Option<usize> {
        self.hold.last_sent()
    }

    /// The first piece that has been sent and has not arrived, as far as is known, if its packet is there.
    pub(crate) fn first_hole(&self) -> Option<usize> {
        self.hold.first_hole()
    }

    /// The lost piece that is to be repaired first.
    #[inline]
    pub(crate) fn next_lost(&mut self) -> Option<usize> {
        match self.lost_bytes.get() {
            0 => None,
            _ => self.hold.next_lost(),
        }
    }

    /// The oldest SACKed piece that still has its packet.
    pub(crate) fn next_sacked_held(&mut self) -> Option<usize> {
        self.hold.next_sacked_held()
    }

    /// The piece at `index` is SACKed, and its packet is kept: the receiver may take its word back.
    pub(crate) fn keep_sacked(&mut self, index: usize) {
        self.hold.keep_sacked(self.hold.get(index).start);
    }

    /// What the receiver has SACKed, at most `most` ranges ([`Ranges::telling`]).
    pub(crate) fn sacked_ranges(&self, most: usize) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.sacked
            .get()
            .into_iter()
            .flat_map(move |ranges| ranges.telling(most))
    }

    /// Segments sent again in the open episode.
    pub(crate) fn resent(&self) -> u32 {
        self.recovery.get().map_or(0, |open| open.undo.resent)
    }

    /// Words that a packet will need, read ahead.
    pub(crate) fn touch(&self) -> u64 {
        let parts = [self.una, self.held_bytes, self.hold.lost_hint()];
        parts.into_iter().fold(self.rack.touch(), u64::wrapping_add)
    }

    /// The same of the newest and the oldest piece.
    pub(crate) fn touch_hold(&self) -> u64 {
        self.hold.touch()
    }
}

/// Beginnings and ends.
impl Scoreboard {
    /// Nothing is known any more of what is under way. The packets have been taken out. So many records are gone.
    pub(crate) fn forget_all(&mut self) -> u64 {
        let gone = self.clear();
        self.rack.end_probe();
        self.nxt = self.una;
        self.sent_nxt = self.una;
        self.check();
        gone
    }

    /// The flow passes from here on. The packets have been taken out. So many records are gone.
    pub(crate) fn release(&mut self) -> u64 {
        let gone = self.clear();
        self.hold.shrink();
        gone
    }

    fn forget_ranges(&mut self) {
        if let Some(ranges) = self.sacked.edit_known() {
            ranges.clear();
        }
    }

    fn clear(&mut self) -> u64 {
        debug_assert!(self.held_packets == 0 && self.held_bytes == 0);
        let gone = self.hold.len() as u64;
        self.hold.clear();
        self.forget_ranges();
        let none = Bytes::default();
        (self.inflight, self.sacked_bytes, self.lost_bytes) = (none, none, none);
        self.missing_bytes = none;
        if let Some(open) = self.recovery.edit_known() {
            (open.dup_acks, open.dup_bytes) = (0, none);
        }
        gone
    }

    /// Both ends agree on these offsets. What is outstanding its sender repairs.
    pub(crate) fn resume(&mut self, una: u64, nxt: u64) {
        debug_assert!(self.hold.is_empty());
        self.una = una.max(self.una);
        self.nxt = nxt.max(self.una);
        self.sent_nxt = self.nxt;
    }

    /// Gives unused memory back.
    pub(crate) fn shrink(&mut self) {
        if self.hold.is_empty() {
            self.hold.shrink();
            self.sacked.clear();
        }
    }

    /// No record is kept.
    pub(crate) fn is_empty(&self) -> bool {
        self.hold.is_empty()
    }
}

/// Up to so many records are counted again after each event, in builds with assertions.
const CHECKED: usize = 48;

/// That the counts are right.
impl Scoreboard {
    /// Holds the counts against the pieces that they count.
    #[inline]
    pub(crate) fn check(&self) {
        if cfg!(debug_assertions) {
            self.check_counts();
        }
    }

    fn check_counts(&self) {
        assert!(self.una <= self.sent_nxt && self.sent_nxt <= self.nxt);
        assert!(self.held_packets > 0 || self.held_bytes == 0);
        let oldest = self.hold.front().map_or(self.nxt, |front| front.start);
        let counted = self.inflight() + self.sacked_bytes() + self.lost_bytes();
        assert!(counted <= self.nxt - oldest.min(self.nxt), "{self:?}");
        if self.hold.len() > CHECKED {
            return;
        }
        let sum = |of: fn(&Piece) -> bool| {
            let pieces = self.hold.iter().filter(|piece| of(piece));
            pieces.map(Piece::len).sum::<u64>()
        };
        assert_eq!(self.inflight(), sum(Piece::in_flight));
        assert_eq!(self.sacked_bytes(), sum(|piece| piece.sacked));
        assert_eq!(self.lost_bytes(), sum(|piece| piece.lost));
        assert_eq!(self.missing_bytes(), sum(|piece| piece.missing));
    }
}
