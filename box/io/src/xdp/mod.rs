//! The AF_XDP driver: two sockets, one on each interface, over one UMEM.

mod frames;
mod heir;
mod offload;
mod port;
mod ring;
mod socket;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use serde::{Deserialize, Serialize};
use windlass_engine::{Bounds, Nanos, Pkt, Pool, Room, Senders, Side, Tx};
use windlass_wire::{FlowKey, Segment};

use crate::driver::{Driver, DriverStats, FrameStats};
use crate::program::Switches;
use crate::pulse::Pulse;
use crate::sys;

pub(crate) use frames::FILL_FRAMES_MAX;
use frames::Frames;
pub(crate) use heir::{DESCRIPTORS, Heir};
use port::Port;
use socket::{Binding, Socket};

/// Under a flood, one part in this many of the SYNs that are taken otherwise.
const FLOOD_DIVISOR: u32 = 10;
/// Longest sleep while packets wait for room in the kernel, nanoseconds.
const TX_RETRY_NS: u64 = 50_000;
/// Longest sleep while reception stands still for want of frames, nanoseconds.
const STARVED_RETRY_NS: u64 = 500_000;

/// How a driver's sockets turned out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Obtained {
    pub(crate) zero_copy: bool,
    pub(crate) multi_buffer: bool,
    pub(crate) tx_checksum: bool,
    pub(crate) tx_budget: u32,
}

/// What a driver needs to be opened.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Place {
    /// Indices of the inside and the outside interface.
    pub(crate) interfaces: [u32; 2],
    pub(crate) queue: u32,
    pub(crate) frames: u32,
    pub(crate) frame_size: u32,
    /// The program's.
    pub(crate) seed: u32,
    /// SYNs of unknown connections taken from each side; 0: any number.
    pub(crate) syns_per_second: u32,
    /// The interfaces can be asked for zero copy.
    pub(crate) native: bool,
}

/// Both ports of one queue, and their packets.
#[derive(Debug)]
pub struct XdpDriver {
    // Before the frames, so that the sockets are closed before the memory goes.
    ports: [Port; 2],
    frames: Frames,
    switches: Switches,
    pulse: Pulse,
    rx_starved: u64,
    starved: bool,
    not_followed: u64,
    not_bounded: u64,
    queue: u32,
    syns_per_second: u32,
}

impl XdpDriver {
    /// Binds the sockets: zero copy if both interfaces can, else copy; several frames a packet if
    /// the kernel can.
    pub(crate) fn open(
        place: Place,
        switches: Switches,
        pulse: Pulse,
    ) -> io::Result<(XdpDriver, Obtained)> {
        let frames = Frames::new(place.frames, place.frame_size, place.seed)?;
        let mut refused = io::Error::from_raw_os_error(libc::EOPNOTSUPP);
        for zero_copy in [true, false] {
            if zero_copy && !place.native {
                continue;
            }
            for multi_buffer in [true, false] {
                let binding = Binding {
                    zero_copy,
                    multi_buffer,
                };
                match bind_both(&frames, &place, binding) {
                    Ok((sockets, obtained)) => {
                        let mut driver =
                            Self::new(&place, frames, sockets, obtained, switches, pulse);
                        driver.refill();
                        return Ok((driver, obtained));
                    }
                    Err(e) => refused = e,
                }
            }
        }
        Err(refused)
    }

    fn new(
        place: &Place,
        frames: Frames,
        sockets: [Socket; 2],
        obtained: Obtained,
        switches: Switches,
        pulse: Pulse,
    ) -> XdpDriver {
        let shares = frames.shares();
        let ports = sockets.map(|socket| Port::new(socket, obtained.tx_checksum, shares));
        let mut driver = XdpDriver {
            ports,
            frames,
            switches,
            pulse,
            rx_starved: 0,
            starved: false,
            not_followed: 0,
            not_bounded: 0,
            queue: place.queue,
            syns_per_second: place.syns_per_second,
        };
        driver.limit_syns(false);
        driver
    }

    /// The socket of a side, to be entered into the map of sockets.
    pub(crate) fn socket(&self, side: Side) -> BorrowedFd<'_> {
        self.ports[side.index()].socket.fd().as_fd()
    }

    fn refill(&mut self) {
        let full = self
            .ports
            .each_mut()
            .map(|port| port.refill(&mut self.frames));
        let starved = full.contains(&false);
        self.rx_starved += u64::from(starved && !self.starved);
        self.starved = starved;
    }

    fn reap(&mut self) {
        for port in &mut self.ports {
            port.reap(&mut self.frames);
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        for port in &mut self.ports {
            port.flush(&mut self.frames)?;
        }
        Ok(())
    }
}

