//! What an input says: how the connection is set up, and what the three parties and the path do.

use arbitrary::{Arbitrary, Unstructured};

/// Actions of one run at most.
const ACTIONS: usize = 250;

/// One run.
#[derive(Debug)]
pub struct Plan {
    pub setup: Setup,
    pub actions: Vec<Action>,
}

impl Plan {
    /// Actions for as long as there are bytes.
    pub fn read(data: &[u8]) -> arbitrary::Result<Plan> {
        let mut bytes = Unstructured::new(data);
        let setup = Setup::arbitrary(&mut bytes)?;
        let mut actions = Vec::new();
        while !bytes.is_empty() && actions.len() < ACTIONS {
            actions.push(Action::arbitrary(&mut bytes)?);
        }
        Ok(Plan { setup, actions })
    }
}

/// Boxes, ends and path, before the first packet.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct Setup {
    pub algorithm: u8,
    pub mode: u8,
    /// Bits: client's data too, no head-room, no inserted SACK, police, small limits, cap, two boxes, IPv6.
    pub features: u8,
    pub copies: u8,
    /// By side: what it offers. Bits: SACK, timestamps, scale, ECN; the rest is the size of its segments.
    pub offers: [u8; 2],
    pub scales: [u8; 2],
    /// Initial numbers: two bits. Another: actions begin with the handshake under way.
    pub numbers: u8,
    /// One way, outside of the box: from a millisecond up.
    pub delay: u8,
}

/// An end.
#[derive(Arbitrary, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Who {
    Server,
    Client,
}

/// One step.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Action {
    /// New data, as far as the window goes.
    Send {
        who: Who,
        segments: u8,
        size: u8,
    },
    /// What has been sent, again: with the boundaries that it had, or cut anew.
    Resend {
        who: Who,
        place: u8,
        cut: Option<u8>,
    },
    /// An acknowledgement that nothing asks for.
    Acknowledge {
        who: Who,
    },
    /// The application stops reading, or reads on.
    Read {
        who: Who,
        stops: bool,
    },
    KeepAlive {
        who: Who,
    },
    /// A byte beyond the window.
    Probe {
        who: Who,
    },
    Finish {
        who: Who,
    },
    Reset {
        who: Who,
    },
    /// The path: frames on one of its roads.
    Lose {
        road: u8,
        which: u8,
        count: u8,
    },
    Overtake {
        road: u8,
        which: u8,
    },
    Double {
        road: u8,
        which: u8,
    },
    Mark {
        road: u8,
        which: u8,
    },
    /// The third party.
    Forge(Forgery),
    Damage {
        road: u8,
        which: u8,
        at: u16,
        how: u8,
    },
    Repeat {
        which: u8,
        times: u8,
    },
    /// 2 to the so many microseconds pass, and some more.
    Wait {
        exponent: u8,
        more: u8,
    },
    /// The operator.
    Reload {
        algorithm: u8,
        features: u8,
    },
    Bypass {
        really: u8,
    },
    /// A box dies: what it holds is gone, and the bridge carries everything.
    Kill {
        really: u8,
    },
}

/// A segment that no end has sent: numbers relative to those of the end that it claims to be from.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct Forgery {
    pub from: Who,
    pub seq: Number,
    pub ack: Number,
    pub flags: u8,
    pub window: u16,
    pub len: u8,
    pub stamps: Option<(i16, bool)>,
    pub sack: Option<(Number, u16)>,
    /// Bits: a wrong checksum, the wrong side, an unknown option, a signature, more flags.
    pub oddities: u8,
}

/// A number near one that means something, or far from all.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Number {
    /// What its receiver expects.
    Expected(i16),
    /// What its sender would use.
    Next(i16),
    /// The far edge of what may come.
    Edge(i16),
    Blind(u32),
}
