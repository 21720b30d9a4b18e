//! Segments, right ones and wrong ones: most fields of each are as they should be.

use std::fmt::Debug;

use windlass_wire::{Flags, OptionWriter, Timestamps};

use super::bench::Bench;
use super::conn::Conn;
use super::random::Random;
use super::setup::{ISLAND, State, offer};

/// In so many of a hundred segments a field is as it should be.
const RIGHT: u32 = 72;
const HALF: u32 = 1 << 31;
const TCP_HEADER_AT: usize = 14 + 20;
/// TCP MD5 signature (RFC 2385): kind and length, then 16 bytes.
const MD5: [u8; 2] = [19, 18];

/// A segment and what is odd about it.
pub struct Generated {
    pub frame: Vec<u8>,
    /// Name and value of each field that is not as it should be. None: an ordinary segment, which
    /// both the kernel and the engine must take.
    pub odd: Vec<String>,
    /// All that there is to know, to be printed.
    pub about: String,
}

/// The choices of one segment.
struct Dice<'a> {
    random: &'a mut Random,
    odd: Vec<String>,
}

impl Dice<'_> {
    /// The first, or one of the others, which are odd.
    fn field<T: Copy>(&mut self, name: &str, right: T, others: &[(&str, T)]) -> T {
        if self.random.percent(RIGHT) {
            return right;
        }
        let (what, value) = self.random.one_of(others);
        self.odd.push(format!("{name} {what}"));
        value
    }
}

const ACK: Flags = Flags::ACK;

fn flags(state: State, dice: &mut Dice) -> Flags {
    let and_ack = |flag: Flags| flag.with(ACK);
    if state == State::SynSent {
        let others = [
            ("ACK", ACK),
            ("SYN", Flags::SYN),
            ("RST", Flags::RST),
            ("RST+ACK", and_ack(Flags::RST)),
            ("FIN+ACK", and_ack(Flags::FIN)),
            ("none", Flags(0)),
            ("SYN+FIN+ACK", and_ack(Flags::SYN.with(Flags::FIN))),
        ];
        return dice.field("flags", and_ack(Flags::SYN), &others);
    }
    let right = dice.random.one_of(&[ACK, ACK, and_ack(Flags::PSH)]);
    let others = [
        ("none", Flags(0)),
        ("FIN", Flags::FIN),
        ("FIN+ACK", and_ack(Flags::FIN)),
        ("RST", Flags::RST),
        ("RST+ACK", and_ack(Flags::RST)),
        ("SYN", Flags::SYN),
        ("SYN+ACK", and_ack(Flags::SYN)),
        ("URG+ACK", and_ack(Flags::URG)),
        ("ECE+ACK", and_ack(Flags::ECE)),
    ];
    dice.field("flags", right, &others)
}

fn sequence(state: State, conn: &Conn, name: &str, dice: &mut Dice) -> u32 {
    let next = conn.seq;
    let small = 1 + dice.random.below(1500);
    let edge = conn.kernel.edge;
    let any = dice.random.number();
    if state == State::SynSent {
        return conn.iss;
    }
    let others = [
        ("next-1", next.wrapping_sub(1)),
        ("next+1", next.wrapping_add(1)),
        ("before next", next.wrapping_sub(small)),
        ("after next", next.wrapping_add(small)),
        ("initial", conn.iss),
        (
            "island's end",
            next.wrapping_add(ISLAND.0 + ISLAND.1 as u32),
        ),
        ("edge-1000", edge.wrapping_sub(1000)),
        ("edge-1", edge.wrapping_sub(1)),
        ("edge", edge),
        ("edge+1", edge.wrapping_add(1)),
        ("half away", next.wrapping_add(HALF)),
        ("random", any),
    ];
    dice.field(name, next, &others)
}

fn acknowledgement(state: State, conn: &Conn, dice: &mut Dice) -> u32 {
    let (una, nxt, iss) = (conn.una, conn.kernel.nxt, conn.kernel.iss);
    let right = if state.synchronized() {
        dice.random.one_of(&[una, nxt])
    } else {
        nxt
    };
    let within = una.wrapping_sub(1 + dice.random.below(conn.max_window()));
    let others = [
        ("una-1", una.wrapping_sub(1)),
        ("una-within window", within),
        ("una-window", una.wrapping_sub(conn.max_window())),
        ("una-window-1", una.wrapping_sub(conn.max_window() + 1)),
        ("initial+1", iss.wrapping_add(1)),
        ("initial", iss),
        ("initial-1", iss.wrapping_sub(1)),
        ("nxt-1", nxt.wrapping_sub(1)),
        ("nxt+1", nxt.wrapping_add(1)),
        ("half away", nxt.wrapping_add(HALF)),
        ("random", dice.random.number()),
    ];
    dice.field("ack", right, &others)
}

