//! What an end is held to have said, and what its peer may therefore be shown.
//!
//! An end has said what it has sent itself, and what a third party has said in its name in segments that
//! the other end would take: those mislead it on a bare wire as well. A frame that leaves as it came shows
//! what the wire would show. Whatever else leaves may differ from a frame that came in acknowledgement,
//! window, timestamps, SACK blocks, ECE, CWR and checksum alone, and each of these must have been said.

use std::collections::{BTreeMap, BTreeSet};

use windlass_wire::{Flags, Segment, parse, verify_tcp};

use super::alike::{
    Digest, clear_ecn, digest, plain, windowless, without_inserted, without_peers_words,
};
use super::end::{End, after, later_of};
use super::receive::Verdict;

/// Units of the window scale by which rounding may carry an edge beyond the receiver's, and one more for each
/// acknowledgement since: an edge that must not move left is rounded up each time, as Linux does.
const ROUNDINGS: u32 = 8;

/// Where a frame comes from.
#[derive(Clone, Copy, Default, Debug)]
struct Source {
    /// From the end itself, or from somebody whom the other end would believe.
    believed: bool,
    own: bool,
    flags: u16,
    /// A box believes it, which does not know what the end knows.
    box_believes: bool,
}

/// By one end, to the other.
#[derive(Default, Debug)]
pub struct Said {
    /// Two boxes use the ECN field between them, and an option.
    two_boxes: bool,
    /// Whole frames, and whether the end itself has sent them.
    frames: BTreeMap<Digest, bool>,
    plain: BTreeMap<Digest, Source>,
    /// The largest window of frames that are the same but for that.
    windows: BTreeMap<Digest, u16>,
    /// Numbers of its SYN-ACK: a box offers SACK in each that looks like it.
    answer: Option<(u32, u32)>,
    acks: BTreeSet<u32>,
    newest_ack: Option<u32>,
    edge: Option<u32>,
    /// What it has acknowledged with its edge.
    edge_ack: u32,
    /// The largest window of a SYN in its name: it counts from the first number of whoever answers (RFC 9293 §3.10.7.2).
    opening: u16,
    tsvals: BTreeSet<u32>,
    echoes: BTreeSet<u32>,
    blocks: BTreeSet<(u32, u32)>,
    /// One past the last number that it has used.
    next: u32,
    /// Somebody else has been believed in its name.
    pub by_others: bool,
    /// Data that somebody else has sent in its name, and that the other end or a box believes.
    others_data: Vec<(u32, u32)>,
    /// Somebody else's acknowledgements of such data, in its name, and one past the last number that came with one.
    acks_of_others: BTreeSet<u32>,
    others_next: Option<u32>,
    /// The right edge of the window that somebody else has told in its name, and a box believes.
    pub others_edge: Option<u32>,
    pub marks: bool,
}

impl Said {
    pub fn new(two_boxes: bool) -> Said {
        Said {
            two_boxes,
            ..Said::default()
        }
    }

    /// The end itself has sent a frame; `scale` is that of its window.
    pub fn note_own(&mut self, frame: &[u8], scale: u8) {
        self.frames.insert(self.as_ends_see(frame), true);
        self.note(frame, true, true, scale);
    }

    /// Somebody else has, in its name.
    pub fn note_foreign(&mut self, frame: &[u8], believed: bool, scale: u8) {
        let seen = self.as_ends_see(frame);
        self.frames.entry(seen).or_insert(false);
        self.note(frame, believed, false, scale);
    }

    /// Somebody else's, which the end that it is for does not believe, but a box may.
    pub fn note_believed_by_box(&mut self, segment: &Segment, frame: &[u8], scale: u8) {
        if !segment.flags.has(Flags::ACK) {
            return;
        }
        self.marks |= segment.flags.has(Flags::ECE);
        self.acks_of_others.insert(segment.ack);
        self.note_edge_of_others(segment, scale);
        let end = segment.seq.wrapping_add(segment.seq_len());
        self.others_next = Some(later_of(self.others_next.unwrap_or(end), end));
        if segment.seq_len() > 0 {
            self.others_data.push((segment.seq, end));
        }
        let source = self.plain.entry(plain(segment, frame)).or_default();
        source.box_believes = true;
    }

