//! One AF_XDP socket: its four rings, and how it is bound (linux/if_xdp.h).
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use super::ring::{Consumer, Producer};
use crate::memory::Mapping;
use crate::sys;

/// Entries of the receive and the transmit ring.
pub(crate) const DATA_RING_ENTRIES: u32 = 8192;
/// Entries of the fill and the completion ring.
pub(crate) const FRAME_RING_ENTRIES: u32 = 16_384;
/// Bytes of tx metadata in front of a packet.
pub(crate) const TX_METADATA_BYTES: u32 = 24;
/// `XDP_MAX_TX_SKB_BUDGET` (Linux 6.17), not in libc yet.
const XDP_MAX_TX_SKB_BUDGET: i32 = 9;
/// Packets per `sendto`, where the kernel lets us say.
const TX_BUDGET_PACKETS: u32 = 256;
/// What the kernel takes per call when it does not.
const TX_BUDGET_DEFAULT_PACKETS: u32 = 32;
/// A queue is released by its last user some time after the socket was closed.
const BUSY_RETRIES: u32 = 50;
const BUSY_RETRY_DELAY: Duration = Duration::from_millis(20);

/// How to bind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Binding {
    pub(crate) zero_copy: bool,
    /// Packets may consist of several frames.
    pub(crate) multi_buffer: bool,
}

/// Registers the memory. True if transmission may ask for checksums with tx metadata.
pub(crate) fn register_umem(
    fd: &OwnedFd,
    memory: &Mapping,
    frame_size: u32,
    metadata: bool,
) -> io::Result<bool> {
    let mut umem = libc::xdp_umem_reg {
        addr: memory.base().as_ptr() as u64,
        len: memory.len() as u64,
        chunk_size: frame_size,
        headroom: 0,
        flags: 0,
        tx_metadata_len: 0,
    };
    if metadata {
        let with = libc::xdp_umem_reg {
            flags: libc::XDP_UMEM_TX_METADATA_LEN,
            tx_metadata_len: TX_METADATA_BYTES,
            ..umem
        };
        if sys::set_option(fd, libc::SOL_XDP, libc::XDP_UMEM_REG, &with).is_ok() {
            return Ok(true);
        }
    }
    umem.flags = 0;
    sys::set_option(fd, libc::SOL_XDP, libc::XDP_UMEM_REG, &umem).map(|()| false)
}

/// A bound socket.
#[derive(Debug)]
pub(crate) struct Socket {
    fd: OwnedFd,
    pub(crate) rx: Consumer<libc::xdp_desc>,
    pub(crate) tx: Producer<libc::xdp_desc>,
    pub(crate) fill: Producer<u64>,
    pub(crate) completion: Consumer<u64>,
    tx_budget: Option<u32>,
}

impl Socket {
    /// Makes the rings of `fd` and binds it to a queue. With `owner`, the memory is that of the
    /// `owner` socket, and so is the binding.
    pub(crate) fn bind(
        fd: OwnedFd,
        interface: u32,
        queue: u32,
        binding: Binding,
        owner: Option<&Socket>,
    ) -> io::Result<Socket> {
        for (ring, entries) in [
            (libc::XDP_UMEM_FILL_RING, FRAME_RING_ENTRIES),
            (libc::XDP_UMEM_COMPLETION_RING, FRAME_RING_ENTRIES),
            (libc::XDP_RX_RING, DATA_RING_ENTRIES),
            (libc::XDP_TX_RING, DATA_RING_ENTRIES),
        ] {
            sys::set_option(&fd, libc::SOL_XDP, ring, &entries)?;
        }
        let budget = sys::set_option(
            &fd,
            libc::SOL_XDP,
            XDP_MAX_TX_SKB_BUDGET,
            &TX_BUDGET_PACKETS,
        );
        let socket = Socket::map(fd, budget.is_ok().then_some(TX_BUDGET_PACKETS))?;
        socket.bind_queue(interface, queue, binding, owner)?;
        Ok(socket)
    }

    /// Takes over a socket that another process has bound. [`Socket::go_on`] before the first packet.
    pub(crate) fn inherit(fd: OwnedFd, tx_budget: u32) -> io::Result<Socket> {
        Socket::map(fd, Some(tx_budget))
    }

    /// The other process does not touch the rings any more.
    pub(crate) fn go_on(&mut self) {
        self.rx.go_on();
        self.tx.go_on();
        self.fill.go_on();
        self.completion.go_on();
    }

    fn map(fd: OwnedFd, tx_budget: Option<u32>) -> io::Result<Socket> {
        let at = offsets(&fd)?;
        let rx_page = libc::XDP_PGOFF_RX_RING as u64;
        let tx_page = libc::XDP_PGOFF_TX_RING as u64;
        let fill_page = libc::XDP_UMEM_PGOFF_FILL_RING;
        let completion_page = libc::XDP_UMEM_PGOFF_COMPLETION_RING;
        Ok(Socket {
            rx: Consumer::map(&fd, &at.rx, DATA_RING_ENTRIES, rx_page)?,
            tx: Producer::map(&fd, &at.tx, DATA_RING_ENTRIES, tx_page)?,
            fill: Producer::map(&fd, &at.fr, FRAME_RING_ENTRIES, fill_page)?,
            completion: Consumer::map(&fd, &at.cr, FRAME_RING_ENTRIES, completion_page)?,
            tx_budget,
            fd,
        })
    }

