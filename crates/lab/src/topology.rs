//! Server, box and client, and the wires between them.
//!
//! ```text
//! server         box                                     client
//! eth0 ───── in0 [bridge wlbr] out0 ── e0  emulator  e1 ───── eth0
//! ```

use anyhow::{Context, Result};

use crate::netns::Namespace;

/// The server's address, of the block for benchmarks (RFC 2544, RFC 5735).
pub const SERVER_ADDRESS: &str = "198.18.0.1";
/// The client's address.
pub const CLIENT_ADDRESS: &str = "198.18.0.2";
/// The box's interface towards the server.
pub const INSIDE: &str = "in0";
/// The box's interface towards the client.
pub const OUTSIDE: &str = "out0";
/// The emulator's end of the wire to the box.
pub const EMULATOR_NEAR: &str = "e0";
/// The emulator's end of the wire to the client.
pub const EMULATOR_FAR: &str = "e1";

const BRIDGE: &str = "wlbr";
/// Set in server and client, the same for every contestant.
pub const SYSCTLS: [(&str, &str); 3] = [
    ("net.ipv4.tcp_no_metrics_save", "1"),
    ("net.ipv4.tcp_rmem", "4096 131072 16777216"),
    ("net.ipv4.tcp_wmem", "4096 16384 16777216"),
];

/// Three namespaces, wired. Dropping it removes them.
#[derive(Debug)]
pub struct Topology {
    /// Where the server runs.
    pub server: Namespace,
    /// The box: a bridge between server and link, and the emulator's two bare ends.
    pub middle: Namespace,
    /// Where the client runs.
    pub client: Namespace,
}

impl Topology {
    /// Makes the namespaces `<lab>-server`, `<lab>-box`, `<lab>-client` and all in them. Nothing
    /// crosses the emulator's gap before one runs.
    ///
    /// # Errors
    /// When a command fails or a setting does not hold.
    pub fn create(lab: &str) -> Result<Topology> {
        let topology = Topology {
            server: Namespace::create(&format!("{lab}-server"))?,
            middle: Namespace::create(&format!("{lab}-box"))?,
            client: Namespace::create(&format!("{lab}-client"))?,
        };
        let Topology {
            server,
            middle,
            client,
        } = &topology;
        wire((server, "eth0"), (middle, INSIDE))?;
        wire((middle, OUTSIDE), (middle, EMULATOR_NEAR))?;
        wire((middle, EMULATOR_FAR), (client, "eth0"))?;
        middle.ip(&format!(
            "link add {BRIDGE} type bridge forward_delay 0 mcast_snooping 0"
        ))?;
        middle.disable_segment_offloads(BRIDGE)?;
        for port in [INSIDE, OUTSIDE] {
            middle.ip(&format!("link set {port} master {BRIDGE}"))?;
        }
        middle.ip(&format!("link set {BRIDGE} up"))?;
        for (end, own, peer, peer_address) in [
            (server, SERVER_ADDRESS, client, CLIENT_ADDRESS),
            (client, CLIENT_ADDRESS, server, SERVER_ADDRESS),
        ] {
            address(end, own, peer, peer_address)?;
            for (key, value) in SYSCTLS {
                end.set_sysctl(key, value)?;
            }
        }
        Ok(topology)
    }

    /// Makes the server's kernel use a congestion control towards the client, by the route: that
    /// needs no right to the algorithm in the namespace, and no other one may take its place.
    /// Forgets what the kernel remembers of earlier connections.
    ///
    /// # Errors
    /// When the kernel does not have the algorithm.
    pub fn set_congestion_control(&self, algorithm: &str) -> Result<()> {
        let route = format!("route replace {CLIENT_ADDRESS}/32 dev eth0 congctl lock {algorithm}");
        self.server.ip(&route).with_context(|| {
            format!("the kernel refuses {algorithm}; perhaps: modprobe tcp_{algorithm}")
        })?;
        self.server.ip("tcp_metrics flush")?;
        self.client.ip("tcp_metrics flush")?;
        Ok(())
    }
}

/// Two ends of a veth pair, one queue each, up, without segment offloads.
fn wire(a: (&Namespace, &str), b: (&Namespace, &str)) -> Result<()> {
    a.0.ip(&format!(
        "link add {} numtxqueues 1 numrxqueues 1 type veth peer name {} numtxqueues 1 \
         numrxqueues 1 netns {}",
        a.1,
        b.1,
        b.0.name()
    ))?;
    for (namespace, interface) in [a, b] {
        namespace.disable_segment_offloads(interface)?;
        namespace.ip(&format!("link set {interface} up"))?;
    }
    Ok(())
}

/// Gives an end its address, and its peer's hardware address: no ARP to be lost on the link.
fn address(end: &Namespace, own: &str, peer: &Namespace, peer_address: &str) -> Result<()> {
    end.ip(&format!("address add {own}/24 dev eth0"))?;
    let shown = peer.ip("-o link show dev eth0")?;
    let mut words = shown.split_whitespace().skip_while(|w| *w != "link/ether");
    let hardware = words.nth(1).context("eth0 has no hardware address")?;
    end.ip(&format!(
        "neighbour add {peer_address} lladdr {hardware} dev eth0 nud permanent"
    ))?;
    Ok(())
}
