//! What came of one run. The same from every back end; what one cannot tell is `None` or empty.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What came of one transfer.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct FlowObserved {
    /// Index of the group in the setup.
    pub group: usize,
    /// Index in the group.
    pub index: u32,
    /// When it began, from the start of the run, s.
    pub start_s: f64,
    /// From `connect()` to the last byte at the client; until the cut-off if it did not end, s.
    pub seconds: f64,
    /// Payload bytes that the client has received.
    pub received_bytes: u64,
    /// It ended, and every byte was as sent.
    pub intact: bool,
    /// Why it failed, for people.
    pub error: Option<String>,
    /// Payload bytes that the server has sent again.
    pub server_retransmitted_bytes: Option<u64>,
    /// Retransmission time-outs of the server.
    pub server_timeouts: Option<u64>,
    /// Payload bytes that the box has sent again, copies excluded.
    pub box_retransmitted_bytes: Option<u64>,
    /// Payload bytes of copies that the box has sent (redundancy).
    pub box_copied_bytes: Option<u64>,
    /// Payload bytes that the box has sent again although the client had them (it said so: DSACK).
    pub box_spurious_bytes: Option<u64>,
    /// Most packets that the box has held of it at once.
    pub held_packets_max: Option<u64>,
    /// Bytes received at the client over time: pairs of (s from the start of the run, bytes so
    /// far), at the series interval; empty without one.
    pub arrivals: Vec<(f64, u64)>,
}

/// One direction of a bottleneck, counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LinkObserved {
    /// Packets offered to it.
    pub offered_packets: u64,
    /// Lost by chance.
    pub lost_packets: u64,
    /// Dropped by the full queue.
    pub dropped_packets: u64,
    /// Marked CE.
    pub marked_packets: u64,
    /// Damaged.
    pub damaged_packets: u64,
    /// Delivered.
    pub delivered_packets: u64,
    /// Bytes delivered, headers included.
    pub delivered_bytes: u64,
    /// Longest queue, bytes.
    pub max_queue_bytes: u64,
}

/// What probes have measured, all of them together, from when on the run is measured.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ProbesObserved {
    /// That were sent, and had the time to come back.
    pub sent: u64,
    /// That never came back.
    pub lost: u64,
    /// Median of the round trip, ms.
    pub median_ms: f64,
    /// What 99 of 100 do not exceed, ms.
    pub p99_ms: f64,
    /// What 999 of 1000 do not exceed, ms.
    pub p999_ms: f64,
}

/// Who has sampled a series.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The server's own stack (`ss -ti`).
    #[default]
    Server,
    /// The box that governs the flow.
    Box,
    /// A box that only watches: what it would do.
    Advice,
}

impl Source {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Source::Server => "server",
            Source::Box => "box",
            Source::Advice => "advice",
        }
    }
}

/// A flow's state at one time, in the columns of `ss -ti`, from either world. What the source does
/// not know is `None`.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Sample {
    /// From the start of the run, s.
    pub time_s: f64,
    /// Congestion window, packets.
    pub cwnd_packets: Option<f64>,
    /// The reaction to a loss or a mark is under way: the window is recovery's.
    pub in_recovery: Option<bool>,
    /// Slow-start threshold, packets; `None` also while infinite.
    pub ssthresh_packets: Option<f64>,
    /// Unacknowledged, packets (in the network; what the box holds unsent is not in it).
    pub inflight_packets: Option<f64>,
    /// Smoothed RTT, ms.
    pub srtt_ms: Option<f64>,
    /// Least RTT, ms.
    pub min_rtt_ms: Option<f64>,
    /// Pacing rate, Mbit/s.
    pub pacing_mbit_s: Option<f64>,
    /// Delivery rate, Mbit/s.
    pub delivery_mbit_s: Option<f64>,
    /// Payload bytes acknowledged so far.
    pub acked_bytes: Option<u64>,
    /// Packets retransmitted so far.
    pub retransmitted_packets: Option<u64>,
    /// Packets that the box holds.
    pub held_packets: Option<u64>,
    /// Of these, packets that wait in the box for their first transmission.
    #[serde(default)]
    pub queued_packets: Option<f64>,
}

/// A flow over time, as one source saw it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Series {
    /// Index of the group in the setup.
    pub group: usize,
    /// Index of the flow in the group.
    pub index: u32,
    /// Who has sampled it.
    pub source: Source,
    /// In order of time.
    pub samples: Vec<Sample>,
    /// Of a box: which algorithm was in charge from when on, s; the first from the beginning.
    pub algorithms: Vec<(f64, String)>,
}

impl Series {
    /// At `time_s` this algorithm was in charge.
    pub fn note_algorithm(&mut self, time_s: f64, name: &str) {
        if self.algorithms.last().is_none_or(|(_, last)| last != name) {
            self.algorithms.push((time_s, name.to_owned()));
        }
    }
}

/// What the box's process used.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Processor time, s.
    pub cpu_s: f64,
    /// Span over which it was used, s.
    pub span_s: f64,
    /// Largest resident set, bytes.
    pub max_rss_bytes: u64,
}

/// What came of one run.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Observed {
    /// Every transfer, in order of group and index.
    pub flows: Vec<FlowObserved>,
    /// Toward the clients, by bottleneck.
    pub down: Vec<LinkObserved>,
    /// Toward the servers, by bottleneck.
    pub up: Vec<LinkObserved>,
    /// Of the round trip, if there were any.
    pub probes: Option<ProbesObserved>,
    /// The box's own counters; those of the one beside the clients begin with `far_`.
    pub counters: BTreeMap<String, u64>,
    /// Time series, if asked for.
    pub series: Vec<Series>,
    /// Share of the machine's processors that was not idle from the first transfer to the last, 0 to
    /// 1: near 1, the machine was the bottleneck.
    pub machine_busy_share: Option<f64>,
    /// How late a packet left a link at the most, beyond what the link had for it, ms: the machine kept whoever plays the links from
    /// its processor. `None` in the simulator.
    pub links_late_ms: Option<f64>,
    /// The box's process, if asked for and there is one.
    pub usage: Option<Usage>,
    /// What went wrong with the run as a whole, for people: its figures mean nothing then.
    pub error: Option<String>,
}
