//! One run, with nothing left open. The same for every back end.
//!
//! ```text
//! server 0 ─┐                                         ┌─ client 0
//! server 1 ─┼─ inside ─ box ─ outside ── bottlenecks ─┼─ client 1
//!        …  ┘                                         └─ …
//! ```
//!
//! A box in the middle of a path has a link of its own between the servers and its inside.
//!
//! Every flow belongs to a [`Pair`] of a server and a client, whose packets cross the bottlenecks
//! that the pair names, in that order, and the ACKs the same ones back. A line is one pair and
//! one bottleneck; a dumbbell is many pairs and one bottleneck; a parking lot has many
//! bottlenecks, of which one pair crosses all and the others one each; many-to-one is many servers
//! and one client; on on-ramps a pair enters before each of the bottlenecks, and all leave behind the
//! last; a switch has a bottleneck for each client, which is its port toward that host.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

pub use crate::algorithm::Algorithm;
pub use crate::mtu::Mtu;
pub use crate::sizes::Sizes;

/// Most hosts of either kind: they get their addresses by index.
pub const MAX_HOSTS: usize = 250;

/// Receive buffer of a host of which nothing else is said: enough for every path that can be
/// written here to be filled.
const RECEIVE_BUFFER_BYTES: u64 = 64 << 20;
/// A mean over less than this is chance on wide-area paths, ns.
const WINDOW_DEFAULT_NS: u64 = 5_000_000_000;
/// Time limit of a run of which nothing else is said.
pub(crate) const LIMIT_DEFAULT_NS: u64 = 300_000_000_000;

/// Address of the server host with this index, of the block for benchmarks (RFC 2544, RFC 5735).
pub fn server_address(index: usize) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, 0, 1 + index as u8)
}

/// Bits of the prefix that the addresses of all hosts have.
pub const HOSTS_PREFIX_BITS: u8 = 15;

/// Address of the client host with this index. One prefix with the servers: 198.18.0.0/15.
pub fn client_address(index: usize) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, 1, 1 + index as u8)
}

/// How a direction of a bottleneck loses packets.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case", tag = "kind")]
pub enum Loss {
    /// It does not.
    #[default]
    None,
    /// Each packet by itself.
    Independent {
        /// Share lost, 0 to 1.
        ratio: f64,
    },
    /// A good and a bad state, one step a packet (Gilbert 1960, Elliott 1963).
    GilbertElliott {
        /// Probability of a step from good to bad.
        good_to_bad: f64,
        /// Probability of a step back.
        bad_to_good: f64,
        /// Share lost in the good state.
        loss_good: f64,
        /// Share lost in the bad state.
        loss_bad: f64,
    },
}

/// A token bucket without a queue: what it does not allow is dropped.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Policer {
    /// What it allows in the long run, bit/s.
    pub rate_bits_per_s: u64,
    /// What it allows at once after a pause, bytes.
    pub burst_bytes: u64,
}

/// One direction of a bottleneck. Bytes count from the Ethernet header on.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Direction {
    /// Serialisation rate, bit/s; 0: without limit.
    pub rate_bits_per_s: u64,
    /// In place of that rate, a recorded one: its index in [`Setup::recordings`].
    pub recording: Option<usize>,
    /// Propagation delay, ns.
    pub delay_ns: u64,
    /// Up to this much more, evenly spread, ns.
    pub jitter_ns: u64,
    /// Jitter lets packets overtake each other.
    pub jitter_reorders: bool,
    /// Nothing arrives during a slot, and everything at its end: length of the shortest and of the longest, ns;
    /// `None`: without slots.
    pub slots_ns: Option<(u64, u64)>,
    /// A token bucket without a queue, before the queue.
    pub policer: Option<Policer>,
    /// Loss, before the queue.
    pub loss: Loss,
    /// Share of the packets that arrive late, 0 to 1.
    pub reorder_ratio: f64,
    /// How late, ns.
    pub reorder_extra_ns: u64,
    /// Share of the packets that arrive twice, 0 to 1.
    pub duplicate_ratio: f64,
    /// Share of the packets in which a bit is flipped behind the Ethernet header, 0 to 1.
    pub damage_ratio: f64,
    /// Drop-tail queue, bytes.
    pub queue_bytes: u64,
    /// ECN-capable packets that meet this much queue are marked, bytes.
    pub ecn_mark_bytes: Option<u64>,
    /// Others that meet as much are dropped, as switches do it (WRED).
    pub drops_not_ect: bool,
}

