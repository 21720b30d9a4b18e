//! What an end sends of its own accord.

use windlass_sim::Nanos;
use windlass_wire::Flags;

use super::end::{End, Sent, State, after, later_of};

impl End {
    /// New data, as far as the window goes.
    pub fn send(&mut self, now: Nanos, segments: u8, size: u8) {
        let len = match size % 8 {
            0..=3 => self.agreed.mss,
            4 => 1 + u32::from(size >> 3),
            5 => self.agreed.mss / 2,
            // A burst that the card is to cut.
            6 => 3 * self.agreed.mss,
            _ => 1,
        };
        for _ in 0..segments {
            let room = self.edge.wrapping_sub(self.nxt) as i32;
            let len = len.min(room.max(0) as u32);
            if len == 0 || !self.may_send() {
                break;
            }
            self.send_new(now, len, false);
        }
    }

    fn may_send(&self) -> bool {
        self.is_open() && !self.finished
    }

    fn send_new(&mut self, now: Nanos, len: u32, fin: bool) {
        let start = self.nxt;
        let payload = self.bytes(start, len);
        self.nxt = start.wrapping_add(len + u32::from(fin));
        self.went_beyond |= after(self.nxt, self.edge);
        self.sent.push(Sent { start, len, fin });
        let flags = if fin {
            Flags::ACK.with(Flags::FIN)
        } else {
            Flags::ACK
        };
        self.say(now, flags, start, payload);
        if self.rto_at.is_none() {
            self.arm(now);
        }
    }

    /// A byte beyond the window, to ask whether it has opened.
    pub fn probe(&mut self, now: Nanos) {
        if self.may_send() && !after(self.edge, self.nxt) {
            self.send_new(now, 1, false);
        }
    }

    pub fn finish(&mut self, now: Nanos) {
        if self.may_send() {
            self.finished = true;
            self.send_new(now, 0, true);
        }
    }

    /// The segment at `place` of those that are outstanding, as it was or from there on so many bytes.
    pub fn resend(&mut self, now: Nanos, place: u8, cut: Option<u8>) {
        if !self.is_open() || self.sent.is_empty() {
            return;
        }
        let index = self.sent.len() * usize::from(place) / 256;
        let Sent { start, len, fin } = self.sent[index];
        let Some(cut) = cut else {
            return self.send_again(now, start, len, fin);
        };
        let end = self.nxt.wrapping_sub(u32::from(self.finished));
        let start = later_of(start, self.una);
        let left = end.wrapping_sub(start) as i32;
        let wanted = 1 + u32::from(cut) * self.agreed.mss / 100;
        self.send_again(now, start, wanted.min(left.max(0) as u32), false);
    }

    fn send_again(&mut self, now: Nanos, start: u32, len: u32, fin: bool) {
        if len > 0 || fin {
            let payload = self.bytes(start, len);
            let flags = if fin { Flags::FIN } else { Flags(0) };
            self.say(now, flags, start, payload);
        }
    }

    /// RFC 9293 §3.8.4: one before the next, which the other end has.
    pub fn keep_alive(&mut self, now: Nanos) {
        if self.is_open() && self.una == self.nxt {
            self.say(now, Flags::ACK, self.nxt.wrapping_sub(1), Vec::new());
        }
    }

    pub fn reset(&mut self, now: Nanos) {
        if self.is_open() {
            self.say(now, Flags::RST, self.nxt, Vec::new());
            self.state = State::Over;
        }
    }

    /// The application stops reading, or reads all that there is and says so if that helps.
    pub fn read(&mut self, now: Nanos, stops: bool) {
        self.stopped = stops;
        if !stops && self.unread > 0 {
            self.unread = 0;
            self.acknowledge(now);
        }
    }
}
