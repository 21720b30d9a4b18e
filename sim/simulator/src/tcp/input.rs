//! What an end point does with a frame.

use windlass_cc::Nanos;
use windlass_wire::{ChecksumState, Ecn, Flags, Segment, parse, verify_ip, verify_tcp};

use super::ack::Ack;
use super::codec::{sack_room, ts_clock};
use super::endpoint::{Endpoint, State};

/// A segment in offsets of the stream that it belongs to.
struct Placed {
    start: i64,
    end: i64,
}

impl Endpoint {
    /// A frame has arrived.
    pub fn on_frame(&mut self, now: Nanos, frame: &[u8]) {
        let segment = match parse(frame, frame.len() as u32) {
            Ok(segment)
                if segment.key == self.key.reversed()
                    && segment.checksum == ChecksumState::Full
                    && verify_ip(frame, &segment)
                    && verify_tcp(frame, &segment) =>
            {
                segment
            }
            _ => {
                self.sender.stats.refused.bad_frames += 1;
                return;
            }
        };
        self.sender.stats.segments_received += 1;
        let from = usize::from(segment.at.payload);
        let payload = &frame[from..from + segment.payload_len as usize];
        match self.state {
            _ if segment.options.md5 || segment.options.ao => {
                self.sender.stats.refused.bad_frames += 1
            }
            State::Listen if is_syn(&segment) => self.on_syn(now, &segment),
            State::SynReceived if is_syn(&segment) => {
                if segment.seq == self.irs {
                    self.on_syn(now, &segment);
                }
            }
            State::SynSent => self.on_syn_ack(now, &segment),
            State::SynReceived => self.on_handshake_ack(now, &segment, payload),
            State::Established => self.on_segment(now, &segment, payload),
            // As a host does that no longer knows the connection (RFC 9293 §3.5.2).
            State::Reset => self.reset_due = self.aborted && !segment.flags.has(Flags::RST),
            State::Closed | State::Listen => {}
        }
    }

    fn on_syn(&mut self, now: Nanos, segment: &Segment) {
        let offered = &segment.options;
        self.irs = segment.seq;
        self.agreed.sack = offered.sack_permitted && self.config.sack;
        self.agreed.timestamps = offered.timestamps.is_some() && self.config.timestamps;
        let ecn_setup =
            segment.flags.has(Flags::ECE.with(Flags::CWR)) && !segment.flags.has(Flags::AE);
        self.agreed.ecn = ecn_setup && self.config.ecn;
        self.agree(segment);
        self.state = State::SynReceived;
        self.send_syn(now);
    }

    /// Whatever both SYNs settle in the same way at both ends.
    fn agree(&mut self, segment: &Segment) {
        let options = &segment.options;
        if let Some(ts) = options.timestamps {
            self.ts_recent = ts.val;
        }
        self.agreed.mss = options.mss.unwrap_or(536).min(self.config.mss);
        self.agreed.scaled = options.window_scale.is_some() && self.config.window_scale.is_some();
        if self.agreed.scaled {
            self.agreed.peer_shift = options.window_scale.unwrap_or(0).min(14);
            self.receiver
                .set_shift(self.config.window_scale.unwrap_or(0));
        }
        let overhead = if self.agreed.timestamps { 12 } else { 0 };
        let mss = u32::from(self.agreed.mss) - overhead;
        let window = u64::from(segment.window);
        self.sender
            .negotiated(mss, self.agreed.sack, self.agreed.ecn, window, -1);
    }

    fn on_syn_ack(&mut self, now: Nanos, segment: &Segment) {
        let ours = segment.ack == self.config.isn.wrapping_add(1);
        if segment.flags.has(Flags::RST) {
            if ours {
                self.state = State::Reset;
            }
            return;
        }
        if !segment.flags.has(Flags::SYN.with(Flags::ACK)) || !ours || self.echoes_nothing(segment)
        {
            return;
        }
        let agreed = &segment.options;
        self.irs = segment.seq;
        self.agreed.sack = agreed.sack_permitted && self.config.sack;
        self.agreed.timestamps = agreed.timestamps.is_some() && self.config.timestamps;
        let ecn_setup = segment.flags.has(Flags::ECE) && !segment.flags.has(Flags::CWR);
        self.agreed.ecn = ecn_setup && self.config.ecn;
        self.agree(segment);
        self.sample_handshake(now);
        self.begin();
        self.receiver.demand_ack();
        self.run_app(now);
    }

