//! What the sender brings, and what leaves.

use windlass_cc::{Nanos, RateSnapshot};

use super::Scoreboard;
use super::hold::{Piece, Transmission};
use crate::Pkt;

/// A piece that is about to leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaving {
    /// Its length.
    pub len: u64,
    /// It has left before.
    pub again: bool,
    /// Nothing else is in flight.
    pub first: bool,
    /// Bytes in flight that its rate sample remembers.
    pub sampled_inflight: u64,
    /// Bytes in flight with it.
    pub inflight: u64,
}

/// What the sender brings.
impl Scoreboard {
    /// A new segment, with or without its packet, of which `bytes` of memory are held.
    pub(crate) fn take_in(&mut self, piece: Piece, bytes: u64) {
        debug_assert!(piece.end > self.nxt && piece.start >= self.nxt);
        self.nxt = piece.end;
        if piece.pkt.is_some() {
            self.held_bytes += bytes;
            self.held_packets += 1;
            self.held_packets_max = self.held_packets_max.max(self.held_packets);
        }
        self.hold.push(piece);
        self.check();
    }

    /// Everything up to `start` was lost or overtaken before it came here. Its sender will send it again.
    pub(crate) fn skip_to(&mut self, start: u64, now: Nanos) {
        debug_assert!(start > self.nxt);
        let all_sent = self.hold.unsent().is_none();
        let piece = Piece {
            sent_at: now,
            sent: true,
            lost: true,
            missing: true,
            ..Piece::arrived(self.nxt, start, now)
        };
        self.lost_bytes += piece.len();
        self.missing_bytes += piece.len();
        self.hold.push_missing(piece);
        self.nxt = start;
        if all_sent {
            self.sent_nxt = self.sent_nxt.max(start);
        }
        self.check();
    }

    /// The missing piece that contains all of this; `None`: there is none.
    pub(crate) fn missing_at(&self, (start, end): (u64, u64)) -> Option<usize> {
        let index = self.hold.index_of(start)?;
        let piece = self.hold.get(index);
        (piece.missing && end <= piece.end).then_some(index)
    }

    /// A part of this is missing.
    pub(crate) fn is_missing(&self, (start, end): (u64, u64)) -> bool {
        let first = self.hold.index_of(start.max(self.una));
        let mut pieces = (first.unwrap_or(self.hold.len())..self.hold.len())
            .map(|index| self.hold.get(index))
            .take_while(|piece| piece.start < end);
        self.missing_bytes() > 0 && pieces.any(|piece| piece.missing)
    }

    /// What was missing comes: `piece`, with a packet of `bytes`, a part of the one at `index`. It is repaired next, or waits
    /// for its turn if nothing behind it has been sent. So many records are new.
    pub(crate) fn fill(&mut self, index: usize, piece: Piece, bytes: u64) -> usize {
        debug_assert!(piece.pkt.is_some());
        let (at, more) = self.hold.fill(index, piece);
        self.missing_bytes -= piece.len();
        if !self.hold.get(at).lost {
            self.lost_bytes -= piece.len();
        }
        self.held_bytes += bytes;
        self.held_packets += 1;
        self.held_packets_max = self.held_packets_max.max(self.held_packets);
        self.check();
        more
    }

    /// Another packet takes the place of the one that is held.
    pub(crate) fn replace_packet(&mut self, index: usize, pkt: Pkt, freed: u64, taken: u64) {
        debug_assert!(self.hold.get(index).pkt.is_some());
        self.held_bytes = self.held_bytes + taken - freed;
        self.hold.get_mut(index).pkt = Some(pkt);
    }

    /// What the held packet says of the other direction.
    pub(crate) fn note_words(&mut self, index: usize, ack: u32, window: u16) {
        let piece = self.hold.get_mut(index);
        (piece.ack, piece.window) = (ack, window);
    }

    /// Where its TCP header begins if its checksum is partial, else 0.
    pub(crate) fn note_partial(&mut self, index: usize, partial_at: u16) {
        self.hold.get_mut(index).partial_at = partial_at;
    }

    /// The box has set CWR in it, or has not.
    pub(crate) fn note_cwr(&mut self, index: usize, cwr: bool) {
        self.hold.get_mut(index).cwr = cwr;
    }

    /// Its sender, who has the flow in its hands, has sent it again.
    pub(crate) fn came_again(&mut self, index: usize, now: Nanos) {
        self.hold.get_mut(index).arrived_at = now;
    }

    /// Takes the packet out of the record: the caller frees it and says so by [`Scoreboard::freed`].
    pub(crate) fn take_packet(&mut self, index: usize) -> Option<Pkt> {
        self.hold.get_mut(index).pkt.take()
    }

    /// A packet that was held is no more.
    pub(crate) fn freed(&mut self, bytes: u64) {
        debug_assert!(self.held_packets > 0 && self.held_bytes >= bytes);
        self.held_bytes -= bytes;
        self.held_packets -= 1;
    }
}

/// What leaves.
impl Scoreboard {
    /// The piece at `index` leaves at `now`. `told` is asked for the state of the rate sampler; `copies`: so many copies
    /// have left before it; `timed`: RACK watches it.
    #[inline]
    pub(crate) fn send(
        &mut self,
        index: usize,
        now: Nanos,
        copies: u32,
        timed: bool,
        told: impl FnOnce(&Leaving) -> RateSnapshot,
    ) -> Leaving {
        let piece = self.hold.get(index);
        let (start, end, again) = (piece.start, piece.end, piece.transmissions > 0);
        let (len, sent) = (piece.len(), piece.sent);
        let (lost, missing) = (piece.lost, piece.missing);
        let (first, sampled_inflight) = (self.inflight() == 0, self.inflight() + len);
        if lost {
            self.lost_bytes -= len;
        }
        if missing {
            self.missing_bytes -= len;
        }
        if !sent || lost {
            self.inflight += len;
        }
        let leaving = Leaving {
            len,
            again,
            first,
            sampled_inflight,
            inflight: self.inflight(),
        };
        let snapshot = told(&leaving);
        self.hold.sent(index, now, snapshot, copies);
        if timed {
            self.note_transmission(start, now);
        }
        if !sent {
            self.hold.advance_unsent();
            self.sent_nxt = self.sent_nxt.max(end);
        }
        self.check();
        leaving
    }

    /// A copy of the piece at `index` leaves at `now`: until it has had its time, the segment is not lost.
    pub(crate) fn send_copy(&mut self, index: usize, now: Nanos, timed: bool) {
        let piece = self.hold.get_mut(index);
        piece.copied_at = now;
        let start = piece.start;
        if timed {
            self.note_transmission(start, now);
        }
    }

    fn note_transmission(&mut self, start: u64, sent_at: Nanos) {
        self.hold.note_sent(Transmission { start, sent_at });
    }

    /// What has not been sent is not sent any more. One packet, to be freed, until there is none.
    pub(crate) fn discard_unsent(&mut self) -> Option<Option<Pkt>> {
        let index = self.hold.unsent()?;
        self.hold.advance_unsent();
        Some(self.take_packet(index))
    }
}
