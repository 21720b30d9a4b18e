//! A raw packet socket on one interface (packet(7)).
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::offload::{HEADER_BYTES, Offload, VLAN_TAG_BYTES};
use crate::sys;

/// Bytes the kernel may queue for us, and for the interface.
const SOCKET_BUFFER_BYTES: i32 = 16 << 20;
const VLAN_VALID: u32 = 1 << 4;
const VLAN_TPID_VALID: u32 = 1 << 6;
const ETHERTYPE_VLAN: u16 = 0x8100;
const MAC_ADDRESSES_BYTES: usize = 12;

/// A frame was received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Received {
    /// Its length, bytes.
    pub len: usize,
    /// What its sender left to be done.
    pub offload: Offload,
}

/// `struct tpacket_auxdata`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Auxiliary {
    status: u32,
    len: u32,
    snaplen: u32,
    mac: u16,
    net: u16,
    vlan_tci: u16,
    vlan_tpid: u16,
}

/// Room for one control message with [`Auxiliary`], aligned as `cmsghdr` must be.
#[repr(C, align(8))]
struct Control([u8; 64]);

/// An interface, promiscuous, seen through a packet socket. Frames that leave by it are not seen.
#[derive(Debug)]
pub struct Interface {
    fd: OwnedFd,
}

impl Interface {
    /// Opens an interface of the calling thread's network namespace.
    ///
    /// # Errors
    /// `ENODEV`, or `EPERM` without `CAP_NET_RAW`.
    pub fn open(name: &str) -> io::Result<Interface> {
        let index = sys::interface_index(name)? as i32;
        // Without a protocol nothing is received before the socket is bound.
        let fd = sys::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_NONBLOCK, 0)?;
        for option in [
            libc::PACKET_VNET_HDR,
            libc::PACKET_AUXDATA,
            libc::PACKET_IGNORE_OUTGOING,
        ] {
            sys::set_option(&fd, libc::SOL_PACKET, option, &1i32)?;
        }
        for option in [libc::SO_RCVBUFFORCE, libc::SO_SNDBUFFORCE] {
            sys::set_option(&fd, libc::SOL_SOCKET, option, &SOCKET_BUFFER_BYTES)?;
        }
        let promiscuous = libc::packet_mreq {
            mr_ifindex: index,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        let join = libc::PACKET_ADD_MEMBERSHIP;
        sys::set_option(&fd, libc::SOL_PACKET, join, &promiscuous)?;
        bind(&fd, index)?;
        Ok(Interface { fd })
    }

    /// Takes the next frame into `frame`; `None` when there is none now. VLAN tags are where they
    /// were on the wire. A frame that does not fit is skipped.
    ///
    /// # Errors
    /// `ENETDOWN` once when the interface went down; others mean that it is gone.
    pub fn recv(&mut self, frame: &mut [u8]) -> io::Result<Option<Received>> {
        loop {
            let mut header = [0; HEADER_BYTES];
            let mut control = Control([0; 64]);
            let Some((len, tag)) = self.receive(&mut header, frame, &mut control)? else {
                return Ok(None);
            };
            if len > frame.len() {
                continue;
            }
            let offload = Offload::parse(&header);
            let Some(tag) = tag.filter(|_| len >= MAC_ADDRESSES_BYTES) else {
                return Ok(Some(Received { len, offload }));
            };
            let tagged = len + usize::from(VLAN_TAG_BYTES);
            if tagged > frame.len() {
                continue;
            }
            let behind = MAC_ADDRESSES_BYTES + usize::from(VLAN_TAG_BYTES);
            frame.copy_within(MAC_ADDRESSES_BYTES..len, behind);
            frame[MAC_ADDRESSES_BYTES..behind].copy_from_slice(&tag);
            return Ok(Some(Received {
                len: tagged,
                offload: offload.behind_tag(),
            }));
        }
    }

