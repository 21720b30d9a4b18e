//! What is written of a packet, byte by byte.
//!
//! A record has a head of 24 bytes, then how the flow stands if that is known, then the packet's headers, up to a multiple
//! of eight. All numbers are little-endian.

use windlass_engine::{Fate, LimitedBy, Nanos, PassReason, Phase, Side, Standing, Why};

use crate::ring::ALIGN_BYTES;

/// The most that is kept of a packet, bytes: Ethernet, two VLAN tags, IPv6 and TCP with all its options are 122.
pub const HEADERS_MAX_BYTES: usize = 128;

const HEAD_BYTES: usize = 24;
const STANDING_BYTES: usize = 56;
const MARK_BYTES: usize = 24;
/// Length of a mark.
pub(crate) const MARK_RECORD_BYTES: usize = HEAD_BYTES + MARK_BYTES;
/// Stands where a packet was not passed for a reason.
const NO_REASON: u8 = 0xff;

const PHASES: [Phase; 11] = [
    Phase::SlowStart,
    Phase::ConservativeSlowStart,
    Phase::Avoidance,
    Phase::Startup,
    Phase::Drain,
    Phase::ProbeBw,
    Phase::ProbeBwDown,
    Phase::ProbeBwCruise,
    Phase::ProbeBwRefill,
    Phase::ProbeBwUp,
    Phase::ProbeRtt,
];
const LIMITED_BY: [LimitedBy; 6] = [
    LimitedBy::Sender,
    LimitedBy::Cwnd,
    LimitedBy::Pacing,
    LimitedBy::Tenant,
    LimitedBy::Receiver,
    LimitedBy::Guess,
];
const SIDES: [Side; 2] = [Side::Inside, Side::Outside];

/// What a record is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Came,
    Left,
    Mark,
    Filler,
}

const KINDS: [Kind; 4] = [Kind::Came, Kind::Left, Kind::Mark, Kind::Filler];

impl Kind {
    pub(crate) fn is_packet(self) -> bool {
        matches!(self, Kind::Came | Kind::Left)
    }
}

/// Counts at one moment, since the worker began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mark {
    /// Packets that went by unrecorded: the kernel forwarded them while the worker stood still.
    pub unrecorded: u64,
    /// Packets that were to leave and were dropped by the driver.
    pub dropped_leaving: u64,
    /// Packets that came and were dropped before the box took them.
    pub dropped_coming: u64,
}

/// What a record says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// A packet came.
    Came {
        /// What became of it.
        fate: Fate,
        /// Why it passed unchanged, if it did.
        reason: Option<PassReason>,
        /// How the flow stands that it acknowledges.
        standing: Option<Standing>,
    },
    /// A packet left.
    Left(Why),
    /// Counts.
    Mark(Mark),
}

/// A record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// `CLOCK_MONOTONIC`, ns.
    pub time: Nanos,
    /// The interface.
    pub side: Side,
    /// What it says.
    pub what: What,
    /// Length of the packet, bytes.
    pub length: u32,
    /// Its headers.
    pub headers: Vec<u8>,
}

/// A record that cannot have been written here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a record of the flight recorder is damaged (is the running windlass of another version?)")]
pub struct Damaged;

/// What the head of a record needs.
pub(crate) struct Head {
    pub kind: Kind,
    pub side: Side,
    pub what: u8,
    pub reason: Option<PassReason>,
    pub time: Nanos,
    pub length: u32,
}

/// How long a record is with so many bytes of headers.
pub(crate) fn record_size(headers: usize, standing: bool) -> usize {
    let standing = usize::from(standing) * STANDING_BYTES;
    (HEAD_BYTES + standing + headers).next_multiple_of(ALIGN_BYTES)
}

/// Writes a record into its place.
#[inline]
pub(crate) fn write(to: &mut [u8], head: &Head, standing: Option<&Standing>, headers: &[u8]) {
    let blocks = (to.len() / ALIGN_BYTES) as u64;
    let reason = head.reason.map_or(NO_REASON, |reason| reason as u8);
    let first = head.kind as u64
        | (head.side as u64) << 8
        | (headers.len() as u64) << 16
        | u64::from(head.what) << 24
        | u64::from(reason) << 32
        | u64::from(standing.is_some()) << 40
        | blocks << 48;
    // What was there before is nobody's business.
    if let Some(last) = to.last_chunk_mut::<ALIGN_BYTES>() {
        *last = [0; ALIGN_BYTES];
    }
    let words = [first, head.time, head.length.into()];
    for (place, word) in to.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *place = word.to_le_bytes();
    }
    let mut at = HEAD_BYTES;
    if let Some(standing) = standing {
        to[at..at + STANDING_BYTES].copy_from_slice(&standing_bytes(standing));
        at += STANDING_BYTES;
    }
    to[at..at + headers.len()].copy_from_slice(headers);
}

