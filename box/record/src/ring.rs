//! A ring of records of different lengths: what is newest takes the place of what is oldest.

use windlass_engine::Nanos;
use windlass_metric::totals;

use crate::entry::{self, Kind, MARK_RECORD_BYTES};

/// Records begin at multiples of this many bytes.
pub(crate) const ALIGN_BYTES: usize = 8;
/// The smallest ring, bytes.
const LEAST_BYTES: usize = 64 << 10;

totals! {
    /// What a recorder has done.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RecorderStats {
        /// Packets written into the flight recorder: each once as it came and once as it left.
        counter recorded, One;
        /// Recorded packets that were overwritten before they were as old as the recorder's `seconds`: its memory was too small for
        /// this traffic.
        counter overwritten_early, One;
        /// TCP packets that were not written because their headers are longer than what is kept of a packet.
        counter too_long, One;
        /// Bytes of memory that the flight recorder has.
        gauge memory_bytes, Bytes;
    }
}

/// Memory is taken when it is made, and never again. Positions count all bytes that were ever written.
pub(crate) struct Ring {
    bytes: Box<[u8]>,
    head: u64,
    tail: u64,
    /// Where these are in the memory: a division for each record costs more than the record.
    head_at: usize,
    tail_at: usize,
    /// What is younger than this should still be there, ns.
    window: Nanos,
    /// The newest mark that was overwritten: what has been counted before the oldest record.
    before: Option<[u8; MARK_RECORD_BYTES]>,
    pub(crate) stats: RecorderStats,
}

/// A part of what a ring has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Whole records.
    pub bytes: Vec<u8>,
    /// Where it begins; later than what was asked for if that has been overwritten.
    pub from: u64,
    /// Where the next part begins.
    pub next: u64,
    /// Where the ring ends now.
    pub end: u64,
}

impl Ring {
    /// One of about so many bytes, all of which are written once: no page is missing later.
    pub(crate) fn new(bytes: usize, window: Nanos) -> Ring {
        let bytes = bytes.max(LEAST_BYTES) / ALIGN_BYTES * ALIGN_BYTES;
        Ring {
            bytes: vec![0xff; bytes].into_boxed_slice(),
            head: 0,
            tail: 0,
            head_at: 0,
            tail_at: 0,
            window,
            before: None,
            stats: RecorderStats {
                memory_bytes: bytes as u64,
                ..RecorderStats::default()
            },
        }
    }

    /// Room for a record of `len` bytes, a multiple of [`ALIGN_BYTES`] and a small part of the ring. All of it must be
    /// written.
    pub(crate) fn push(&mut self, len: usize, now: Nanos) -> &mut [u8] {
        let left = self.bytes.len() - self.head_at;
        if left < len {
            self.make_room(left, now);
            entry::fill(&mut self.bytes[self.head_at..]);
            self.head += left as u64;
            self.head_at = 0;
        }
        self.make_room(len, now);
        let at = self.head_at;
        self.head += len as u64;
        self.head_at = if left == len { 0 } else { at + len };
        &mut self.bytes[at..at + len]
    }

    fn at(&self, position: u64) -> usize {
        (position % self.bytes.len() as u64) as usize
    }

    fn make_room(&mut self, len: usize, now: Nanos) {
        while self.head + len as u64 - self.tail > self.bytes.len() as u64 {
            let oldest = &self.bytes[self.tail_at..];
            let is_packet = entry::kind(oldest).is_some_and(Kind::is_packet);
            let early = is_packet && entry::time(oldest) + self.window > now;
            self.stats.overwritten_early += u64::from(early);
            if entry::kind(oldest) == Some(Kind::Mark) {
                self.before = oldest.first_chunk().copied();
            }
            let size = entry::size(oldest);
            self.tail += size as u64;
            self.tail_at += size;
            if self.tail_at == self.bytes.len() {
                self.tail_at = 0;
            }
        }
    }

    /// Copies records from `from` on, or from the oldest that there is, up to about `most` bytes. In front of the oldest is
    /// the mark that was before it.
    pub(crate) fn read(&self, from: u64, most: usize, mut into: Vec<u8>) -> Part {
        into.clear();
        if let Some(mark) = self.before.filter(|_| from <= self.tail) {
            into.extend_from_slice(&mark);
        }
        let from = from.clamp(self.tail, self.head);
        let mut next = from;
        while next < self.head && into.len() < most {
            let record = &self.bytes[self.at(next)..];
            let size = entry::size(record);
            if entry::kind(record) != Some(Kind::Filler) {
                into.extend_from_slice(&record[..size]);
            }
            next += size as u64;
        }
        Part {
            bytes: into,
            from,
            next,
            end: self.head,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Entry, Mark};

    fn mark(time: Nanos) -> Entry {
        let mark = Mark {
            unrecorded: time,
            ..Mark::default()
        };
        Entry::mark(time, mark)
    }

    fn times(ring: &Ring, most: usize) -> Vec<Nanos> {
        let mut all = Vec::new();
        let mut from = 0;
        loop {
            let part = ring.read(from, most, Vec::new());
            let entries = Entry::read_all(&part.bytes).expect("whole records");
            all.extend(entries.iter().map(|entry| entry.time));
            if part.next == part.end {
                return all;
            }
            from = part.next;
        }
    }

    #[test]
    fn the_newest_take_the_place_of_the_oldest_in_order() {
        let mut ring = Ring::new(0, 0);
        for time in 0..10_000 {
            let entry = mark(time);
            entry.write(ring.push(entry.size(), time));
        }
        let kept = times(&ring, usize::MAX);
        assert_eq!(*kept.last().expect("some"), 9_999);
        let first = kept[0];
        assert!(first > 8_000 && kept.iter().copied().eq(first..10_000));
        assert_eq!(times(&ring, 100), kept, "in small parts");
    }

    #[test]
    fn what_has_been_overwritten_is_left_out() {
        let mut ring = Ring::new(0, 0);
        for time in 0..10_000 {
            let entry = mark(time);
            entry.write(ring.push(entry.size(), time));
        }
        let part = ring.read(8, 100, Vec::new());
        assert!(part.from > 8 && part.next > part.from);
    }
}
