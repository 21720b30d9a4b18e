//! What must be true of the two interfaces, and the commands that make it so.

use std::io;

use crate::ethtool::Ethtool;
pub use crate::ethtool::Offloads;
use crate::netlink::{self, Link};
use crate::sys;

/// Longest Ethernet header: two VLAN tags, bytes.
const ETHERNET_BYTES: u32 = 14 + 2 * 4;

/// Facts about an interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its index in this network namespace.
    pub index: u32,
    /// Administratively up.
    pub up: bool,
    /// Loopback.
    pub loopback: bool,
    /// MTU, bytes.
    pub mtu: u32,
    /// MAC address.
    pub mac: Option<[u8; 6]>,
    /// The bridge it is a port of.
    pub bridge: Option<String>,
    /// Active receive queues.
    pub rx_queues: u32,
    /// Active transmit queues.
    pub tx_queues: u32,
    /// Offloads.
    pub offloads: Offloads,
    /// Name of its driver.
    pub driver: String,
}

/// Drivers of interfaces whose other end is on this host: checksums may be left to whoever needs them.
const VIRTUAL_DRIVERS: [&str; 6] = [
    "veth",
    "virtio_net",
    "tun",
    "vmxnet3",
    "hv_netvsc",
    "xen_netfront",
];

impl Interface {
    /// Packets may come from it with partial checksums; an interface that does not name its driver is
    /// a virtual one.
    pub fn may_be_partial(&self) -> bool {
        self.driver.is_empty() || VIRTUAL_DRIVERS.contains(&self.driver.as_str())
    }

    /// Looks an interface up.
    ///
    /// # Errors
    /// `ENODEV` when there is none of this name in this network namespace.
    pub fn get(name: &str) -> io::Result<Interface> {
        let links = netlink::links()?;
        let link = links.iter().find(|l| l.name == name);
        let link = link.ok_or_else(|| io::Error::from_raw_os_error(libc::ENODEV))?;
        let ethtool = Ethtool::new(name)?;
        let (rx_queues, tx_queues) = ethtool.queues();
        Ok(Interface {
            name: name.to_owned(),
            index: link.index,
            up: has(link, libc::IFF_UP),
            loopback: has(link, libc::IFF_LOOPBACK),
            mtu: link.mtu,
            mac: link.mac,
            bridge: bridge_of(&links, link).map(|b| b.name.clone()),
            rx_queues,
            tx_queues,
            offloads: ethtool.offloads(),
            driver: ethtool.driver(),
        })
    }

    /// Longest frame on its wire, bytes, VLAN tags included.
    pub fn max_frame(&self) -> u32 {
        self.mtu + ETHERNET_BYTES
    }
}

/// Turns TSO, GSO and GRO of an interface off, and says which offloads are on afterwards. Works in
/// the network namespace of the calling thread.
///
/// # Errors
/// `ENODEV`, or `EPERM` without `CAP_NET_ADMIN`.
pub fn disable_segment_offloads(name: &str) -> io::Result<Offloads> {
    Ethtool::new(name)?.disable_segment_offloads()
}

/// The index of an interface in the network namespace of the calling thread.
///
/// # Errors
/// `ENODEV`.
pub fn index(name: &str) -> io::Result<u32> {
    sys::interface_index(name)
}

fn has(link: &Link, flag: libc::c_int) -> bool {
    link.flags & flag as u32 != 0
}

fn bridge_of<'a>(links: &'a [Link], link: &Link) -> Option<&'a Link> {
    let master = link.master?;
    links
        .iter()
        .find(|l| l.index == master && l.kind == "bridge")
}

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// Works, but some flows may go by the bridge, ungoverned.
    Warning,
    /// Cannot work; [`Session::open`](crate::Session::open) refuses.
    Refusal,
}

/// Something about the interfaces that is not as it should be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong.
    pub what: String,
    /// The command that puts it right.
    pub fix: String,
}

impl Problem {
    fn refusal(what: String, fix: String) -> Problem {
        Problem {
            severity: Severity::Refusal,
            what,
            fix,
        }
    }

    fn warning(what: String, fix: String) -> Problem {
        Problem {
            severity: Severity::Warning,
            what,
            fix,
        }
    }
}

