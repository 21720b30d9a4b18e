//! What an end makes of a segment: RFC 9293 §3.10.7, RFC 5961, RFC 7323.

use windlass_sim::Nanos;
use windlass_wire::{ChecksumState, Ecn, Flags, Segment, verify_ip, verify_tcp};

use super::end::{End, State, after, later_of};

/// A pure acknowledgement that was overtaken may be so much older, ms (Linux `tcp_disordered_ack`).
const OVERTAKEN_TICKS: u32 = 200;
/// Empty segments that are not acceptable are answered so often at most.
const ANSWER_INTERVAL: Nanos = 500_000_000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Take,
    /// Not taken, and answered with an acknowledgement.
    Answer,
    Drop,
}

impl End {
    /// What becomes of a segment that arrives now.
    pub fn judge(&self, segment: &Segment, frame: &[u8]) -> Verdict {
        self.judge_within(segment, frame, self.rcv_edge)
    }

    /// Whether it may become part of the connection, by all that a box can know: with each
    /// acknowledgement the edge of a window that has a scale is rounded, `roundings` times, and the newest that the box has
    /// `heard` of may be older than the newest that was sent.
    pub fn may_take(&self, segment: &Segment, frame: &[u8], heard: u32, roundings: u32) -> bool {
        let rounded = roundings << self.agreed.own_scale;
        self.may_take_within(segment, frame, heard, self.rcv_edge.wrapping_add(rounded))
    }

    /// The same with a window that ends there.
    pub fn may_take_within(&self, segment: &Segment, frame: &[u8], heard: u32, edge: u32) -> bool {
        if self.state == State::SynSent && !segment.flags.has(Flags::SYN) {
            return self.may_take_behind_answer(segment, frame);
        }
        // That it has reset the connection may not have got about.
        let over = self.state == State::Over && self.rcv_nxt != 0;
        if over || self.state == State::Open {
            let window = (heard, edge);
            let verdict = self.judge_synchronised(segment, window);
            return self.is_for(segment, frame) && verdict == Verdict::Take;
        }
        self.judge_within(segment, frame, edge) == Verdict::Take
    }

    /// The segment with a TSval that is not older than what has arrived.
    pub fn with_newest_tsval(&self, segment: &Segment) -> Segment {
        let mut newest = *segment;
        if let Some(stamps) = &mut newest.options.timestamps {
            stamps.val = later_of(stamps.val, self.ts_recent);
        }
        newest
    }

    /// The answer to its SYN may be on its way, past the box already.
    fn may_take_behind_answer(&self, segment: &Segment, frame: &[u8]) -> bool {
        let first = self.others_iss.wrapping_add(1);
        let edge = first.wrapping_add(u32::from(self.offer.first_window()));
        let end = segment.seq.wrapping_add(segment.seq_len());
        self.is_for(segment, frame)
            && !after(first, end)
            && !after(segment.seq, edge)
            && (segment.flags.has(Flags::RST)
                || segment.flags.has(Flags::ACK) && segment.ack == self.nxt)
    }

    /// Its name, and no sign of damage.
    fn is_for(&self, segment: &Segment, frame: &[u8]) -> bool {
        // On a wire no checksum is partial.
        let on_wire = Segment {
            checksum: ChecksumState::Full,
            ..*segment
        };
        let signed = segment.options.md5 || segment.options.ao;
        let undamaged = verify_ip(frame, &on_wire) && verify_tcp(frame, &on_wire);
        segment.key == self.key.reversed() && !signed && undamaged
    }

    fn judge_within(&self, segment: &Segment, frame: &[u8], edge: u32) -> Verdict {
        if !self.is_for(segment, frame) {
            return Verdict::Drop;
        }
        match self.state {
            State::Over => Verdict::Drop,
            State::Listen => self.judge_listening(segment),
            State::SynSent => self.judge_answer(segment),
            State::SynReceived | State::Open => {
                self.judge_synchronised(segment, (self.last_acked, edge))
            }
        }
    }

    fn judge_listening(&self, segment: &Segment) -> Verdict {
        let special = Flags(Flags::SYN.0 | Flags::ACK.0 | Flags::RST.0 | Flags::FIN.0);
        match segment.flags.0 & special.0 == Flags::SYN.0 {
            true => Verdict::Take,
            false => Verdict::Drop,
        }
    }

    fn judge_answer(&self, segment: &Segment) -> Verdict {
        let echo = segment.options.timestamps.zip(self.syn_tsvals);
        let echoes = echo.is_none_or(|(stamps, (first, last))| {
            !self.offer.stamps
                || stamps.ecr == 0
                || stamps.ecr.wrapping_sub(first) <= last.wrapping_sub(first)
        });
        let answers = segment.flags.has(Flags::ACK) && segment.ack == self.nxt && echoes;
        let means = segment.flags.has(Flags::SYN) || segment.flags.has(Flags::RST);
        match answers && means {
            true => Verdict::Take,
            false => Verdict::Drop,
        }
    }