    /// Length of the next frame (more than `frame` holds if it did not fit) and its VLAN tag, if
    /// the kernel took that out.
    fn receive(
        &self,
        header: &mut [u8; HEADER_BYTES],
        frame: &mut [u8],
        control: &mut Control,
    ) -> io::Result<Option<(usize, Option<[u8; 4]>)>> {
        let mut parts = [
            libc::iovec {
                iov_base: header.as_mut_ptr().cast(),
                iov_len: HEADER_BYTES,
            },
            libc::iovec {
                iov_base: frame.as_mut_ptr().cast(),
                iov_len: frame.len(),
            },
        ];
        // SAFETY: a structure of pointers and integers, for which zeros are valid.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = parts.as_mut_ptr();
        message.msg_iovlen = parts.len() as _;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = control.0.len() as _;
        // SAFETY: the message points to the exclusively borrowed buffers with their lengths.
        let got = unsafe { libc::recvmsg(self.fd.as_raw_fd(), &raw mut message, libc::MSG_TRUNC) };
        match sys::check(got as libc::c_int) {
            Ok(len) => {
                let len = (len as usize).saturating_sub(HEADER_BYTES);
                Ok(Some((len, vlan_tag(&message))))
            }
            Err(e) if is_later(&e) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Sends a frame that is complete. False if the interface cannot take it now.
    pub fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
        self.send_offloaded(frame, &Offload::NONE)
    }

    /// Sends a frame and leaves the rest to the kernel. False if the interface cannot take it now.
    pub fn send_offloaded(&mut self, frame: &[u8], offload: &Offload) -> io::Result<bool> {
        let header = offload.header(frame.len());
        let parts = [
            libc::iovec {
                iov_base: header.as_ptr().cast_mut().cast(),
                iov_len: HEADER_BYTES,
            },
            libc::iovec {
                iov_base: frame.as_ptr().cast_mut().cast(),
                iov_len: frame.len(),
            },
        ];
        // SAFETY: both parts are only read, and live until the call returns.
        let sent = unsafe { libc::writev(self.fd.as_raw_fd(), parts.as_ptr(), 2) };
        match sys::check(sent as libc::c_int) {
            Ok(_) => Ok(true),
            Err(e) if is_later(&e) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Frames that the kernel dropped for want of buffer since the last call.
    pub fn take_dropped(&mut self) -> u64 {
        // struct tpacket_stats: packets and drops.
        match sys::get_option(
            &self.fd,
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            [0u32; 2],
        ) {
            Ok([_, dropped]) => u64::from(dropped),
            Err(_) => 0,
        }
    }
}

impl AsFd for Interface {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

pub(super) fn is_later(e: &io::Error) -> bool {
    let later = [libc::EAGAIN, libc::EINTR, libc::ENOBUFS];
    e.raw_os_error().is_some_and(|code| later.contains(&code))
}

pub(super) fn bind(fd: &OwnedFd, index: i32) -> io::Result<()> {
    // SAFETY: a structure of plain integers, for which zeros are valid.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index;
    // SAFETY: pointer and length describe `address`, which the kernel only reads.
    sys::check(unsafe {
        libc::bind(
            fd.as_raw_fd(),
            (&raw const address).cast(),
            size_of_val(&address) as libc::socklen_t,
        )
    })
    .map(drop)
}

/// The tag that the kernel keeps beside the frame, as it stands on the wire.
fn vlan_tag(message: &libc::msghdr) -> Option<[u8; 4]> {
    // SAFETY: the kernel filled the control buffer and its length; the macros stay inside of them.
    let first = unsafe { libc::CMSG_FIRSTHDR(message) };
    if first.is_null() {
        return None;
    }
    // SAFETY: a header that the kernel wrote, aligned by `Control`.
    let header = unsafe { first.read() };
    if header.cmsg_level != libc::SOL_PACKET || header.cmsg_type != libc::PACKET_AUXDATA {
        return None;
    }
    // SAFETY: a message of this type carries this structure; any bits are valid for it.
    let data: Auxiliary = unsafe { libc::CMSG_DATA(first).cast::<Auxiliary>().read_unaligned() };
    if data.status & VLAN_VALID == 0 {
        return None;
    }
    let protocol = match data.status & VLAN_TPID_VALID {
        0 => ETHERTYPE_VLAN,
        _ => data.vlan_tpid,
    };
    let ([a, b], [c, d]) = (protocol.to_be_bytes(), data.vlan_tci.to_be_bytes());
    Some([a, b, c, d])
}
