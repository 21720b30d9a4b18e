//! The frames that an end point sends.

use windlass_cc::{Nanos, SECOND};
use windlass_wire::{Ecn, Flags, Timestamps};

use super::codec::{Header, SynOptions, encode_options, sack_room, ts_clock};
use super::endpoint::{Endpoint, Outgoing, State};
use super::sender::Transmission;

/// SYN transmissions before an end point gives up: more patient than Linux (7), so that a burst of
/// losses that ends some day is survived.
const SYN_TRIES: u32 = 40;
/// Doublings of the first second between two of them.
const SYN_MAX_BACKOFF: u32 = 5;

impl Endpoint {
    /// Appends every frame that may leave now.
    pub fn drain(&mut self, now: Nanos, out: &mut Vec<Outgoing>) {
        match self.state {
            State::SynSent | State::SynReceived => self.drain_syn(now, out),
            State::Established => self.drain_established(now, out),
            State::Reset if self.reset_due => self.drain_reset(now, out),
            State::Closed | State::Listen | State::Reset => {}
        }
    }

    /// A SYN or SYN-ACK is to be sent at once.
    pub(super) fn send_syn(&mut self, now: Nanos) {
        self.syn.due = Some(now);
    }

    fn drain_syn(&mut self, now: Nanos, out: &mut Vec<Outgoing>) {
        if self.syn.due.is_none_or(|at| at > now) {
            return;
        }
        if self.syn.tries == SYN_TRIES {
            self.state = State::Reset;
            return;
        }
        self.sender.stats.syn_retransmits += u64::from(self.syn.tries > 0);
        self.syn.due = Some(now + (SECOND << self.syn.tries.min(SYN_MAX_BACKOFF)));
        let stamp = ts_clock(&self.config, now);
        let first = if self.syn.tries == 0 {
            stamp
        } else {
            self.syn.stamps.0
        };
        self.syn.stamps = (first, stamp);
        self.syn.tries += 1;
        self.syn.sent_at = now;
        let frame = self.syn(now);
        self.push(out, frame, false);
    }

    fn syn(&mut self, now: Nanos) -> Vec<u8> {
        let answer = self.state == State::SynReceived;
        let agreed = self.agreed;
        let (sack, timestamps, scaled, ecn) = if answer {
            (agreed.sack, agreed.timestamps, agreed.scaled, agreed.ecn)
        } else {
            let c = &self.config;
            (c.sack, c.timestamps, c.window_scale.is_some(), c.ecn)
        };
        let options = SynOptions {
            mss: self.config.mss,
            sack,
            timestamps: timestamps.then(|| Timestamps {
                val: ts_clock(&self.config, now),
                ecr: if answer { self.ts_recent } else { 0 },
            }),
            window_scale: self.config.window_scale.filter(|_| scaled),
        };
        let flags = match (answer, ecn) {
            (false, false) => Flags::SYN,
            (false, true) => Flags::SYN.with(Flags::ECE).with(Flags::CWR),
            (true, false) => Flags::SYN.with(Flags::ACK),
            (true, true) => Flags::SYN.with(Flags::ACK).with(Flags::ECE),
        };
        let header = Header {
            seq: self.config.isn,
            ack: if answer { self.irs.wrapping_add(1) } else { 0 },
            flags,
            window: self.receiver.syn_window(),
            ecn: Ecn::NotEct,
            options: options.encode(),
        };
        header.frame(self.key, Vec::new())
    }

    fn drain_established(&mut self, now: Nanos, out: &mut Vec<Outgoing>) {
        if self.reset_due {
            self.state = State::Reset;
            return self.drain_reset(now, out);
        }
        for frame in std::mem::take(&mut self.early_acks) {
            self.push(out, frame, false);
        }
        let ts_now = ts_clock(&self.config, now);
        let mut sent = false;
        while let Some(transmission) = self.sender.next(now, ts_now) {
            sent = true;
            self.transmit(now, &transmission, out);
        }
        self.sender.after_burst(now, sent);
        if self.receiver.ack_due(now) {
            let frame = self.ack_frame(now);
            self.push(out, frame, false);
        }
    }

    /// A pure ACK as of now.
    pub(super) fn ack_frame(&mut self, now: Nanos) -> Vec<u8> {
        let header = self.header(now, self.sender.nxt as i64, Flags(0), 0);
        header.frame(self.key, Vec::new())
    }

    fn drain_reset(&mut self, now: Nanos, out: &mut Vec<Outgoing>) {
        self.reset_due = false;
        let header = self.header(now, self.sender.nxt as i64, Flags::RST, 0);
        let frame = header.frame(self.key, Vec::new());
        self.push(out, frame, false);
    }

    fn transmit(&mut self, now: Nanos, t: &Transmission, out: &mut Vec<Outgoing>) {
        let mut flags = Flags(0);
        if t.fin {
            flags = flags.with(Flags::FIN);
        }
        if t.cwr {
            flags = flags.with(Flags::CWR);
        }
        // As Linux: the end of what the application has written (`tcp_push`, `tcp.c` 6.12).
        let end = t.start as u64 + u64::from(t.bytes);
        if t.bytes > 0 && self.sender.is_all_written(end) {
            flags = flags.with(Flags::PSH);
        }
        let mut header = self.header(now, t.start, flags, t.bytes);
        let ect = self.agreed.ecn && t.new_data && t.bytes > 0;
        if ect {
            header.ecn = self.config.algorithm.ect();
        }
        let mut payload = Vec::with_capacity(t.bytes as usize + 8);
        if t.bytes > 0 {
            self.content
                .append(t.start as u64, t.bytes as usize, &mut payload);
        }
        self.sender.stats.bytes_sent += u64::from(t.bytes);
        let frame = header.frame(self.key, payload);
        self.push(out, frame, ect);
    }

    /// The header of a segment that leaves now; it acknowledges all there is to acknowledge.
    fn header(&mut self, now: Nanos, start: i64, flags: Flags, bytes: u32) -> Header {
        let timestamps = self.agreed.timestamps.then(|| Timestamps {
            val: ts_clock(&self.config, now),
            ecr: self.ts_recent,
        });
        let stamps = if timestamps.is_some() { 12 } else { 0 };
        // A path that has become narrower has no room for blocks beside a full payload.
        let most = u32::from(self.agreed.mss).min(self.sender.agreed.mss + stamps);
        let room = sack_room(most, bytes + stamps, timestamps.is_some());
        let window = self.receiver.window_field(now, self.sender.rtt.srtt);
        let first = self.irs.wrapping_add(1);
        let number = |offset: u64| first.wrapping_add(offset as u32);
        let blocks: Vec<(u32, u32)> = self
            .receiver
            .on_ack_sent(self.agreed.sack, room)
            .into_iter()
            .map(|(s, e)| (number(s), number(e)))
            .collect();
        let mut flags = flags.with(Flags::ACK);
        if self.agreed.ecn && self.receiver.echo_ce {
            flags = flags.with(Flags::ECE);
        }
        Header {
            seq: self.config.isn.wrapping_add(1).wrapping_add(start as u32),
            ack: number(self.receiver.nxt),
            flags,
            window,
            ecn: Ecn::NotEct,
            options: encode_options(timestamps, &blocks),
        }
    }

    fn push(&mut self, out: &mut Vec<Outgoing>, frame: Vec<u8>, ect: bool) {
        self.sender.stats.segments_sent += 1;
        out.push(Outgoing { frame, ect });
    }
}
