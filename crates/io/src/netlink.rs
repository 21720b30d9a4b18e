//! The interfaces of this network namespace, as rtnetlink lists them (RFC 3549; linux/rtnetlink.h).
//!
//! Not sysfs: what `/sys/class/net` shows depends on where it was mounted.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use crate::sys;

const HEADER_BYTES: usize = 16;
const LINK_BYTES: usize = 16;
const ATTRIBUTE_BYTES: usize = 4;
/// The kernel fills at most this much of a dump's buffer.
const BUFFER_BYTES: usize = 32 * 1024;
/// Attributes inside `IFLA_XDP` (linux/if_link.h).
const IFLA_XDP_ATTACHED: u16 = 2;
const IFLA_XDP_PROG_ID: u16 = 4;

/// One interface.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Link {
    pub(crate) index: u32,
    pub(crate) name: String,
    /// `IFF_*`.
    pub(crate) flags: u32,
    pub(crate) mtu: u32,
    /// Index of the bridge, bond or such that it is a port of.
    pub(crate) master: Option<u32>,
    pub(crate) mac: Option<[u8; 6]>,
    /// `veth`, `bridge`, `vlan` …; empty for hardware.
    pub(crate) kind: String,
    pub(crate) xdp: Option<Xdp>,
}

/// An XDP program on an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Xdp {
    /// Its number in this kernel.
    pub(crate) program: u32,
    pub(crate) mode: XdpMode,
}

/// Who runs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum XdpMode {
    Driver,
    Generic,
    Hardware,
}

impl XdpMode {
    /// As `XDP_ATTACHED_*` has it.
    fn of(number: u32) -> Option<XdpMode> {
        match number {
            1 => Some(XdpMode::Driver),
            2 => Some(XdpMode::Generic),
            3 => Some(XdpMode::Hardware),
            _ => None,
        }
    }

    /// As `ip link` calls it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            XdpMode::Driver => "xdpdrv",
            XdpMode::Generic => "xdpgeneric",
            XdpMode::Hardware => "xdpoffload",
        }
    }
}

/// All interfaces.
pub(crate) fn links() -> io::Result<Vec<Link>> {
    Route::open()?.links()
}

/// A socket to ask by. Whoever keeps one can ask when no descriptor is to be had.
#[derive(Debug)]
pub(crate) struct Route {
    fd: OwnedFd,
    /// Number of the last request: what is left of an earlier answer is not taken for this one's.
    asked: Cell<u32>,
}

impl Route {
    pub(crate) fn open() -> io::Result<Route> {
        let fd = sys::socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE)?;
        Ok(Route {
            fd,
            asked: Cell::new(0),
        })
    }

    /// All interfaces.
    pub(crate) fn links(&self) -> io::Result<Vec<Link>> {
        let number = self.asked.get().wrapping_add(1);
        self.asked.set(number);
        send(&self.fd, &dump_request(number))?;
        let mut links = Vec::new();
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            let len = receive(&self.fd, &mut buffer)?;
            let mut rest = &buffer[..len];
            while let Some(message) = message(rest) {
                rest = message.rest;
                if message.number != number {
                    continue;
                }
                match i32::from(message.kind) {
                    libc::NLMSG_DONE => return Ok(links),
                    libc::NLMSG_ERROR => {
                        let code = message.body.get(..4).map_or(0, |b| -(number_of(b) as i32));
                        return Err(io::Error::from_raw_os_error(code));
                    }
                    _ if message.kind == libc::RTM_NEWLINK => links.extend(link(message.body)),
                    _ => {}
                }
            }
        }
    }
}

/// Hears of changes to interfaces.
#[derive(Debug)]
pub(crate) struct Changes {
    fd: OwnedFd,
}

