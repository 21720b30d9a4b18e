//! The gate: a segment changes state only if the end that it is for would accept it.
//!
//! The order of the checks is Linux' (`tcp_validate_incoming`, `tcp_ack`; 6.18): RFC 7323 §5.3, RFC
//! 9293 §3.10.7.4, RFC 5961 §3 to §5. What the box knows of an end is what that end has said in
//! segments that the gate let through, so it lags behind what the end itself knows. Where that leaves
//! a doubt the gate refuses: a segment that is refused goes on unchanged, and nothing of it is kept.

use serde::{Deserialize, Serialize};
use windlass_cc::{Nanos, SECOND};
use windlass_wire::{Flags, Segment, Timestamps};

use super::refusal::Refusal;
use super::sight::Known;
use super::syn::Syn;
use crate::{PassReason, Side, seq};

/// After so long a TSval that looks older is a clock that has gone round (RFC 7323 §5.5).
const TSVAL_MEMORY: Nanos = 24 * 24 * 3600 * SECOND;
/// A pure ACK that others have overtaken may have a TSval so much older, in ticks of its clock (Linux
/// `tcp_disordered_ack`: about a time-out).
const OVERTAKEN_TICKS: u32 = 200;
/// The numbers of an end are no further from those that have been seen of it, bytes, while the box's own
/// time-out passes.
const NEAR: u32 = 1 << 26;
/// So many refused segments in a row from one end, and what the box knows of the connection may be
/// wrong: see [`Gate::is_at_odds`].
const AT_ODDS: u8 = 3;

/// Probes of a byte each beyond the edge that an acknowledgement lies behind, at most.
const PROBES_MAX: u32 = 64;

/// After a connection was out of sight: how long what an end has sent meanwhile may become known by an
/// acknowledgement only. A receiver may have SACKed the last of it long ago, and blocks about older gaps come first.
const UNSURE: Nanos = 10 * SECOND;

/// One end, as far as it has shown itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct End {
    /// One past the highest sequence number that it has sent.
    nxt: u32,
    /// The same with the probes beyond the other end's edge that were refused, each after the last.
    probed: u32,
    /// The highest acknowledgement that it has sent: its next expected number is not below this.
    acked: u32,
    /// Bytes that it has acknowledged.
    acked_bytes: u64,
    /// The right edge of what it takes. Only ever moves right.
    edge: u32,
    /// How far the other end may go on in order, beyond that edge: the box holds what a sender sends to
    /// ask for room, until there is some.
    reach: u32,
    /// Shift of its window field.
    scale: u8,
    /// It has acknowledged something.
    answers: bool,
    /// The largest window that it has been shown (RFC 5961 §5.2, MAX.SND.WND).
    max_window: u32,
    /// The TSval of the other end that it echoes (RFC 7323 §4.3), and when that came.
    ts_recent: u32,
    ts_recent_at: Nanos,
    /// The newest TSval of the other end that has gone on to it: it may echo this by now, if it has acknowledged what
    /// came with it.
    tsval_seen: u32,
    /// TSvals of its first SYN and of its last.
    syn_tsvals: (u32, u32),
    /// The sequence number of its newest segment (RFC 9293 §3.3.1, SND.WL1).
    newest: u32,
    /// Segments with numbers near its own that were refused since the last that was not.
    refused: u8,
    /// What it has acknowledged that the other end has not sent here, as the last such segment within
    /// the window said.
    beyond: Option<u32>,
    /// Out of sight it may have sent more than `nxt`: until the other end has acknowledged later numbers than this, or
    /// until that time.
    unsure: Option<Box<(u32, Nanos)>>,
}

impl End {
    /// Its edge and its reach are there, or further on.
    fn widen(&mut self, edge: u32, reach: u32) {
        if seq::later(edge, self.edge) {
            self.edge = edge;
        }
        if seq::later(reach, self.reach) {
            self.reach = reach;
        }
    }
}

/// What both ends would accept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Gate {
    ends: [End; 2],
    timestamps: bool,
    /// The SYNs were: by AO (RFC 5925) or by MD5 (RFC 2385).
    signed: bool,
}

impl Gate {
    /// Reads a word of each cache line that a packet will need.
    pub(super) fn touch(&self) -> u64 {
        let words = self.ends.iter().map(|end| end.nxt ^ end.max_window);
        words.fold(0, |all, word| all ^ u64::from(word))
    }

