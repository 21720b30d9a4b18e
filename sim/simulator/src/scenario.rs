//! What is simulated, and what came of it.

use std::collections::BTreeMap;

use windlass_cc::{MILLISECOND, Nanos, SECOND};

use crate::link::{LinkConfig, LinkStats};
use crate::tcp::{App, EndConfig, EndStats};

/// One connection between the client and the server.
#[derive(Clone, PartialEq, Debug)]
pub struct Connection {
    /// What the server's application does.
    pub server: App,
    /// What the client's application does.
    pub client: App,
    /// When the client connects.
    pub start: Nanos,
}

impl Connection {
    /// The client asks for `bytes` at time 0, as with `curl`.
    pub fn download(bytes: u64) -> Connection {
        const REQUEST_BYTES: u64 = 100;
        Connection {
            server: App::response(REQUEST_BYTES, bytes),
            client: App::request(REQUEST_BYTES),
            start: 0,
        }
    }
}

/// Everything that a run depends on, but the box:
/// server — inside link — box — outside links — client.
#[derive(Clone, PartialEq, Debug)]
pub struct Scenario {
    /// Of all chance.
    pub seed: u64,
    /// IPv6 instead of IPv4.
    pub v6: bool,
    /// The link between server and box, each direction.
    pub inside: LinkConfig,
    /// Box to client.
    pub down: LinkConfig,
    /// Client to box.
    pub up: LinkConfig,
    /// The server.
    pub server: EndConfig,
    /// The servers of single connections, in its place.
    pub other_servers: BTreeMap<usize, EndConfig>,
    /// The client.
    pub client: EndConfig,
    /// What they have to do with each other.
    pub connections: Vec<Connection>,
    /// A connection not finished by then has failed.
    pub limit: Nanos,
}

impl Scenario {
    /// One download of `bytes` over a path of `rate_mbit_s` and `rtt_ms` with a queue of one BDP
    /// (at least 100 packets), without loss.
    pub fn download(bytes: u64, rate_mbit_s: f64, rtt_ms: f64) -> Scenario {
        let rate = (rate_mbit_s * 1e6 / 8.0) as u64;
        let rtt = (rtt_ms * MILLISECOND as f64) as Nanos;
        let bdp = u128::from(rate) * u128::from(rtt) / u128::from(SECOND);
        let down = LinkConfig {
            rate_bytes_per_s: Some(rate),
            queue_bytes: (bdp as u64).max(150_000),
            ..LinkConfig::default()
        };
        Scenario {
            seed: 1,
            v6: false,
            inside: LinkConfig {
                rate_bytes_per_s: Some(1_250_000_000),
                delay: 20_000,
                ..LinkConfig::default()
            },
            down,
            up: LinkConfig {
                delay: rtt,
                ..LinkConfig::default()
            },
            server: EndConfig::default(),
            other_servers: BTreeMap::new(),
            client: EndConfig {
                isn: 3_000_000_000,
                timestamp_origin_ms: 700_000,
                ..EndConfig::default()
            },
            connections: vec![Connection::download(bytes)],
            limit: 600 * SECOND,
        }
    }
}

/// What came of one connection.
#[derive(Clone, PartialEq, Debug)]
pub struct ConnectionOutcome {
    /// From the client's first SYN to the last new byte of payload at either end.
    pub seconds: f64,
    /// Both ends are done.
    pub finished: bool,
    /// An end reset it, or could not open it.
    pub reset: bool,
    /// The server's counts.
    pub server: EndStats,
    /// The client's counts.
    pub client: EndStats,
}

/// What came of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// From the first SYN to the last new byte of payload of any connection.
    pub seconds: f64,
    /// Every byte arrived as it was sent, every connection ended as planned, and no rule was bent.
    pub intact: bool,
    /// What went wrong, in words.
    pub violations: Vec<String>,
    /// In the order of the scenario.
    pub connections: Vec<ConnectionOutcome>,
    /// Of the link from box to client.
    pub down: LinkStats,
    /// Of the link from client to box.
    pub up: LinkStats,
    /// The box's own counters.
    pub counters: Vec<(String, u64)>,
    /// Packets that the box still holds.
    pub held_packets: usize,
}

impl Outcome {
    /// The server's counts of the first connection.
    pub fn server(&self) -> &EndStats {
        &self.connections[0].server
    }

    /// The client's counts of the first connection.
    pub fn client(&self) -> &EndStats {
        &self.connections[0].client
    }

    /// A counter of the box; 0 if it has none of that name.
    pub fn counter(&self, name: &str) -> u64 {
        let found = self.counters.iter().find(|(n, _)| n == name);
        found.map_or(0, |(_, value)| *value)
    }

    /// # Panics
    /// If the run was not intact, with all that it takes to replay it.
    #[track_caller]
    pub fn assert_intact(&self, scenario: &Scenario) {
        assert!(
            self.intact,
            "seed {}: {:#?}\nserver: {:#?}\nclient: {:#?}\nreplay with {scenario:#?}",
            scenario.seed,
            self.violations,
            self.server(),
            self.client(),
        );
    }
}
