//! Servers, box and clients, and the wires between them.
//!
//! ```text
//! server             box                        net                 client
//! eth0 ───────────── in0 [bridge wlbr] out0 ─── e0   emulator   c0 ─── eth0
//!
//! server             switch
//! eth0 ───────────── p0
//! eth0 ───────────── p1 [bridge wlsw] up0 ───── in0 …
//! ```
//!
//! With a link of the servers' own, another emulator is between them and `in0`.
//!
//! With a box at both ends the clients are wired as the servers are: through a switch if there are
//! several, to the inside of a box of their own, whose outside is the emulator's one far end.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use windlass_experiment::setup::{client_address, server_address};

use crate::netns::Namespace;

/// The box's interface towards the servers.
pub const INSIDE: &str = "in0";
/// The box's interface towards the clients.
pub const OUTSIDE: &str = "out0";
/// The emulator's end of the wire to the box.
pub const EMULATOR_NEAR: &str = "e0";
/// The interface of every host.
pub const HOST_INTERFACE: &str = "eth0";

const BRIDGE: &str = "wlbr";
const SWITCH: &str = "wlsw";
/// The switch's interface towards the box.
const UPLINK: &str = "up0";
/// One queue: a flow's packets keep their order.
const ONE_QUEUE: &str = "numtxqueues 1 numrxqueues 1";
/// Set in servers and clients, the same for every contestant.
pub const SYSCTLS: [(&str, &str); 3] = [
    ("net.ipv4.tcp_no_metrics_save", "1"),
    ("net.ipv4.tcp_rmem", "4096 131072 16777216"),
    ("net.ipv4.tcp_wmem", "4096 16384 16777216"),
];

/// The emulator's end of the wire to the client with this index.
pub fn emulator_far(client: usize) -> String {
    format!("c{client}")
}

/// What to wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Servers.
    pub servers: usize,
    /// Clients.
    pub clients: usize,
    /// A bridge joins the interfaces of the box. Without, whatever runs on it has to.
    pub bridged: bool,
    /// Another box beside the clients.
    pub far_box: bool,
    /// Another emulator between the servers and the box.
    pub server_link: bool,
    /// Of every interface, bytes.
    pub mtu: u16,
}

impl Shape {
    /// One server, one client, and a bridge on the box.
    pub const LINE: Shape = Shape {
        servers: 1,
        clients: 1,
        bridged: true,
        far_box: false,
        server_link: false,
        mtu: 1500,
    };
}

impl Shape {
    /// Ends of the emulator towards the clients.
    fn far_ends(self) -> usize {
        if self.far_box { 1 } else { self.clients }
    }
}

/// Namespaces, wired. Dropping it removes them.
#[derive(Debug)]
pub struct Topology {
    /// Where each server runs.
    pub servers: Vec<Namespace>,
    /// What joins several servers.
    switch: Option<Namespace>,
    /// The box.
    pub middle: Namespace,
    /// The box beside the clients.
    pub far: Option<Namespace>,
    /// What joins several clients to it.
    far_switch: Option<Namespace>,
    /// Where the emulator runs: bare ends towards the box and every client.
    pub net: Namespace,
    /// Where the emulator between the servers and the box runs.
    pub near_net: Option<Namespace>,
    /// Where each client runs.
    pub clients: Vec<Namespace>,
    /// Of every interface, bytes.
    pub mtu: u16,
}

