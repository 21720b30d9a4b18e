//! A connection in mid-flow: nobody here has seen its SYNs, and no other box has told of it.
//!
//! What the SYNs have settled is learnt by watching. Most of it shows at once: timestamps and SACK in the segments, the
//! segment size in the payloads. The window scale does not. It is inferred from windows that shrink as data arrive:
//!
//! * A receiver does not take an edge back (RFC 9293 §3.8.6). So each scale with which an edge would have moved left is wrong, and
//!   all larger ones.
//! * A window that has shrunk by as much as was acknowledged, to the byte, leaves its edge where it was. With a wrong scale that
//!   is chance.
//!
//! * A sender does not go beyond the edge. So each scale beyond whose edge it went is wrong, and all smaller ones.
//!
//! A scale is believed when all others are wrong, and when it has explained some windows, each some time after the other. Where a
//! reader has made room meanwhile, a wrong scale explains a window by chance: the right one must then have explained more.

use windlass_cc::{MILLISECOND, Nanos};
use windlass_wire::{Flags, FlowKey, Segment};

use super::introduction::{Introduced, Introduction};
use super::sight::Known;
use super::syn::Syn;
use crate::{Side, seq};

/// RFC 7323 §2.3.
const SCALES: usize = 15;
/// A window that shrinks by less says little about its unit.
const SHRINKS_BY: u16 = 16;
/// Windows that must be explained, no two of them within `APART`.
const EXPLAINED: u16 = 2;
const APART: Nanos = 20 * MILLISECOND;
/// Windows more that must be explained for each that another scale has explained.
const EXPLAINED_BESIDE: u16 = 8;
/// Numbers of an end are no further from those that it had before, bytes.
const NEAR: u32 = 1 << 24;
/// Segments of both ends before anything is believed.
const SEGMENTS: u32 = 24;
/// TCP options of a data segment with timestamps.
const TIMESTAMPS_LEN: u16 = 12;

/// What has been seen of one end.
#[derive(Clone, Copy, Debug, Default)]
struct End {
    known: Option<Known>,
    segments: u32,
    /// The largest payload.
    payload_max: u16,
    sacks: bool,
    /// The window of its newest acknowledgement, and that number.
    window: Option<(u32, u16)>,
    /// With each scale: the right edge that it has shown.
    edges: [u32; SCALES],
    /// Scales from this one on are wrong.
    too_large: u8,
    /// Scales below this one are wrong.
    least: u8,
    /// How often each has explained a window, and when last.
    explained: [u8; SCALES],
    explained_at: Nanos,
}

/// A connection that is watched.
#[derive(Debug)]
pub(crate) struct Stranger {
    key: FlowKey,
    first_end: Side,
    ends: [End; 2],
    timestamps: Option<bool>,
    /// When it was first seen.
    pub(crate) since: Nanos,
}

/// What watching has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Insight {
    /// It goes on.
    Watch,
    /// Never: it is not understood.
    Never,
    /// What its SYNs have settled is known.
    Known,
}

impl Stranger {
    pub(crate) fn new(key: FlowKey, first_end: Side, now: Nanos) -> Stranger {
        Stranger {
            key,
            first_end,
            ends: [End::fresh(); 2],
            timestamps: None,
            since: now,
        }
    }

    /// A segment of the end at `from`, whose checksum is right.
    pub(crate) fn watch(&mut self, now: Nanos, from: Side, segment: &Segment) -> Insight {
        let options = &segment.options;
        let odd = options.mptcp || options.md5 || options.ao || options.unknown;
        let marks = [
            Flags::SYN,
            Flags::RST,
            Flags::FIN,
            Flags::ECE,
            Flags::CWR,
            Flags::AE,
        ];
        let special = marks.iter().any(|flag| segment.flags.has(*flag));
        if odd
            || special
            || segment.ecn != windlass_wire::Ecn::NotEct
            || !segment.flags.has(Flags::ACK)
        {
            return Insight::Never;
        }
        let stamped = options.timestamps.is_some();
        if *self.timestamps.get_or_insert(stamped) != stamped {
            return Insight::Never;
        }
        let [inside, outside] = &mut self.ends;
        let (sender, receiver) = match from {
            Side::Inside => (inside, outside),
            Side::Outside => (outside, inside),
        };
        if !sender.is_near(receiver, segment) || !sender.takes(segment) {
            // Overtaken: what it says is old.
            return Insight::Watch;
        }
        receiver.was_sent(
            segment.seq.wrapping_add(segment.seq_len()),
            segment.payload_len,
        );
        sender.says(now, segment.ack, segment.window);
        match self.is_known() {
            true => Insight::Known,
            false => Insight::Watch,
        }
    }

