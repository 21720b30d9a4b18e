//! The interfaces of this network namespace, as rtnetlink lists them (RFC 3549; linux/rtnetlink.h).
//!
//! Not sysfs: what `/sys/class/net` shows depends on where it was mounted.
#![allow(unsafe_code)]

mod message;

use std::cell::Cell;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use crate::sys;

use message::{link, message, number_of};

const HEADER_BYTES: usize = 16;
const LINK_BYTES: usize = 16;
/// The kernel fills at most this much of a dump's buffer.
const BUFFER_BYTES: usize = 32 * 1024;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
