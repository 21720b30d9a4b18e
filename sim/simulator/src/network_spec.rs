//! What a network is like: links that limit, who talks over which of them, and what else is on them.

use windlass_cc::Nanos;

use crate::link::LinkConfig;

/// All links of a run, and all that is on them beside the connections.
#[derive(Clone, Debug, Default)]
pub struct NetworkSpec {
    /// Of all chance on the links.
    pub seed: u64,
    /// Links that limit, by index.
    pub bottlenecks: Vec<Bottleneck>,
    /// The ways of packets, by the index of the pair of ends.
    pub ways: Vec<Way>,
    /// UDP.
    pub cross_traffic: Vec<CrossTraffic>,
    /// Of the round trip.
    pub probes: Vec<Probe>,
    /// What probes find before then does not count, from the start of the run, ns.
    pub measure_from: Nanos,
}

/// A link that limits, in both directions.
#[derive(Clone, Debug, Default)]
pub struct Bottleneck {
    /// Toward the clients.
    pub down: LinkConfig,
    /// Toward the servers.
    pub up: LinkConfig,
    /// Changes in mid-run, in order of time.
    pub changes: Vec<Change>,
    /// Each of them comes again so much later, for ever, ns; 0: once.
    pub repeat: Nanos,
}

/// A change of a bottleneck in mid-run.
#[derive(Clone, Debug)]
pub struct Change {
    /// When, from the start of the run, ns.
    pub at: Nanos,
    /// Toward the clients from then on.
    pub down: LinkConfig,
    /// Toward the servers from then on.
    pub up: LinkConfig,
}

/// The way between a server and a client.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Way {
    /// Indices of the bottlenecks from server to client, in order.
    pub route: Vec<usize>,
    /// Delay of this pair alone, each way, beside those of the bottlenecks, ns.
    pub extra_delay: Nanos,
}

/// UDP that crosses one bottleneck toward the clients, at a constant rate, on and off.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CrossTraffic {
    /// Index of the bottleneck.
    pub bottleneck: usize,
    /// While on, bit/s.
    pub rate_bits_per_s: u64,
    /// Size of each packet, bytes.
    pub packet_bytes: u32,
    /// When it first goes on, ns.
    pub start: Nanos,
    /// How long it stays on, ns; 0: for ever.
    pub on: Nanos,
    /// How long it stays off, ns.
    pub off: Nanos,
}

/// Small packets that ask what a round trip over the links takes: one way and back, at all times, as a program that
/// measures latency sees it. The hosts and the box have no part in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Probe {
    /// Index of the pair whose way they go.
    pub pair: usize,
    /// Between two of them, ns.
    pub interval: Nanos,
    /// Size of each, bytes.
    pub packet_bytes: u32,
}

/// What probes have measured, all of them together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProbeStats {
    /// That were sent, and had the time to come back.
    pub sent: u64,
    /// That never came back.
    pub lost: u64,
    /// Round trip that half of them do not exceed, ns.
    pub median: Nanos,
    /// The same of 99 of 100, ns.
    pub p99: Nanos,
    /// The same of 999 of 1000, ns.
    pub p999: Nanos,
}
