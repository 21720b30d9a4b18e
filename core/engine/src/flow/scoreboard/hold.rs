//! The hold buffer: every segment between `una` and `nxt`, in order, with its packet.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use windlass_cc::{Nanos, RateSnapshot, Spare};

use crate::Pkt;

/// One segment of the sender, from its arrival until it is cumulatively acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Piece {
    /// First stream offset.
    pub start: u64,
    /// One past the last.
    pub end: u64,
    /// The packet, held for transmission and repair. `None`: nothing is held (observing, budget
    /// exhausted, or the sender has not sent this part through here).
    pub pkt: Option<Pkt>,
    /// When it came from the sender, the last time that it was not absorbed.
    pub arrived_at: Nanos,
    /// Last transmission, 0 before the first.
    pub sent_at: Nanos,
    /// State of the rate sampler when it was last sent.
    pub snapshot: RateSnapshot,
    /// Copies that had left before that.
    pub copies: u32,
    /// ACK number and window in the packet.
    pub ack: u32,
    pub window: u16,
    /// Where the TCP header begins if the checksum is partial, else 0.
    pub partial_at: u16,
    /// Transmissions, copies not counted.
    pub transmissions: u8,
    /// It has left the box at least once.
    pub sent: bool,
    /// The receiver holds it, though not cumulatively acknowledged.
    pub sacked: bool,
    /// Taken for lost and not retransmitted since.
    pub lost: bool,
    /// It has not come from the sender: only that can send it.
    pub missing: bool,
    /// The box has set CWR in it.
    pub cwr: bool,
    /// When its second copy was sent, 0 while there is none.
    pub copied_at: Nanos,
}

impl Piece {
    /// A piece that has come from the sender and waits, without its packet yet.
    pub(crate) fn arrived(start: u64, end: u64, now: Nanos) -> Self {
        Piece {
            start,
            end,
            pkt: None,
            arrived_at: now,
            sent_at: 0,
            snapshot: RateSnapshot::default(),
            copies: 0,
            ack: 0,
            window: 0,
            partial_at: 0,
            transmissions: 0,
            sent: false,
            sacked: false,
            lost: false,
            missing: false,
            cwr: false,
            copied_at: 0,
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> u64 {
        self.end - self.start
    }

    /// When it last left, as itself or as its copy: until that has had its time, it is not lost.
    pub(crate) fn last_left(&self) -> Nanos {
        self.sent_at.max(self.copied_at)
    }

    /// Sent, taken for lost, and not known to have arrived since.
    pub(crate) fn is_repaired(&self) -> bool {
        !self.sacked && self.transmissions > 0 && (self.lost || self.transmissions > 1)
    }

    /// Counted in `inflight`.
    pub(crate) fn in_flight(&self) -> bool {
        self.sent && !self.sacked && !self.lost
    }
}

/// A transmission, in the order of time: what RACK walks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Transmission {
    pub start: u64,
    pub sent_at: Nanos,
}

/// The pieces of one flow. With none of them it takes no memory, once that has been given back.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Hold(Spare<Pieces>);

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Pieces {
    pieces: VecDeque<Piece>,
    /// Index of the first piece that has not been sent.
    first_unsent: usize,
    /// Transmissions, oldest first; stale ones are dropped as they are met.
    order: VecDeque<Transmission>,
    /// No piece before this offset is lost.
    lost_hint: u64,
    /// No SACKed piece before this offset has its packet. Another process looks through all of them once.
    #[serde(skip)]
    shed_to: u64,
}

static NOTHING: Pieces = Pieces {
    pieces: VecDeque::new(),
    first_unsent: 0,
    order: VecDeque::new(),
    lost_hint: 0,
    shed_to: 0,
};

impl Hold {
    #[inline]
    fn all(&self) -> &Pieces {
        self.0.get().unwrap_or(&NOTHING)
    }

    pub(crate) fn len(&self) -> usize {
        self.all().pieces.len()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.all().pieces.is_empty()
    }

    #[inline]
    pub(crate) fn push(&mut self, piece: Piece) {
        self.0.edit().pieces.push_back(piece);
    }

    #[inline]
    pub(crate) fn front(&self) -> Option<&Piece> {
        self.all().pieces.front()
    }

