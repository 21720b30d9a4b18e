//! The lab's namespaces, and IPv6 beside IPv4 in them.
#![allow(dead_code)] // Each of the tests uses a part of it.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use windlass_experiment::setup::{client_address, server_address};
use windlass_lab::cleanup::lab_folder;
use windlass_lab::command::run_line;
use windlass_lab::netns::{self, Namespace};
use windlass_lab::topology::{Shape, Topology};

/// Of the names of all namespaces; the process id follows.
const PREFIX: &str = "wl-inline-";
/// Of the block for benchmarks (RFC 5180).
const SERVER_ADDRESS_V6: &str = "2001:2::1";
const CLIENT_ADDRESS_V6: &str = "2001:2::2";
/// The hosts' own algorithm, in both directions.
const HOST_ALGORITHM: &str = "cubic";

pub struct Lab {
    pub topology: Topology,
    pub folder: TempDir,
}

impl Lab {
    /// One server and one client.
    pub fn create() -> Result<Lab> {
        Lab::with_clients(1)
    }

    /// One server and several clients. Of these the first has IPv6 too.
    pub fn with_clients(clients: usize) -> Result<Lab> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        static STALE: Once = Once::new();
        STALE.call_once(remove_stale);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}", std::process::id());
        let folder = lab_folder(&name)?;
        let topology = Topology::create(
            &name,
            Shape {
                clients,
                ..Shape::LINE
            },
        )?;
        topology.set_sysctls()?;
        let (server, client) = (&topology.servers[0], &topology.clients[0]);
        for (end, own, peer, peer_address) in [
            (server, SERVER_ADDRESS_V6, client, CLIENT_ADDRESS_V6),
            (client, CLIENT_ADDRESS_V6, server, SERVER_ADDRESS_V6),
        ] {
            end.set_sysctl("net.ipv6.conf.eth0.disable_ipv6", "0")?;
            end.ip(&format!("address add {own}/64 dev eth0 nodad"))?;
            let hardware = hardware_address(peer)?;
            end.ip(&format!(
                "neighbour add {peer_address} lladdr {hardware} dev eth0 nud permanent"
            ))?;
            end.ip(&format!(
                "-6 route replace {peer_address}/128 dev eth0 congctl lock {HOST_ALGORITHM}"
            ))?;
        }
        topology.set_congestion_control(HOST_ALGORITHM)?;
        for client in &topology.clients {
            client.ip(&format!(
                "route replace {}/32 dev eth0 congctl lock {HOST_ALGORITHM}",
                server_address(0)
            ))?;
        }
        Ok(Lab { topology, folder })
    }

    /// The ends of every family: server, client.
    pub fn addresses() -> [[IpAddr; 2]; 2] {
        let v6 = [SERVER_ADDRESS_V6, CLIENT_ADDRESS_V6];
        [
            [server_address(0), client_address(0)].map(IpAddr::V4),
            v6.map(|text| text.parse().expect("an address")),
        ]
    }
}

fn hardware_address(end: &Namespace) -> Result<String> {
    let shown = end.ip("-o link show dev eth0")?;
    let mut words = shown.split_whitespace().skip_while(|w| *w != "link/ether");
    let address = words.nth(1).context("eth0 has no hardware address")?;
    Ok(address.to_owned())
}

/// What runs that were killed have left: namespaces, and the processes in them.
fn remove_stale() {
    for name in netns::names() {
        let owner = name.strip_prefix(PREFIX).and_then(|n| n.split('-').next());
        if owner.is_none_or(|pid| Path::new("/proc").join(pid).exists()) {
            continue;
        }
        let inside = run_line(&format!("ip netns pids {name}")).unwrap_or_default();
        for pid in inside.lines().filter_map(|l| l.trim().parse().ok()) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        let _ = run_line(&format!("ip netns del {name}"));
    }
}
