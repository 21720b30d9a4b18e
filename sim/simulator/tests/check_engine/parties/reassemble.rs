//! Data at its receiver.

use windlass_sim::Nanos;
use windlass_wire::{Flags, Segment};

use super::end::{End, after, later_of};

const DELAYED_ACK: Nanos = 40_000_000;
/// Ranges beyond holes that are remembered.
const AHEAD_MAX: usize = 32;

impl End {
    pub fn take_data(&mut self, now: Nanos, segment: &Segment, frame: &[u8]) {
        self.check_content(segment, frame);
        let start = segment.seq;
        let data_end = start.wrapping_add(segment.payload_len);
        let fits = !after(data_end, self.rcv_edge);
        let end = if fits { data_end } else { self.rcv_edge };
        if segment.flags.has(Flags::FIN) && fits {
            self.got_fin = Some(data_end);
        }
        let before = self.rcv_nxt;
        if after(start, self.rcv_nxt) {
            self.keep_ahead(start, end);
        } else {
            self.rcv_nxt = later_of(self.rcv_nxt, end);
        }
        self.close_holes();
        let news = self.rcv_nxt.wrapping_sub(before);
        if self.stopped {
            self.unread += news;
        }
        self.unanswered += 1;
        let at_once = news == 0 || !self.ahead.is_empty() || self.unanswered >= 2;
        match at_once || self.got_fin.is_some() {
            true => self.acknowledge(now),
            false => self.ack_at = Some(now + DELAYED_ACK),
        }
    }

    /// An end that was told the truth gets what the other end sends.
    fn check_content(&mut self, segment: &Segment, frame: &[u8]) {
        let offset = segment.seq.wrapping_sub(self.irs).wrapping_sub(1);
        let at = usize::from(segment.at.payload);
        let payload = &frame[at..at + segment.payload_len as usize];
        let wrong = self.others.first_difference(u64::from(offset), payload);
        assert!(
            self.misled || wrong.is_none(),
            "the {:?} receives a wrong byte: {segment:?}",
            self.who
        );
    }

    fn keep_ahead(&mut self, mut start: u32, mut end: u32) {
        let apart = |&(s, e): &(u32, u32)| after(s, end) || after(start, e);
        let (apart, touching): (Vec<_>, Vec<_>) = self.ahead.iter().copied().partition(apart);
        for (s, e) in touching {
            (start, end) = (if after(start, s) { s } else { start }, later_of(end, e));
        }
        self.ahead = apart;
        if after(end, start) {
            self.ahead.insert(0, (start, end));
            self.ahead.truncate(AHEAD_MAX);
        }
    }

    fn close_holes(&mut self) {
        while let Some(index) = self
            .ahead
            .iter()
            .position(|&(start, _)| !after(start, self.rcv_nxt))
        {
            let (_, end) = self.ahead.remove(index);
            self.rcv_nxt = later_of(self.rcv_nxt, end);
        }
        if self.got_fin == Some(self.rcv_nxt) {
            self.rcv_nxt = self.rcv_nxt.wrapping_add(1);
        }
    }
}