impl Topology {
    /// Makes the namespaces `<lab>-server0`, `<lab>-box`, `<lab>-client0` and so on and all in
    /// them. Nothing crosses the emulator's gap before one runs.
    ///
    /// # Errors
    /// When a command fails or a setting does not hold.
    pub fn create(lab: &str, shape: Shape) -> Result<Topology> {
        let name = |part: &str| format!("{lab}-{part}");
        let servers = (0..shape.servers).map(|i| name(&format!("server{i}")));
        let clients = (0..shape.clients).map(|i| name(&format!("client{i}")));
        let switch = (shape.servers > 1).then(|| name("switch"));
        let middle = [name("box"), name("net")];
        let far = shape.far_box.then(|| name("far"));
        let far_switch = (shape.far_box && shape.clients > 1).then(|| name("farswitch"));
        let names = servers.chain(clients).chain(middle);
        let near_net = shape.server_link.then(|| name("nearnet"));
        let names = names.chain(switch.clone()).chain(near_net);
        let names = names.chain(far).chain(far_switch);
        let all = Namespace::create_all(names, &wires(lab, shape))?.into_iter();
        let mut all = all.peekable();
        let topology = Topology {
            servers: all.by_ref().take(shape.servers).collect(),
            clients: all.by_ref().take(shape.clients).collect(),
            middle: all.next().context("no box")?,
            net: all.next().context("no network")?,
            switch: all.by_ref().next_if(|_| switch.is_some()),
            near_net: all.by_ref().next_if(|_| shape.server_link),
            far: all.by_ref().next_if(|_| shape.far_box),
            far_switch: all.next(),
            mtu: shape.mtu,
        };
        topology.configure(shape)?;
        Ok(topology)
    }

    fn configure(&self, shape: Shape) -> Result<()> {
        let far: Vec<String> = (0..shape.far_ends()).map(emulator_far).collect();
        let near = [EMULATOR_NEAR].into_iter();
        bring_up(&self.net, near.chain(far.iter().map(String::as_str)))?;
        if let Some(net) = &self.near_net {
            bring_up(net, [EMULATOR_NEAR, &emulator_far(0)])?;
        }
        if shape.bridged {
            bring_up(&self.middle, [INSIDE, OUTSIDE, BRIDGE])?;
        } else {
            bring_up(&self.middle, [INSIDE, OUTSIDE])?;
        }
        if let Some(switch) = &self.switch {
            let ports: Vec<String> = (0..shape.servers).map(switch_port).collect();
            let ports = ports.iter().map(String::as_str);
            bring_up(switch, ports.chain([UPLINK, SWITCH]))?;
        }
        if let Some(far) = &self.far {
            bring_up(far, [INSIDE, OUTSIDE, BRIDGE])?;
        }
        if let Some(switch) = &self.far_switch {
            let ports: Vec<String> = (0..shape.clients).map(switch_port).collect();
            let ports = ports.iter().map(String::as_str);
            bring_up(switch, ports.chain([UPLINK, SWITCH]))?;
        }
        for (index, server) in self.servers.iter().enumerate() {
            let peers = (0..shape.clients).map(Host::Client);
            Host::Server(index).configure(server, peers)?;
        }
        for (index, client) in self.clients.iter().enumerate() {
            let peers = (0..shape.servers).map(Host::Server);
            Host::Client(index).configure(client, peers)?;
        }
        Ok(())
    }

    /// The wire between the only server and the box is taken away, as a guest's tap is, and made again after `time`. Nobody puts the
    /// box's end into the bridge again.
    ///
    /// # Errors
    /// When there is more than one server, or a command fails.
    pub fn replace_server_wire(&self, time: Duration) -> Result<()> {
        let [server] = &self.servers[..] else {
            bail!("there are {} servers", self.servers.len());
        };
        self.middle.ip(&format!("link del {INSIDE}"))?;
        std::thread::sleep(time);
        let host = Host::Server(0);
        let (hardware, middle) = (host.hardware_address(), self.middle.name());
        let mtu = self.mtu;
        server.ip(&format!(
            "link add {HOST_INTERFACE} address {hardware} mtu {mtu} {ONE_QUEUE} type veth \
             peer name {INSIDE} mtu {mtu} {ONE_QUEUE} netns {middle}"
        ))?;
        bring_up(&self.middle, [INSIDE])?;
        host.configure(server, (0..self.clients.len()).map(Host::Client))
    }

    /// Sets [`SYSCTLS`] in all hosts.
    ///
    /// # Errors
    /// When a value does not hold.
    pub fn set_sysctls(&self) -> Result<()> {
        let mut hosts = self.servers.iter().chain(&self.clients);
        hosts.try_for_each(|host| host.set_sysctls(&SYSCTLS))
    }