    #[inline]
    pub(crate) fn pop_front(&mut self) -> Option<Piece> {
        let all = self.0.edit_known()?;
        let piece = all.pieces.pop_front()?;
        all.first_unsent = all.first_unsent.saturating_sub(1);
        // It may not have been sent from here, and what follows it may be missing.
        all.pass_sent();
        Some(piece)
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> &Piece {
        &self.all().pieces[index]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, index: usize) -> &mut Piece {
        &mut self.0.edit().pieces[index]
    }

    /// The piece that contains `offset`.
    pub(crate) fn index_of(&self, offset: u64) -> Option<usize> {
        let pieces = &self.all().pieces;
        let index = pieces.partition_point(|p| p.end <= offset);
        (index < pieces.len() && pieces[index].start <= offset).then_some(index)
    }

    /// The first piece waiting for its first transmission.
    #[inline]
    pub(crate) fn unsent(&self) -> Option<usize> {
        let all = self.all();
        (all.first_unsent < all.pieces.len()).then_some(all.first_unsent)
    }

    /// Takes the first unsent piece for sent, and what has gone by behind it.
    #[inline]
    pub(crate) fn advance_unsent(&mut self) {
        let all = self.0.edit();
        all.first_unsent += 1;
        all.pass_sent();
    }

    /// The last piece that has been sent.
    pub(crate) fn last_sent(&self) -> Option<usize> {
        let all = self.all();
        let sent = 0..all.first_unsent.min(all.pieces.len());
        sent.rev().find(|&index| !all.pieces[index].missing)
    }

    /// The first of those that have been sent and are not SACKed, if it has its packet.
    pub(crate) fn first_hole(&self) -> Option<usize> {
        let all = self.all();
        let mut sent = all.pieces.iter().take(all.first_unsent);
        let hole = sent.position(|piece| !piece.sacked)?;
        all.pieces[hole].pkt.map(|_| hole)
    }

    /// A piece that has not come.
    pub(crate) fn push_missing(&mut self, piece: Piece) {
        debug_assert!(piece.missing);
        let all = self.0.edit();
        all.pieces.push_back(piece);
        all.pass_sent();
    }

    /// `piece` has come, a part of the missing one at `index`. Its own index, and how many records there are more.
    pub(crate) fn fill(&mut self, index: usize, mut piece: Piece) -> (usize, usize) {
        let all = self.0.edit();
        let gap = all.pieces[index];
        debug_assert!(gap.missing && gap.start <= piece.start && piece.end <= gap.end);
        let passed = index < all.first_unsent;
        (piece.sent, piece.lost) = (passed, passed);
        let end = piece.end;
        let mut at = index;
        if gap.start < piece.start {
            at += 1;
            all.pieces[index].end = piece.start;
            all.pieces.insert(at, piece);
        } else {
            all.pieces[index] = piece;
        }
        let mut more = at - index;
        if end < gap.end {
            all.pieces.insert(at + 1, Piece { start: end, ..gap });
            more += 1;
        }
        if passed {
            all.first_unsent += more;
            all.lost_hint = all.lost_hint.min(all.pieces[at].start);
        }
        (at, more)
    }

    /// The first piece at or after the hint that is lost, in order of sequence.
    pub(crate) fn next_lost(&mut self) -> Option<usize> {
        let all = self.0.edit();
        let from = all.pieces.partition_point(|p| p.end <= all.lost_hint);
        let found = (from..all.first_unsent.min(all.pieces.len()))
            .find(|&i| all.pieces[i].lost && !all.pieces[i].missing);
        all.lost_hint = match found {
            Some(i) => all.pieces[i].start,
            None => all.pieces.back().map_or(all.lost_hint, |p| p.end),
        };
        found
    }

    /// The piece at `start` is SACKed, and its packet is kept.
    pub(crate) fn keep_sacked(&mut self, start: u64) {
        let all = self.0.edit();
        all.shed_to = all.shed_to.min(start);
    }

    /// The oldest SACKed piece that has its packet. What has been looked through is not looked through again.
    pub(crate) fn next_sacked_held(&mut self) -> Option<usize> {
        let all = self.0.edit_known()?;
        let from = all.pieces.partition_point(|p| p.end <= all.shed_to);
        let sent = all.first_unsent.min(all.pieces.len());
        let found = (from..sent).find(|&i| all.pieces[i].sacked && all.pieces[i].pkt.is_some());
        let to = found.or(sent.checked_sub(1)).map(|i| &all.pieces[i]);
        all.shed_to = to.map_or(
            all.shed_to,
            |p| if found.is_some() { p.start } else { p.end },
        );
        found
    }

    /// All of them, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Piece> {
        let all = self.all();
        all.pieces.iter()
    }

