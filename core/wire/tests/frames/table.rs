//! The table of frames and mutations of them, for this crate's tests and for those of the XDP program.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use windlass_wire::{Unparsed, flow_of, parse};

/// One frame.
#[derive(Clone, Debug)]
pub struct Frame {
    /// What it is.
    pub what: &'static str,
    /// What the table says that it is taken for.
    pub verdict: &'static str,
    /// All bytes.
    pub bytes: Vec<u8>,
    /// Length of its first contiguous part, bytes.
    pub first_part: usize,
}

impl Frame {
    /// The first contiguous part.
    pub fn head(&self) -> &[u8] {
        &self.bytes[..self.first_part]
    }

    /// Length of the whole frame, bytes.
    pub fn len(&self) -> u32 {
        self.bytes.len() as u32
    }

    /// What this crate takes it for, in the words of the table.
    pub fn taken_for(&self) -> String {
        let (flow, segment) = (
            flow_of(self.head(), self.len()),
            parse(self.head(), self.len()),
        );
        match (flow, segment) {
            (Ok(flow), Ok(segment)) if segment.key == flow => flow.to_string(),
            (Ok(flow), Err(Unparsed::Malformed(why))) if why.starts_with("option ") => {
                format!("bad options of {flow}")
            }
            (Err(why), Err(same)) if why == same => match why {
                Unparsed::NotIp => "not IP".to_owned(),
                Unparsed::NotTcp => "not TCP".to_owned(),
                Unparsed::Fragment => "fragment".to_owned(),
                Unparsed::Malformed(_) => "malformed".to_owned(),
            },
            other => panic!("{self:02x?}: {other:?}"),
        }
    }
}

/// The frames of the table.
pub fn frames() -> Vec<Frame> {
    let lines = include_str!("frames.txt").lines();
    let frames = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    frames.map(frame).collect()
}

fn frame(line: &'static str) -> Frame {
    let mut parts = line.splitn(3, '|').map(str::trim);
    let mut part = || {
        parts
            .next()
            .unwrap_or_else(|| panic!("three parts: {line}"))
    };
    let (what, verdict, hexadecimal) = (part(), part(), part());
    let (mut bytes, mut first_part) = (Vec::new(), None);
    for group in hexadecimal.split_whitespace() {
        match group.split_once('*') {
            Some((byte, times)) => {
                let times: usize = times.parse().expect("a number of times");
                bytes.resize(bytes.len() + times, byte_of(byte));
            }
            None if group == "/" => first_part = Some(bytes.len()),
            None => bytes.extend((0..group.len() / 2).map(|i| byte_of(&group[2 * i..2 * i + 2]))),
        }
    }
    Frame {
        what,
        verdict,
        first_part: first_part.unwrap_or(bytes.len()),
        bytes,
    }
}

fn byte_of(hexadecimal: &str) -> u8 {
    u8::from_str_radix(hexadecimal, 16).expect("two digits")
}

/// The Ethernet addresses, which no edit changes: the XDP program has a rule of its own for them.
const ADDRESSES: usize = 12;

/// One change of a frame. Places beyond its end count from its beginning again.
#[derive(Clone, Debug)]
enum Edit {
    Set(usize, u8),
    Flip(usize, u8),
    Insert(usize, Vec<u8>),
    Remove(usize, usize),
    /// Puts bytes of another frame of the table at the same place.
    Splice(usize, usize, usize),
    Cut(usize),
    Grow(usize),
    /// Makes the length in an IP header behind so many tags that of the frame.
    MendLength(usize),
}

/// Bytes that mean something in some header.
const TELLING: [u8; 26] = [
    0, 1, 2, 4, 5, 6, 8, 15, 17, 20, 40, 43, 44, 45, 50, 51, 59, 60, 0x45, 0x46, 0x60, 0x81, 0x86,
    0x88, 0xa8, 0xff,
];

fn edit() -> impl Strategy<Value = Edit> {
    let place = || prop_oneof![3 => ADDRESSES..80, 1 => ADDRESSES..300];
    let telling = || prop_oneof![any::<u8>(), proptest::sample::select(TELLING.to_vec())];
    prop_oneof![
        5 => (place(), telling()).prop_map(|(at, byte)| Edit::Set(at, byte)),
        3 => (place(), 0..8u8).prop_map(|(at, bit)| Edit::Flip(at, bit)),
        2 => (place(), vec(telling(), 4..9)).prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
        1 => (place(), 1..9usize).prop_map(|(at, len)| Edit::Remove(at, len)),
        2 => (any::<usize>(), place(), 1..60usize)
            .prop_map(|(other, at, len)| Edit::Splice(other, at, len)),
        1 => (ADDRESSES..200).prop_map(Edit::Cut),
        1 => (1..64usize).prop_map(Edit::Grow),
        3 => (0..3usize).prop_map(Edit::MendLength),
    ]
}

fn apply(edit: &Edit, frame: &mut Frame, table: &[Frame]) {
    let bytes = &mut frame.bytes;
    let Some(free) = bytes.len().checked_sub(ADDRESSES).filter(|free| *free > 0) else {
        return;
    };
    let within = |at: usize| ADDRESSES + (at - ADDRESSES) % free;
    match edit {
        Edit::Set(at, byte) => bytes[within(*at)] = *byte,
        Edit::Flip(at, bit) => bytes[within(*at)] ^= 1 << bit,
        Edit::Insert(at, new) => {
            let at = within(*at);
            bytes.splice(at..at, new.iter().copied());
        }
        Edit::Remove(at, len) => {
            let at = within(*at);
            bytes.drain(at..(at + len).min(ADDRESSES + free));
        }
        Edit::Splice(other, at, len) => {
            let (other, at) = (&table[other % table.len()].bytes, within(*at));
            let end = (at + len).min(bytes.len()).min(other.len());
            if at < end {
                bytes[at..end].copy_from_slice(&other[at..end]);
            }
        }
        Edit::Cut(len) => bytes.truncate(*len),
        Edit::Grow(len) => bytes.resize(bytes.len() + len, 0x3c),
        Edit::MendLength(tags) => mend_length(bytes, 14 + tags * 4),
    }
    frame.first_part = frame.bytes.len();
}

fn mend_length(bytes: &mut [u8], ip: usize) {
    let len = (bytes.len() - ip.min(bytes.len())) as u16;
    let (at, len) = match bytes.get(ip).map(|first| first >> 4) {
        Some(4) => (ip + 2, len),
        Some(6) => (ip + 4, len.saturating_sub(40)),
        _ => return,
    };
    if let Some(field) = bytes.get_mut(at..at + 2) {
        field.copy_from_slice(&len.to_be_bytes());
    }
}

/// Frames of the table in turn, each with some edits; the same ones each time.
pub fn mutations() -> impl Iterator<Item = Frame> {
    let (table, edits) = (frames(), vec(edit(), 1..4));
    let mut runner = TestRunner::deterministic();
    (0..).map(move |n: usize| {
        let mut frame = table[n % table.len()].clone();
        frame.first_part = frame.bytes.len();
        let edits = edits.new_tree(&mut runner).expect("nothing is refused");
        for edit in edits.current() {
            apply(&edit, &mut frame, &table);
        }
        frame
    })
}
