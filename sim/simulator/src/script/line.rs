//! A script as it is understood.

use windlass_engine::{Nanos, Side};

use super::packet::Packet;

/// A time of a line, ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct When {
    /// Counted from the line before.
    pub relative: bool,
    pub from: Nanos,
    pub to: Nanos,
}

/// What is expected out of the box.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Expected {
    Packet(Packet),
    Same,
    Any,
    NothingFor(Nanos),
    Skip,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Comparison {
    Equal,
    Unequal,
    Less,
    Greater,
    AtMost,
    AtLeast,
}

impl Comparison {
    pub fn holds(self, a: u64, b: u64) -> bool {
        match self {
            Comparison::Equal => a == b,
            Comparison::Unequal => a != b,
            Comparison::Less => a < b,
            Comparison::Greater => a > b,
            Comparison::AtMost => a <= b,
            Comparison::AtLeast => a >= b,
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Action {
    Put(Side, Packet),
    Expect(Side, Expected),
    /// A counter, or with `None` the packets held.
    Count(Option<String>, Comparison, u64),
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Line {
    pub number: usize,
    pub text: String,
    pub when: When,
    pub action: Action,
}

/// A whole script.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Script {
    pub tolerance: Nanos,
    pub v6: bool,
    /// Initial sequence numbers, by side.
    pub isn: [u32; 2],
    pub lines: Vec<Line>,
}