    /// From both SYNs, by side.
    pub(super) fn new(syns: [&Syn; 2], now: Nanos) -> Gate {
        let scaled = syns.iter().all(|syn| syn.scale.is_some());
        let timestamps = syns.iter().all(|syn| syn.tsval.is_some());
        let end = |mine: &Syn, other: &Syn| {
            let acked = mine.acks.unwrap_or(other.iss.wrapping_add(1));
            End {
                nxt: mine.iss.wrapping_add(1).wrapping_add(mine.payload_len),
                probed: mine.iss,
                acked,
                acked_bytes: u64::from(acked.wrapping_sub(other.iss.wrapping_add(1))),
                edge: acked.wrapping_add(u32::from(mine.window)),
                reach: acked.wrapping_add(u32::from(mine.window)),
                scale: mine.scale.filter(|_| scaled).unwrap_or(0),
                answers: mine.acks.is_some(),
                max_window: u32::from(other.window),
                ts_recent: other.tsval.unwrap_or(0),
                ts_recent_at: now,
                tsval_seen: other.tsval.unwrap_or(0),
                syn_tsvals: (mine.first_tsval.unwrap_or(0), mine.tsval.unwrap_or(0)),
                newest: mine.iss,
                refused: 0,
                beyond: None,
                unsure: None,
            }
        };
        Gate {
            ends: [end(syns[0], syns[1]), end(syns[1], syns[0])],
            timestamps,
            signed: syns.iter().any(|syn| syn.signed),
        }
    }

    /// Nothing has been learnt since the SYNs, which are told again at `now`.
    pub(super) fn is_new(&self, syns: [&Syn; 2], now: Nanos) -> bool {
        let mut told = Gate::new(syns, now);
        for (told, end) in told.ends.iter_mut().zip(&self.ends) {
            told.ts_recent_at = end.ts_recent_at;
        }
        told == *self
    }

    /// Whether the other end would accept `segment`, which is no SYN and whose checksum is right.
    pub(super) fn judge(
        &mut self,
        now: Nanos,
        from: Side,
        segment: &Segment,
    ) -> Result<(), Refusal> {
        let verdict = self.verdict(now, from, segment);
        if verdict == Err(Refusal::Unacceptable(PassReason::UnacceptableAck)) {
            self.note_beyond(from, segment);
        }
        if verdict == Err(Refusal::Probe) {
            let end = segment.seq.wrapping_add(segment.payload_len);
            self.ends[from.index()].probed = end;
        }
        if !matches!(verdict, Ok(()) | Err(Refusal::Known)) && self.is_near(from, segment) {
            let refused = &mut self.ends[from.index()].refused;
            *refused = refused.saturating_add(1);
        }
        verdict
    }

    /// No signature was agreed on, and an end drops what has one.
    pub(super) fn is_signed_unasked(&self, segment: &Segment) -> bool {
        !self.signed && (segment.options.md5 || segment.options.ao)
    }

    fn verdict(&self, now: Nanos, from: Side, segment: &Segment) -> Result<(), Refusal> {
        let unacceptable = |reason| Err(Refusal::Unacceptable(reason));
        let (sender, receiver) = (&self.ends[from.index()], &self.ends[from.other().index()]);
        // A FIN takes a number, and no room in the window (Linux `tcp_sequence`).
        let end = segment.seq.wrapping_add(segment.payload_len);
        let next = segment.seq.wrapping_add(segment.seq_len());
        if self.is_signed_unasked(segment) {
            return unacceptable(PassReason::UnexpectedSignature);
        }
        if receiver.answers && !sender.answers {
            self.judge_in_syn_received(sender, receiver, segment)?;
        }
        if segment.flags.has(Flags::RST) {
            // RFC 5961 §3.2: the very number that the receiver expects, which it has said.
            let within = seq::reaches(receiver.reach, end);
            return match (segment.seq == receiver.acked, segment.seq == sender.nxt) {
                (true, _) if within => Ok(()),
                (false, true) if within => Err(Refusal::EarlyReset),
                _ => unacceptable(PassReason::OutOfWindow),
            };
        }
        if !segment.flags.has(Flags::ACK) {
            return unacceptable(PassReason::NoAck);
        }
        let old = self.timestamps && !is_young(now, sender, receiver, segment);
        self.judge_ack(sender, receiver, segment.ack)?;
        if !seq::reaches(next, receiver.acked) {
            let recent = receiver.acked.wrapping_sub(next) <= receiver.max_window;
            return match segment.seq_len() > 0 && recent {
                true => Err(Refusal::Known),
                false => unacceptable(PassReason::OutOfWindow),
            };
        }
        // What lies beyond the window in part is dropped whole if the application has not read
        // everything.
        let goes_on = !seq::later(segment.seq, sender.nxt);
        let limit = if goes_on {
            receiver.reach
        } else {
            receiver.edge
        };
        match seq::reaches(limit, end) {
            true if old => Err(Refusal::Overtaken),
            true => Ok(()),
            false => Err(judge_beyond(sender, segment, (goes_on, old), limit)),
        }
    }