    fn is_known(&self) -> bool {
        let seen: u32 = self.ends.iter().map(|end| end.segments).sum();
        let both = self.ends.iter().all(|end| end.known.is_some());
        both && seen >= SEGMENTS && self.ends.iter().any(|end| end.scale().is_some())
    }

    /// How the engine is told of it. Governed are data toward an end whose scale is known. Of the other the least scale that
    /// is possible is assumed: no window is taken for larger than it is.
    pub(crate) fn introduced(&self) -> Option<Introduced> {
        let [Some(inside), Some(outside)] = self.ends.map(|end| end.known) else {
            return None;
        };
        let known = [inside, outside];
        let scales = self.ends.map(|end| end.scale());
        let assumed = self
            .ends
            .map(|end| end.scale().unwrap_or(end.least.min(SCALES as u8 - 1)));
        let known = [0, 1].map(|side: usize| {
            let window = self.ends[side]
                .window
                .map_or(0, |(_, window)| u32::from(window));
            let edge = known[side].acked.wrapping_add(window << assumed[side]);
            Known {
                edge,
                ..known[side]
            }
        });
        let sack = self.ends.iter().any(|end| end.sacks);
        let stamped = self.timestamps.unwrap_or(false);
        let syns = [0, 1].map(|side: usize| Syn {
            iss: 0,
            acks: None,
            window: 0,
            // An end takes segments as large as the other sends them.
            mss: self.ends[1 - side].payload_max.max(MSS_LEAST)
                + if stamped { TIMESTAMPS_LEN } else { 0 },
            scale: Some(assumed[side]),
            sack,
            tsval: known[side].tsval,
            first_tsval: None,
            listened: false,
            mptcp: false,
            signed: false,
            flags: Flags(0),
            payload_len: 0,
        });
        let governed = [scales[1].is_some(), scales[0].is_some()];
        Some(Introduction::learnt(
            self.key,
            self.first_end,
            syns,
            known,
            governed,
        ))
    }
}

/// The least segment size that an end is expected to take (RFC 9293 §3.7.1).
const MSS_LEAST: u16 = 536;

impl End {
    fn fresh() -> End {
        End {
            too_large: SCALES as u8,
            ..End::default()
        }
    }

    /// Its numbers are those of the two ends that are watched, and not somebody's who guesses.
    fn is_near(&self, other: &End, segment: &Segment) -> bool {
        let near =
            |number: u32, known: u32| number.wrapping_sub(known).wrapping_add(NEAR) <= 2 * NEAR;
        let own = self.known.is_none_or(|known| near(segment.seq, known.nxt));
        own && other.known.is_none_or(|known| near(segment.ack, known.nxt))
    }

    /// Takes in how far the end is. False: another segment of it has overtaken this one.
    fn takes(&mut self, segment: &Segment) -> bool {
        let stamps = segment.options.timestamps;
        let next = segment.seq.wrapping_add(segment.seq_len());
        let before = self.known;
        let older = before.is_some_and(|before| {
            let stamp = stamps.zip(before.tsval);
            seq::later(before.acked, segment.ack)
                || stamp.is_some_and(|(new, old)| seq::later(old, new.val))
        });
        if older {
            return false;
        }
        self.segments = self.segments.saturating_add(1);
        self.payload_max = self
            .payload_max
            .max(segment.payload_len.min(u32::from(u16::MAX)) as u16);
        self.sacks |= segment.options.sack.iter().next().is_some();
        let nxt = match before {
            Some(before) if !seq::later(next, before.nxt) => before.nxt,
            _ => next,
        };
        self.known = Some(Known {
            nxt,
            acked: segment.ack,
            edge: segment.ack,
            reached: segment.ack,
            tsval: stamps.map(|stamps| stamps.val),
            tsecr: stamps.map(|stamps| stamps.ecr),
        });
        true
    }

