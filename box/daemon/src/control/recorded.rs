//! What the flight recorder has, a chunk at a time: whoever asks again says where to go on.

use std::sync::PoisonError;

use windlass_engine::Nanos;
use windlass_io::monotonic_ns;
use windlass_policy::Policy;
use windlass_record::{Chunk, Part};
use windlass_wire::FlowKey;

use super::handler::Handler;
use super::live::Live;
use super::protocol::Answer;
use crate::recorder::{PARTS_PER_ANSWER, Wanted, chunk};

const NO_RECORDER: &str = "nothing is recorded: write [recorder] into the configuration and start windlass again (docs/recorder.md)";
const OTHER_WORKERS: &str =
    "the box has been opened anew meanwhile, and what was recorded before is gone: ask again";

impl Handler {
    pub(super) fn recorded(
        &self,
        flow: Option<&str>,
        rule: Option<&str>,
        from: Vec<u64>,
        until: Vec<u64>,
    ) -> Result<Answer, String> {
        let window = self.recorded_for.ok_or(NO_RECORDER)?;
        let key = flow.map(read_key).transpose()?;
        let policy = self
            .policy
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let Some(rule) = rule.filter(|rule| !policy.has_rule(rule)) {
            return Err(format!(
                "no rule is called \"{rule}\": windlass policy explain names them"
            ));
        }
        let wanted = wanted(key, rule, &policy, window);
        self.with_live(|live| {
            let interfaces = [&self.inside, &self.outside].map(String::as_str);
            gather(live, interfaces, wanted, from, until).map(Answer::Recorded)
        })
    }
}

fn read_key(flow: &str) -> Result<FlowKey, String> {
    flow.parse()
        .map_err(|e| format!("\"{flow}\" names no flow: {e}"))
}

fn wanted<'a>(
    key: Option<FlowKey>,
    rule: Option<&'a str>,
    policy: &'a Policy,
    window: Nanos,
) -> Wanted<'a> {
    Wanted {
        key,
        rule,
        policy,
        since: monotonic_ns().saturating_sub(window),
        known: Default::default(),
    }
}

/// Part after part of each worker, until there is enough for an answer or nothing more.
fn gather(
    live: &Live,
    interfaces: [&str; 2],
    mut wanted: Wanted<'_>,
    from: Vec<u64>,
    until: Vec<u64>,
) -> Result<Chunk, String> {
    let workers = live.workers.count();
    let mut chunk = chunk(interfaces, workers);
    let first = from.is_empty();
    if !first && (from.len() != workers || until.len() != workers) {
        return Err(OTHER_WORKERS.to_owned());
    }
    let mut records = vec![Vec::new(); workers];
    (chunk.next, chunk.until) = match first {
        true => (vec![0; workers], vec![u64::MAX; workers]),
        false => (from, until),
    };
    for turn in 0..PARTS_PER_ANSWER {
        let parts = live
            .workers
            .record(&chunk.next)
            .map_err(|e| e.to_string())?;
        let parts: Vec<Part> = parts.ok_or(NO_RECORDER)?;
        for (worker, part) in parts.iter().enumerate() {
            if first && turn == 0 {
                chunk.until[worker] = part.end;
            }
            if part.end < chunk.next[worker] {
                return Err(OTHER_WORKERS.to_owned());
            }
            if chunk.next[worker] >= chunk.until[worker] {
                continue;
            }
            if chunk.next[worker] > 0 && part.from > chunk.next[worker] {
                records[worker].clear();
                chunk.begins_anew[worker] = true;
            }
            records[worker].extend(wanted.of(part));
            chunk.next[worker] = part.next;
        }
        if chunk.is_last() {
            break;
        }
    }
    chunk.records = records
        .iter()
        .map(|records| Chunk::encode(records))
        .collect();
    Ok(chunk)
}