impl Changes {
    pub(crate) fn subscribe() -> io::Result<Changes> {
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK;
        let fd = sys::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE)?;
        // SAFETY: a structure of integers, for which zeros are valid.
        let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
        address.nl_family = libc::AF_NETLINK as libc::sa_family_t;
        address.nl_groups = libc::RTMGRP_LINK as u32;
        let length = size_of_val(&address) as libc::socklen_t;
        // Without an address of its own the socket would count as the sender, which hears nothing.
        // SAFETY: pointer and length describe `address`, which is only read.
        let bound = unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length) };
        sys::check(bound)?;
        Ok(Changes { fd })
    }

    /// Waits for a change, or for so long; true if there may have been one. What has changed is not
    /// told: messages can be lost, and the state is to be had at any time.
    pub(crate) fn wait(&self, timeout: Duration) -> io::Result<bool> {
        let nobody = -1;
        let fds = [self.fd.as_raw_fd(), nobody];
        sys::wait_readable(fds, Some(timeout.as_nanos() as u64))?;
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut changed = false;
        loop {
            match receive(&self.fd, &mut buffer) {
                Ok(_) => changed = true,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(changed),
                Err(e) if e.raw_os_error() == Some(libc::ENOBUFS) => changed = true,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }
}

fn dump_request(number: u32) -> [u8; HEADER_BYTES + LINK_BYTES] {
    let mut request = [0; HEADER_BYTES + LINK_BYTES];
    let len = (HEADER_BYTES + LINK_BYTES) as u32;
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
    request[..4].copy_from_slice(&len.to_ne_bytes());
    request[4..6].copy_from_slice(&libc::RTM_GETLINK.to_ne_bytes());
    request[6..8].copy_from_slice(&flags.to_ne_bytes());
    request[8..12].copy_from_slice(&number.to_ne_bytes());
    request
}

fn send(fd: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
    // SAFETY: pointer and length describe `bytes`, which is only read.
    let sent = unsafe { libc::send(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
    sys::check(sent as libc::c_int).map(drop)
}

fn receive(fd: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: pointer and length describe `buffer`, which is exclusively borrowed.
    let got = unsafe { libc::recv(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
    match sys::check(got as libc::c_int)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        len => Ok(len as usize),
    }
}

/// The first message of an answer.
struct Message<'a> {
    kind: u16,
    /// Of the request that it answers.
    number: u32,
    body: &'a [u8],
    /// What follows it.
    rest: &'a [u8],
}

fn message(bytes: &[u8]) -> Option<Message<'_>> {
    let len = number_of(bytes.get(..4)?) as usize;
    Some(Message {
        kind: number_of(bytes.get(4..6)?) as u16,
        number: number_of(bytes.get(8..12)?),
        body: bytes.get(HEADER_BYTES..len)?,
        rest: bytes.get(len.next_multiple_of(4)..).unwrap_or(&[]),
    })
}

/// Type and value of the first attribute, and what follows it.
fn attribute(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let len = number_of(bytes.get(..2)?) as usize;
    let kind = number_of(bytes.get(2..4)?) as u16 & libc::NLA_TYPE_MASK as u16;
    let value = bytes.get(ATTRIBUTE_BYTES..len)?;
    Some((
        kind,
        value,
        bytes.get(len.next_multiple_of(4)..).unwrap_or(&[]),
    ))
}

fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (kind, value, after) = attribute(rest)?;
        rest = after;
        Some((kind, value))
    })
}

fn link(body: &[u8]) -> Option<Link> {
    let mut link = Link {
        index: number_of(body.get(4..8)?),
        flags: number_of(body.get(8..12)?),
        ..Link::default()
    };
    for (kind, value) in attributes(body.get(LINK_BYTES..)?) {
        match kind {
            libc::IFLA_IFNAME => link.name = text(value),
            libc::IFLA_MTU => link.mtu = number_of(value),
            libc::IFLA_MASTER => link.master = Some(number_of(value)),
            libc::IFLA_ADDRESS => link.mac = value.try_into().ok(),
            libc::IFLA_LINKINFO => {
                let mut info = attributes(value);
                if let Some((_, kind)) = info.find(|(k, _)| *k == libc::IFLA_INFO_KIND) {
                    link.kind = text(kind);
                }
            }
            libc::IFLA_XDP => link.xdp = xdp(value),
            _ => {}
        }
    }
    Some(link)
}

fn xdp(value: &[u8]) -> Option<Xdp> {
    let find = |wanted| attributes(value).find(|(kind, _)| *kind == wanted);
    let (_, mode) = find(IFLA_XDP_ATTACHED)?;
    let (_, program) = find(IFLA_XDP_PROG_ID)?;
    Some(Xdp {
        program: number_of(program),
        mode: XdpMode::of(number_of(mode))?,
    })
}

fn text(value: &[u8]) -> String {
    let end = value.iter().position(|&b| b == 0).unwrap_or(value.len());
    String::from_utf8_lossy(&value[..end]).into_owned()
}

/// A native-endian number of up to 4 bytes; of longer ones the first 4.
fn number_of(value: &[u8]) -> u32 {
    match *value {
        [a, b] => u32::from(u16::from_ne_bytes([a, b])),
        [a, b, c, d, ..] => u32::from_ne_bytes([a, b, c, d]),
        [a, ..] => u32::from(a),
        [] => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_loopback_interface_is_listed() {
        let links = links().expect("rtnetlink");
        let lo = links.iter().find(|l| l.name == "lo").expect("lo");
        assert_eq!(
            lo.flags & libc::IFF_LOOPBACK as u32,
            libc::IFF_LOOPBACK as u32
        );
        assert_eq!((lo.index, lo.mac, lo.master), (1, Some([0; 6]), None));
    }

    proptest! {
        #[test]
        fn no_answer_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = link(&bytes);
            let _ = message(&bytes);
            prop_assert!(attributes(&bytes).count() <= bytes.len() / ATTRIBUTE_BYTES);
        }
    }
}
