//! What the receiver says has arrived, and what is lost.

use windlass_cc::{Nanos, Path};

use super::bytes::Bytes;
use super::hold::Piece;
use super::rack::Probe;
use super::{Scoreboard, Undo};

/// What time says of the oldest transmission (RFC 8985 §6.2 step 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Overdue {
    /// The piece of this index is lost.
    Lost(usize),
    /// It will be at this time, ns.
    At(Nanos),
}

/// What the receiver says.
impl Scoreboard {
    /// The piece at `index` has reached the receiver; as it was before, unless that was known, or it has not been sent.
    #[inline]
    pub(crate) fn deliver(&mut self, index: usize) -> Option<Piece> {
        let piece = self.hold.get_mut(index);
        if piece.sacked || !piece.sent {
            return None;
        }
        let (was, len) = (*piece, piece.len());
        (piece.lost, piece.missing) = (false, false);
        // Until it is acknowledged or SACKed, which the caller says next.
        piece.sacked = true;
        match was.lost {
            true => self.lost_bytes -= len,
            false => self.inflight -= len,
        }
        if was.missing {
            self.missing_bytes -= len;
        }
        self.sacked_bytes += len;
        Some(was)
    }

    /// Takes the oldest piece out if everything in it is acknowledged by `ack`. It has been delivered.
    #[inline]
    pub(crate) fn pop_acked(&mut self, ack: u64) -> Option<Piece> {
        self.hold.front().filter(|front| front.end <= ack)?;
        let piece = self.hold.pop_front()?;
        if piece.sacked {
            self.sacked_bytes -= piece.len();
        }
        Some(piece)
    }

    /// The cumulative ACK has moved to `ack`, and the pieces below are out.
    pub(crate) fn advance(&mut self, ack: u64, mss: u64) {
        debug_assert!(ack > self.una && ack <= self.nxt);
        // One segment of what is acknowledged filled the hole; the rest had been counted.
        let counted = (ack - self.una).saturating_sub(mss);
        self.una = ack;
        if let Some(ranges) = self.sacked.edit_known() {
            ranges.forget_below(ack);
        }
        self.sent_nxt = self.sent_nxt.max(ack);
        if let Some(open) = self.recovery.edit_known() {
            open.dup_acks = 0;
            open.dup_bytes = Bytes::new(open.dup_bytes.get().saturating_sub(counted));
        }
        self.check();
    }

    /// A SACK block. `fresh` is called with each part that is news; the range that it has become a part of, or `None`
    /// if it says nothing or there is no room for it.
    pub(crate) fn add_sacked(
        &mut self,
        (start, end): (u64, u64),
        limit: usize,
        fresh: impl FnMut(u64, u64),
    ) -> Option<(u64, u64)> {
        if start < self.una || end <= start || end > self.sent_nxt {
            return None;
        }
        self.sacked.edit().add(start, end, limit, fresh)
    }

    /// A duplicate ACK of a receiver without SACK (RFC 5681 §3.2): something arrived, out of order. How many there have
    /// been since the last that was none.
    pub(crate) fn note_duplicate(&mut self, mss: u64) -> u32 {
        let inflight = self.inflight();
        let open = self.recovery.edit();
        open.dup_acks = open.dup_acks.saturating_add(1);
        open.dup_bytes = Bytes::new((open.dup_bytes.get() + mss).min(inflight));
        open.dup_acks
    }

    /// The duplicate ACKs have had their say.
    pub(crate) fn forget_duplicates(&mut self) {
        if let Some(open) = self.recovery.edit_known() {
            open.dup_bytes = Bytes::default();
        }
    }

    /// The receiver has let go of what it had SACKed (RFC 2018 §8): it counts as in flight again.
    pub(crate) fn forget_sacked(&mut self) {
        for index in 0..self.hold.len() {
            let piece = self.hold.get_mut(index);
            if piece.sacked {
                piece.sacked = false;
                self.inflight += piece.len();
                self.sacked_bytes -= piece.len();
            }
        }
        self.forget_ranges();
        self.check();
    }
}

/// What is lost.
impl Scoreboard {
    /// Takes the piece at `index` for lost, unless it is already, or has arrived. Its length, and whether the piece
    /// before it is not lost.
    pub(crate) fn lose(&mut self, index: usize) -> Option<(u64, bool)> {
        if index >= self.hold.len() || !self.hold.get(index).in_flight() {
            return None;
        }
        let range = index == 0 || !self.hold.get(index - 1).lost;
        let len = self.hold.lose(index);
        self.inflight -= len;
        self.lost_bytes += len;
        self.check();
        Some((len, range))
    }

