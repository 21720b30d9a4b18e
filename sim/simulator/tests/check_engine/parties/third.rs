//! The third party: it may have seen everything, and can hold nothing back.

use windlass_sim::Nanos;
use windlass_wire::{Flags, FrameSpec, OptionWriter, Timestamps};

use super::action::{Forgery, Number};
use super::end::End;

/// A segment in the name of `from`, for `to`.
pub fn forge(forgery: &Forgery, from: &End, to: &End, now: Nanos) -> Vec<u8> {
    let odd = |bit: u8| forgery.oddities >> bit & 1 != 0;
    let seq = number(forgery.seq, from, to);
    let ack = number(forgery.ack, to, from);
    let mut flags = Flags(u16::from(forgery.flags));
    if odd(4) {
        // Most segments are plain.
        flags = Flags(u16::from(forgery.flags) & Flags::ECE.0).with(Flags::ACK);
    }
    let spec = FrameSpec {
        key: if odd(1) { to.key } else { from.key },
        seq,
        ack,
        flags,
        window: forgery.window,
        options: options(forgery, from, to, now),
        payload: match odd(5) {
            // What is sent there by right.
            true => from.bytes(seq, u32::from(forgery.len)),
            false => vec![0xbd; usize::from(forgery.len) * 6],
        },
        ..FrameSpec::default()
    };
    let mut frame = spec.build();
    if odd(0) {
        let last = frame.len() - 1;
        frame[last] ^= 0x10;
    }
    frame
}

fn number(number: Number, whose: &End, other: &End) -> u32 {
    let near = |around: u32, by: i16| around.wrapping_add_signed(i32::from(by));
    match number {
        Number::Expected(by) => near(other.rcv_nxt, by),
        Number::Next(by) => near(whose.nxt, by),
        Number::Edge(by) => near(other.rcv_edge, by),
        Number::Blind(number) => number,
    }
}

fn options(forgery: &Forgery, from: &End, to: &End, now: Nanos) -> Vec<u8> {
    let mut options = OptionWriter::new();
    if let Some((by, echo)) = forgery.stamps {
        let val = from.tsval(now).wrapping_add_signed(i32::from(by));
        let ecr = if echo { from.ts_recent } else { val };
        options = options.nop().nop().timestamps(Timestamps { val, ecr });
    }
    if let Some((start, len)) = forgery.sack {
        let start = number(start, to, from);
        let end = start.wrapping_add(u32::from(len));
        options = options.nop().nop().sack(&[(start, end)]);
    }
    if forgery.oddities >> 2 & 1 != 0 {
        options = options.raw(&[200, 4, 1, 2]);
    }
    if forgery.oddities >> 3 & 1 != 0 {
        options = options.raw(&[29, 4, 1, 2]);
    }
    options.into()
}
