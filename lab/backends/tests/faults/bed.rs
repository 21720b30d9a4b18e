//! What a scenario runs on: hosts, the link, and the plain bridge or the box between them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::Value;
use windlass_experiment::Setup;
use windlass_experiment::setup::{Pair, client_address, server_address};
use windlass_lab::emulator::{Emulator, Ends, Path};

use crate::daemon::Daemon;
use crate::lab::Lab;
use crate::load::Load;
use crate::transfer::Transfer;

/// 100 Mbit/s and 20 ms that lose nothing, with a queue of one bandwidth-delay product.
pub const CLEAN: Path = Path {
    rate_bits_per_s: 100_000_000,
    rtt: 20_000_000,
    loss_ratio: 0.0,
    ack_loss_ratio: 0.0,
    queue_bdp: 1.0,
};

/// The server of an upload answers with less, bytes.
const ANSWER_MAX: u64 = 100_000;

/// Two, so that the link knows the transfers' packets from a flood's answers and drops these.
const CLIENTS: usize = 2;

/// An interface of the server that leads nowhere.
const HOLDER: &str = "away";

/// What stands between the hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Middle {
    Bridge,
    Box,
}

pub struct Bed {
    pub load: Load,
    pub daemon: Option<Daemon>,
    link: Option<Emulator>,
    pub lab: Lab,
    pub middle: Middle,
}

/// Answers to strangers leave by where the client is, as they would by a router.
fn add_route(lab: &Lab) -> Result<()> {
    let gateway = client_address(0);
    let server = &lab.topology.servers[0];
    server.ip(&format!("route add default via {gateway} dev eth0"))?;
    Ok(())
}

impl Bed {
    /// Makes all of it; the box with the configuration of `WINDLASS_FAULTS_CONFIG`, if there is one.
    pub fn make(middle: Middle, path: &Path, seed: u64) -> Result<Bed> {
        Bed::configured(middle, path, seed, &config())
    }

    /// The bridge, and a server whose kernel has this congestion control.
    pub fn with_server(path: &Path, seed: u64, congestion_control: &str) -> Result<Bed> {
        let lab = Lab::with_clients(CLIENTS)?;
        lab.topology.set_congestion_control(congestion_control)?;
        Bed::within(lab, Middle::Bridge, path, seed, "")
    }

    /// The same with this configuration.
    pub fn configured(middle: Middle, path: &Path, seed: u64, config: &str) -> Result<Bed> {
        Bed::within(Lab::with_clients(CLIENTS)?, middle, path, seed, config)
    }

    fn within(lab: Lab, middle: Middle, path: &Path, seed: u64, config: &str) -> Result<Bed> {
        add_route(&lab)?;
        let mut ends = Ends::open(&lab.topology)?;
        // A flood's answers have left the box when they come to the link, which takes no time for them.
        ends.keep_to_hosts()?;
        let link = Emulator::start(ends, &line(path, seed))?;
        let daemon = (middle == Middle::Box).then(|| Daemon::start(&lab, config));
        Ok(Bed {
            load: Load::start(&lab)?,
            daemon,
            link: Some(link),
            lab,
            middle,
        })
    }

    /// A counter of the engine; 0 for the bridge.
    pub fn counter_or_zero(&self, name: &str) -> u64 {
        self.counter("engine", name)
    }

    /// A counter of the box, by its two names; 0 for the bridge.
    pub fn counter(&self, part: &str, name: &str) -> u64 {
        let counters = self.daemon.as_ref().map(Daemon::counters);
        counters.map_or(0, |c| counter(&c, part, name))
    }

    /// Prints the counters that have counted.
    pub fn tell_counters(&self) {
        let Some(daemon) = &self.daemon else {
            return;
        };
        let counters = daemon.counters();
        for part in ["engine", "driver", "xdp"] {
            let all = counters[part].as_object().into_iter().flatten();
            let counted = all.filter(|(_, value)| **value != 0);
            let words: Vec<String> = counted
                .map(|(name, value)| format!("{name} {value}"))
                .collect();
            println!("   {part}: {}", words.join(", "));
        }
    }