    fn bind_queue(
        &self,
        interface: u32,
        queue: u32,
        binding: Binding,
        owner: Option<&Socket>,
    ) -> io::Result<()> {
        let copy = match binding.zero_copy {
            true => libc::XDP_ZEROCOPY,
            false => libc::XDP_COPY,
        };
        let sg = match binding.multi_buffer {
            true => libc::XDP_USE_SG,
            false => 0,
        };
        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            sxdp_flags: match owner {
                Some(_) => libc::XDP_SHARED_UMEM,
                None => copy | sg | libc::XDP_USE_NEED_WAKEUP,
            },
            sxdp_ifindex: interface,
            sxdp_queue_id: queue,
            sxdp_shared_umem_fd: owner.map_or(0, |o| o.fd.as_raw_fd() as u32),
        };
        let mut retries = BUSY_RETRIES;
        loop {
            // SAFETY: pointer and length describe `address`, which the kernel only reads.
            let result = sys::check(unsafe {
                libc::bind(
                    self.fd.as_raw_fd(),
                    (&raw const address).cast(),
                    size_of_val(&address) as libc::socklen_t,
                )
            });
            match result {
                Err(e) if e.raw_os_error() == Some(libc::EBUSY) && retries > 0 => {
                    retries -= 1;
                    std::thread::sleep(BUSY_RETRY_DELAY);
                }
                other => return other.map(drop),
            }
        }
    }

    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// Packets the kernel transmits per call.
    pub(crate) fn tx_budget(&self) -> u32 {
        self.tx_budget.unwrap_or(TX_BUDGET_DEFAULT_PACKETS)
    }

    /// True if the card itself uses the frames.
    pub(crate) fn is_zero_copy(&self) -> io::Result<bool> {
        let none = libc::xdp_options { flags: 0 };
        let options = sys::get_option(&self.fd, libc::SOL_XDP, libc::XDP_OPTIONS, none)?;
        Ok(options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0)
    }

    /// Packets that could not be handed over to this socket.
    pub(crate) fn rx_dropped(&self) -> u64 {
        // SAFETY: a structure of plain integers, for which zeros are valid.
        let zero: libc::xdp_statistics = unsafe { std::mem::zeroed() };
        match sys::get_option(&self.fd, libc::SOL_XDP, libc::XDP_STATISTICS, zero) {
            Ok(s) => s.rx_dropped + s.rx_ring_full,
            Err(_) => 0,
        }
    }

    /// Has the kernel transmit what is in the ring, as far as it can now.
    pub(crate) fn kick(&mut self) -> io::Result<()> {
        let mut pending = self.tx.pending();
        while pending > 0 && self.tx.needs_wakeup() {
            match self.send() {
                Ok(()) => {}
                Err(e) if is_transient(&e) => {}
                Err(e) => return Err(e),
            }
            let left = self.tx.pending();
            if left >= pending {
                break;
            }
            pending = left;
        }
        Ok(())
    }

    /// Has the kernel look at the fill ring, if it said that it must be told.
    pub(crate) fn wake_reception(&self) {
        if self.fill.needs_wakeup() {
            let flags = libc::MSG_DONTWAIT;
            let (none, zero) = (std::ptr::null_mut(), std::ptr::null_mut());
            // SAFETY: no buffers are passed. A failure shows again at the next reception.
            unsafe { libc::recvfrom(self.fd.as_raw_fd(), none, 0, flags, zero, zero.cast()) };
        }
    }

    fn send(&self) -> io::Result<()> {
        let (none, flags) = (std::ptr::null(), libc::MSG_DONTWAIT);
        // SAFETY: no buffers are passed; what is sent is in the ring.
        let sent = unsafe { libc::sendto(self.fd.as_raw_fd(), none, 0, flags, none.cast(), 0) };
        sys::check(sent as libc::c_int).map(drop)
    }
}

/// Errors that say "later", or concern one packet only.
fn is_transient(e: &io::Error) -> bool {
    let transient = [
        libc::EAGAIN,
        libc::EBUSY,
        libc::ENOBUFS,
        libc::ENETDOWN,
        libc::EINTR,
        libc::EINVAL,
        libc::EOVERFLOW,
    ];
    e.raw_os_error()
        .is_some_and(|code| transient.contains(&code))
}

fn offsets(fd: &OwnedFd) -> io::Result<libc::xdp_mmap_offsets> {
    // SAFETY: a structure of plain integers, for which zeros are valid.
    let zero: libc::xdp_mmap_offsets = unsafe { std::mem::zeroed() };
    sys::get_option(fd, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS, zero)
}
