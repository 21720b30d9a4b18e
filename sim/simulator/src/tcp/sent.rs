//! The scoreboard: what has been sent and not been acknowledged.

use std::collections::VecDeque;

use windlass_cc::{Nanos, RateSnapshot};

/// One segment in the network, or thought to be lost there.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// First offset.
    pub start: u64,
    /// Offset behind it, a FIN included.
    pub end: u64,
    /// Time of the last transmission.
    pub at: Nanos,
    /// Transmissions beyond the first.
    pub retransmissions: u32,
    /// Reported by SACK.
    pub sacked: bool,
    /// Taken for lost.
    pub lost: bool,
    /// Retransmitted since it was taken for lost.
    pub retransmitted: bool,
    /// What was known at that transmission, for the delivery rate.
    pub snapshot: RateSnapshot,
}

/// Segments between `una` and `nxt`, in order, and how many of them are what.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    segments: VecDeque<Sent>,
    /// Taken for lost, and not sent again since.
    to_resend: usize,
    /// Reported by SACK; without SACK: duplicate ACKs that came.
    pub sacked_out: usize,
    /// Taken for lost.
    pub lost_out: usize,
    /// Retransmissions thought to be in the network.
    pub retrans_out: usize,
    /// Segments ever marked lost.
    pub marked_lost: usize,
    /// Runs of neighbours ever marked lost together.
    pub marked_ranges: u32,
}

impl Scoreboard {
    /// Segments not cumulatively acknowledged.
    pub fn packets_out(&self) -> usize {
        self.segments.len()
    }

    /// `tcp_packets_in_flight()`.
    pub fn in_flight(&self) -> usize {
        (self.packets_out() + self.retrans_out).saturating_sub(self.sacked_out + self.lost_out)
    }

    /// The oldest segment.
    pub fn head(&self) -> Option<&Sent> {
        self.segments.front()
    }

    /// The newest segment.
    pub fn tail(&self) -> Option<&Sent> {
        self.segments.back()
    }

    /// A segment leaves for the first time.
    pub fn push(&mut self, start: u64, end: u64, at: Nanos, snapshot: RateSnapshot) {
        self.segments.push_back(Sent {
            start,
            end,
            at,
            retransmissions: 0,
            sacked: false,
            lost: false,
            retransmitted: false,
            snapshot,
        });
    }

    /// Removes what ends at or before `una`, giving each to `each`.
    pub fn acknowledge(&mut self, una: u64, sack: bool, mut each: impl FnMut(Sent)) {
        while let Some(head) = self.segments.front()
            && head.end <= una
        {
            let head = *head;
            self.segments.pop_front();
            self.sacked_out -= usize::from(sack && head.sacked);
            self.lost_out -= usize::from(head.lost);
            self.to_resend -= usize::from(head.lost && !head.retransmitted);
            self.retrans_out -= usize::from(head.retransmitted);
            each(head);
        }
    }

    /// Marks what lies within `[start, end)` as received, giving each newly marked to `each`.
    pub fn select(&mut self, start: u64, end: u64, mut each: impl FnMut(Sent)) {
        let first = self.segments.partition_point(|s| s.start < start);
        for segment in self.segments.range_mut(first..) {
            if segment.end > end {
                break;
            }
            if segment.sacked {
                continue;
            }
            each(*segment);
            self.lost_out -= usize::from(segment.lost);
            self.to_resend -= usize::from(segment.lost && !segment.retransmitted);
            self.retrans_out -= usize::from(segment.retransmitted);
            self.sacked_out += 1;
            segment.sacked = true;
            segment.lost = false;
            segment.retransmitted = false;
        }
    }

    /// Marks as lost every segment not received for which `lost` is true; how many are new. A
    /// retransmission that is lost counts too.
    pub fn mark_lost(&mut self, lost: impl FnMut(&Sent) -> bool) -> usize {
        self.mark_lost_before((Nanos::MAX, 0), lost)
    }

    /// The same among those sent before `newest` (time and end).
    pub fn mark_lost_before(
        &mut self,
        newest: (Nanos, u64),
        mut lost: impl FnMut(&Sent) -> bool,
    ) -> usize {
        let mut marked = 0;
        let mut behind = None;
        for segment in &mut self.segments {
            let late = (segment.at, segment.end) >= newest;
            // All behind a segment that left once have left after it.
            if late && segment.retransmissions == 0 {
                break;
            }
            if late || segment.sacked || segment.lost && !segment.retransmitted || !lost(segment) {
                continue;
            }
            self.lost_out += usize::from(!segment.lost);
            self.retrans_out -= usize::from(segment.retransmitted);
            segment.lost = true;
            segment.retransmitted = false;
            marked += 1;
            self.marked_ranges += u32::from(behind != Some(segment.start));
            behind = Some(segment.end);
        }
        self.marked_lost += marked;
        self.to_resend += marked;
        marked
    }