    /// A SYN in its name that begins the connection, or begins it anew for who knows of none any more.
    pub fn note_opening(&mut self, segment: &Segment) {
        if segment.flags.has(Flags::SYN) {
            self.opening = self.opening.max(segment.window);
        }
    }

    fn note_edge_of_others(&mut self, segment: &Segment, scale: u8) {
        let edge = segment.ack.wrapping_add(u32::from(segment.window) << scale);
        self.others_edge = Some(later_of(self.others_edge.unwrap_or(edge), edge));
    }

    fn note(&mut self, frame: &[u8], believed: bool, own: bool, scale: u8) {
        let cut = without_peers_words(frame).filter(|_| self.two_boxes);
        let frame = cut.as_deref().unwrap_or(frame);
        let Ok(segment) = parse(frame, frame.len() as u32) else {
            return;
        };
        let window = self.windows.entry(windowless(&segment, frame)).or_default();
        *window = segment.window.max(*window);
        let source = self.plain.entry(plain(&segment, frame)).or_default();
        // What only a stranger has said excuses nothing.
        if believed || !source.believed {
            source.flags |= segment.flags.0;
        }
        source.believed |= believed;
        source.own |= own;
        if own && segment.flags.has(Flags::SYN.with(Flags::ACK)) {
            self.answer = Some((segment.seq, segment.ack));
        }
        self.by_others |= believed && !own;
        if believed && !own && segment.flags.has(Flags::ACK) {
            self.note_edge_of_others(&segment, scale);
        }
        if believed && !own && segment.seq_len() > 0 {
            let end = segment.seq.wrapping_add(segment.seq_len());
            self.others_data.push((segment.seq, end));
        }
        if believed {
            self.believe(&segment, scale);
        }
    }

    fn believe(&mut self, segment: &Segment, scale: u8) {
        let end = segment.seq.wrapping_add(segment.seq_len());
        self.next = match self.newest_ack {
            None => end,
            Some(_) => later_of(self.next, end),
        };
        if let Some(stamps) = segment.options.timestamps {
            self.tsvals.insert(stamps.val);
            self.echoes.insert(stamps.ecr);
        }
        if !segment.flags.has(Flags::ACK) {
            return self.note_opening(segment);
        }
        // An end that takes a reset takes nothing else of it.
        if segment.flags.has(Flags::RST) {
            return;
        }
        self.marks |= segment.flags.has(Flags::ECE);
        self.acks.insert(segment.ack);
        let newest = self.newest_ack.unwrap_or(segment.ack);
        self.newest_ack = Some(later_of(newest, segment.ack));
        self.blocks.extend(segment.options.sack.iter());
        let scale = if segment.flags.has(Flags::SYN) {
            0
        } else {
            scale
        };
        let edge = segment.ack.wrapping_add(u32::from(segment.window) << scale);
        if self.edge.is_none_or(|before| after(edge, before)) {
            self.edge = Some(edge);
            self.edge_ack = segment.ack;
        }
    }

    /// A frame without what is between boxes alone.
    fn as_ends_see(&self, frame: &[u8]) -> Digest {
        if !self.two_boxes {
            return digest(frame);
        }
        let mut seen = without_peers_words(frame).unwrap_or_else(|| frame.to_vec());
        if let Ok(segment) = parse(&seen, seen.len() as u32) {
            clear_ecn(&segment, &mut seen);
        }
        digest(&seen)
    }

    /// Whether this very frame has come in.
    pub fn has_come(&self, frame: &[u8]) -> bool {
        self.frames.contains_key(&self.as_ends_see(frame))
    }