    /// A SYN-ACK whose TSecr is of no SYN that was sent (RFC 7323 §3.2, Linux `PAWSActiveRejected`).
    fn echoes_nothing(&self, segment: &Segment) -> bool {
        let Some(stamps) = segment.options.timestamps.filter(|ts| ts.ecr != 0) else {
            return false;
        };
        let (first, last) = self.syn.stamps;
        self.config.timestamps && stamps.ecr.wrapping_sub(first) > last.wrapping_sub(first)
    }

    fn on_handshake_ack(&mut self, now: Nanos, segment: &Segment, payload: &[u8]) {
        // RFC 9293 §3.10.7.4: what is not within the window says nothing, and is answered.
        let placed = self.place(segment);
        let edge = self.receiver.edge().max(self.receiver.nxt) as i64;
        if placed.end < 0 || placed.start > edge {
            return;
        }
        if segment.flags.has(Flags::RST) {
            if placed.start == 0 {
                self.state = State::Reset;
            }
            return;
        }
        if !segment.flags.has(Flags::ACK) || segment.ack != self.config.isn.wrapping_add(1) {
            return;
        }
        self.sample_handshake(now);
        self.begin();
        self.on_segment(now, segment, payload);
        self.run_app(now);
    }

    fn begin(&mut self) {
        self.state = State::Established;
        self.sender.start_algorithm(u64::from(self.config.isn));
    }

    fn sample_handshake(&mut self, now: Nanos) {
        if self.syn.tries == 1 {
            self.sender.rtt.sample(now - self.syn.sent_at);
        }
    }

    /// The order of the checks is that of RFC 9293 §3.10.7.4 and RFC 7323 §5.3.
    fn on_segment(&mut self, now: Nanos, segment: &Segment, payload: &[u8]) {
        let placed = self.place(segment);
        let reset = segment.flags.has(Flags::RST);
        if self.too_old(segment, &placed) {
            if !reset {
                self.sender.stats.refused.by_paws += 1;
                self.receiver.demand_ack();
            }
            return;
        }
        let edge = self.receiver.edge().max(self.receiver.nxt) as i64;
        if placed.end < self.receiver.acked as i64 || placed.start > edge {
            self.sender.stats.refused.beyond_window += u64::from(placed.start > edge);
            if !reset {
                self.receiver.demand_ack();
            }
            return;
        }
        if reset {
            self.on_reset(&placed);
            return;
        }
        if segment.flags.has(Flags::SYN) {
            self.receiver.demand_ack();
            return;
        }
        if self.on_acknowledgement(now, segment, &placed) {
            // As Linux does it, in `tcp_ack`: not before the acknowledgement is known to be good.
            if let Some(ts) = segment.options.timestamps
                && placed.start <= self.receiver.acked as i64
                && newer_or_same(ts.val, self.ts_recent)
            {
                self.ts_recent = ts.val;
            }
            self.on_payload(now, segment, &placed, payload);
        }
        self.run_app(now);
    }

    fn place(&self, segment: &Segment) -> Placed {
        let expected = self
            .irs
            .wrapping_add(1)
            .wrapping_add(self.receiver.nxt as u32);
        let distance = segment.seq.wrapping_sub(expected) as i32;
        let start = self.receiver.nxt as i64 + i64::from(distance);
        Placed {
            start,
            end: start + i64::from(segment.seq_len()),
        }
    }

    /// PAWS, with Linux' exception for pure ACKs that were overtaken.
    fn too_old(&self, segment: &Segment, placed: &Placed) -> bool {
        let Some(ts) = segment
            .options
            .timestamps
            .filter(|_| self.agreed.timestamps)
        else {
            return false;
        };
        let age = self.ts_recent.wrapping_sub(ts.val) as i32;
        if age <= 1 {
            return false;
        }
        let at_nxt = placed.start == self.receiver.nxt as i64 && placed.end == placed.start;
        let acks_una = self.ack_offset(segment) == self.sender.una as i64;
        let same_window = self.scaled_window(segment) == self.sender.edge() - self.sender.una;
        let rto_ms = self.sender.rtt.rto() / windlass_cc::MILLISECOND;
        !(at_nxt && acks_una && same_window && age as u64 <= rto_ms)
    }

