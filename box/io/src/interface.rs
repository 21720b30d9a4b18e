//! What must be true of the two interfaces, and the commands that make it so.

mod bridging;
mod check;
mod occupant;

use std::io;

use crate::ethtool::Ethtool;
pub use crate::ethtool::Offloads;
use crate::netlink::{self, Link};
use crate::sys;

pub use check::{Problem, Severity, check, check_links, check_packet, mtu_problems, usable_names};
pub use occupant::{governor, occupied};

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