    /// Whether it has come with a larger window: of what its receiver may take, though the box does not believe it, a box hides room
    /// that it has not shown.
    fn has_come_with_more_room(&self, segment: &Segment, frame: &[u8]) -> bool {
        let window = self.windows.get(&windowless(segment, frame));
        let told = window.is_some_and(|window| segment.window < *window);
        told && segment.payload_len > 0 && verify_tcp(frame, segment)
    }

    /// Whether the end that has the name of the sender has not sent this, changed by a box or not.
    pub fn is_strange(&self, frame: &[u8]) -> bool {
        if let Some(own) = self.frames.get(&self.as_ends_see(frame)) {
            return !own;
        }
        let cut = without_peers_words(frame).filter(|_| self.two_boxes);
        let frame = cut.as_deref().unwrap_or(frame);
        let Ok(segment) = parse(frame, frame.len() as u32) else {
            return true;
        };
        let source = self.plain.get(&plain(&segment, frame));
        source.is_some_and(|source| !source.own)
    }

    /// A box has believed somebody else in its name.
    fn is_spoken_for(&self) -> bool {
        self.by_others || !self.acks_of_others.is_empty()
    }

    /// It has used this TSval.
    pub fn has_said(&self, tsval: u32) -> bool {
        self.tsvals.contains(&tsval)
    }

    /// A report between boxes that nobody has taken out tells an end nothing.
    pub fn check_report(&self, frame: &[u8]) {
        if self.has_come(frame) {
            // Somebody's, who has changed a box's.
            return;
        }
        let segment = parse(frame, frame.len() as u32).expect("boxes make segments");
        let newest = self.newest_ack.unwrap_or(segment.ack);
        assert!(after(newest, segment.ack), "tells an ACK: {segment:?}");
    }

    /// A frame leaves the last box toward `to`, whose own words are `own`. What boxes say to each other
    /// has been taken out.
    pub fn check(&self, frame: &[u8], to: &End, own: &Said) {
        if self.has_come(frame) {
            return;
        }
        let segment =
            parse(frame, frame.len() as u32).expect("what is not understood is untouched");
        if self.has_come_with_more_room(&segment, frame) {
            return;
        }
        assert!(verify_tcp(frame, &segment), "checksum: {segment:?}");
        // Whom an end has believed, a box believes more: what he acknowledges of his own, and where he says that there is room. The
        // end knows better, and drops what comes of that.
        let spoken_for = self.is_spoken_for() || own.is_spoken_for();
        if spoken_for && to.judge(&segment, frame) != Verdict::Take {
            return;
        }
        self.check_source(&segment, frame, to, own);
        if segment.flags.has(Flags::ACK) {
            self.check_acknowledgement(&segment, to, own);
        }
        // An end that has a stranger's data has lost its connection already.
        let lost = !self.others_data.is_empty() || !own.others_data.is_empty();
        if let Some(stamps) = segment.options.timestamps.filter(|_| !lost) {
            assert!(self.tsvals.contains(&stamps.val), "TSval: {segment:?}");
            assert!(self.echoes.contains(&stamps.ecr), "TSecr: {segment:?}");
        }
        for block in segment.options.sack.iter() {
            // What lies below the acknowledgement, which has been checked, was told with it (RFC 2883).
            let told = !after(block.1, segment.ack);
            assert!(
                told || self.has_reported(block),
                "SACK {block:?}: {segment:?}"
            );
        }
    }