/// The timestamps of the segment, if it has any.
fn stamps(state: State, conn: &Conn, dice: &mut Dice) -> Option<Timestamps> {
    let recent = conn.ts_recent;
    let with = |val: u32, ecr: u32| Some(Timestamps { val, ecr });
    let ecr = conn.kernel.tsval;
    if !conn.profile.timestamps && state == State::SynSent {
        // A SYN-ACK with them would be the agreement.
        return None;
    }
    if !conn.profile.timestamps {
        let any = with(dice.random.number(), dice.random.number());
        return dice.field("timestamps", None, &[("not agreed", any)]);
    }
    let newer = recent.wrapping_add(dice.random.below(100));
    let others = [
        ("older by 1", with(recent.wrapping_sub(1), ecr)),
        ("older by 2", with(recent.wrapping_sub(2), ecr)),
        ("much older", with(recent.wrapping_sub(1 << 20), ecr)),
        ("half away", with(recent.wrapping_add(HALF), ecr)),
        ("much newer", with(recent.wrapping_add(1 << 30), ecr)),
        ("missing", None),
        ("echo 0", with(recent, 0)),
        ("echo-1", with(recent, ecr.wrapping_sub(1))),
        ("echo+10^6", with(recent, ecr.wrapping_add(1_000_000))),
    ];
    dice.field("timestamps", with(newer, ecr), &others)
}

/// A segment for this connection.
pub fn generate(bench: &mut Bench, state: State, conn: &Conn) -> Generated {
    let mut dice = Dice {
        random: &mut bench.random,
        odd: Vec::new(),
    };
    let flags = flags(state, &mut dice);
    let len = match state {
        // Not what ends send with a SYN.
        State::SynSent => dice.field("length", 0, &[("1", 1), ("100", 100), ("1000", 1000)]),
        _ => dice.random.one_of(&[0, 0, 1, 100, 1000]),
    };
    let name = format!("{len} bytes at seq");
    let seq = sequence(state, conn, &name, &mut dice);
    let room = conn.kernel.edge.wrapping_sub(seq);
    if state.synchronized() && seq == conn.seq && len as u32 > room {
        dice.odd.push(format!("{len} bytes beyond the edge"));
    }
    let ack = acknowledgement(state, conn, &mut dice);
    let stamps = stamps(state, conn, &mut dice);
    let mut options = match (state, stamps) {
        (State::SynSent, stamps) => {
            let mut offered = offer_without_stamps(conn);
            if let Some(stamps) = stamps {
                offered = offered.timestamps(stamps);
            }
            offered
        }
        (_, Some(stamps)) => OptionWriter::new().nop().nop().timestamps(stamps),
        (_, None) => OptionWriter::new(),
    };
    if dice.random.percent(3) {
        dice.odd.push("MD5".to_owned());
        options = options.raw(&MD5).raw(&[7; 16]);
    }
    let mut spec = conn.segment(seq, ack, flags, len);
    spec.options = options.into();
    let mut frame = spec.build();
    if dice.random.percent(6) {
        // Any bit but those of the ports.
        let bits = 8 * (frame.len() - TCP_HEADER_AT - 4) as u32;
        let bit = dice.random.below(bits);
        frame[TCP_HEADER_AT + 4 + bit as usize / 8] ^= 1 << (bit % 8);
        dice.odd.push("damaged".to_owned());
    }
    let odd = dice.odd;
    let about = about(
        conn,
        &[&seq_about(conn, seq), &ack_about(conn, ack)],
        len,
        flags,
        stamps,
    );
    Generated { frame, odd, about }
}

fn offer_without_stamps(conn: &Conn) -> OptionWriter {
    let mut bare = conn.profile;
    bare.timestamps = false;
    offer(&bare, Timestamps::default())
}

fn seq_about(conn: &Conn, seq: u32) -> String {
    let room = conn.kernel.edge.wrapping_sub(conn.seq);
    format!(
        "seq next{:+} (window {room})",
        seq.wrapping_sub(conn.seq) as i32
    )
}

fn ack_about(conn: &Conn, ack: u32) -> String {
    let flight = conn.kernel.nxt.wrapping_sub(conn.una);
    format!(
        "ack una{:+} (in flight {flight})",
        ack.wrapping_sub(conn.una) as i32
    )
}

fn about(
    conn: &Conn,
    numbers: &[&dyn Debug],
    len: usize,
    flags: Flags,
    stamps: Option<Timestamps>,
) -> String {
    let age = stamps.map(|s| s.val.wrapping_sub(conn.ts_recent) as i32);
    format!(
        "{numbers:?} len {len} flags {:#05x} TSval {age:?} of {:?}",
        flags.0, conn.profile
    )
}