    /// RFC 9293 §3.10.7.4 and RFC 7323 §3.2 for an end that waits for its SYN-ACK to be acknowledged, as
    /// Linux has it (`tcp_check_req`): the very number, and the echo of what it has sent.
    fn judge_in_syn_received(
        &self,
        sender: &End,
        receiver: &End,
        segment: &Segment,
    ) -> Result<(), Refusal> {
        let acks = !segment.flags.has(Flags::RST) && segment.flags.has(Flags::ACK);
        if acks && segment.ack != receiver.nxt {
            return Err(Refusal::Unacceptable(PassReason::UnacceptableAck));
        }
        if !seq::reaches(segment.seq, receiver.acked) || !seq::later(receiver.edge, segment.seq) {
            return Err(Refusal::Unacceptable(PassReason::OutOfWindow));
        }
        let Some(stamps) = segment.options.timestamps.filter(|_| self.timestamps) else {
            return Ok(());
        };
        let old = seq::later(receiver.ts_recent, stamps.val);
        // With Fast Open it may have said more than its SYN-ACK.
        let only_syn = receiver.nxt == sender.acked;
        match old || (only_syn && !is_echo(stamps.ecr, receiver.syn_tsvals)) {
            true => Err(Refusal::Unacceptable(PassReason::Paws)),
            false => Ok(()),
        }
    }

    /// RFC 5961 §5.2: SND.UNA - MAX.SND.WND <= SEG.ACK <= SND.NXT, and never below the first byte.
    fn judge_ack(&self, sender: &End, receiver: &End, ack: u32) -> Result<(), Refusal> {
        let outstanding = receiver.nxt.wrapping_sub(sender.acked);
        let older = u64::from(receiver.max_window).min(sender.acked_bytes);
        let behind = receiver.nxt.wrapping_sub(ack);
        match u64::from(behind) <= u64::from(outstanding) + older {
            true => Ok(()),
            false => Err(Refusal::Unacceptable(PassReason::UnacceptableAck)),
        }
    }

    /// Its numbers are near those that have been seen, as an end's own are: who guesses misses them.
    fn is_near(&self, from: Side, segment: &Segment) -> bool {
        let (sender, receiver) = (&self.ends[from.index()], &self.ends[from.other().index()]);
        let near =
            |number: u32, known: u32| number.wrapping_sub(known).wrapping_add(NEAR) <= 2 * NEAR;
        near(segment.seq, sender.nxt) && near(segment.ack, receiver.nxt)
    }

    /// It acknowledges, at a place where its receiver takes it, what has not been sent here.
    pub(super) fn acks_beyond(&self, from: Side, segment: &Segment) -> bool {
        let receiver = &self.ends[from.other().index()];
        let within =
            seq::reaches(segment.seq, receiver.acked) && seq::reaches(receiver.edge, segment.seq);
        within && seq::later(segment.ack, receiver.nxt)
    }

    fn note_beyond(&mut self, from: Side, segment: &Segment) {
        if self.acks_beyond(from, segment) {
            self.ends[from.index()].beyond = Some(segment.ack);
        }
    }

    /// Data that lies behind a gap, of which the other end has acknowledged a part already: what is
    /// missing has reached it on another way. That was refused here, yet not there, so what that end
    /// said has been seen.
    pub(super) fn shows_another_way(&self, from: Side, segment: &Segment) -> bool {
        let (sender, receiver) = (&self.ends[from.index()], &self.ends[from.other().index()]);
        let end = segment.seq.wrapping_add(segment.seq_len());
        let acked = receiver
            .beyond
            .is_some_and(|ack| seq::later(ack, sender.nxt) && seq::reaches(end, ack));
        acked && segment.payload_len > 0 && seq::later(segment.seq, sender.nxt)
    }

