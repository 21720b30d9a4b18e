//! The bridge that forwards whatever the box does not take, and everything when the box is gone.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;

use crate::netlink::{self, Link};
use crate::sys::{self, InterfaceRequest};

const SIOCBRADDBR: libc::c_ulong = 0x89a0;
const SIOCBRADDIF: libc::c_ulong = 0x89a2;
/// Names tried: `windlass0` to `windlass99`.
const BRIDGE_NAMES: u32 = 100;

/// The bridge that both interfaces are ports of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BridgeState {
    /// Its name.
    pub name: String,
    /// True if it was made now.
    pub created: bool,
}

/// An interface that comes back into a bridge of Windlass's own: it was deleted and made again, and the
/// bridge waits with its other port alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Return {
    /// The bridge.
    pub bridge: String,
    /// The interface.
    pub interface: String,
}

/// Whether one of two interfaces is to be put back into the bridge of the other.
pub fn returning(inside: &str, outside: &str) -> Option<Return> {
    let links = netlink::links().ok()?;
    let (a, b) = (find(&links, inside).ok()?, find(&links, outside).ok()?);
    return_to(&links, a, b).or_else(|| return_to(&links, b, a))
}

fn return_to(links: &[Link], port: &Link, lost: &Link) -> Option<Return> {
    let index = port.master.filter(|_| lost.master.is_none())?;
    let bridge = links.iter().find(|l| l.index == index)?;
    let alone = links.iter().filter(|l| l.master == Some(index)).count() == 1;
    (alone && is_own_name(&bridge.name)).then(|| Return {
        bridge: bridge.name.clone(),
        interface: lost.name.clone(),
    })
}

/// `windlass0`, as Windlass calls the bridges that it makes.
pub fn is_own_name(name: &str) -> bool {
    let number = name.strip_prefix("windlass");
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// Uses the bridge that both interfaces are in, or creates one. An interface that [returns](returning)
/// is put back. It is left in place: it is what
/// forwards when the process is gone.
///
/// # Errors
/// `InvalidInput` when an interface is a port of something else; otherwise the kernel's, of which
/// `EPERM` (needs `CAP_NET_ADMIN`) and `ENOPKG` (a kernel without bridging) are the usual ones.
pub fn ensure_bridge(inside: &str, outside: &str) -> io::Result<BridgeState> {
    if let Some(back) = returning(inside, outside) {
        let links = netlink::links()?;
        add_port(&back.bridge, find(&links, &back.interface)?.index)?;
    }
    let links = netlink::links()?;
    let ports = [find(&links, inside)?, find(&links, outside)?];
    let master = |link: &Link| {
        link.master
            .and_then(|m| links.iter().find(|l| l.index == m))
    };
    match ports.map(master) {
        [Some(a), Some(b)] if a.index == b.index && a.kind == "bridge" => Ok(BridgeState {
            name: a.name.clone(),
            created: false,
        }),
        [None, None] => create(&links, ports),
        masters => {
            let above = masters
                .iter()
                .zip(ports)
                .find_map(|(m, p)| Some(((*m)?, p)));
            let what = above.map_or(String::new(), |(master, port)| {
                format!(
                    "{port} is a port of {master} already (take it out with: ip link set {port} nomaster)",
                    port = port.name,
                    master = master.name,
                )
            });
            Err(io::Error::new(io::ErrorKind::InvalidInput, what))
        }
    }
}

fn find<'a>(links: &'a [Link], name: &str) -> io::Result<&'a Link> {
    let found = links.iter().find(|l| l.name == name);
    found.ok_or_else(|| io::Error::from_raw_os_error(libc::ENODEV))
}

fn create(links: &[Link], ports: [&Link; 2]) -> io::Result<BridgeState> {
    let name = free_name(links).ok_or(io::ErrorKind::AlreadyExists)?;
    let socket = control_socket()?;
    add_bridge(&socket, &name)?;
    for port in ports {
        add_to(&socket, &name, port.index)?;
    }
    for link in ports
        .map(|p| p.name.as_str())
        .iter()
        .chain([&name.as_str()])
    {
        set_up(&socket, link)?;
    }
    Ok(BridgeState {
        name,
        created: true,
    })
}

