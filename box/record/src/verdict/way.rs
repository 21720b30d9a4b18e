//! One direction of data: what its sender sent, what left for its receiver, what the receiver said of it, and what the
//! sender was shown.

use std::collections::{BTreeMap, HashSet};

use windlass_wire::{Flags, Segment};

use super::ranges::{Range, Ranges};

/// What a SYN says that must not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Syn {
    pub seq: u32,
    pub mss: Option<u16>,
    pub scale: Option<u8>,
    pub sack: bool,
    pub stamps: bool,
}

impl Syn {
    pub(super) fn read(segment: &Segment) -> Syn {
        let options = &segment.options;
        Syn {
            seq: segment.seq,
            mss: options.mss,
            scale: options.window_scale,
            sack: options.sack_permitted,
            stamps: options.timestamps.is_some(),
        }
    }
}

/// Where an end's numbers begin, and how far they have come.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    base: u32,
    newest: i64,
}

/// What the sender of a way has been shown of its receiver, at most.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub ack: Option<i64>,
    pub edge: Option<i64>,
    /// The sequence number with which the newest window was shown (RFC 9293 §3.3.1, SND.WL1).
    pub with: Option<u32>,
    pub tsval: Option<u32>,
}

/// What one end has said.
#[derive(Debug, Default)]
pub(super) struct Way {
    numbers: Option<Numbers>,
    /// Of its sender.
    pub syn: Option<Syn>,
    pub came: Ranges,
    /// Segments that came, by their first byte: their indices.
    pub segments: BTreeMap<i64, Vec<usize>>,
    /// The longest of them, bytes.
    pub longest: i64,
    pub left: Ranges,
    /// ACK numbers of the receiver.
    pub acks: HashSet<i64>,
    pub max_ack: Option<i64>,
    pub sacked: Ranges,
    /// The furthest edge that the receiver has offered.
    pub offered: Option<i64>,
    /// ACK numbers and windows by which the receiver itself has moved its edge left, or that were overtaken.
    pub left_moves: HashSet<(u32, u16)>,
    pub shown: Shown,
    /// TSvals of its sender, and what it has echoed.
    pub tsvals: HashSet<u32>,
    pub first_tsval: Option<u32>,
    newest_tsval: Option<u32>,
    /// Those that came after a newer one.
    pub late_tsvals: HashSet<u32>,
    pub echoes: HashSet<u32>,
    pub resets: HashSet<u32>,
}

impl Way {
    /// The place of a sequence number of the sender in its stream. Without a SYN, the first number seen is 0.
    pub(super) fn place(&mut self, number: u32, syn: bool) -> i64 {
        let numbers = self.numbers.get_or_insert(Numbers {
            base: number,
            newest: 0,
        });
        if syn && self.syn.is_none() && self.came.first().is_none() {
            *numbers = Numbers {
                base: number,
                newest: 0,
            };
        }
        let newest = numbers.base.wrapping_add(numbers.newest as u32);
        let place = numbers.newest + i64::from(number.wrapping_sub(newest) as i32);
        numbers.newest = numbers.newest.max(place);
        place
    }

    /// The same of a number that moves nothing.
    pub(super) fn place_of(&self, number: u32) -> i64 {
        let Some(Numbers { base, newest }) = self.numbers else {
            return 0;
        };
        let last = base.wrapping_add(newest as u32);
        newest + i64::from(number.wrapping_sub(last) as i32)
    }

    /// Its sender has sent these bytes.
    pub(super) fn take(&mut self, segment: &Segment, index: usize) {
        let syn = segment.flags.has(Flags::SYN);
        let from = self.place(segment.seq, syn);
        if syn && self.syn.is_none() {
            self.syn = Some(Syn::read(segment));
        }
        let len = i64::from(segment.seq_len());
        if len > 0 {
            self.came.add((from, from + len));
            self.segments.entry(from).or_default().push(index);
            self.longest = self.longest.max(len);
        }
        if let Some(stamps) = segment.options.timestamps {
            self.tsvals.insert(stamps.val);
            self.first_tsval.get_or_insert(stamps.val);
            let newest = self.newest_tsval.get_or_insert(stamps.val);
            if before(stamps.val, *newest) {
                self.late_tsvals.insert(stamps.val);
            } else {
                *newest = stamps.val;
            }
            self.echoes.insert(stamps.ecr);
        }
        if segment.flags.has(Flags::RST) {
            self.resets.insert(segment.seq);
        }
    }

    /// Its receiver has sent this; `scale` of its windows, if it is known.
    pub(super) fn hear(&mut self, segment: &Segment, scale: Option<u8>) {
        if segment.flags.has(Flags::RST) {
            return;
        }
        let ack = self.acknowledged(segment);
        let edge = edge(segment, ack, scale);
        let overtaken = ack.is_some_and(|ack| self.max_ack.is_some_and(|max| ack < max));
        if overtaken || edge.is_some_and(|edge| self.offered.is_some_and(|max| edge < max)) {
            self.left_moves.insert((segment.ack, segment.window));
        }
        if let Some(ack) = ack {
            self.acks.insert(ack);
            self.max_ack = Some(self.max_ack.map_or(ack, |max| max.max(ack)));
            let blocks: Vec<Range> = self.blocks(segment).collect();
            for block in blocks {
                self.sacked.add(block);
            }
        }
        if let Some(edge) = edge {
            self.offered = Some(self.offered.map_or(edge, |max| max.max(edge)));
        }
    }

    /// What a segment of the receiver acknowledges.
    pub(super) fn acknowledged(&mut self, segment: &Segment) -> Option<i64> {
        let known = segment.flags.has(Flags::ACK);
        known.then(|| match self.numbers {
            Some(_) => self.place_of(segment.ack),
            None => self.place(segment.ack, false),
        })
    }

    pub(super) fn blocks(&self, segment: &Segment) -> impl Iterator<Item = Range> + '_ {
        let sack = segment.options.sack;
        let places = sack.blocks.into_iter().take(usize::from(sack.count));
        places.map(|(from, to)| (self.place_of(from), self.place_of(to)))
    }
}

/// The edge that a segment shows: what it acknowledges, and its window (RFC 7323 §2.2: that of a SYN is not scaled).
pub(super) fn edge(segment: &Segment, ack: Option<i64>, scale: Option<u8>) -> Option<i64> {
    let window = i64::from(segment.window);
    match (segment.flags.has(Flags::SYN), ack) {
        (true, ack) => Some(ack.unwrap_or(1) + window),
        (false, Some(ack)) => Some(ack + (window << scale?)),
        (false, None) => None,
    }
}

/// Whether a timestamp is before another (RFC 7323 §5.2).
pub(super) fn before(a: u32, b: u32) -> bool {
    a != b && b.wrapping_sub(a) < 1 << 31
}
