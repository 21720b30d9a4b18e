//! What is put into the engine: packets that make sense, and others.

use windlass_engine::Side;
use windlass_wire::{Ecn, Flags, FrameSpec, OptionWriter, Timestamps};

use super::{Input, SCALE, TIMER_CALLS, World, isn, key};

/// What a client may have outstanding: less than the window of the server's SYN-ACK.
const FIRST_WINDOW_BYTES: u32 = 60_000;

impl World {
    fn spec(&self, flow: usize, from: Side, flags: Flags, seq: u32, ack: u32) -> FrameSpec {
        let stamp = (self.now / 1_000_000) as u32;
        let stamps = OptionWriter::new()
            .nop()
            .nop()
            .timestamps(Timestamps { val: stamp, ecr: 1 });
        FrameSpec {
            key: key(flow, from),
            seq: isn(flow, from).wrapping_add(seq),
            ack: isn(flow, from.other()).wrapping_add(ack),
            flags,
            window: 4096,
            options: stamps.into(),
            ..FrameSpec::default()
        }
    }

    pub(super) fn handshake(&mut self, flow: usize, how: u8) {
        for (from, flags, ack, offers) in [
            (Side::Outside, Flags::SYN, 0, how),
            (Side::Inside, Flags::SYN.with(Flags::ACK), 1, how >> 4),
        ] {
            let mut options = OptionWriter::new().mss(if how & 8 != 0 { 536 } else { 1460 });
            if offers & 1 == 0 {
                options = options.sack_permitted();
            }
            options = options.window_scale(SCALE);
            let stamps = Timestamps { val: 1, ecr: 1 };
            let mut spec = self.spec(flow, from, flags, 0, ack);
            if how & 4 != 0 {
                let ece = if from == Side::Inside {
                    Flags::ECE
                } else {
                    Flags::ECE.with(Flags::CWR)
                };
                spec.flags = spec.flags.with(ece);
            }
            spec.options = options.timestamps(stamps).into();
            spec.window = 65_535;
            self.put(from, spec.build());
        }
        let third = self.spec(flow, Side::Outside, Flags::ACK, 1, 1);
        self.put(Side::Outside, third.build());
    }

    /// New data, in order, one to eight segments.
    pub(super) fn send(&mut self, flow: usize, from: Side, input: &mut Input) {
        let how = input.byte();
        let len = [1448, 100, 1, 4344, 536, 0, 1448, 1448][usize::from(how & 7)];
        for _ in 0..=how >> 5 {
            let ends = self.ends[flow];
            // A client that ignores the server's window sends what passes unread.
            let unanswered = ends.next[from.index()] - ends.acked[from.other().index()];
            if from == Side::Outside && unanswered > FIRST_WINDOW_BYTES {
                return;
            }
            let fin = Flags::ACK.with(Flags::FIN);
            let flags = if len == 0 { fin } else { Flags::ACK };
            let mut spec = self.spec(
                flow,
                from,
                flags,
                ends.next[from.index()],
                ends.acked[from.index()],
            );
            spec.payload = vec![how; len];
            spec.ecn = if how & 8 != 0 { Ecn::Ect0 } else { Ecn::NotEct };
            self.ends[flow].next[from.index()] += len.max(1) as u32;
            self.put_of(flow, from, &spec, how & 16 != 0);
        }
    }

    /// A frame of an end, which leaves all checksums partial or none: as it would with its first one.
    fn put_of(&mut self, flow: usize, from: Side, spec: &FrameSpec, would: bool) {
        let partial = *self.ends[flow].partial[from.index()].get_or_insert(would);
        let frame = match partial {
            true => spec.build_partial(),
            false => spec.build(),
        };
        self.put(from, frame);
    }