/// Makes a place of at least eight bytes a record that says nothing.
pub(crate) fn fill(to: &mut [u8]) {
    let blocks = (to.len() / ALIGN_BYTES) as u64;
    let first = Kind::Filler as u64 | blocks << 48;
    to[..8].copy_from_slice(&first.to_le_bytes());
}

fn word(bytes: &[u8], at: usize) -> u64 {
    let place = bytes.get(at..).and_then(|rest| rest.first_chunk());
    place.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

pub(crate) fn kind(record: &[u8]) -> Option<Kind> {
    KINDS.get(usize::from(*record.first()?)).copied()
}

/// Length of a record by its head, bytes.
pub(crate) fn size(record: &[u8]) -> usize {
    (word(record, 0) >> 48) as usize * ALIGN_BYTES
}

pub(crate) fn time(record: &[u8]) -> Nanos {
    word(record, 8)
}

fn standing_bytes(s: &Standing) -> [u8; STANDING_BYTES] {
    let words = [
        s.sender as u64
            | (s.phase as u64) << 8
            | (s.limited_by as u64) << 16
            | u64::from(s.latest_rtt_us) << 32,
        s.cwnd,
        s.inflight,
        s.queued,
        s.ssthresh,
        s.pacing_rate,
        u64::from(s.srtt_us) | u64::from(s.min_rtt_us) << 32,
    ];
    let mut bytes = [0; STANDING_BYTES];
    for (place, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *place = word.to_le_bytes();
    }
    bytes
}

fn read_standing(bytes: &[u8]) -> Option<Standing> {
    let [first, .., times] = [0, 48].map(|at| word(bytes, at));
    let named = |at: u32| (first >> at) as u8;
    Some(Standing {
        sender: *SIDES.get(usize::from(named(0)))?,
        phase: *PHASES.get(usize::from(named(8)))?,
        limited_by: *LIMITED_BY.get(usize::from(named(16)))?,
        cwnd: word(bytes, 8),
        inflight: word(bytes, 16),
        queued: word(bytes, 24),
        ssthresh: word(bytes, 32),
        pacing_rate: word(bytes, 40),
        srtt_us: times as u32,
        min_rtt_us: (times >> 32) as u32,
        latest_rtt_us: (first >> 32) as u32,
    })
}

impl Entry {
    pub(crate) fn mark(time: Nanos, mark: Mark) -> Entry {
        Entry {
            time,
            side: Side::Inside,
            what: What::Mark(mark),
            length: 0,
            headers: Vec::new(),
        }
    }

    pub(crate) fn size(&self) -> usize {
        let standing = matches!(
            self.what,
            What::Came {
                standing: Some(_),
                ..
            }
        );
        let body = match self.what {
            What::Mark(_) => MARK_BYTES,
            _ => self.headers.len(),
        };
        record_size(body, standing)
    }

    /// Writes it as it is read.
    pub(crate) fn write(&self, to: &mut [u8]) {
        let mut head = Head {
            kind: Kind::Mark,
            side: self.side,
            what: 0,
            reason: None,
            time: self.time,
            length: self.length,
        };
        match &self.what {
            What::Came {
                fate,
                reason,
                standing,
            } => {
                (head.kind, head.what, head.reason) = (Kind::Came, *fate as u8, *reason);
                write(to, &head, standing.as_ref(), &self.headers);
            }
            What::Left(why) => {
                (head.kind, head.what) = (Kind::Left, *why as u8);
                write(to, &head, None, &self.headers);
            }
            What::Mark(mark) => {
                let mut body = [0; MARK_BYTES];
                let words = [mark.unrecorded, mark.dropped_leaving, mark.dropped_coming];
                for (place, word) in body.as_chunks_mut::<8>().0.iter_mut().zip(words) {
                    *place = word.to_le_bytes();
                }
                write(to, &head, None, &body);
            }
        }
    }

    /// Reads the record at the beginning of `bytes`, and says how long it is.
    ///
    /// # Errors
    /// It is none.
    pub fn read(bytes: &[u8]) -> Result<(Entry, usize), Damaged> {
        let size = size(bytes);
        let record = bytes.get(..size).filter(|_| size >= HEAD_BYTES);
        let record = record.ok_or(Damaged)?;
        let entry = Entry::read_whole(record).ok_or(Damaged)?;
        Ok((entry, size))
    }

    fn read_whole(record: &[u8]) -> Option<Entry> {
        let first = word(record, 0);
        let named = |at: u32| usize::from((first >> at) as u8);
        let has_standing = named(40) == 1;
        let at = HEAD_BYTES + usize::from(has_standing) * STANDING_BYTES;
        let body = record.get(at..at + named(16))?;
        let what = match kind(record)? {
            Kind::Came => What::Came {
                fate: *Fate::ALL.get(named(24))?,
                reason: PassReason::ALL.get(named(32)).copied(),
                standing: match has_standing {
                    true => Some(read_standing(record.get(HEAD_BYTES..)?)?),
                    false => None,
                },
            },
            Kind::Left => What::Left(*Why::ALL.get(named(24))?),
            Kind::Mark => What::Mark(Mark {
                unrecorded: word(body, 0),
                dropped_leaving: word(body, 8),
                dropped_coming: word(body, 16),
            }),
            Kind::Filler => return None,
        };
        let headers = match what {
            What::Mark(_) => Vec::new(),
            _ => body.to_vec(),
        };
        Some(Entry {
            time: time(record),
            side: *SIDES.get(named(8))?,
            what,
            length: word(record, 16) as u32,
            headers,
        })
    }

    /// Reads records that follow each other.
    ///
    /// # Errors
    /// One of them is none.
    pub fn read_all(mut bytes: &[u8]) -> Result<Vec<Entry>, Damaged> {
        let mut all = Vec::new();
        while !bytes.is_empty() {
            let (entry, size) = Entry::read(bytes)?;
            all.push(entry);
            bytes = &bytes[size..];
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for (number, phase) in PHASES.into_iter().enumerate() {
            assert_eq!(phase as usize, number);
        }
        for (number, by) in LIMITED_BY.into_iter().enumerate() {
            assert_eq!(by as usize, number);
        }
        let standing = Standing {
            sender: Side::Outside,
            phase: Phase::ProbeBwUp,
            limited_by: LimitedBy::Guess,
            cwnd: 1,
            inflight: 2,
            queued: 3,
            ssthresh: u64::MAX,
            pacing_rate: 5,
            srtt_us: 6,
            min_rtt_us: 7,
            latest_rtt_us: u32::MAX,
        };
        let came = |reason, standing| What::Came {
            fate: Fate::AckHidden,
            reason,
            standing,
        };
        let mark = Mark {
            unrecorded: 8,
            dropped_leaving: 9,
            dropped_coming: 10,
        };
        let whats = [
            came(None, None),
            came(Some(PassReason::NotIp), Some(standing)),
            came(Some(PassReason::LateWorker), None),
            What::Left(Why::Report),
            What::Mark(mark),
        ];
        let entries = (0..).zip(whats).map(|(number, what): (u64, What)| Entry {
            time: 1 << 60 | number,
            side: Side::Outside,
            headers: match what {
                What::Mark(_) => Vec::new(),
                _ => (0..HEADERS_MAX_BYTES as u8 - number as u8).collect(),
            },
            what,
            length: 65_000,
        });
        let entries = entries.collect::<Vec<_>>();
        let mut bytes = Vec::new();
        for entry in &entries {
            let at = bytes.len();
            bytes.resize(at + entry.size(), 0xee);
            entry.write(&mut bytes[at..]);
        }
        assert_eq!(Entry::read_all(&bytes), Ok(entries));
    }

    #[test]
    fn damaged_records_are_refused() {
        let entry = Entry {
            time: 1,
            side: Side::Inside,
            what: What::Left(Why::First),
            length: 60,
            headers: vec![7; 54],
        };
        let mut bytes = vec![0; entry.size()];
        entry.write(&mut bytes);
        for end in 1..bytes.len() {
            assert_eq!(Entry::read_all(&bytes[..end]), Err(Damaged), "{end}");
        }
        for at in 0..8 {
            for value in 0..=255 {
                let mut other = bytes.clone();
                other[at] = value;
                let _ = Entry::read_all(&other);
            }
        }
    }
}
