//! Segments that no end has sent, and that the end which they are for drops.

use windlass_wire::{Flags, FrameSpec, MarkedBytes, OptionWriter, PeerOption, Segment, Timestamps};

use crate::rng::Rng;

/// Bytes that no end sends.
const PAYLOAD: u8 = 0xbd;
/// A signature (RFC 2385) where none was agreed on.
const SIGNATURE: [u8; 20] = [1, 1, 19, 18, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7];
/// Segment size and window scale as no end of the simulator has them.
const OTHER_OFFER: [u8; 8] = [2, 4, 2, 0x18, 3, 3, 14, 1];
/// The lower byte of the checksum in the TCP header.
const CHECKSUM_AT: usize = 17;
/// A TSval that is as much later is older than any.
const LONG_AGO: u32 = 0xf000_0000;

/// Who forges, and what he knows of the segment that he forges after.
pub(super) struct Forger<'a> {
    pub rng: &'a mut Rng,
    /// Boxes talk to each other: he speaks like one, too.
    pub boxes: bool,
    /// The end that the segment is for has left its handshake behind.
    pub open: bool,
    /// How far the end that it is from has got.
    pub end: Option<u32>,
    /// A box may have been started in the middle of the connection. It takes a handshake that is forged
    /// there by somebody who sees the numbers for one; the ends, which know better, do not.
    pub restarted: bool,
}

/// In what a segment differs from the one that it is forged after.
#[derive(Clone, Copy, Default)]
pub(super) struct Lie {
    pub seq: u32,
    pub ack: u32,
    pub flags: Flags,
    /// From the end that the true one is for.
    pub back: bool,
    /// In the name of the end that it is for.
    pub turned: bool,
    /// The TSval is so much later, the TSecr too.
    pub later: (u32, u32),
    pub signed: bool,
    /// A checksum that is wrong by one bit.
    pub damaged: bool,
}