    /// Makes the first server's kernel use a congestion control towards the first client, by the
    /// route: that needs no right to the algorithm in the namespace, and no other one may take its
    /// place. Forgets what the kernel remembers of earlier connections.
    ///
    /// # Errors
    /// When the kernel does not have the algorithm.
    pub fn set_congestion_control(&self, algorithm: &str) -> Result<()> {
        let [server, client] = [&self.servers[0], &self.clients[0]];
        let peer = client_address(0);
        let route = format!("route replace {peer}/32 dev eth0 congctl lock {algorithm}");
        server.ip(&route).with_context(|| {
            format!("the kernel refuses {algorithm}; perhaps: modprobe tcp_{algorithm}")
        })?;
        server.ip("tcp_metrics flush")?;
        client.ip("tcp_metrics flush")?;
        Ok(())
    }
}

/// A host by its index.
#[derive(Clone, Copy)]
enum Host {
    Server(usize),
    Client(usize),
}

impl Host {
    fn address(self) -> std::net::Ipv4Addr {
        match self {
            Host::Server(index) => server_address(index),
            Host::Client(index) => client_address(index),
        }
    }

    /// Of the locally administered ones, so that peers need not ask for it.
    fn hardware_address(self) -> String {
        let [_, _, c, d] = self.address().octets();
        format!("02:00:00:00:{c:02x}:{d:02x}")
    }

    /// Gives it its address, and its peers' hardware addresses: no ARP to be lost on a link.
    fn configure(self, namespace: &Namespace, peers: impl Iterator<Item = Host>) -> Result<()> {
        namespace.disable_segment_offloads(&[HOST_INTERFACE])?;
        let own = self.address();
        let mut lines = format!(
            "link set lo up\naddress add {own}/15 dev {HOST_INTERFACE}\nlink set {HOST_INTERFACE} up\n"
        );
        for peer in peers {
            let (address, hardware) = (peer.address(), peer.hardware_address());
            lines += &format!(
                "neighbour add {address} lladdr {hardware} dev {HOST_INTERFACE} nud permanent\n"
            );
        }
        namespace.ip_batch(&lines)
    }
}

fn switch_port(server: usize) -> String {
    format!("p{server}")
}

/// The lines of `ip -batch` that make all interfaces.
fn wires(lab: &str, shape: Shape) -> String {
    let batch = Batch {
        lab,
        mtu: shape.mtu,
    };
    let mut lines = server_wires(&batch, shape);
    lines += &batch.veth(("box", OUTSIDE, ""), ("net", EMULATOR_NEAR));
    if shape.bridged {
        lines += &batch.bridge("box", BRIDGE);
    }
    lines + &client_wires(&batch, shape)
}

/// Lines of `ip -batch`, in the namespaces of this lab.
struct Batch<'a> {
    lab: &'a str,
    mtu: u16,
}

impl Batch<'_> {
    /// From an interface with an address, or none, of a namespace to one of another.
    fn veth(
        &self,
        (namespace, interface, address): (&str, &str, &str),
        to: (&str, &str),
    ) -> String {
        let (Batch { lab, mtu }, (peer_namespace, peer)) = (self, to);
        format!(
            "link add {interface} {address} mtu {mtu} {ONE_QUEUE} netns {lab}-{namespace} type veth \
             peer name {peer} mtu {mtu} {ONE_QUEUE} netns {lab}-{peer_namespace}\n"
        )
    }

    /// From a host.
    fn host(&self, namespace: &str, host: Host, to: (&str, &str)) -> String {
        let address = format!("address {}", host.hardware_address());
        self.veth((namespace, HOST_INTERFACE, &address), to)
    }

    fn bridge(&self, namespace: &str, bridge: &str) -> String {
        let kind = "type bridge forward_delay 0 mcast_snooping 0";
        format!("link add {bridge} netns {}-{namespace} {kind}\n", self.lab)
    }
}