/// When a link had room for another full frame, as mahimahi records it. It is played over and over again.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Recording {
    /// In order, ms from the begin; the last is the length of the whole, and above 0.
    pub at_ms: Vec<u32>,
    /// What the one-way delay of the link is larger by from each of them on, ms; as many, or none.
    pub delay_ms: Vec<u32>,
}

/// A change of a bottleneck in mid-run.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Change {
    /// When, from the start of the run, ns.
    pub at_ns: u64,
    /// Toward the clients from then on.
    pub down: Direction,
    /// Toward the servers from then on.
    pub up: Direction,
}

/// A link that limits, in both directions.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Bottleneck {
    /// Toward the clients.
    pub down: Direction,
    /// Toward the servers.
    pub up: Direction,
    /// Changes, in order of time.
    pub changes: Vec<Change>,
    /// Each of them comes again so much later, for ever, ns; 0: once.
    pub repeat_ns: u64,
}

/// Times at which the box does not run, as if its processors were taken away. What comes waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Stalls {
    /// From the begin of one to that of the next, in the mean; it varies by half, ns.
    pub every_ns: u64,
    /// The shortest, ns.
    pub least_ns: u64,
    /// The longest, ns; less than half of `every_ns`.
    pub most_ns: u64,
}

/// A server, a client, and the way between them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Pair {
    /// Index of the server host.
    pub server: usize,
    /// Index of the client host.
    pub client: usize,
    /// Indices of the bottlenecks from server to client, in order.
    pub route: Vec<usize>,
    /// Delay of this pair alone, each way, beside those of the bottlenecks, ns.
    pub extra_delay_ns: u64,
}

/// The stack of a host.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Host {
    /// Congestion control, by its Linux name. A client's tells how it acknowledges (DCTCP's
    /// receivers echo every mark).
    pub congestion_control: String,
    /// One of Windlass's in place of it, of a server in the simulator.
    pub algorithm: Option<Algorithm>,
    /// `net.ipv4.tcp_sack`.
    pub sack: bool,
    /// `net.ipv4.tcp_timestamps`.
    pub timestamps: bool,
    /// `net.ipv4.tcp_window_scaling`.
    pub window_scaling: bool,
    /// `net.ipv4.tcp_ecn` 1: asks for ECN and agrees to it; otherwise 0.
    pub ecn: bool,
    /// Largest receive buffer, bytes (third value of `net.ipv4.tcp_rmem`).
    pub receive_buffer_bytes: u64,
}

impl Host {
    /// A Linux host as it comes, but without ECN and with a receive buffer that no path fills.
    pub fn linux(congestion_control: &str) -> Self {
        Host {
            congestion_control: congestion_control.to_owned(),
            algorithm: None,
            sack: true,
            timestamps: true,
            window_scaling: true,
            ecn: false,
            receive_buffer_bytes: RECEIVE_BUFFER_BYTES,
        }
    }
}

/// What stands between inside and outside.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum PathBox {
    /// A wire.
    #[default]
    Nothing,
    /// Windlass.
    Windlass {
        /// Its whole configuration file, TOML.
        policy: String,
    },
    /// Any other program that connects two interfaces; not on `sim`.
    Command {
        /// Words; `{inside}` and `{outside}` are replaced by the interfaces' names, `{windlass}` by
        /// the program under test. Ended by SIGTERM.
        words: Vec<String>,
    },
}

/// What carries a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// The hosts' own.
    #[default]
    Tcp,
    /// `windlass send` on the server and `windlass recv` on the client, with the server's algorithm or
    /// the Windlass algorithm of the name of its congestion control; not on `sim`.
    Quic,
}

/// Transfers that are alike. Each is a connection of its own: the client connects, asks, and the
/// server sends.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct FlowGroup {
    /// Its name in rows and checks.
    pub name: String,
    /// Index of the pair that they run between, the first of several.
    pub pair: usize,
    /// Among so many pairs they go around; 0 or 1: all between the one.
    pub pairs: usize,
    /// How many transfers.
    pub count: u32,
    /// Size of each, bytes. They end when all has arrived, or at the time limit.
    pub bytes: u64,
    /// Sizes by chance instead, of which none is larger than `bytes`; they begin at random times
    /// then, `interval_ns` apart in the mean.
    pub sizes: Option<Sizes>,
    /// When the first one begins, ns.
    pub start_ns: u64,
    /// Each next one begins so much later, ns.
    pub interval_ns: u64,
    /// No more than so many at once, as a browser does it: another begins when one has ended; 0: as many as there are.
    pub at_once: u32,
    /// The server writes so much at once, bytes; 0: all of it.
    pub write_bytes: u64,
    /// And pauses so long between two writes, ns.
    pub pause_ns: u64,
    /// In place of the server host's congestion control.
    pub congestion_control: Option<String>,
    /// What carries them.
    pub transport: Transport,
    /// Whether the run ends when they have ended. Background flows are cut off then.
    pub background: bool,
}

