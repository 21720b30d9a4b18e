//! What a capture of both interfaces of a box proves.
//!
//! Each connection is followed in the order of time: what came of its ends, and what left for them. Each packet that left is
//! held against what had come. A rule is kept, broken at a place that is named, or cannot be told. Nothing is guessed.

mod acks;
mod checksums;
mod connection;
mod data;
mod finding;
mod payload;
mod ranges;
mod sides;
mod text;
mod way;

use std::collections::HashMap;

use serde::Serialize;
use windlass_engine::Side;
use windlass_wire::{Flags, FlowKey, Segment, Unparsed, parse};

use crate::pcapng::{Capture, Captured, Direction};
use connection::{Carried, Event, Judge};
use sides::Places;

pub use finding::{Broken, Finding, Rule};
pub use sides::NoSides;

const ONE_SIDE: &str = "its packets are on one interface only";
const NO_DIRECTION: &str =
    "on which side its ends are does not show: the interfaces have no packet in common";

/// What was found of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Connection {
    /// Its name, with the end first that is inside.
    pub connection: String,
    /// Packets that came into the box.
    pub came: u64,
    /// Packets that left it.
    pub left: u64,
    /// Segments whose payload was compared byte for byte.
    pub compared_by_bytes: u64,
    /// Segments whose payload was compared by its sum.
    pub compared_by_sums: u64,
    /// Both SYNs are there.
    pub whole: bool,
    /// Why nothing can be told, if it is so.
    pub unknown: Option<&'static str>,
    /// Of each rule that was asked for.
    pub findings: Vec<Finding>,
}

/// What a file proves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// By the time of their first packet.
    pub connections: Vec<Connection>,
    /// Packets that are no TCP, and are not judged.
    pub others: u64,
    /// Packets of which not all headers are there, or that are fragments.
    pub unreadable: u64,
    /// Packets that the file says were not captured.
    pub not_captured: u64,
}

/// How it ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Each rule was checked on each connection, and kept.
    Kept,
    /// A rule was broken.
    Broken,
    /// None was broken, and something could not be told.
    Unknown,
}

impl Connection {
    /// Whether a rule is broken, or something unknown.
    pub fn outcome(&self) -> Outcome {
        let broken = self.findings.iter().any(|finding| finding.broken > 0);
        let unknown = self.findings.iter().any(|finding| finding.unknown > 0);
        match (broken, unknown || self.unknown.is_some()) {
            (true, _) => Outcome::Broken,
            (false, true) => Outcome::Unknown,
            (false, false) => Outcome::Kept,
        }
    }
}

impl Verdict {
    /// The worst of all connections. A file without any proves nothing.
    pub fn outcome(&self) -> Outcome {
        let of = |outcome| self.connections.iter().any(|c| c.outcome() == outcome);
        match self.connections.is_empty() {
            _ if of(Outcome::Broken) => Outcome::Broken,
            false if !of(Outcome::Unknown) => Outcome::Kept,
            _ => Outcome::Unknown,
        }
    }
}

/// A packet of TCP, and the side of its interface.
type Read<'a> = (&'a Captured<'a>, Segment, Side);

/// Judges a capture. `wanted`: names or numbers of the interfaces inside and outside, where somebody has said them. `rules`:
/// those that are asked for.
///
/// # Errors
/// The interfaces of the box cannot be told.
pub fn judge(
    capture: &Capture<'_>,
    wanted: [Option<&str>; 2],
    rules: &[Rule],
) -> Result<Verdict, NoSides> {
    let places = Places::find(capture, wanted)?;
    let mut verdict = Verdict {
        connections: Vec::new(),
        others: 0,
        unreadable: 0,
        not_captured: capture
            .interfaces
            .iter()
            .map(|i| i.dropped)
            .fold(0, u64::saturating_add),
    };
    let mut packets: HashMap<FlowKey, Vec<Read<'_>>> = HashMap::new();
    for captured in &capture.packets {
        let Some(side) = places.side(captured) else {
            continue;
        };
        match parse(captured.data, captured.length) {
            Ok(segment) => {
                let key = segment.key.canonical().0;
                packets
                    .entry(key)
                    .or_default()
                    .push((captured, segment, side));
            }
            Err(Unparsed::NotIp | Unparsed::NotTcp) => verdict.others += 1,
            Err(Unparsed::Fragment | Unparsed::Malformed(_)) => verdict.unreadable += 1,
        }
    }
    let doubt = verdict.doubt();
    let mut judged = Vec::new();
    for (key, mut packets) in packets {
        packets.sort_by_key(|(captured, ..)| (captured.time, captured.number));
        checksums::settle(
            packets
                .iter_mut()
                .map(|(_, segment, side)| (segment, *side)),
        );
        for packets in incarnations(&packets) {
            let first = packets.first().map(|(captured, ..)| captured.number);
            judged.push((
                first,
                judge_one(&key, packets, &places, doubt.as_deref(), rules),
            ));
        }
    }
    judged.sort_by_key(|(first, _)| *first);
    verdict.connections = judged
        .into_iter()
        .map(|(_, connection)| connection)
        .collect();
    Ok(verdict)
}