/// From the servers to the box.
fn server_wires(batch: &Batch<'_>, shape: Shape) -> String {
    let toward_box = match shape.server_link {
        true => ("nearnet", EMULATOR_NEAR),
        false => ("box", INSIDE),
    };
    let mut lines = String::new();
    for index in 0..shape.servers {
        let port = switch_port(index);
        let to = match shape.servers {
            1 => toward_box,
            _ => ("switch", port.as_str()),
        };
        lines += &batch.host(&format!("server{index}"), Host::Server(index), to);
    }
    if shape.servers > 1 {
        lines += &batch.veth(("switch", UPLINK, ""), toward_box);
        lines += &batch.bridge("switch", SWITCH);
    }
    if shape.server_link {
        let far = emulator_far(0);
        lines += &batch.veth(("nearnet", &far, ""), ("box", INSIDE));
    }
    lines
}

/// From the emulator to the clients.
fn client_wires(batch: &Batch<'_>, shape: Shape) -> String {
    let mut lines = String::new();
    for index in 0..shape.clients {
        let (port, far) = (switch_port(index), emulator_far(index));
        let to = match (shape.far_box, shape.clients) {
            (false, _) => ("net", far.as_str()),
            (true, 1) => ("far", INSIDE),
            (true, _) => ("farswitch", port.as_str()),
        };
        lines += &batch.host(&format!("client{index}"), Host::Client(index), to);
    }
    if shape.far_box {
        lines += &batch.veth(("far", OUTSIDE, ""), ("net", &emulator_far(0)));
        lines += &batch.bridge("far", BRIDGE);
        if shape.clients > 1 {
            lines += &batch.veth(("farswitch", UPLINK, ""), ("far", INSIDE));
            lines += &batch.bridge("farswitch", SWITCH);
        }
    }
    lines
}

/// Takes interfaces into use, without segment offloads: if the last one is a bridge, the others are
/// its ports.
fn bring_up<'a>(
    namespace: &Namespace,
    interfaces: impl IntoIterator<Item = &'a str>,
) -> Result<()> {
    let interfaces: Vec<&str> = interfaces.into_iter().collect();
    namespace.disable_segment_offloads(&interfaces)?;
    let bridge = interfaces
        .last()
        .filter(|name| [BRIDGE, SWITCH].contains(name));
    let mut lines = String::new();
    for interface in &interfaces {
        if let Some(bridge) = bridge.filter(|bridge| *bridge != interface) {
            lines += &format!("link set {interface} master {bridge}\n");
        }
        lines += &format!("link set {interface} up\n");
    }
    namespace.ip_batch(&lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_server_is_wired_to_the_box_itself() {
        let lines = wires("x", Shape::LINE);
        assert_eq!(lines.lines().count(), 4, "{lines}");
        assert!(
            lines.contains("x-server0") && !lines.contains("switch"),
            "{lines}"
        );
    }

    #[test]
    fn clients_beside_a_box_are_wired_as_servers_are() {
        let shape = Shape {
            clients: 3,
            far_box: true,
            ..Shape::LINE
        };
        let lines = wires("x", shape);
        // Server, box, its bridge; clients, the far box, its bridge, the uplink, its bridge.
        assert_eq!(lines.lines().count(), 3 + 3 + 4, "{lines}");
        assert!(!lines.contains("name c1"), "one far end: {lines}");
    }

    #[test]
    fn a_box_in_the_middle_has_links_on_either_side() {
        let shape = Shape {
            server_link: true,
            ..Shape::LINE
        };
        let lines = wires("x", shape);
        // Server, the link's two ends, box, its bridge, client.
        assert_eq!(lines.lines().count(), 5, "{lines}");
        let server = lines.lines().next().unwrap_or_default();
        assert!(server.contains("x-nearnet"), "{lines}");
    }

    #[test]
    fn several_servers_share_a_switch() {
        let shape = Shape {
            servers: 3,
            clients: 2,
            bridged: false,
            ..Shape::LINE
        };
        let lines = wires("x", shape);
        // Servers, the uplink, its bridge, the box, clients.
        assert_eq!(lines.lines().count(), 3 + 1 + 1 + 1 + 2, "{lines}");
        assert!(
            lines.contains("peer name p2") && !lines.contains(BRIDGE),
            "{lines}"
        );
    }
}