    /// It lies behind what was not seen, and the other end has acknowledged all before it: that has come, and this will be taken.
    pub(super) fn is_awaited(&self, from: Side, segment: &Segment) -> bool {
        let (sender, receiver) = (&self.ends[from.index()], &self.ends[from.other().index()]);
        receiver.beyond == Some(segment.seq) && seq::later(segment.seq, sender.nxt)
    }

    /// A newer one of its end has gone on, as its timestamp says: what a box puts on it may be refused with it.
    pub(super) fn is_overtaken(&self, from: Side, segment: &Segment) -> bool {
        let newest = self.ends[from.other().index()].tsval_seen;
        let stamps = segment.options.timestamps.filter(|_| self.timestamps);
        stamps.is_some_and(|stamps| seq::later(newest, stamps.val))
    }

    /// Keeps what a segment says that has been accepted.
    pub(super) fn note(&mut self, now: Nanos, from: Side, segment: &Segment) {
        let (sender, receiver) = match from {
            Side::Inside => {
                let [inside, outside] = &mut self.ends;
                (inside, outside)
            }
            Side::Outside => {
                let [inside, outside] = &mut self.ends;
                (outside, inside)
            }
        };
        if let Some(stamps) = segment.options.timestamps
            && seq::later(stamps.val, receiver.tsval_seen)
        {
            receiver.tsval_seen = stamps.val;
        }
        if let Some(stamps) = segment.options.timestamps
            && !seq::later(segment.seq, receiver.acked)
            && !seq::later(receiver.ts_recent, stamps.val)
        {
            receiver.ts_recent = stamps.val;
            receiver.ts_recent_at = now;
        }
        if seq::later(segment.seq, sender.newest) {
            sender.newest = segment.seq;
        }
        let end = segment.seq.wrapping_add(segment.seq_len());
        if seq::later(end, sender.nxt) {
            sender.nxt = end;
        }
        if seq::later(segment.ack, sender.acked) {
            sender.acked_bytes += u64::from(segment.ack.wrapping_sub(sender.acked));
            sender.acked = segment.ack;
        }
        if receiver
            .unsure
            .as_deref()
            .is_some_and(|&(_, until)| now >= until)
        {
            receiver.unsure = None;
        }
        sender.answers = true;
        sender.refused = 0;
        let window = u32::from(segment.window) << sender.scale;
        let edge = segment.ack.wrapping_add(window);
        sender.widen(edge, edge);
        receiver.max_window = receiver.max_window.max(window);
        debug_assert!(!seq::later(sender.acked, sender.edge), "{sender:?}");
    }

    /// The box has shown the end at `side` this edge of the other end's, and a window as large as
    /// `max_window`. It holds what is sent up to `reach` until the other end takes it.
    pub(super) fn note_shown_edge(
        &mut self,
        side: Side,
        (edge, reach): (u32, u32),
        max_window: u32,
    ) {
        let sender = &mut self.ends[side.index()];
        sender.max_window = sender.max_window.max(max_window);
        self.ends[side.other().index()].widen(edge, reach);
    }

    /// What is known of the end at `side`.
    pub(super) fn known(&self, side: Side) -> Known {
        let (end, other) = (&self.ends[side.index()], &self.ends[side.other().index()]);
        Known {
            nxt: end.nxt,
            acked: end.acked,
            edge: end.edge,
            reached: end.acked,
            tsval: self.timestamps.then_some(other.ts_recent),
            tsecr: self.timestamps.then_some(end.ts_recent),
        }
    }

    /// What a segment of that end says.
    pub(super) fn known_by(&self, side: Side, segment: &Segment) -> Known {
        let window = u32::from(segment.window) << self.ends[side.index()].scale;
        let stamps = segment.options.timestamps.filter(|_| self.timestamps);
        let mut reached = segment.ack;
        for (_, right) in segment.options.sack.iter() {
            if seq::later(right, reached) {
                reached = right;
            }
        }
        Known {
            nxt: segment.seq.wrapping_add(segment.seq_len()),
            acked: segment.ack,
            edge: segment.ack.wrapping_add(window),
            reached,
            tsval: stamps.map(|stamps| stamps.val),
            tsecr: stamps.map(|stamps| stamps.ecr),
        }
    }