/// UDP that crosses one bottleneck toward the clients, at a constant rate, on and off.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CrossTraffic {
    /// Index of the bottleneck.
    pub bottleneck: usize,
    /// While on, bit/s.
    pub rate_bits_per_s: u64,
    /// Size of each packet, bytes.
    pub packet_bytes: u32,
    /// When it first goes on, ns.
    pub start_ns: u64,
    /// How long it stays on, ns; 0: for ever.
    pub on_ns: u64,
    /// How long it stays off, ns.
    pub off_ns: u64,
}

/// Small packets that ask what a round trip over the links takes: one way and back, at all times, as
/// a program that measures latency sees it. The hosts and the box have no part in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Probe {
    /// Index of the pair whose way they go.
    pub pair: usize,
    /// Between two of them, ns.
    pub interval_ns: u64,
    /// Size of each, bytes.
    pub packet_bytes: u32,
}

/// What is kept beside the figures of each flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Record {
    /// Interval of the time series, ns; 0: none are kept.
    pub series_interval_ns: u64,
    /// Interval at which the box's memory and processor time are sampled, ns; 0: not at all.
    pub usage_interval_ns: u64,
}

/// How a run of fixed length is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Measure {
    /// Goodput and window are those from here on, ns.
    pub from_ns: u64,
    /// How long a flow takes to receive so much is told, bit/s; 0: it is not.
    pub reach_bits_per_s: u64,
    /// Over so long a flow has its share or the rate before it is said to have it, ns.
    pub window_ns: u64,
}

impl Default for Measure {
    fn default() -> Self {
        Measure {
            from_ns: 0,
            reach_bits_per_s: 0,
            window_ns: WINDOW_DEFAULT_NS,
        }
    }
}

impl Measure {
    pub(crate) fn begins_s(self) -> f64 {
        self.from_ns as f64 / 1e9
    }

    pub(crate) fn window_s(self) -> f64 {
        self.window_ns as f64 / 1e9
    }
}

/// One run.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Setup {
    /// Of the losses and of the payload.
    pub seed: u64,
    /// A run that takes longer is cut off, ns; flows that have not ended have failed.
    pub limit_ns: u64,
    /// The run goes on to the limit whatever has ended; flows that are under way then have not
    /// failed.
    pub fixed_length: bool,
    /// How a run of fixed length is measured.
    #[serde(default)]
    pub measure: Measure,
    /// In the simulator, whatever back end has the other runs.
    pub simulated: bool,
    /// Of every interface.
    #[serde(default)]
    pub mtu: Mtu,
    /// Servers, by index.
    pub servers: Vec<Host>,
    /// Clients, by index.
    pub clients: Vec<Host>,
    /// Links that limit, by index.
    pub bottlenecks: Vec<Bottleneck>,
    /// Between the servers and the box, if that is more than a wire: the box is in the middle of the path. It does not
    /// change.
    pub server_link: Option<Bottleneck>,
    /// Rates that were recorded, by index.
    pub recordings: Vec<Recording>,
    /// Who talks to whom, by index.
    pub pairs: Vec<Pair>,
    /// What stands in the path.
    pub path_box: PathBox,
    /// The algorithm of that Windlass, unless it has a configuration file of its own.
    pub box_algorithm: Option<Algorithm>,
    /// When that Windlass stands still.
    pub box_stalls: Option<Stalls>,
    /// Another Windlass stands beside the clients, which are on its inside, with the same policy.
    pub both_ends: bool,
    /// TCP.
    pub flows: Vec<FlowGroup>,
    /// UDP.
    pub cross_traffic: Vec<CrossTraffic>,
    /// Of the round trip.
    pub probes: Vec<Probe>,
    /// What to keep.
    pub record: Record,
}

impl Setup {
    /// A server and a client, both with CUBIC, and one bottleneck between them; a wire for a box,
    /// five minutes at most.
    pub fn line(bottleneck: Bottleneck, flows: Vec<FlowGroup>) -> Self {
        Setup {
            limit_ns: LIMIT_DEFAULT_NS,
            servers: vec![Host::linux("cubic")],
            clients: vec![Host::linux("cubic")],
            bottlenecks: vec![bottleneck],
            pairs: vec![Pair {
                server: 0,
                client: 0,
                route: vec![0],
                extra_delay_ns: 0,
            }],
            flows,
            ..Setup::default()
        }
    }
}