impl Verdict {
    /// Why what seems to be missing may have been there.
    fn doubt(&self) -> Option<String> {
        match (self.not_captured, self.unreadable) {
            (0, 0) => None,
            (0, unreadable) => Some(format!(
                "{unreadable} packets cannot be read (fragments, or cut off within their headers)"
            )),
            (count, _) => Some(format!("{count} packets were not captured")),
        }
    }
}

/// Connections that follow each other under the same name: each begins with a SYN of a number of its own.
fn incarnations<'r, 'a>(packets: &'r [Read<'a>]) -> Vec<&'r [Read<'a>]> {
    let mut parts = Vec::new();
    let (mut begin, mut syn) = (0, None);
    for (at, (_, segment, _)) in packets.iter().enumerate() {
        let first = segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK);
        if !first || syn == Some(segment.seq) {
            continue;
        }
        if at > begin {
            parts.push(&packets[begin..at]);
        }
        (begin, syn) = (at, Some(segment.seq));
    }
    parts.push(&packets[begin..]);
    parts
}

fn judge_one(
    key: &FlowKey,
    packets: &[Read<'_>],
    places: &Places,
    doubt: Option<&str>,
    rules: &[Rule],
) -> Connection {
    let mut connection = Connection {
        connection: key.to_string(),
        came: 0,
        left: 0,
        compared_by_bytes: 0,
        compared_by_sums: 0,
        whole: false,
        unknown: None,
        findings: Vec::new(),
    };
    let seen: Vec<_> = packets
        .iter()
        .map(|(captured, segment, side)| (*captured, segment, *side))
        .collect();
    let both = [Side::Inside, Side::Outside].map(|side| seen.iter().any(|(.., at)| *at == side));
    if both != [true, true] {
        connection.unknown = Some(ONE_SIDE);
        return connection;
    }
    let Some(first_end) = places.of_first_end(key, &seen) else {
        connection.unknown = Some(NO_DIRECTION);
        return connection;
    };
    if first_end == Side::Outside {
        connection.connection = key.reversed().to_string();
    }
    let mut events: Vec<Event<'_>> = seen
        .into_iter()
        .map(|(captured, segment, at)| event(captured, segment, at, (key, first_end)))
        .collect();
    // What came and what left at the same time: the one caused the other.
    events.sort_by_key(|event| (event.captured.time, event.direction == Direction::Out));
    let (findings, carried, whole) = Judge::judge(&events);
    fill(&mut connection, findings, carried, rules);
    connection.whole = whole;
    for finding in &mut connection.findings {
        if let Some(doubt) = doubt.filter(|_| finding.rule != Rule::Payload.name()) {
            finding.doubt(doubt);
        }
    }
    connection
}

/// A packet that was captured on the side `at`. `first_end`: where the end is that `key` mentions first.
fn event<'a>(
    captured: &'a Captured<'a>,
    segment: &'a Segment,
    at: Side,
    (key, first_end): (&FlowKey, Side),
) -> Event<'a> {
    let from = match segment.key == *key {
        true => first_end,
        false => first_end.other(),
    };
    let direction = match from == at {
        true => Direction::In,
        false => Direction::Out,
    };
    Event {
        captured,
        segment,
        from,
        direction,
    }
}

fn fill(connection: &mut Connection, findings: Vec<Finding>, carried: Carried, rules: &[Rule]) {
    connection.came = carried.came;
    connection.left = carried.left;
    connection.compared_by_bytes = carried.by_bytes;
    connection.compared_by_sums = carried.by_sums;
    let wanted = |finding: &Finding| rules.iter().any(|rule| rule.name() == finding.rule);
    connection.findings = findings.into_iter().filter(wanted).collect();
}
