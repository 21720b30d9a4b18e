//! Frames out of an interface, many at a system call, and none in: for generators of load.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::socket::is_later;
use crate::sys;

/// What one system call sends at most (`UIO_MAXIOV`).
pub const INJECT_MAX: usize = 1024;

/// An interface that frames are put on. It receives nothing.
#[derive(Debug)]
pub struct Injector {
    fd: OwnedFd,
    address: libc::sockaddr_ll,
}

impl Injector {
    /// Opens an interface of the calling thread's network namespace.
    ///
    /// # Errors
    /// `ENODEV`, or `EPERM` without `CAP_NET_RAW`.
    pub fn open(name: &str) -> io::Result<Injector> {
        let index = sys::interface_index(name)? as i32;
        // Without a protocol nothing is ever received.
        let fd = sys::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_NONBLOCK, 0)?;
        sys::set_option(&fd, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1i32)?;
        // SAFETY: a structure of plain integers, for which zeros are valid.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = index;
        Ok(Injector { fd, address })
    }

    /// Sends complete frames, the first [`INJECT_MAX`] at most. How many of them the interface has
    /// taken; it may be none.
    ///
    /// # Errors
    /// `ENETDOWN`, `ENXIO` when the interface is down or gone.
    pub fn send(&mut self, frames: &[impl AsRef<[u8]>]) -> io::Result<usize> {
        let frames = &frames[..frames.len().min(INJECT_MAX)];
        let mut parts: Vec<libc::iovec> = frames
            .iter()
            .map(|frame| libc::iovec {
                iov_base: frame.as_ref().as_ptr().cast_mut().cast(),
                iov_len: frame.as_ref().len(),
            })
            .collect();
        let mut messages: Vec<libc::mmsghdr> = parts
            .iter_mut()
            .map(|part| {
                // SAFETY: a structure of pointers and integers, for which zeros are valid.
                let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
                message.msg_hdr.msg_name = (&raw mut self.address).cast();
                message.msg_hdr.msg_namelen = size_of_val(&self.address) as libc::socklen_t;
                message.msg_hdr.msg_iov = part;
                message.msg_hdr.msg_iovlen = 1;
                message
            })
            .collect();
        let count = messages.len() as libc::c_uint;
        // SAFETY: the messages point to an address and to parts that are only read; all of them live
        // until the call returns.
        let sent = unsafe { libc::sendmmsg(self.fd.as_raw_fd(), messages.as_mut_ptr(), count, 0) };
        match sys::check(sent) {
            Ok(sent) => Ok(sent as usize),
            Err(e) if is_later(&e) => Ok(0),
            Err(e) => Err(e),
        }
    }
}