    /// Everything outstanding has been taken for lost: RACK begins anew.
    pub(crate) fn forget_transmissions(&mut self) {
        self.hold.restart_repair(self.una);
    }

    /// RFC 8985 §6.2 step 5: what was sent well before something that has arrived is lost.
    pub(crate) fn overdue(
        &mut self,
        now: Nanos,
        path: &Path,
        in_recovery: bool,
    ) -> Option<Overdue> {
        let evidence = self.rack.newest()?;
        let window = self
            .rack
            .reordering_window(path, in_recovery, self.sacked_bytes());
        while let Some(oldest) = self.hold.oldest_sent() {
            let found = self.hold.index_of(oldest.start);
            let current = found.filter(|&index| {
                let piece = self.hold.get(index);
                piece.in_flight()
                    && piece.last_left() == oldest.sent_at
                    && piece.start == oldest.start
            });
            let Some(index) = current else {
                self.hold.pass_oldest_sent();
                continue;
            };
            // A copy has its own time, but what overtook the packet speaks for its loss.
            let piece = self.hold.get(index);
            if (piece.sent_at, piece.end) >= evidence {
                return None;
            }
            let due = oldest.sent_at + self.rack.rtt() + window;
            if due > now {
                return Some(Overdue::At(due));
            }
            self.hold.pass_oldest_sent();
            return Some(Overdue::Lost(index));
        }
        None
    }

    /// The highest end that has arrived, as an offset.
    pub(crate) fn fack(&self) -> u64 {
        self.rack.fack()
    }

    /// A piece was delivered by an ACK that came at `at`, and before which `fack` had arrived. True if its packet, sent once, is what
    /// arrived.
    pub(crate) fn note_delivery(
        &mut self,
        at: Nanos,
        piece: &Piece,
        fack: u64,
        min_rtt: Nanos,
    ) -> bool {
        let overtaken = piece.end < fack;
        // The packet was lost then, and this is its copy.
        let by_copy = piece.copied_at > 0 && overtaken;
        let once = piece.transmissions == 1 && !by_copy;
        if once && overtaken {
            self.rack.note_reordering();
        }
        self.rack
            .on_delivered(at, piece.sent_at, piece.end, !once, min_rtt);
        once
    }

    /// A DSACK was received (RFC 8985 §6.2 step 4).
    pub(crate) fn note_dsack(&mut self, ack: u64) {
        self.rack.on_dsack(ack.max(self.una), self.sent_nxt);
    }

    /// A segment was sent again in the open episode.
    pub(crate) fn note_resent(&mut self) {
        let undo = &mut self.recovery.edit().undo;
        undo.left = undo.left.saturating_add(1);
        undo.resent = undo.resent.saturating_add(1);
    }

    /// A retransmission of the open episode was reported as a duplicate. True if all of them were: nothing was lost.
    pub(crate) fn note_needless(&mut self) -> bool {
        self.recovery.edit_known().is_some_and(|open| {
            open.undo.left = open.undo.left.saturating_sub(1);
            open.undo.left == 0 && open.undo.resent > 0
        })
    }

    /// An episode begins.
    pub(crate) fn begin_episode(&mut self) {
        if let Some(open) = self.recovery.edit_known() {
            open.undo = Undo::default();
        }
    }

    /// An episode has ended.
    pub(crate) fn end_episode(&mut self) {
        self.forget_duplicates();
        self.rack.on_recovery_exit();
    }

    /// The tail probe that is out.
    pub(crate) fn probe(&self) -> Option<Probe> {
        self.rack.probe()
    }

    /// A tail probe may be sent: none is out, and there was an RTT sample since the last.
    pub(crate) fn may_probe(&self) -> bool {
        self.rack.may_probe()
    }

    /// There was an RTT sample.
    pub(crate) fn allow_probe(&mut self) {
        self.rack.allow_probe();
    }

    /// The piece at `index` leaves as a tail probe (RFC 8985 §7.3).
    pub(crate) fn begin_probe(&mut self, index: usize) {
        let piece = self.hold.get(index);
        let (end, retransmission) = (self.sent_nxt.max(piece.end), piece.sent);
        self.rack.begin_probe(Probe {
            end,
            retransmission,
        });
    }

    /// No probe more until there is an RTT sample.
    pub(crate) fn spend_probe(&mut self) {
        self.rack.spend_probe();
    }

    /// The tail probe has had its answer, or is forgotten.
    pub(crate) fn end_probe(&mut self) {
        self.rack.end_probe();
    }
}