    fn on_reset(&mut self, placed: &Placed) {
        // RFC 5961 §3.2: only the exact number resets.
        if placed.start == self.receiver.nxt as i64 {
            self.state = State::Reset;
        } else {
            self.receiver.demand_ack();
        }
    }

    fn ack_offset(&self, segment: &Segment) -> i64 {
        let una = self.sender.una;
        let expected = self.config.isn.wrapping_add(1).wrapping_add(una as u32);
        una as i64 + i64::from(segment.ack.wrapping_sub(expected) as i32)
    }

    fn scaled_window(&self, segment: &Segment) -> u64 {
        u64::from(segment.window) << self.agreed.peer_shift
    }

    /// False if the segment is to be dropped for what it acknowledges.
    fn on_acknowledgement(&mut self, now: Nanos, segment: &Segment, placed: &Placed) -> bool {
        if !segment.flags.has(Flags::ACK) {
            return false;
        }
        let number = self.ack_offset(segment);
        if number > self.sender.nxt as i64 {
            self.sender.stats.refused.acks_of_unsent += 1;
            return false;
        }
        let una = self.sender.una;
        // RFC 5961 §5.2.
        if number < una.saturating_sub(self.sender.peer_window.largest) as i64 {
            self.receiver.demand_ack();
            return false;
        }
        let first = self.config.isn.wrapping_add(1).wrapping_add(una as u32);
        let offset = |n: u32| una as i64 + i64::from(n.wrapping_sub(first) as i32);
        let blocks = segment.options.sack.iter();
        let sack = blocks
            .map(|(s, e)| (offset(s), offset(e)))
            .filter(|&(s, e)| s >= 0 && e > s)
            .map(|(s, e)| (s as u64, e as u64))
            .collect();
        self.sender.on_ack(&Ack {
            now,
            ts_now: ts_clock(&self.config, now),
            number: number as u64,
            from: placed.start,
            window: self.scaled_window(segment),
            sack,
            has_data: placed.end > placed.start,
            ece: segment.flags.has(Flags::ECE),
            echo: segment.options.timestamps.map(|ts| ts.ecr),
        });
        true
    }

    fn on_payload(&mut self, now: Nanos, segment: &Segment, placed: &Placed, payload: &[u8]) {
        if placed.end == placed.start {
            return;
        }
        if self.agreed.ecn {
            let marked = segment.ecn == Ecn::Ce;
            if self.config.echoes_each_mark {
                self.echo_each(now, marked);
            } else {
                if segment.flags.has(Flags::CWR) {
                    self.receiver.echo_ce = false;
                }
                if marked {
                    self.receiver.on_ce();
                }
            }
        }
        self.sender.stats.marks.ce_received += u64::from(segment.ecn == Ecn::Ce);
        if placed.start < 0 {
            self.receiver.demand_ack();
            return;
        }
        let (start, end) = (placed.start as u64, placed.end as u64);
        if !payload.is_empty() {
            if start >= self.receiver.edge() && end > self.receiver.nxt {
                self.sender.stats.refused.beyond_window += 1;
                self.receiver.demand_ack();
                return;
            }
            let wrong = self.expected.first_difference(start, payload);
            self.corrupt = self.corrupt.or(wrong);
        }
        let fin = segment.flags.has(Flags::FIN);
        let srtt = self.sender.rtt.srtt;
        let room = sack_room(u32::from(self.agreed.mss), 0, self.agreed.timestamps);
        if self.agreed.sack && self.receiver.must_tell(start, end, room) {
            let frame = self.ack_frame(now);
            self.early_acks.push(frame);
        }
        let arrival = self.receiver.on_data(now, start, end, fin, srtt);
        let new_payload = arrival.new_bytes.min(payload.len() as u64);
        if new_payload > 0 {
            self.last_data_at = Some(now);
        }
        let stats = &mut self.sender.stats;
        stats.bytes_duplicate += payload.len() as u64 - new_payload;
        stats.refused.beyond_window += u64::from(arrival.beyond_window);
    }
}

fn is_syn(segment: &Segment) -> bool {
    segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK)
}

fn newer_or_same(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 >= 0
}