    fn judge_synchronised(&self, segment: &Segment, (acked, edge): (u32, u32)) -> Verdict {
        let reset = segment.flags.has(Flags::RST);
        let refused = if reset {
            Verdict::Drop
        } else {
            Verdict::Answer
        };
        if !reset && self.is_old(segment) {
            return refused;
        }
        let end = segment.seq.wrapping_add(segment.seq_len());
        if after(acked, end) || after(segment.seq, edge) {
            return refused;
        }
        if reset {
            return match segment.seq == self.rcv_nxt {
                true => Verdict::Take,
                false => Verdict::Answer,
            };
        }
        if segment.flags.has(Flags::SYN) {
            return Verdict::Answer;
        }
        if !segment.flags.has(Flags::ACK) {
            return Verdict::Drop;
        }
        let oldest = match self.state {
            State::SynReceived => self.nxt,
            _ => later_of(self.una.wrapping_sub(self.max_window), self.iss),
        };
        match after(oldest, segment.ack) || after(segment.ack, self.nxt) {
            true => Verdict::Answer,
            false => Verdict::Take,
        }
    }

    /// PAWS, with the exception that Linux makes.
    fn is_old(&self, segment: &Segment) -> bool {
        let Some(stamps) = segment.options.timestamps.filter(|_| self.agreed.stamps) else {
            return false;
        };
        let age = self.ts_recent.wrapping_sub(stamps.val);
        let overtaken = segment.seq_len() == 0
            && segment.seq == self.rcv_nxt
            && segment.ack == self.una
            && age <= OVERTAKEN_TICKS;
        after(self.ts_recent, stamps.val) && !overtaken
    }

    /// A frame has arrived. True if it was taken.
    pub fn receive(&mut self, now: Nanos, segment: &Segment, frame: &[u8]) -> bool {
        let verdict = self.judge(segment, frame);
        match verdict {
            Verdict::Drop => {}
            Verdict::Answer => self.answer_refused(now, segment),
            Verdict::Take if segment.flags.has(Flags::RST) => self.state = State::Over,
            Verdict::Take if segment.flags.has(Flags::SYN) => self.take_syn(now, segment),
            Verdict::Take => self.take(now, segment, frame),
        }
        verdict == Verdict::Take
    }

    /// Two ends that find each other's empty segments unacceptable must not go on for ever (Linux
    /// `tcp_oow_rate_limited`).
    fn answer_refused(&mut self, now: Nanos, segment: &Segment) {
        if segment.seq_len() == 0 {
            if now < self.silent_until {
                return;
            }
            self.silent_until = now + ANSWER_INTERVAL;
        }
        match self.state {
            State::SynReceived => self.say_syn(now),
            _ => self.acknowledge(now),
        }
    }

    fn take_syn(&mut self, now: Nanos, segment: &Segment) {
        self.irs = segment.seq;
        self.rcv_nxt = segment.seq.wrapping_add(1);
        self.agreed = self.offer.agree(segment);
        if let Some(stamps) = segment.options.timestamps {
            self.ts_recent = stamps.val;
        }
        let window = u32::from(segment.window);
        self.max_window = window;
        if segment.flags.has(Flags::ACK) {
            self.state = State::Open;
            self.una = segment.ack;
            self.edge = segment.ack.wrapping_add(window);
            self.window_by = (segment.seq, segment.ack);
            (self.rto_at, self.timeouts) = (None, 0);
            let first = u32::from(self.offer.first_window());
            self.rcv_edge = self.rcv_nxt.wrapping_add(first);
            self.acknowledge(now);
        } else {
            self.state = State::SynReceived;
            self.edge = self.iss.wrapping_add(1).wrapping_add(window);
            self.say_syn(now);
        }
    }

    fn take(&mut self, now: Nanos, segment: &Segment, frame: &[u8]) {
        self.state = State::Open;
        if let Some(stamps) = segment.options.timestamps.filter(|_| self.agreed.stamps)
            && !after(segment.seq, self.last_acked)
        {
            self.ts_recent = later_of(self.ts_recent, stamps.val);
        }
        self.take_acknowledgement(now, segment);
        if segment.flags.has(Flags::CWR) {
            self.tells_marks = false;
        }
        if segment.ecn == Ecn::Ce && self.agreed.ecn {
            self.tells_marks = true;
        }
        if segment.seq_len() > 0 {
            self.take_data(now, segment, frame);
        } else if after(self.rcv_nxt, segment.seq) {
            // A keep-alive.
            self.acknowledge(now);
        }
    }

    fn take_acknowledgement(&mut self, now: Nanos, segment: &Segment) {
        let news = after(segment.ack, self.una);
        if news {
            self.una = segment.ack;
            self.timeouts = 0;
            let una = self.una;
            self.sent
                .retain(|s| after(s.start.wrapping_add(s.len + u32::from(s.fin)), una));
            self.rto_at = None;
            if self.una != self.nxt {
                self.arm(now);
            }
        }
        let window = u32::from(segment.window) << self.agreed.others_scale;
        let edge = segment.ack.wrapping_add(window);
        let (seq, ack) = self.window_by;
        let newer = after(segment.seq, seq) || (segment.seq == seq && !after(ack, segment.ack));
        if segment.ack == self.una && (news || newer || after(edge, self.edge)) {
            self.edge = edge;
            self.window_by = (segment.seq, segment.ack);
            self.max_window = self.max_window.max(window);
        }
        self.owes_cwr |= self.agreed.ecn && segment.flags.has(Flags::ECE);
    }
}
