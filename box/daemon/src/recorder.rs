//! The flight recorder of a running box: how much memory each worker has for it, and what is told of it.

use std::collections::HashMap;

use windlass_engine::{Nanos, Side};
use windlass_io::monotonic_ns;
use windlass_policy::{Policy, RecorderConfig};
use windlass_record::{Chunk, Entry, Origin, Part, Tape, What};
use windlass_wire::FlowKey;

use crate::settings::unix_ns;
use crate::worker::BATCH_PACKETS;

/// What a worker copies at once, bytes: it stands still for less than 0.1 ms.
pub(crate) const PART_BYTES: usize = 256 << 10;
/// A record is not longer.
pub(crate) const RECORD_MAX_BYTES: usize = 1024;
/// Parts that one request reads of each worker.
pub(crate) const PARTS_PER_ANSWER: usize = 32;

pub(crate) const NANOS_PER_SECOND: Nanos = 1_000_000_000;

/// The memory of one of so many workers.
pub(crate) fn tape(recorder: &RecorderConfig, workers: usize) -> Box<Tape> {
    let bytes = ((recorder.memory_mb as usize) << 20) / workers.max(1);
    let window = Nanos::from(recorder.seconds) * NANOS_PER_SECOND;
    Box::new(Tape::new(bytes, window, BATCH_PACKETS))
}

/// Which packets are wanted: those of a connection, of a rule, or of both.
pub(crate) struct Wanted<'a> {
    pub key: Option<FlowKey>,
    pub rule: Option<&'a str>,
    pub policy: &'a Policy,
    /// Nothing that was before.
    pub since: Nanos,
    /// By connection: whether the rule is for it.
    pub known: HashMap<FlowKey, bool>,
}

impl Wanted<'_> {
    fn wants(&mut self, entry: &Entry) -> bool {
        if let What::Mark(_) = entry.what {
            return true;
        }
        let Some(key) = entry.segment().map(|segment| segment.key) else {
            return false;
        };
        let name = key.canonical().0;
        if entry.time < self.since || self.key.is_some_and(|key| key.canonical().0 != name) {
            return false;
        }
        let Some(rule) = self.rule else { return true };
        let (policy, from) = (self.policy, entry.from());
        *self.known.entry(name).or_insert_with(|| {
            [(key, from), (key.reversed(), from.other())]
                .into_iter()
                .any(|(key, side)| is_for(policy, rule, &key, side))
        })
    }

    /// The records of a part that are wanted.
    pub(crate) fn of(&mut self, part: &Part) -> Vec<u8> {
        let mut wanted = Vec::new();
        let mut rest = &part.bytes[..];
        // What a worker has written can be read.
        while let Ok((entry, size)) = Entry::read(rest) {
            if self.wants(&entry) {
                wanted.extend_from_slice(&rest[..size]);
            }
            rest = &rest[size..];
        }
        wanted
    }
}

/// Whether this rule is the one for data that the end on this side sends, by the rules in charge now.
fn is_for(policy: &Policy, rule: &str, key: &FlowKey, side: Side) -> bool {
    use windlass_engine::Decide;
    let verdict = policy.classify(key, side, monotonic_ns());
    let number = verdict.and_then(|verdict| verdict.rule);
    number.and_then(|number| policy.rule_name(number)) == Some(rule)
}

/// A chunk to be filled.
pub(crate) fn chunk(interfaces: [&str; 2], workers: usize) -> Chunk {
    let [inside, outside] = interfaces.map(str::to_owned);
    Chunk {
        origin: Origin {
            inside,
            outside,
            unix_offset_ns: unix_ns().saturating_sub(monotonic_ns()),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
        records: vec![String::new(); workers],
        begins_anew: vec![false; workers],
        next: vec![0; workers],
        until: Vec::new(),
    }
}
