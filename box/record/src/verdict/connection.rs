//! A connection, packet by packet in the order of time.

use windlass_engine::{Nanos, Side};
use windlass_wire::{Flags, Segment};

use super::finding::{Finding, Rule};
use super::payload::Data;
use super::way::{Syn, Way};
use crate::pcapng::{Captured, Direction};

pub(super) const BEGAN_EARLIER: &str = "the recording begins in mid-flow";
/// RFC 7323 §2.2 allows no larger one.
const SCALE_MAX: u8 = 14;

/// A packet of a connection.
#[derive(Clone, Copy)]
pub(super) struct Event<'a> {
    pub captured: &'a Captured<'a>,
    pub segment: &'a Segment,
    /// Side of the end that has sent it.
    pub from: Side,
    /// Into the box, or out of it.
    pub direction: Direction,
}

impl<'a> Event<'a> {
    pub(super) fn data(&self) -> Data<'a> {
        Data {
            segment: self.segment,
            captured: self.captured,
        }
    }
}

/// What a connection carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Carried {
    pub came: u64,
    pub left: u64,
    /// Segments whose payload was compared byte for byte, and by its sum.
    pub by_bytes: u64,
    pub by_sums: u64,
}

/// Judges one.
pub(super) struct Judge {
    /// By side of the sender.
    pub(super) ways: [Way; 2],
    findings: Vec<Finding>,
    pub(super) carried: Carried,
    /// When the first packet was captured, ns.
    pub(super) began: Nanos,
}

impl Judge {
    /// All of the events, in order.
    pub(super) fn judge(events: &[Event<'_>]) -> (Vec<Finding>, Carried, bool) {
        let mut judge = Judge {
            ways: Default::default(),
            began: events.first().map_or(0, |event| event.captured.time),
            findings: Rule::ALL.iter().map(|rule| Finding::new(*rule)).collect(),
            carried: Carried::default(),
        };
        for (index, event) in events.iter().enumerate() {
            match event.direction {
                Direction::In => judge.came(event, index),
                Direction::Out => judge.left(event, events),
            }
        }
        let whole = judge.is_whole();
        (judge.findings, judge.carried, whole)
    }

    pub(super) fn finding(&mut self, rule: Rule) -> &mut Finding {
        &mut self.findings[rule as usize]
    }

    /// Both SYNs came: nothing of the connection was before.
    pub(super) fn is_whole(&self) -> bool {
        self.ways.iter().all(|way| way.syn.is_some())
    }

    /// Of the windows that the end on `side` shows.
    pub(super) fn scale_of(&self, side: Side) -> Option<u8> {
        let [mine, other] = [side, side.other()].map(|side| self.ways[side.index()].syn);
        let (mine, other) = (mine?, other?);
        let agreed = mine.scale.is_some() && other.scale.is_some();
        Some(match agreed {
            true => mine.scale.unwrap_or(0).min(SCALE_MAX),
            false => 0,
        })
    }

    fn came(&mut self, event: &Event<'_>, index: usize) {
        self.carried.came += 1;
        let (from, segment) = (event.from, event.segment);
        self.ways[from.index()].take(segment, index);
        let scale = self.scale_of(from);
        self.ways[from.other().index()].hear(segment, scale);
    }

    fn left(&mut self, event: &Event<'_>, all: &[Event<'_>]) {
        self.carried.left += 1;
        let segment = event.segment;
        if segment.flags.has(Flags::SYN) {
            self.check_syn(event);
        }
        if segment.flags.has(Flags::RST) {
            return self.check_reset(event);
        }
        self.check_data(event, all);
        self.check_stamps(event);
        let ack = self.ways[event.from.other().index()].acknowledged(segment);
        if let Some(ack) = ack {
            self.check_ack(event, ack);
            self.check_sack(event, ack);
            self.check_bytes(event, ack);
        }
        self.check_edge(event, ack);
    }

    /// Kept; or what cannot be told where the beginning is not there; or broken.
    pub(super) fn note(
        &mut self,
        rule: Rule,
        event: &Event<'_>,
        kept: bool,
        what: impl FnOnce() -> String,
    ) {
        let whole = self.is_whole();
        let finding = self.finding(rule);
        match (kept, whole) {
            (true, _) => finding.kept += 1,
            (false, true) => finding.break_at(event.captured.number, event.captured.time, what()),
            (false, false) => finding.cannot_tell(BEGAN_EARLIER),
        }
    }

    fn check_syn(&mut self, event: &Event<'_>) {
        let way = &self.ways[event.from.index()];
        let shown = Syn::read(event.segment);
        let came = way.syn.filter(|syn| syn.seq == shown.seq);
        let finding = self.finding(Rule::Handshake);
        let Some(came) = came else {
            return finding.cannot_tell("a SYN left that had not come");
        };
        let may_offer = event.segment.flags.has(Flags::ACK);
        let sack = shown.sack == came.sack || (shown.sack && may_offer);
        let rest = Syn {
            sack: came.sack,
            ..shown
        };
        if sack && rest == came {
            finding.kept += 1;
        } else {
            let what = format!("the SYN leaves with other options: {came:?} came, {shown:?} left");
            finding.break_at(event.captured.number, event.captured.time, what);
        }
    }

    fn check_reset(&mut self, event: &Event<'_>) {
        let sent = &self.ways[event.from.index()].resets;
        let kept = sent.contains(&event.segment.seq);
        let (number, time) = (event.captured.number, event.captured.time);
        let finding = self.finding(Rule::Reset);
        match kept {
            true => finding.kept += 1,
            false => finding.break_at(
                number,
                time,
                "a reset leaves that no end has sent".to_owned(),
            ),
        }
    }
}