    /// Header and payload are somebody's, but for what a box may write.
    fn check_source(&self, segment: &Segment, frame: &[u8], to: &End, own: &Said) {
        let source = self.plain.get(&plain(segment, frame)).copied();
        let source = source.or_else(|| self.plain.get(&without_inserted(segment, frame)?).copied());
        let Some(source) = source else {
            return self.check_made(segment);
        };
        let syn = segment.flags.has(Flags::SYN);
        let again = syn && self.answer == Some((segment.seq, segment.ack));
        // Of a probe that goes on as it is, a box may hide room that it has not shown.
        let window = self.windows.get(&windowless(segment, frame));
        let hides = window.is_some_and(|most| segment.window <= *most);
        let of_others = source.box_believes || acks_what_another_has_sent(segment, to, own);
        let honest = source.believed || again || hides || of_others;
        if !honest && segment.flags == Flags::ACK && segment.payload_len == 0 {
            // One of the box's own may look like a stranger's.
            return self.check_made(segment);
        }
        assert!(honest, "laundered: {segment:?}");
        let came = Flags(source.flags);
        let cwr = came.has(Flags::CWR) || own.marks;
        assert!(cwr || !segment.flags.has(Flags::CWR), "CWR: {segment:?}");
        let ece = came.has(Flags::ECE);
        assert!(ece || !segment.flags.has(Flags::ECE), "ECE: {segment:?}");
    }

    /// An acknowledgement of the box's own.
    fn check_made(&self, segment: &Segment) {
        let options = &segment.options;
        let others = options.fast_open
            || options.mptcp
            || options.md5
            || options.ao
            || options.unknown
            || options.sack_permitted
            || options.mss.is_some()
            || options.window_scale.is_some();
        assert!(
            segment.flags == Flags::ACK && segment.payload_len == 0 && !others,
            "nobody has sent {segment:?}"
        );
        let next = later_of(self.next, self.others_next.unwrap_or(self.next));
        assert!(!after(segment.seq, next), "number: {segment:?}");
    }

    /// So often its edge may have been rounded up since it last moved it.
    pub fn roundings(&self) -> u32 {
        // What it has acknowledged before may come to a box later than a stranger's edge.
        let since = self.acks.iter().filter(|ack| !after(self.edge_ack, **ack));
        ROUNDINGS + since.count() as u32
    }

    fn check_acknowledgement(&self, segment: &Segment, to: &End, own: &Said) {
        let ack = segment.ack;
        if acks_what_another_has_sent(segment, to, own) || self.acks_of_others.contains(&ack) {
            return;
        }
        assert!(self.acks.contains(&ack), "ACK never said: {segment:?}");
        let scale = match segment.flags.has(Flags::SYN) {
            true => 0,
            false => to.agreed.others_scale,
        };
        let edge = ack.wrapping_add(u32::from(segment.window) << scale);
        let opening = 1 + u32::from(self.opening);
        let opened = own.answer.map(|(first, _)| first.wrapping_add(opening));
        let told = self.edge.or(opened).unwrap_or(ack);
        let most = later_of(told, opened.unwrap_or(told));
        let most = most.wrapping_add(self.roundings() << scale);
        // Whoever acknowledges what he has sent himself in the other end's name, shows a window with it.
        // So does he who has told of room in the receiver's name, and uses it.
        let excused = !own.others_data.is_empty() || own.is_spoken_for();
        assert!(
            excused || !after(edge, most),
            "edge {edge} beyond {:?}: {segment:?}",
            self.edge
        );
    }

    /// Each byte of a block has been acknowledged, selectively or not.
    fn has_reported(&self, (start, end): (u32, u32)) -> bool {
        let Some(newest) = self.newest_ack else {
            return false;
        };
        let mut at = start;
        if !after(start, newest) {
            at = newest;
        }
        while after(end, at) {
            let reaches = |&&(s, e): &&(u32, u32)| !after(s, at) && after(e, at);
            let Some(&(_, further)) = self.blocks.iter().find(reaches) else {
                return false;
            };
            at = further;
        }
        true
    }
}

/// What somebody has sent in the name of the end that the segment is for: only that end knows better, and drops it until it has
/// sent as much itself.
pub fn acks_what_another_has_sent(segment: &Segment, to: &End, own: &Said) -> bool {
    let ack = segment.ack;
    let is_of = |&(start, end): &(u32, u32)| after(ack, start) && !after(ack, end);
    let beyond = own.by_others && after(ack, to.nxt) && !after(ack, own.next);
    beyond || own.others_data.iter().any(is_of)
}
