//! What was read of the tapes of all workers, put together by whoever asked.

use std::net::SocketAddr;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};
use windlass_engine::{Nanos, Side};
use windlass_wire::{FlowKey, Segment, parse};

use crate::entry::{Damaged, Entry, Mark, What};

/// Where and when a recording was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Name of the interface towards the governed senders.
    pub inside: String,
    /// Name of the interface towards the network.
    pub outside: String,
    /// What is to be added to the times of records for ns since 1970.
    pub unix_offset_ns: u64,
    /// Version of the windlass that recorded.
    pub version: String,
}

/// A part of the records of all workers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// The same in each chunk.
    pub origin: Origin,
    /// By worker: records in base64.
    pub records: Vec<String>,
    /// By worker: what came before in earlier chunks is not to be used, because something was overwritten in between.
    pub begins_anew: Vec<bool>,
    /// By worker: where the next part begins.
    pub next: Vec<u64>,
    /// By worker: where the records ended when they were first asked for.
    pub until: Vec<u64>,
}

impl Chunk {
    /// Nothing follows.
    pub fn is_last(&self) -> bool {
        self.next
            .iter()
            .zip(&self.until)
            .all(|(next, until)| next >= until)
    }

    /// Records as text.
    pub fn encode(records: &[u8]) -> String {
        BASE64_STANDARD.encode(records)
    }
}

/// Packets of both interfaces in the order of their times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// Where and when it was made.
    pub origin: Origin,
    /// The packets; no marks.
    pub entries: Vec<Entry>,
    /// What was not recorded or dropped in this time.
    pub losses: Mark,
}

/// What has been read of each worker so far.
#[derive(Debug, Default)]
pub struct Collector {
    workers: Vec<Vec<Entry>>,
    origin: Origin,
}

impl Collector {
    /// Takes a chunk in.
    ///
    /// # Errors
    /// It is damaged.
    pub fn add(&mut self, chunk: &Chunk) -> Result<(), Damaged> {
        self.origin.clone_from(&chunk.origin);
        self.workers
            .resize(chunk.records.len().max(self.workers.len()), Vec::new());
        for (number, (entries, text)) in self.workers.iter_mut().zip(&chunk.records).enumerate() {
            if chunk.begins_anew.get(number) == Some(&true) {
                entries.clear();
            }
            let bytes = BASE64_STANDARD.decode(text).map_err(|_| Damaged)?;
            entries.extend(Entry::read_all(&bytes)?);
        }
        Ok(())
    }

    /// All of it.
    pub fn finish(self) -> Recording {
        let mut recording = Recording {
            origin: self.origin,
            ..Recording::default()
        };
        for entries in self.workers {
            recording.add_worker(entries);
        }
        // A packet that came and one that left at the same time: the one caused the other.
        let order = |entry: &Entry| (entry.time, matches!(entry.what, What::Left(_)));
        recording.entries.sort_by_key(order);
        recording
    }
}

impl Recording {
    /// What was written before the first mark of a worker has no count of what was missed: it is left out. A packet that was
    /// written after the mark may have come before it, and waited in the driver's ring.
    fn add_worker(&mut self, entries: Vec<Entry>) {
        let mark_of = |entry: &Entry| match entry.what {
            What::Mark(mark) => Some(mark),
            _ => None,
        };
        let Some(begins) = entries.iter().position(|entry| mark_of(entry).is_some()) else {
            return;
        };
        let mut marks = entries.iter().filter_map(mark_of);
        let first = marks.next().unwrap_or_default();
        let last = marks.next_back().unwrap_or(first);
        self.losses.unrecorded += last.unrecorded.saturating_sub(first.unrecorded);
        self.losses.dropped_leaving += last.dropped_leaving.saturating_sub(first.dropped_leaving);
        self.losses.dropped_coming += last.dropped_coming.saturating_sub(first.dropped_coming);
        let packets = entries.into_iter().skip(begins);
        self.entries
            .extend(packets.filter(|entry| mark_of(entry).is_none()));
    }

    /// Its connections, by the end that was seen first.
    pub fn connections(&self) -> Vec<FlowKey> {
        let mut known = std::collections::HashSet::new();
        let keys = self
            .entries
            .iter()
            .filter_map(|entry| Some(entry.segment()?.key));
        keys.filter(|key| known.insert(key.canonical().0)).collect()
    }
}

impl Entry {
    /// What the headers say. The payload is not there.
    pub fn segment(&self) -> Option<Segment> {
        parse(&self.headers, self.length).ok()
    }

    /// Side of the end that the packet is from.
    pub fn from(&self) -> Side {
        match self.what {
            What::Left(_) => self.side.other(),
            _ => self.side,
        }
    }

    /// ns since 1970.
    pub(crate) fn unix_ns(&self, origin: &Origin) -> Nanos {
        self.time.wrapping_add(origin.unix_offset_ns)
    }
}

/// `10.0.0.1:443`
pub(crate) fn end(key: &FlowKey) -> SocketAddr {
    SocketAddr::new(key.src.ip(), key.src_port)
}

#[cfg(test)]
mod tests {
    use windlass_engine::Why;

    use super::*;

    fn packet(time: Nanos, what: What) -> Entry {
        Entry {
            time,
            side: Side::Inside,
            what,
            length: 0,
            headers: Vec::new(),
        }
    }

    /// When a worker begins, a packet may have waited in the ring of its driver: its time is before the first mark.
    #[test]
    fn a_packet_that_waited_before_the_first_mark_is_kept() {
        let came = What::Came {
            fate: windlass_engine::Fate::Passed,
            reason: None,
            standing: None,
        };
        let entries = vec![
            packet(80, What::Left(Why::Forwarded)),
            Entry::mark(100, Mark::default()),
            packet(90, came),
            packet(101, What::Left(Why::Forwarded)),
            Entry::mark(
                200,
                Mark {
                    unrecorded: 7,
                    ..Mark::default()
                },
            ),
        ];
        let mut recording = Recording::default();
        recording.add_worker(entries);
        let times: Vec<Nanos> = recording.entries.iter().map(|entry| entry.time).collect();
        assert_eq!((times, recording.losses.unrecorded), (vec![90, 101], 7));
    }
}