    /// The other end has sent so far: no scale is right with which that lies beyond the edge.
    fn was_sent(&mut self, end: u32, payload_len: u32) {
        // A probe of a closed window goes beyond the edge by a little.
        if self.window.is_none() || payload_len < u32::from(MSS_LEAST) {
            return;
        }
        while usize::from(self.least) < SCALES
            && seq::later(end, self.edges[usize::from(self.least)])
        {
            self.least += 1;
        }
    }

    /// What it acknowledges, and its window.
    fn says(&mut self, now: Nanos, ack: u32, window: u16) {
        let edge = |scale: usize| ack.wrapping_add(u32::from(window) << scale);
        let Some((before, window_before)) = self.window.replace((ack, window)) else {
            for scale in 0..SCALES {
                self.edges[scale] = edge(scale);
            }
            return;
        };
        let shrunk = window_before.saturating_sub(window) >= SHRINKS_BY && ack != before;
        let mut explains = None;
        for scale in 0..SCALES {
            // Rounded to the unit, each time (RFC 7323 §2.4).
            let unit = 1_u32 << scale;
            let left = self.edges[scale].wrapping_sub(edge(scale));
            if left < 1 << 31 && left > 2 * unit {
                self.too_large = self.too_large.min(scale as u8);
            }
            if seq::later(edge(scale), self.edges[scale]) || left > 2 * unit {
                let moved = edge(scale).wrapping_sub(self.edges[scale]);
                if shrunk && moved <= 2 * unit {
                    explains = Some(scale);
                }
                self.edges[scale] = edge(scale);
            } else if shrunk {
                explains = Some(scale);
            }
        }
        if let Some(scale) = explains
            && now >= self.explained_at + APART
        {
            self.explained_at = now;
            self.explained[scale] = self.explained[scale].saturating_add(1);
        }
    }

    /// The scale, beyond doubt.
    fn scale(&self) -> Option<u8> {
        let scale = self.too_large.checked_sub(1)?;
        let explained = u16::from(self.explained[usize::from(scale)]);
        let all: u16 = self.explained.iter().copied().map(u16::from).sum();
        let beside = all - explained;
        let clear = explained >= EXPLAINED + EXPLAINED_BESIDE * beside;
        (clear && self.least == scale).then_some(scale)
    }
}

#[cfg(test)]
mod tests {
    use windlass_cc::SECOND;

    use super::*;

    const SCALE: u8 = 10;

    /// An end with windows in units of 1 KiB, after a window that scale 13 explains by chance: of 640 units that arrived, its
    /// reader has taken 560.
    fn misled() -> (End, u32) {
        let mut end = End::fresh();
        end.says(0, 0, 2000);
        end.says(SECOND, 640 << SCALE, 1920);
        assert_eq!(end.explained[13], 1);
        (end, 640 << SCALE)
    }

    /// `windows` that shrink as data arrive and grow as they are read, and a sender that fills each.
    fn watch(end: &mut End, mut ack: u32, windows: u64) {
        for at in 0..windows {
            let now = (2 + 2 * at) * SECOND;
            end.was_sent(ack + (1920 << SCALE), 1448);
            end.says(now, ack + (100 << SCALE), 1820);
            end.says(now + SECOND, ack + (100 << SCALE), 1920);
            ack += 100 << SCALE;
        }
    }

    #[test]
    fn one_chance_does_not_outweigh_many_windows() {
        let (mut end, ack) = misled();
        watch(&mut end, ack, 9);
        assert_eq!(end.scale(), None);
        let (mut end, ack) = misled();
        watch(&mut end, ack, 10);
        assert_eq!(end.scale(), Some(SCALE));
    }
}
