//! What was found of each rule.

use serde::Serialize;
use windlass_engine::Nanos;
use windlass_metric::labels;

/// Places that are named of a rule at most; more are counted.
const NAMED_MAX: usize = 8;

labels! {
    /// A rule that a box must keep, whatever happens.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
    pub enum Rule {
        /// Sequence numbers: what leaves has come from its sender, byte for byte.
        Data = "data",
        /// Payload leaves as it came.
        Payload = "payload",
        /// The sender is shown no ACK number that its receiver has not sent.
        Ack = "ack",
        /// The sender is shown no SACK block of data that its receiver has not reported.
        Sack = "sack",
        /// The edge shown (ACK + window) is never beyond the receiver's own.
        EdgeBeyond = "edge_beyond",
        /// The edge shown never moves left.
        EdgeLeft = "edge_left",
        /// What came and was acknowledged to its sender has left.
        Bytes = "bytes",
        /// TCP timestamps are those of the ends, and never go back.
        Timestamps = "timestamps",
        /// The options of SYNs are those of the ends; SACK may be offered for one that does not do it.
        Handshake = "handshake",
        /// A reset comes from an end.
        Reset = "reset",
    }
}

/// A place where a rule is broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Broken {
    /// Number of the packet in the file, from 1.
    pub packet: u32,
    /// ns since 1970.
    pub time_ns: Nanos,
    /// What is wrong there.
    pub what: String,
}

/// What was found of one rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Its name.
    pub rule: &'static str,
    /// How often it was checked and kept.
    pub kept: u64,
    /// How often it was broken.
    pub broken: u64,
    /// The first places.
    pub places: Vec<Broken>,
    /// How often it could not be told.
    pub unknown: u64,
    /// Why, the first time.
    pub why_unknown: Option<String>,
}

impl Finding {
    pub(super) fn new(rule: Rule) -> Finding {
        Finding {
            rule: rule.name(),
            kept: 0,
            broken: 0,
            places: Vec::new(),
            unknown: 0,
            why_unknown: None,
        }
    }

    pub(super) fn cannot_tell(&mut self, why: impl Into<String>) {
        self.unknown += 1;
        self.why_unknown.get_or_insert_with(|| why.into());
    }

    pub(super) fn break_at(&mut self, packet: u32, time_ns: Nanos, what: String) {
        self.broken += 1;
        if self.places.len() < NAMED_MAX {
            self.places.push(Broken {
                packet,
                time_ns,
                what,
            });
        }
    }

    /// Nothing that is missing in the file may accuse anybody.
    pub(super) fn doubt(&mut self, why: &str) {
        if self.broken == 0 {
            return;
        }
        self.unknown += self.broken;
        let first = self.places.first().map_or(String::new(), |place| {
            format!(" (packet {}: {})", place.packet, place.what)
        });
        self.why_unknown = Some(format!("{why}{first}"));
        self.broken = 0;
        self.places.clear();
    }
}