/// A name for a new bridge that no interface has.
pub(crate) fn free_name(links: &[Link]) -> Option<String> {
    (0..BRIDGE_NAMES)
        .map(|n| format!("windlass{n}"))
        .find(|name| links.iter().all(|l| l.name != *name))
}

/// Makes a bridge of this name again, and sets it up.
///
/// # Errors
/// The kernel's: `EEXIST`, `EPERM`.
pub fn make_again(name: &str) -> io::Result<()> {
    let socket = control_socket()?;
    add_bridge(&socket, name)?;
    set_up(&socket, name)
}

/// Makes the interface with this index a port of a bridge.
///
/// # Errors
/// The kernel's: `EBUSY` when it is a port of something else.
pub fn add_port(bridge: &str, index: u32) -> io::Result<()> {
    add_to(&control_socket()?, bridge, index)
}

fn control_socket() -> io::Result<OwnedFd> {
    sys::socket(libc::AF_INET, libc::SOCK_DGRAM, 0)
}

fn add_bridge(socket: &OwnedFd, name: &str) -> io::Result<()> {
    let name = CString::new(name)?;
    // SAFETY: the command takes a pointer to the bridge's name, which it only reads.
    unsafe { sys::ioctl(socket, SIOCBRADDBR, name.as_ptr().cast_mut()) }
}

fn add_to(socket: &OwnedFd, bridge: &str, index: u32) -> io::Result<()> {
    let mut request = InterfaceRequest::new(bridge, index as usize)?;
    // SAFETY: the command takes an interface request with the port's index.
    unsafe { sys::ioctl(socket, SIOCBRADDIF, &raw mut request) }
}

fn set_up(socket: &OwnedFd, name: &str) -> io::Result<()> {
    let mut request = InterfaceRequest::new(name, 0)?;
    // SAFETY: the command writes the flags into the request's union.
    unsafe { sys::ioctl(socket, libc::SIOCGIFFLAGS as _, &raw mut request) }?;
    // The flags are the union's first 16 bits.
    let mut bytes = request.data.to_ne_bytes();
    let up = u16::from_ne_bytes([bytes[0], bytes[1]]) | libc::IFF_UP as u16;
    bytes[..2].copy_from_slice(&up.to_ne_bytes());
    request.data = usize::from_ne_bytes(bytes);
    // SAFETY: the command reads the flags from the request's union.
    unsafe { sys::ioctl(socket, libc::SIOCSIFFLAGS as _, &raw mut request) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bridge_that_windlass_has_made_is_known_by_its_name() {
        for (name, own) in [
            ("windlass0", true),
            ("windlass12", true),
            ("windlass", false),
            ("windlass0a", false),
            ("br0", false),
        ] {
            assert_eq!(is_own_name(name), own, "{name}");
        }
    }

    #[test]
    fn only_the_other_half_of_a_pair_returns() {
        let link = |index, name: &str, master| Link {
            index,
            name: name.to_owned(),
            master,
            ..Link::default()
        };
        let own = link(9, "windlass0", None);
        let theirs = link(8, "br0", None);
        let back = |others: &[&Link], a: &Link, b: &Link| {
            let mut links: Vec<Link> = [&own, &theirs, a, b].map(Link::clone).to_vec();
            links.extend(others.iter().map(|l| (*l).clone()));
            return_to(&links, a, b).map(|r| (r.bridge, r.interface))
        };
        let (alone, lost) = (link(1, "m0", Some(9)), link(2, "m1", None));
        let found = back(&[], &alone, &lost);
        assert_eq!(found, Some(("windlass0".to_owned(), "m1".to_owned())));
        assert_eq!(back(&[&link(3, "m3", Some(9))], &alone, &lost), None);
        assert_eq!(back(&[], &link(1, "m0", Some(8)), &lost), None);
        assert_eq!(back(&[], &alone, &link(2, "m1", Some(8))), None);
    }
}
