//! Every interface of a network namespace through one packet socket, whose received frames lie in
//! a ring shared with the kernel (`PACKET_RX_RING`, `TPACKET_V2`).
//!
//! The kernel notes when each frame came, so whoever reads late loses no precision; and reading
//! costs no system call.
#![allow(unsafe_code)]

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use super::offload::{HEADER_BYTES, Offload};
use super::socket::{bind, is_later};
use crate::memory::Mapping;
use crate::sys;

/// Beside the packet: Ethernet's header with two tags, the frame's address and the kernel's header.
const SLOT_HEADER_BYTES: usize = 256;
/// What the ring has, bytes; and slots at the least, for what comes at 10 Gbit/s while its reader rests for 5 ms.
const RING_BYTES: usize = 1 << 24;
const SLOTS_MIN: usize = 2048;
const BLOCK_BYTES: usize = 1 << 16;
const SEND_BUFFER_BYTES: i32 = 16 << 20;
/// `TPACKET_ALIGN(sizeof(struct tpacket2_hdr))`: behind it is the frame's address.
const ADDRESS_AT: usize = (size_of::<libc::tpacket2_hdr>() + 15) & !15;
const NANOS_PER_SECOND: u64 = 1_000_000_000;
/// Places in a frame without a tag, and a value.
const ETHERTYPE_AT: u32 = 12;
const ETHERTYPE_IPV4: u32 = 0x0800;
const IPV4_DESTINATION_AT: u32 = 14 + 16;

/// A frame in the ring.
#[derive(Clone, Copy, Debug)]
pub struct Taken<'a> {
    /// When it came, `CLOCK_MONOTONIC`, ns; never before the one in front of it.
    pub at: u64,
    /// Index of the interface that it came in at.
    pub interface: u32,
    /// What its sender left to be done.
    pub offload: Offload,
    /// Its bytes, as far as there is room for them.
    pub bytes: &'a [u8],
    /// Its whole length, bytes.
    pub len: usize,
}

/// All interfaces of a network namespace. Frames that leave by them are not seen.
#[derive(Debug)]
pub struct Trunk {
    fd: OwnedFd,
    ring: Mapping,
    /// What each slot of the ring has, and how many there are.
    slot_bytes: usize,
    slots: usize,
    next: usize,
    /// When the last frame came.
    last_at: u64,
}