    /// The ends have gone on to what they say now by an unknown number of bytes: whether a number of before is before one of
    /// now cannot be told.
    pub(super) fn forget_before(&mut self, ends: &[Known; 2]) {
        for (end, known) in self.ends.iter_mut().zip(ends) {
            (end.edge, end.reach) = (known.edge, known.edge);
            (end.probed, end.beyond) = (known.nxt, None);
        }
    }

    /// Goes on from what both ends have said, by side, after a time in which they were not seen.
    pub(super) fn resume(&mut self, now: Nanos, ends: [Known; 2]) {
        for side in [Side::Inside, Side::Outside] {
            let (known, other) = (&ends[side.index()], &ends[side.other().index()]);
            let end = &mut self.ends[side.index()];
            end.acked_bytes += u64::from(known.acked.wrapping_sub(end.acked));
            (end.nxt, end.acked, end.newest) = (known.nxt, known.acked, known.nxt);
            end.widen(known.edge, known.edge);
            (end.refused, end.answers) = (0, true);
            end.max_window = end.max_window.max(other.edge.wrapping_sub(other.acked));
            end.unsure = Some(Box::new((known.nxt, now + UNSURE)));
            if let Some(tsval) = other.tsval {
                (end.ts_recent, end.ts_recent_at) = (tsval, now);
                end.tsval_seen = tsval;
            }
        }
    }

    /// What lies between the ends has been in sight again for too short a time to say that nothing went by unseen.
    pub(super) fn is_unsure(&self) -> bool {
        self.ends.iter().any(|end| end.unsure.is_some())
    }

    /// Both ends have acknowledged something: the handshake is complete.
    pub(super) fn is_open(&self) -> bool {
        self.ends.iter().all(|end| end.answers)
    }

    /// All that the end at `side` says is refused: either the other end refuses it too, or packets
    /// take ways on which the box does not see them.
    pub(super) fn is_at_odds(&self, side: Side) -> bool {
        self.ends[side.index()].refused >= AT_ODDS
    }
}

/// What lies beyond the edge of its receiver: it `goes_on` from what its sender has sent, or not, and its timestamp is `old`, or not.
fn judge_beyond(
    sender: &End,
    segment: &Segment,
    (goes_on, old): (bool, bool),
    limit: u32,
) -> Refusal {
    match segment.payload_len > 0 {
        // It asks for nothing, and shows no other edge: its receiver looks at the timestamp first.
        true if old && goes_on => Refusal::Overtaken,
        true if old => Refusal::Unacceptable(PassReason::Paws),
        true if goes_on || segment.seq == sender.probed => Refusal::Probe,
        true => Refusal::BeyondEdge,
        false if !seq::later(segment.seq, sender.nxt.wrapping_add(1)) => Refusal::BehindProbe,
        false if segment.seq == sender.probed => Refusal::BehindProbe,
        // Behind a FIN that fills the window, or behind probes, which were lost before they came here.
        false if segment.seq.wrapping_sub(limit) <= PROBES_MAX => Refusal::BehindProbe,
        false => Refusal::Unacceptable(PassReason::OutOfWindow),
    }
}

/// Whether a TSecr echoes a TSval of an end that has sent those from `first` to `last`; 0 echoes none.
pub(super) fn is_echo(ecr: u32, (first, last): (u32, u32)) -> bool {
    ecr == 0 || ecr.wrapping_sub(first) <= last.wrapping_sub(first)
}

/// PAWS (RFC 7323 §5.3), with Linux' exception for pure ACKs that were overtaken. A segment without
/// the timestamps that were agreed on is young, as it is to Linux.
fn is_young(now: Nanos, sender: &End, receiver: &End, segment: &Segment) -> bool {
    let Some(Timestamps { val, .. }) = segment.options.timestamps else {
        return true;
    };
    // Behind all that its sender has sent, nothing older is of use once something newer has gone on.
    let last = segment.seq_len() == 0 && segment.seq == sender.nxt;
    let recent = if last {
        receiver.tsval_seen
    } else {
        receiver.ts_recent
    };
    if !seq::later(recent, val) {
        return true;
    }
    // To its receiver it is in order only if that has all that came before.
    let overtaken = last
        && segment.seq == receiver.acked
        && segment.seq == sender.newest
        && segment.ack == sender.acked
        && recent.wrapping_sub(val) <= OVERTAKEN_TICKS;
    overtaken || now.saturating_sub(receiver.ts_recent_at) > TSVAL_MEMORY
}