/// What keeps AF_XDP from working between two interfaces. Empty: nothing.
///
/// What the interfaces' peers do cannot be seen from here: with veth, the peer's TSO (in generic
/// mode; native mode turns it off) shows as [`passed_too_long`](crate::XdpCounters), and the
/// peer's `txvlan` takes VLAN tags out of frames before any program sees them.
pub fn check(inside: &str, outside: &str) -> Vec<Problem> {
    let (a, b) = match both(inside, outside) {
        Ok(both) => both,
        Err(problems) => return problems,
    };
    let mut problems = common(&a, &b);
    problems.extend(bridged(&a, &b));
    for i in [&a, &b] {
        let name = &i.name;
        if i.offloads.rx_vlan && i.driver != "veth" {
            problems.push(Problem::refusal(
                format!("{name} takes VLAN tags out of received frames: they would be lost"),
                format!("ethtool -K {name} rxvlan off"),
            ));
        }
        if i.offloads.gro {
            problems.push(Problem::warning(
                format!("{name} has GRO on: in generic mode its merged segments are not governed"),
                format!("ethtool -K {name} gro off"),
            ));
        }
        if i.rx_queues > 1 {
            problems.push(Problem::warning(
                format!(
                    "{name} spreads packets over {} queues: the two directions of a flow may come \
                     to different workers, and such flows are not governed",
                    i.rx_queues
                ),
                format!("ethtool -L {name} {} 1", channel_word(i)),
            ));
        }
    }
    problems
}

/// What keeps AF_PACKET from working between two interfaces. Empty: nothing.
pub fn check_packet(inside: &str, outside: &str) -> Vec<Problem> {
    let (a, b) = match both(inside, outside) {
        Ok(both) => both,
        Err(problems) => return problems,
    };
    let mut problems = common(&a, &b);
    for i in [&a, &b] {
        if let Some(bridge) = &i.bridge {
            problems.push(Problem::refusal(
                format!(
                    "{} is a port of {bridge}, which would forward every frame twice",
                    i.name
                ),
                format!("ip link set {} nomaster", i.name),
            ));
        }
    }
    problems
}

fn channel_word(i: &Interface) -> &'static str {
    match i.driver.as_str() {
        "veth" => "rx",
        _ => "combined",
    }
}

fn both(inside: &str, outside: &str) -> Result<(Interface, Interface), Vec<Problem>> {
    let get = |name: &str| {
        Interface::get(name).map_err(|e| {
            vec![Problem::refusal(
                format!("interface {name}: {e}"),
                "ip link show".to_owned(),
            )]
        })
    };
    Ok((get(inside)?, get(outside)?))
}

fn common(a: &Interface, b: &Interface) -> Vec<Problem> {
    let mut problems = Vec::new();
    if a.index == b.index {
        problems.push(Problem::refusal(
            format!("{} is named as both interfaces", a.name),
            "ip link show".to_owned(),
        ));
        return problems;
    }
    for i in [a, b] {
        let name = &i.name;
        if i.loopback {
            problems.push(Problem::refusal(
                format!("{name} is the loopback interface"),
                "ip link show".to_owned(),
            ));
        }
        if !i.up {
            problems.push(Problem::refusal(
                format!("{name} is down"),
                format!("ip link set {name} up"),
            ));
        }
        if i.offloads.lro {
            problems.push(Problem::refusal(
                format!("{name} has LRO on, which merges segments beyond repair"),
                format!("ethtool -K {name} lro off gro off"),
            ));
        }
    }
    if a.mtu != b.mtu {
        let (small, large) = if a.mtu < b.mtu { (a, b) } else { (b, a) };
        problems.push(Problem::refusal(
            format!("MTU {} on {}, {} on {}", a.mtu, a.name, b.mtu, b.name),
            format!("ip link set {} mtu {}", large.name, small.mtu),
        ));
    }
    problems
}

fn bridged(a: &Interface, b: &Interface) -> Vec<Problem> {
    let Some(bridge) = a.bridge.as_ref().filter(|_| a.bridge == b.bridge) else {
        return vec![Problem::refusal(
            format!("{} and {} are not ports of the same bridge", a.name, b.name),
            format!(
                "ip link add windlass0 type bridge; ip link set windlass0 up; \
                 ip link set {} master windlass0; ip link set {} master windlass0",
                a.name, b.name
            ),
        )];
    };
    let links = netlink::links().unwrap_or_default();
    let others = links.iter().filter(|l| {
        bridge_of(&links, l).is_some_and(|m| m.name == *bridge)
            && l.index != a.index
            && l.index != b.index
    });
    others
        .map(|other| {
            Problem::refusal(
                format!(
                    "{bridge} has a third port, {}: its traffic would be misled",
                    other.name
                ),
                format!("ip link set {} nomaster", other.name),
            )
        })
        .collect()
}