/// Binds the inside's socket with the memory, and the outside's to share it.
fn bind_both(
    frames: &Frames,
    place: &Place,
    binding: Binding,
) -> io::Result<([Socket; 2], Obtained)> {
    let new = || sys::socket(libc::AF_XDP, libc::SOCK_RAW, 0);
    let [inside, outside] = place.interfaces;
    let fd = new()?;
    // A card that ignores tx metadata would send wrong checksums: not with zero copy.
    let tx_checksum =
        socket::register_umem(&fd, frames.memory(), place.frame_size, !binding.zero_copy)?;
    let first = Socket::bind(fd, inside, place.queue, binding, None)?;
    let second = Socket::bind(new()?, outside, place.queue, binding, Some(&first))?;
    let obtained = Obtained {
        zero_copy: first.is_zero_copy()? && second.is_zero_copy()?,
        multi_buffer: binding.multi_buffer,
        tx_checksum,
        tx_budget: first.tx_budget().min(second.tx_budget()),
    };
    Ok(([first, second], obtained))
}

impl Pool for XdpDriver {
    fn head(&self, pkt: Pkt) -> &[u8] {
        self.frames.head(pkt)
    }
    fn head_mut(&mut self, pkt: Pkt) -> &mut [u8] {
        self.frames.head_mut(pkt)
    }
    fn verify(&self, pkt: Pkt, segment: &Segment) -> bool {
        self.frames.verify(pkt, segment)
    }
    fn len(&self, pkt: Pkt) -> u32 {
        self.frames.len(pkt)
    }
    fn alloc(&mut self, len: u32) -> Option<Pkt> {
        self.frames.alloc(len)
    }
    fn resize(&mut self, pkt: Pkt, len: u32) -> bool {
        self.frames.resize(pkt, len)
    }
    fn arrived_at(&self, pkt: Pkt, now: Nanos) -> Option<Nanos> {
        self.frames.arrived_at(pkt, now)
    }
    fn room(&self) -> Room {
        self.frames.room()
    }
    fn share(&mut self, pkt: Pkt) -> Pkt {
        self.frames.share(pkt)
    }
    fn free(&mut self, pkt: Pkt) {
        self.frames.free(pkt);
    }
}

impl Driver for XdpDriver {
    fn receive(&mut self, side: Side, max: usize, into: &mut Vec<Pkt>) -> io::Result<usize> {
        let count = self.ports[side.index()].receive(&mut self.frames, max, into);
        self.reap();
        self.refill();
        Ok(count)
    }

    fn transmit(&mut self, out: &mut Vec<Tx>) -> io::Result<()> {
        self.reap();
        for tx in out.drain(..) {
            self.ports[tx.to.index()].transmit(&mut self.frames, tx);
        }
        self.flush()
    }

    fn wait(&mut self, timeout_ns: Option<u64>) -> io::Result<()> {
        self.reap();
        self.flush()?;
        self.refill();
        let mut limit = timeout_ns;
        let mut at_most = |ns: u64| limit = Some(limit.unwrap_or(ns).min(ns));
        if self.ports.iter_mut().any(|port| port.is_waiting()) {
            at_most(TX_RETRY_NS);
        }
        if self.starved {
            at_most(STARVED_RETRY_NS);
        }
        let fds = self.ports.each_ref().map(|p| p.socket.fd().as_raw_fd());
        sys::wait_readable(fds, limit)
    }

    fn beat(&mut self) {
        self.pulse.beat();
    }

    fn missed(&self) -> u64 {
        self.pulse.missed()
    }

    fn stats(&self) -> DriverStats {
        DriverStats {
            sides: self.ports.each_ref().map(Port::stats),
            frames: FrameStats {
                rx_starved: self.rx_starved,
                not_followed: self.not_followed,
                not_bounded: self.not_bounded,
                frames_free: self.frames.free_count().into(),
                frames_held: self.frames.held_count().into(),
                tx_queued: self.ports.iter().map(|p| u64::from(p.queued())).sum(),
            },
        }
    }

    fn missed_since(&self, before: u64) -> Option<Vec<u32>> {
        self.pulse.missed_since(before)
    }

    fn follow(&mut self, key: &FlowKey, number: Option<u32>) {
        let done = self.switches.follow(key, number);
        self.not_followed += u64::from(number.is_some() && done.is_err());
    }

    fn follows(&self, key: &FlowKey) -> bool {
        self.switches.follows(key)
    }

    fn bound(&mut self, senders: &[(Senders, Bounds)]) {
        self.not_bounded += u64::from(self.switches.bound(senders).is_err());
    }

    fn limit_syns(&mut self, flood: bool) {
        let rate = match flood {
            true if self.syns_per_second > 0 => (self.syns_per_second / FLOOD_DIVISOR).max(1),
            _ => self.syns_per_second,
        };
        // With the rate of before, a flood costs more, and nothing goes wrong.
        let _ = self.switches.set_syn_rate(self.queue, rate);
    }

    fn set_bypass(&mut self, on: bool) -> io::Result<()> {
        self.switches.set_bypass(on)
    }

    fn share(&self) -> io::Result<Vec<OwnedFd>> {
        self.share_descriptors()
    }

    fn export(&mut self) -> io::Result<Vec<u8>> {
        self.export_state()
    }
}