impl Forger<'_> {
    /// A segment that has nothing right but its addresses.
    pub fn blindly(&mut self, model: &Segment) -> Vec<u8> {
        let flags = [
            Flags::ACK,
            Flags::ACK,
            Flags::ACK.with(Flags::FIN),
            Flags::ACK.with(Flags::ECE),
            Flags::ACK.with(Flags::URG),
            Flags::RST,
            Flags::RST.with(Flags::ACK),
            Flags(0),
            Flags::SYN,
            Flags::SYN.with(Flags::ACK),
        ];
        // A SYN is believed by an end that listens.
        let most = if self.open { 9 } else { 7 };
        let lie = Lie {
            seq: self.far(model.seq),
            ack: self.rng.bits() as u32,
            flags: flags[self.rng.between(0, most) as usize],
            later: (self.sometimes_later(), 0),
            ..Lie::default()
        };
        self.forge(model, lie)
    }

    /// A segment by somebody who has seen the true one, wrong in a single thing.
    pub fn seeing(&mut self, model: &Segment) -> Vec<u8> {
        let ack = model.ack;
        // On its fast path Linux keeps the timestamp of segments that it drops for their ACK number.
        let here = Lie {
            seq: model.seq,
            ack,
            flags: Flags::ACK,
            ..Lie::default()
        };
        let far = Lie {
            seq: self.far(model.seq),
            later: (self.sometimes_later(), 0),
            ..here
        };
        let end = self.end.unwrap_or(model.seq);
        let behind = end.wrapping_add(self.rng.between(1, 1000) as u32);
        let syn = match self.rng.chance(0.5) {
            true => Flags::SYN,
            false => Flags::SYN.with(Flags::ACK),
        };
        let stamped = model.options.timestamps.is_some();
        let kind = self.rng.between(0, 11);
        let lie = self.of_kind(kind, here, far).unwrap_or(match kind {
            // RFC 5961 §3 to §5: answered, and nothing else.
            7 if self.open => Lie {
                seq: behind,
                flags: Flags::RST,
                ..here
            },
            8 if self.open && !self.restarted => Lie { flags: syn, ..here },
            9 if self.open => Lie {
                ack: ack.wrapping_sub(1 << 30),
                ..here
            },
            10 if self.open && stamped => Lie {
                later: (LONG_AGO, 0),
                ..here
            },
            _ => Lie {
                ack: ack.wrapping_add(5000),
                damaged: true,
                ..here
            },
        });
        self.forge(model, lie)
    }

    /// What is wrong at any time of a connection: with the right number, or one that is `far`.
    fn of_kind(&self, kind: u64, here: Lie, far: Lie) -> Option<Lie> {
        let lie = match kind {
            0 => Lie {
                ack: here.ack.wrapping_add(20_000),
                ..far
            },
            1 => Lie {
                flags: Flags::ACK.with(Flags::ECE),
                ..far
            },
            2 => Lie {
                flags: Flags::RST,
                ..far
            },
            3 => Lie {
                flags: Flags::ACK.with(Flags::FIN),
                ..far
            },
            4 => Lie {
                flags: Flags(0),
                ..here
            },
            5 => Lie {
                ack: here.ack.wrapping_add(1 << 30),
                ..here
            },
            6 => Lie {
                signed: true,
                ..here
            },
            _ => return None,
        };
        Some(lie)
    }

    /// A number outside of every window.
    pub fn far(&mut self, seq: u32) -> u32 {
        let away = self.rng.between(1 << 30, (1 << 31) - (1 << 30) / 2) as u32;
        match self.rng.chance(0.5) {
            true => seq.wrapping_sub(away),
            false => seq.wrapping_add(away),
        }
    }

    fn sometimes_later(&mut self) -> u32 {
        [0, 0, 1000, 1 << 30][self.rng.between(0, 3) as usize]
    }

    /// The segment with this lie. What does not matter to the end that drops it is as it happens.
    pub fn forge(&mut self, model: &Segment, lie: Lie) -> Vec<u8> {
        let key = match lie.back != lie.turned {
            true => model.key.reversed(),
            false => model.key,
        };
        let syn = lie.flags.has(Flags::SYN);
        let len = [0, 0, 1, 100, 1400][self.rng.between(0, 4) as usize];
        let window = [0, 1, model.window, u16::MAX][self.rng.between(0, 3) as usize];
        let mut frame = FrameSpec {
            key,
            seq: lie.seq,
            ack: lie.ack,
            flags: lie.flags,
            window,
            options: self.options(model, &lie),
            payload: vec![PAYLOAD; if syn { 0 } else { len }],
            ..FrameSpec::default()
        }
        .build();
        if lie.damaged {
            frame[usize::from(model.at.tcp) + CHECKSUM_AT] ^= 1;
        }
        frame
    }

    fn options(&mut self, model: &Segment, lie: &Lie) -> Vec<u8> {
        let mut options = OptionWriter::new();
        if let Some(stamps) = model.options.timestamps {
            let (val, ecr) = match lie.back {
                true => (stamps.ecr, stamps.val),
                false => (stamps.val, stamps.ecr),
            };
            options = options.nop().nop().timestamps(Timestamps {
                val: val.wrapping_add(lie.later.0),
                ecr: ecr.wrapping_add(lie.later.1),
            });
        }
        if lie.signed {
            return options.raw(&SIGNATURE).into();
        }
        if lie.flags.has(Flags::SYN) {
            options = options.raw(&OTHER_OFFER);
        } else if self.rng.chance(0.3) {
            let left = lie.ack.wrapping_add(self.rng.between(1, 100_000) as u32);
            let right = left.wrapping_add(self.rng.between(1, 100_000) as u32);
            options = options.nop().nop().sack(&[(left, right)]);
        }
        if self.boxes && self.rng.chance(0.5) {
            let (bytes, count) = self.words_of_a_box().bytes();
            options = options.raw(&bytes[..count]);
        }
        options.into()
    }

    /// What a box might say.
    fn words_of_a_box(&mut self) -> PeerOption {
        let counts = MarkedBytes {
            total: self.rng.bits() as u32,
            ce: self.rng.bits() as u32,
        };
        match self.rng.between(0, 2) {
            0 => PeerOption::Hello,
            1 => PeerOption::Report(counts),
            _ => PeerOption::ReportAlone(counts),
        }
    }
}