    /// Prints what the box knows of the flow to this port.
    pub fn tell_flow(&self, port: u16) {
        let Some(daemon) = &self.daemon else {
            return;
        };
        let shown = daemon.ask(&["flow", "show"]);
        let of_port = format!(":{port} ");
        for line in shown.lines().filter(|line| line.contains(&of_port)) {
            println!("   {line}");
        }
    }

    /// Downloads that the box governs now: it is their sender's window and repairs their losses.
    pub fn governed_downloads(&self) -> usize {
        self.governed_flows().len()
    }

    /// The same, of these transfers.
    pub fn governed_of(&self, transfers: &[Arc<Transfer>]) -> usize {
        let flows = self.governed_flows();
        let is_of = |t: &&Arc<Transfer>| {
            let end = format!(":{}", t.port());
            flows.iter().any(|flow| flow.ends_with(&end))
        };
        transfers.iter().filter(is_of).count()
    }

    /// Their names.
    fn governed_flows(&self) -> Vec<String> {
        let Some(daemon) = &self.daemon else {
            return Vec::new();
        };
        let shown: Value =
            serde_json::from_str(&daemon.ask(&["flow", "show", "-j"])).expect("JSON");
        let flows = shown.as_array().expect("flows");
        let governed = |flow: &&Value| {
            flow["sender"] == "inside"
                && flow["bytes_acked"].as_u64() > Some(ANSWER_MAX)
                && flow["passed"].is_null()
                && flow["in_senders_hands"] == false
        };
        let name = |flow: &Value| flow["flow"].as_str().expect("a name").to_owned();
        flows.iter().filter(governed).map(name).collect()
    }

    /// The server's interface goes, with the box's end of it, and comes back after `time`.
    pub fn replace_server_wire(&self, time: Duration) -> Result<()> {
        self.hold_address()?;
        self.lab.topology.replace_server_wire(time)?;
        self.lab.topology.servers[0].ip(&format!("link del {HOLDER}"))?;
        add_route(&self.lab)
    }

    /// A guest whose tap is deleted keeps its interface, its address and its routes. Here the server's interface goes with the
    /// wire, and Linux forgets a handshake whose SYN-ACK has no route when it is sent again (`reqsk_timer_handler`, 6.18).
    fn hold_address(&self) -> Result<()> {
        let (server, address) = (&self.lab.topology.servers[0], server_address(0));
        server.ip(&format!(
            "link add {HOLDER} type veth peer name {HOLDER}-end"
        ))?;
        server.ip(&format!("link set {HOLDER} up"))?;
        server.ip(&format!("link set {HOLDER}-end up"))?;
        server.ip(&format!("addr add {address}/32 dev {HOLDER}"))?;
        server.ip(&format!("route add default dev {HOLDER} metric 9999"))?;
        Ok(())
    }

    pub fn resident_bytes(&self) -> u64 {
        self.daemon.as_ref().map_or(0, Daemon::resident_bytes)
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let record = self.link.take().map(Emulator::stop);
        if let Some(Ok((record, _))) = record
            && record.mishaps > 0
        {
            println!("   {} frames lost beside the link's model", record.mishaps);
        }
    }
}

/// Lines of configuration for the box, to try what they change.
pub fn config() -> String {
    std::env::var("WINDLASS_FAULTS_CONFIG").unwrap_or_default()
}

fn line(path: &Path, seed: u64) -> Setup {
    let mut setup = path.setup(seed);
    setup.pairs = (0..CLIENTS)
        .map(|client| Pair {
            server: 0,
            client,
            route: vec![0],
            extra_delay_ns: 0,
        })
        .collect();
    setup
}

pub fn counter(counters: &Value, part: &str, name: &str) -> u64 {
    counters[part][name]
        .as_u64()
        .unwrap_or_else(|| panic!("no counter {part}/{name}: {counters}"))
}

/// Waits until something is so, and tells how long it took; none: it was not in time.
pub fn wait_until(limit: Duration, mut so: impl FnMut() -> bool) -> Option<Duration> {
    let begin = Instant::now();
    loop {
        if so() {
            return Some(begin.elapsed());
        }
        if begin.elapsed() > limit {
            return None;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