impl Trunk {
    /// Opens those of the calling thread's network namespace, with room for packets of `mtu` bytes.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_RAW`; `ENOMEM` without 16 MB for the ring, or more where frames are long.
    ///
    /// # Panics
    /// If a packet is longer than IPv4 has them.
    pub fn open(mtu: usize) -> io::Result<Trunk> {
        assert!(mtu <= usize::from(u16::MAX), "an MTU of {mtu} bytes");
        let slot_bytes = (mtu + SLOT_HEADER_BYTES).next_power_of_two();
        let block_bytes = BLOCK_BYTES.max(slot_bytes);
        let slots = (RING_BYTES / slot_bytes).max(SLOTS_MIN);
        // Without a protocol nothing is received before the socket is bound.
        let fd = sys::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_NONBLOCK, 0)?;
        let version = libc::tpacket_versions::TPACKET_V2 as i32;
        for (option, value) in [
            (libc::PACKET_VERSION, version),
            (libc::PACKET_VNET_HDR, 1),
            (libc::PACKET_IGNORE_OUTGOING, 1),
            (libc::PACKET_QDISC_BYPASS, 1),
        ] {
            sys::set_option(&fd, libc::SOL_PACKET, option, &value)?;
        }
        let send_buffer = libc::SO_SNDBUFFORCE;
        sys::set_option(&fd, libc::SOL_SOCKET, send_buffer, &SEND_BUFFER_BYTES)?;
        let ring = libc::tpacket_req {
            tp_block_size: block_bytes as u32,
            tp_block_nr: (slots * slot_bytes / block_bytes) as u32,
            tp_frame_size: slot_bytes as u32,
            tp_frame_nr: slots as u32,
        };
        sys::set_option(&fd, libc::SOL_PACKET, libc::PACKET_RX_RING, &ring)?;
        let ring = Mapping::ring(&fd, slots * slot_bytes, 0)?;
        let any_interface = 0;
        bind(&fd, any_interface)?;
        Ok(Trunk {
            fd,
            ring,
            slot_bytes,
            slots,
            next: 0,
            last_at: 0,
        })
    }

    /// From now on IPv4 packets to addresses outside of this network do not come, and take no room in the ring.
    ///
    /// # Errors
    /// What `SO_ATTACH_FILTER` refuses.
    ///
    /// # Panics
    /// If the prefix has more than 32 bits.
    pub fn keep_to(&mut self, network: Ipv4Addr, prefix_bits: u8) -> io::Result<()> {
        assert!(prefix_bits <= 32, "a prefix of {prefix_bits} bits");
        let mask = u32::MAX.checked_shl(32 - u32::from(prefix_bits));
        let mask = mask.unwrap_or(0);
        let step = |code: u32, jump_if_true, jump_if_false, k| libc::sock_filter {
            code: code as u16,
            jt: jump_if_true,
            jf: jump_if_false,
            k,
        };
        let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        let load = libc::BPF_LD | libc::BPF_ABS;
        let end = libc::BPF_RET | libc::BPF_K;
        let mut steps = [
            step(load | libc::BPF_H, 0, 0, ETHERTYPE_AT),
            step(equal, 0, 3, ETHERTYPE_IPV4),
            step(load | libc::BPF_W, 0, 0, IPV4_DESTINATION_AT),
            step(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, 0, 0, mask),
            step(equal, 0, 1, u32::from(network) & mask),
            step(end, 0, 0, u32::MAX),
            step(end, 0, 0, 0),
        ];
        let program = libc::sock_fprog {
            len: steps.len() as u16,
            filter: steps.as_mut_ptr(),
        };
        sys::set_option(&self.fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
    }

    /// Hands out up to `max` frames in the order in which they came. Returns how many.
    pub fn receive(&mut self, max: usize, mut each: impl FnMut(Taken<'_>)) -> usize {
        // The kernel stamps with a clock that is set now and then.
        let real = sys::clock_ns(libc::CLOCK_REALTIME);
        let now = sys::monotonic_ns();
        let mut count = 0;
        while count < max && self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER != 0 {
            let header = self.header();
            let stamp = u64::from(header.tp_sec) * NANOS_PER_SECOND + u64::from(header.tp_nsec);
            let age = real.saturating_sub(stamp);
            self.last_at = now.saturating_sub(age).max(self.last_at);
            each(self.taken(&header));
            self.status()
                .store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % self.slots;
            count += 1;
        }
        count
    }

    /// Sends a frame by the interface with this index and leaves the rest to the kernel. False if
    /// the interface cannot take it now.
    ///
    /// # Errors
    /// `ENETDOWN`, `ENXIO` when the interface is down or gone.
    pub fn send(&self, interface: u32, frame: &[u8], offload: &Offload) -> io::Result<bool> {
        let header = offload.header(frame.len());
        let mut parts = [
            libc::iovec {
                iov_base: header.as_ptr().cast_mut().cast(),
                iov_len: HEADER_BYTES,
            },
            libc::iovec {
                iov_base: frame.as_ptr().cast_mut().cast(),
                iov_len: frame.len(),
            },
        ];
        // SAFETY: structures of pointers and integers, for which zeros are valid.
        let (mut address, mut message): (libc::sockaddr_ll, libc::msghdr) =
            unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = interface as i32;
        message.msg_name = (&raw mut address).cast();
        message.msg_namelen = size_of_val(&address) as libc::socklen_t;
        message.msg_iov = parts.as_mut_ptr();
        message.msg_iovlen = parts.len() as _;
        // SAFETY: the message points to an address and parts that are only read and live until the
        // call returns.
        let sent = unsafe { libc::sendmsg(self.fd.as_raw_fd(), &raw const message, 0) };
        match sys::check(sent as libc::c_int) {
            Ok(_) => Ok(true),
            Err(e) if is_later(&e) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Frames that the kernel dropped for want of room since the last call.
    pub fn take_dropped(&mut self) -> u64 {
        let counts = [0u32; 2];
        let statistics = libc::PACKET_STATISTICS;
        // struct tpacket_stats: packets and drops.
        match sys::get_option(&self.fd, libc::SOL_PACKET, statistics, counts) {
            Ok([_, dropped]) => u64::from(dropped),
            Err(_) => 0,
        }
    }

    /// The first word of the next slot: whose it is.
    fn status(&self) -> &AtomicU32 {
        // SAFETY: the slot is inside the mapping, since `next` is less than the number of slots; the word is aligned
        // since slots are, and kernel and user space change it as a whole only.
        unsafe {
            let slot = self.ring.base().as_ptr().add(self.next * self.slot_bytes);
            AtomicU32::from_ptr(slot.cast())
        }
    }

    fn header(&self) -> libc::tpacket2_hdr {
        let size = size_of::<libc::tpacket2_hdr>();
        let place = self.ring.bytes(self.next * self.slot_bytes, size);
        // SAFETY: as many bytes as the structure has, valid for any bits; the kernel has handed the
        // slot over and does not write to it.
        unsafe { place.as_ptr().cast::<libc::tpacket2_hdr>().read() }
    }

    fn taken(&self, header: &libc::tpacket2_hdr) -> Taken<'_> {
        let slot = self
            .ring
            .bytes(self.next * self.slot_bytes, self.slot_bytes);
        let address = &slot[ADDRESS_AT..ADDRESS_AT + size_of::<libc::sockaddr_ll>()];
        // SAFETY: as many bytes as the structure has, valid for any bits.
        let address = unsafe {
            address
                .as_ptr()
                .cast::<libc::sockaddr_ll>()
                .read_unaligned()
        };
        let start = usize::from(header.tp_mac);
        let end = (start + header.tp_snaplen as usize).min(self.slot_bytes);
        let offload: Option<&[u8; HEADER_BYTES]> = start
            .checked_sub(HEADER_BYTES)
            .and_then(|at| slot[at..].first_chunk());
        Taken {
            at: self.last_at,
            interface: address.sll_ifindex as u32,
            offload: offload.map_or(Offload::NONE, Offload::parse),
            bytes: slot.get(start..end).unwrap_or_default(),
            len: header.tp_len as usize,
        }
    }
}

impl AsFd for Trunk {
    /// Readable while frames are in the ring.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