    /// Cuts what is longer than `mss` and has not been received to pieces, which are lost. How many there
    /// are. Payload ends at `data_end`: a FIN behind it takes no room.
    pub fn cut(&mut self, mss: u64, data_end: u64) -> usize {
        let mut pieces = 0;
        for whole in std::mem::take(&mut self.segments) {
            let payload_end = whole.end.min(data_end);
            if whole.sacked || payload_end <= whole.start + mss {
                self.segments.push_back(whole);
                continue;
            }
            self.lost_out -= usize::from(whole.lost);
            self.to_resend -= usize::from(whole.lost && !whole.retransmitted);
            self.retrans_out -= usize::from(whole.retransmitted);
            let mut start = whole.start;
            while start < whole.end {
                let last = payload_end <= start + mss;
                let end = if last { whole.end } else { start + mss };
                self.segments.push_back(Sent {
                    start,
                    end,
                    lost: true,
                    retransmitted: false,
                    ..whole
                });
                start = end;
                pieces += 1;
            }
        }
        self.lost_out += pieces;
        self.to_resend += pieces;
        self.marked_lost += pieces;
        pieces
    }

    /// Nothing is lost after all.
    pub fn unmark_lost(&mut self) {
        for segment in &mut self.segments {
            segment.lost = false;
        }
        self.to_resend = 0;
        self.lost_out = 0;
    }

    /// Forgets what SACK reported: the receiver has dropped it, or was without SACK.
    pub fn forget_sacked(&mut self) {
        for segment in &mut self.segments {
            segment.sacked = false;
        }
        self.sacked_out = 0;
    }

    /// The first segment to be retransmitted, if any.
    pub fn next_lost(&self) -> Option<usize> {
        if self.to_resend == 0 {
            return None;
        }
        self.segments
            .iter()
            .position(|s| s.lost && !s.retransmitted && !s.sacked)
    }

    /// The segment at `index`.
    pub fn get(&self, index: usize) -> Sent {
        self.segments[index]
    }

    /// The newest segment leaves again as a tail probe, which is not counted as in flight.
    pub fn touch_tail(&mut self, at: Nanos, snapshot: RateSnapshot) {
        if let Some(tail) = self.segments.back_mut() {
            tail.at = at;
            tail.retransmissions += 1;
            tail.snapshot = snapshot;
        }
    }

    /// The segment at `index` leaves again.
    pub fn retransmit(&mut self, index: usize, at: Nanos, snapshot: RateSnapshot) -> Sent {
        let segment = &mut self.segments[index];
        self.retrans_out += usize::from(!segment.retransmitted);
        self.to_resend -= usize::from(segment.lost && !segment.retransmitted);
        segment.retransmitted = true;
        segment.retransmissions += 1;
        segment.at = at;
        segment.snapshot = snapshot;
        *segment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(segments: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        for i in 0..segments {
            board.push(i * 10, i * 10 + 10, i, RateSnapshot::default());
        }
        board
    }

    #[test]
    fn flight_follows_sack_loss_and_retransmission() {
        let mut board = board(10);
        board.select(30, 60, |_| {});
        assert_eq!((board.sacked_out, board.in_flight()), (3, 7));
        assert_eq!(board.mark_lost(|s| s.end <= 30), 3);
        assert_eq!(board.in_flight(), 4);
        let index = board.next_lost().expect("three are lost");
        assert_eq!(
            board.retransmit(index, 99, RateSnapshot::default()).start,
            0
        );
        assert_eq!((board.in_flight(), board.next_lost()), (5, Some(1)));
        board.acknowledge(60, true, |_| {});
        assert_eq!((board.packets_out(), board.in_flight()), (4, 4));
        assert_eq!(
            (board.lost_out, board.sacked_out, board.retrans_out),
            (0, 0, 0)
        );
    }

    #[test]
    fn a_lost_retransmission_is_lost_again() {
        let mut board = board(2);
        board.mark_lost(|s| s.start == 0);
        board.retransmit(0, 5, RateSnapshot::default());
        assert_eq!((board.lost_out, board.retrans_out), (1, 1));
        assert_eq!(board.mark_lost(|s| s.start == 0), 1);
        assert_eq!((board.lost_out, board.retrans_out), (1, 0));
        assert_eq!(board.next_lost(), Some(0));
    }
}