    /// An ACK that may advance, with up to three SACK blocks above it.
    pub(super) fn acknowledge(&mut self, flow: usize, from: Side, input: &mut Input) {
        let (how, ends) = (input.byte(), self.ends[flow]);
        let sent = ends.next[from.other().index()];
        let open = sent - ends.acked[from.index()];
        let place = |part: u8, of: u32| (u64::from(of) * u64::from(part) / 255) as u32;
        let ack = match how & 3 {
            0 => ends.acked[from.index()],
            1 => sent,
            _ => ends.acked[from.index()] + place(input.byte(), open) / 1448 * 1448,
        };
        self.ends[flow].acked[from.index()] = ack;
        let mut spec = self.spec(flow, from, Flags::ACK, ends.next[from.index()], ack);
        if how & 4 != 0 {
            spec.flags = spec.flags.with(Flags::ECE);
        }
        let other = isn(flow, from.other());
        let mut blocks = Vec::new();
        for _ in 0..(how >> 3 & 3) {
            let start = ack + place(input.byte(), sent - ack);
            let end = start + place(input.byte(), sent - start);
            blocks.push((other.wrapping_add(start), other.wrapping_add(end)));
        }
        if !blocks.is_empty() {
            let sack: Vec<u8> = OptionWriter::new().nop().nop().sack(&blocks).into();
            spec.options.extend(sack);
        }
        self.put_of(flow, from, &spec, how & 128 != 0);
    }

    /// The server sends again what it has sent.
    pub(super) fn resend(&mut self, flow: usize, input: &mut Input) {
        let next = self.ends[flow].next[0];
        let start = 1 + (u64::from(next - 1) * u64::from(input.byte()) / 255) as u32;
        let how = input.byte();
        let len = (next - start).min(1 << (how & 15)).min(8000);
        if len > 0 {
            let acked = self.ends[flow].acked[0];
            let mut spec = self.spec(flow, Side::Inside, Flags::ACK, start, acked);
            spec.payload = vec![0x77; len as usize];
            self.put_of(flow, Side::Inside, &spec, how & 16 != 0);
        }
    }

    pub(super) fn wait(&mut self, how: u8) {
        let until = self.now + (1u64 << (how % 42)) + u64::from(how) * 1000;
        for _ in 0..TIMER_CALLS {
            let Some(at) = self.engine.poll_at().filter(|at| *at <= until) else {
                self.now = until;
                return;
            };
            self.now = self.now.max(at);
            self.engine
                .on_timer(self.now, &mut self.pool, &mut self.txs);
            self.collect();
            assert!(self.engine.poll_at().is_none_or(|at| at > self.now));
        }
    }

    /// A segment that need not make sense.
    pub(super) fn anything(&mut self, flow: usize, input: &mut Input) {
        let how = input.byte();
        let from = if how & 1 == 0 {
            Side::Inside
        } else {
            Side::Outside
        };
        let mut near = |around: u32| match how >> 1 & 3 {
            0 => around,
            1 => around.wrapping_add(input.word()).wrapping_sub(0x8000),
            _ => input.long(),
        };
        let ends = self.ends[flow];
        let (seq, ack) = (
            near(ends.next[from.index()]),
            near(ends.acked[from.index()]),
        );
        let flags = Flags(input.word() as u16 & 0x1ff);
        let mut spec = self.spec(flow, from, flags, seq, ack);
        spec.window = input.word() as u16;
        spec.payload = vec![how; usize::from(input.byte()) * 12];
        if how & 8 != 0 {
            spec.options = (0..input.byte() % 41).map(|_| input.byte()).collect();
        }
        if how & 16 != 0 {
            // From the wrong side.
            spec.key = spec.key.reversed();
        }
        self.put(from, spec.build());
    }

    pub(super) fn garbage(&mut self, input: &mut Input) {
        let len = usize::from(input.byte() % 128);
        let mut frame = self.spec(2, Side::Outside, Flags::ACK, 1, 1).build();
        frame.truncate(len.max(14));
        for _ in 0..input.byte() % 8 {
            let at = usize::from(input.byte()) % frame.len();
            frame[at] = input.byte();
        }
        self.put(Side::Outside, frame);
    }

    pub(super) fn bypass(&mut self, how: u8) {
        // Rarely, or nothing would be governed for long.
        if how.is_multiple_of(8) {
            self.sane = false;
            let on = !self.engine.bypass();
            self.engine
                .set_bypass(on, self.now, &mut self.pool, &mut self.txs);
            self.collect();
        }
    }
}
