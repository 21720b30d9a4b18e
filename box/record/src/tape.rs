//! What one worker records: two calls a batch, and one before packets leave.

use windlass_engine::{Decision, Nanos, Pkt, Pool, Side, Tx};
use windlass_wire::header_len;

use crate::entry::{self, Entry, HEADERS_MAX_BYTES, Head, Kind, Mark};
use crate::ring::{Part, RecorderStats, Ring};

/// Time between two looks at what was dropped, ns.
const MARK_INTERVAL: Nanos = 1_000_000_000;

/// The beginning of a packet as it came, before the engine has rewritten it.
#[derive(Clone, Copy)]
struct Staged {
    bytes: [u8; HEADERS_MAX_BYTES],
    kept: u8,
    length: u32,
    at: Nanos,
}

const NOTHING_STAGED: Staged = Staged {
    bytes: [0; HEADERS_MAX_BYTES],
    kept: 0,
    length: 0,
    at: 0,
};

/// A ring, and the batch that is being worked on.
pub struct Tape {
    ring: Ring,
    staged: Box<[Staged]>,
    count: usize,
    marked: Option<Mark>,
    mark_at: Nanos,
}

impl Tape {
    /// One with so many bytes of memory, for batches of at most `batch` packets. What is younger than `window` should
    /// still be there, ns.
    pub fn new(bytes: usize, window: Nanos, batch: usize) -> Tape {
        Tape {
            ring: Ring::new(bytes, window),
            staged: vec![NOTHING_STAGED; batch].into_boxed_slice(),
            count: 0,
            marked: None,
            mark_at: 0,
        }
    }

    /// Keeps the headers of packets that have come, before anybody changes them. `now`: when they were taken in.
    pub fn take(&mut self, pool: &impl Pool, pkts: &[Pkt], now: Nanos) {
        self.count = pkts.len().min(self.staged.len());
        for (staged, &pkt) in self.staged.iter_mut().zip(pkts) {
            let head = pool.head(pkt);
            match head.first_chunk::<HEADERS_MAX_BYTES>() {
                Some(bytes) => {
                    staged.bytes = *bytes;
                    staged.kept = HEADERS_MAX_BYTES as u8;
                }
                None => {
                    staged.bytes[..head.len()].copy_from_slice(head);
                    staged.kept = head.len() as u8;
                }
            }
            staged.length = pool.len(pkt);
            staged.at = pool.arrived_at(pkt, now).unwrap_or(now);
        }
    }

    /// Writes them, with what was decided about each.
    pub fn came(&mut self, side: Side, decisions: &[Decision], now: Nanos) {
        for (staged, decision) in self.staged[..self.count].iter().zip(decisions) {
            let len = usize::from(decision.headers);
            if len == 0 {
                continue;
            }
            let Some(headers) = staged.bytes[..usize::from(staged.kept)].get(..len) else {
                self.ring.stats.too_long += 1;
                continue;
            };
            let head = Head {
                kind: Kind::Came,
                side,
                what: decision.fate as u8,
                reason: decision.reason,
                time: staged.at,
                length: staged.length,
            };
            let standing = decision.standing.as_ref();
            let size = entry::record_size(len, standing.is_some());
            entry::write(self.ring.push(size, now), &head, standing, headers);
            self.ring.stats.recorded += 1;
        }
        self.count = 0;
    }

    /// Writes what leaves at `now`.
    pub fn leave(&mut self, pool: &impl Pool, out: &[Tx], now: Nanos) {
        for tx in out {
            let (bytes, length) = (pool.head(tx.pkt), pool.len(tx.pkt));
            let Some(len) = header_len(bytes, length) else {
                continue;
            };
            let Some(headers) = bytes.get(..len).filter(|_| len <= HEADERS_MAX_BYTES) else {
                self.ring.stats.too_long += 1;
                continue;
            };
            let head = Head {
                kind: Kind::Left,
                side: tx.to,
                what: tx.why as u8,
                reason: None,
                time: now,
                length,
            };
            let size = entry::record_size(len, false);
            entry::write(self.ring.push(size, now), &head, None, headers);
            self.ring.stats.recorded += 1;
        }
    }

    /// Whether it is time to look at what was dropped.
    pub fn is_mark_due(&self, now: Nanos) -> bool {
        now >= self.mark_at
    }

    /// Writes what was dropped and missed so far, if it is news or time.
    pub fn mark(&mut self, mark: Mark, now: Nanos) {
        if self.marked == Some(mark) && !self.is_mark_due(now) {
            return;
        }
        self.mark_at = now + MARK_INTERVAL;
        self.marked = Some(mark);
        let entry = Entry::mark(now, mark);
        entry.write(self.ring.push(entry.size(), now));
    }

    /// Copies about `most` bytes of records from `from` on, into the memory that whoever asks has brought.
    pub fn read(&self, from: u64, most: usize, into: Vec<u8>) -> Part {
        self.ring.read(from, most, into)
    }

    /// What it has done.
    pub fn stats(&self) -> RecorderStats {
        self.ring.stats
    }
}
