//! The flows of a recording as qlog, for qvis.
//!
//! Version 0.3 in JSON (draft-ietf-quic-qlog-main-schema-02 and -quic-events-02), because qvis reads no later one; the `qlog`
//! crate writes later ones only. TCP has no packet numbers: each transmission of data toward the receiver gets the next
//! one, as QUIC would number it, and an acknowledgement names those that it covers.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Value, json};
use windlass_engine::{Nanos, Side, Standing, Why};
use windlass_wire::{Flags, FlowKey, Segment};

use crate::entry::{Entry, What};
use crate::recording::{Recording, end};

const NANOS_PER_MS: f64 = 1e6;
const US_PER_MS: f64 = 1e3;
const BITS_PER_BYTE: u64 = 8;

#[derive(Serialize)]
struct File<'a> {
    // These two come first: qvis looks for them in the first bytes.
    qlog_version: &'a str,
    qlog_format: &'a str,
    title: &'a str,
    description: &'a str,
    traces: Vec<Trace>,
}

#[derive(Serialize)]
struct Trace {
    title: String,
    vantage_point: Value,
    common_fields: Value,
    events: Vec<Event>,
}

#[derive(Serialize)]
struct Event {
    /// ms since the reference time.
    time: f64,
    name: &'static str,
    data: Value,
}

/// A transmission that has not been acknowledged: its packet number, and the first sequence number behind it.
#[derive(Clone, Copy)]
struct Sent {
    number: u64,
    end: u32,
}

/// One direction of data.
struct Flow {
    trace: Trace,
    begins: Nanos,
    next_number: u64,
    acks: u64,
    waiting: Vec<Sent>,
    /// The newest transmission of what begins at this sequence number.
    newest: HashMap<u32, u64>,
    phase: Option<&'static str>,
}

/// Writes all directions in which data went.
///
/// # Errors
/// It cannot be written there.
pub fn write(recording: &Recording, mut to: impl Write) -> io::Result<()> {
    let mut flows: BTreeMap<FlowKey, Flow> = BTreeMap::new();
    for entry in &recording.entries {
        let Some(segment) = entry.segment() else {
            continue;
        };
        match &entry.what {
            What::Left(why) if segment.payload_len > 0 => {
                let flow = flows.entry(segment.key);
                let flow = flow.or_insert_with(|| Flow::new(recording, entry, &segment));
                flow.leaves(entry, &segment, *why);
            }
            What::Came { standing, .. } => {
                if let Some(flow) = flows.get_mut(&segment.key.reversed()) {
                    flow.is_acknowledged(entry, &segment, standing.as_ref());
                }
            }
            _ => {}
        }
    }
    let file = File {
        qlog_version: "0.3",
        qlog_format: "JSON",
        title: "windlass flight recorder",
        description: "TCP as windlass sent it on; packet numbers count transmissions",
        traces: flows.into_values().map(|flow| flow.trace).collect(),
    };
    serde_json::to_writer(&mut to, &file)?;
    to.write_all(b"\n")
}

impl Flow {
    fn new(recording: &Recording, entry: &Entry, segment: &Segment) -> Flow {
        let sender = match entry.from() {
            Side::Inside => "inside",
            Side::Outside => "outside",
        };
        let reference_ms = entry.unix_ns(&recording.origin) as f64 / NANOS_PER_MS;
        Flow {
            trace: Trace {
                title: segment.key.to_string(),
                vantage_point: json!({
                    "name": format!("windlass {}", recording.origin.version),
                    "type": "network",
                    "flow": "server",
                }),
                common_fields: json!({
                    "protocol_type": "TCP",
                    "group_id": segment.key.to_string(),
                    "time_format": "relative",
                    "reference_time": reference_ms,
                    "sender": end(&segment.key).to_string(),
                    "sender_side": sender,
                }),
                events: Vec::new(),
            },
            begins: entry.time,
            next_number: 0,
            acks: 0,
            waiting: Vec::new(),
            newest: HashMap::new(),
            phase: None,
        }
    }

    fn event(&mut self, at: Nanos, name: &'static str, data: Value) {
        let since = at as i128 - self.begins as i128;
        let time = since as f64 / NANOS_PER_MS;
        self.trace.events.push(Event { time, name, data });
    }

    fn leaves(&mut self, entry: &Entry, segment: &Segment, why: Why) {
        let before = self.newest.get(&segment.seq).copied();
        if let Some(number) = before.filter(|_| why == Why::Repair) {
            let data = json!({"header": header(number), "trigger": "reordering_threshold"});
            self.event(entry.time, "recovery:packet_lost", data);
        }
        let number = self.next_number;
        self.next_number += 1;
        self.newest.insert(segment.seq, number);
        self.waiting.push(Sent {
            number,
            end: segment.seq.wrapping_add(segment.seq_len()),
        });
        let data = json!({
            "header": header(number),
            "raw": {"length": entry.length, "payload_length": segment.payload_len},
            "frames": [{
                "frame_type": "stream",
                "stream_id": 0,
                "offset": segment.seq,
                "length": segment.payload_len,
                "fin": segment.flags.has(Flags::FIN),
            }],
            "trigger": why.name(),
        });
        self.event(entry.time, "transport:packet_sent", data);
    }

    fn is_acknowledged(&mut self, entry: &Entry, segment: &Segment, standing: Option<&Standing>) {
        if !segment.flags.has(Flags::ACK) {
            return;
        }
        let reached = |end: u32, ack: u32| ack.wrapping_sub(end) < 1 << 31;
        let mut numbers: Vec<u64> = Vec::new();
        self.waiting.retain(|sent| {
            let covered = reached(sent.end, segment.ack);
            numbers.extend(covered.then_some(sent.number));
            !covered
        });
        let number = self.acks;
        self.acks += 1;
        let data = json!({
            "header": header(number),
            "raw": {"length": entry.length, "payload_length": segment.payload_len},
            "frames": [{"frame_type": "ack", "acked_ranges": ranges(&numbers)}],
        });
        self.event(entry.time, "transport:packet_received", data);
        if let Some(standing) = standing {
            self.stands(entry.time, standing);
        }
    }

    fn stands(&mut self, at: Nanos, standing: &Standing) {
        let phase = standing.phase.name();
        if self.phase != Some(phase) {
            let old = self.phase.replace(phase);
            let data = json!({"old": old, "new": phase});
            self.event(at, "recovery:congestion_state_updated", data);
        }
        let ms = |us: u32| f64::from(us) / US_PER_MS;
        let mut data = json!({
            "congestion_window": standing.cwnd,
            "bytes_in_flight": standing.inflight,
            "smoothed_rtt": ms(standing.srtt_us),
            "min_rtt": ms(standing.min_rtt_us),
            "latest_rtt": ms(standing.latest_rtt_us),
            "limited_by": standing.limited_by.name(),
            "queued": standing.queued,
        });
        if standing.ssthresh != u64::MAX {
            data["ssthresh"] = standing.ssthresh.into();
        }
        if standing.pacing_rate > 0 {
            data["pacing_rate"] = standing.pacing_rate.saturating_mul(BITS_PER_BYTE).into();
        }
        self.event(at, "recovery:metrics_updated", data);
    }
}

fn header(number: u64) -> Value {
    json!({"packet_type": "1RTT", "packet_number": number})
}

/// First and last number of each run.
fn ranges(numbers: &[u64]) -> Vec<[u64; 2]> {
    let mut ranges: Vec<[u64; 2]> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some(last) if last[1] + 1 == number => last[1] = number,
            _ => ranges.push([number, number]),
        }
    }
    ranges
}