    /// The piece at `index` leaves at `now`.
    #[inline]
    pub(crate) fn sent(&mut self, index: usize, now: Nanos, snapshot: RateSnapshot, copies: u32) {
        let all = self.0.edit();
        let piece = &mut all.pieces[index];
        piece.snapshot = snapshot;
        piece.copies = copies;
        piece.sent_at = now;
        piece.sent = true;
        (piece.lost, piece.missing) = (false, false);
        piece.transmissions = piece.transmissions.saturating_add(1);
    }

    /// The piece at `index` is lost. Its length.
    pub(crate) fn lose(&mut self, index: usize) -> u64 {
        let all = self.0.edit();
        let piece = &mut all.pieces[index];
        piece.lost = true;
        all.lost_hint = all.lost_hint.min(piece.start);
        piece.len()
    }

    /// What is lost is looked for from `una` on, and what has been sent is timed anew.
    pub(crate) fn restart_repair(&mut self, una: u64) {
        let all = self.0.edit();
        all.lost_hint = una;
        all.order.clear();
    }

    /// No piece before this offset is lost.
    pub(crate) fn lost_hint(&self) -> u64 {
        let all = self.all();
        all.lost_hint
    }

    /// Forgets all of them. Their packets have been taken out.
    pub(crate) fn clear(&mut self) {
        if let Some(all) = self.0.edit_known() {
            all.pieces.clear();
            all.order.clear();
            all.first_unsent = 0;
        }
    }

    /// Reads the ends of the queues.
    #[inline]
    pub(crate) fn touch(&self) -> u64 {
        let all = self.all();
        let ends =
            all.pieces.front().map_or(0, |p| p.start) ^ all.pieces.back().map_or(0, |p| p.end);
        ends ^ all.order.front().map_or(0, |t| t.start)
    }

    /// Gives the memory back. There are no pieces.
    pub(crate) fn shrink(&mut self) {
        debug_assert!(self.is_empty());
        self.0.clear();
    }

    /// The oldest transmission.
    #[inline]
    pub(super) fn oldest_sent(&self) -> Option<Transmission> {
        self.all().order.front().copied()
    }

    /// It is of no account any more.
    #[inline]
    pub(super) fn pass_oldest_sent(&mut self) {
        if let Some(all) = self.0.edit_known() {
            all.order.pop_front();
        }
    }

    /// One more.
    #[inline]
    pub(super) fn note_sent(&mut self, transmission: Transmission) {
        self.0.edit().order.push_back(transmission);
    }
}

impl Pieces {
    /// What waits for nothing here is passed over: what is missing, and what was and has gone by since.
    fn pass_sent(&mut self) {
        let sent = |index| {
            self.pieces
                .get(index)
                .is_some_and(|piece: &Piece| piece.sent)
        };
        while sent(self.first_unsent) {
            self.first_unsent += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_never_next_to_be_sent() {
        let mut hold = Hold::default();
        hold.push(Piece::arrived(1, 100, 0));
        hold.push_missing(missing());
        hold.push(Piece::arrived(200, 300, 0));
        assert_eq!(hold.unsent(), Some(0));
        // It took another way, and has been acknowledged.
        hold.pop_front();
        assert_eq!(hold.unsent(), Some(1));
    }

    fn missing() -> Piece {
        Piece {
            missing: true,
            sent: true,
            ..Piece::arrived(100, 200, 0)
        }
    }

    /// Its sender has sent it again, past what still waits.
    #[test]
    fn what_was_missing_and_has_gone_by_is_never_next_to_be_sent() {
        let mut hold = Hold::default();
        hold.push(Piece::arrived(1, 100, 0));
        hold.push_missing(missing());
        hold.push(Piece::arrived(200, 300, 0));
        hold.sent(1, 1, RateSnapshot::default(), 0);
        hold.sent(0, 2, RateSnapshot::default(), 0);
        hold.advance_unsent();
        assert_eq!(hold.unsent(), Some(2));
    }
}
