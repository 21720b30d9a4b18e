//! The AF_PACKET driver.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use windlass_engine::{Pkt, Pool, Room, Side, Tx, TxChecksum};
use windlass_wire::{FlowKey, Segment};

use super::MAX_PACKET_BYTES;
use super::offload::Offload;
use super::slab::Slab;
use super::socket::Interface;
use crate::driver::{Driver, DriverConfig, DriverStats, FrameStats, SideStats};
use crate::sys;

/// So many packets may wait for each side: one for this many frames.
const BACKLOG_FRACTION: u32 = 4;
/// Longest sleep while packets wait for room in the kernel, nanoseconds.
const TX_RETRY_NS: u64 = 200_000;
/// Longest sleep while reception stands still for want of frames, nanoseconds.
const STARVED_RETRY_NS: u64 = 500_000;

#[derive(Debug)]
struct Port {
    interface: Interface,
    stats: SideStats,
    backlog: VecDeque<Tx>,
}

/// Both interfaces, and their packets.
#[derive(Debug)]
pub struct PacketDriver {
    ports: [Port; 2],
    backlog_max: usize,
    slab: Slab,
    staging: Vec<u8>,
    rx_starved: u64,
    starved: bool,
}

impl PacketDriver {
    /// Opens both interfaces of the configuration.
    ///
    /// # Errors
    /// Those of [`Interface::open`].
    pub fn open(config: &DriverConfig) -> io::Result<PacketDriver> {
        let port = |name: &str| {
            Ok::<_, io::Error>(Port {
                interface: Interface::open(name)?,
                stats: SideStats::default(),
                backlog: VecDeque::new(),
            })
        };
        Ok(PacketDriver {
            ports: [port(&config.inside)?, port(&config.outside)?],
            backlog_max: (config.frames / BACKLOG_FRACTION).max(1) as usize,
            slab: Slab::new(config.frames, config.frame_size),
            staging: vec![0; MAX_PACKET_BYTES as usize],
            rx_starved: 0,
            starved: false,
        })
    }

    fn flush(&mut self) {
        for port in &mut self.ports {
            while let Some(&tx) = port.backlog.front()
                && port.send(&mut self.slab, tx)
            {
                port.backlog.pop_front();
            }
        }
    }
}

impl Port {
    /// False if the interface cannot take it now.
    fn send(&mut self, slab: &mut Slab, tx: Tx) -> bool {
        // What its sender left undone stays undone, whether or not the engine looked at the packet.
        let mut offload: Offload = slab.offload(tx.pkt);
        if tx.checksum != TxChecksum::Done {
            offload.checksum = tx.checksum;
        }
        let len = u64::from(slab.len(tx.pkt));
        match self.interface.send_offloaded(slab.head(tx.pkt), &offload) {
            Ok(false) => return false,
            Ok(true) => {
                self.stats.tx_packets += 1;
                self.stats.tx_bytes += len;
            }
            Err(_) => self.stats.tx_dropped += 1,
        }
        slab.free(tx.pkt);
        true
    }
}

impl Pool for PacketDriver {
    fn head(&self, pkt: Pkt) -> &[u8] {
        self.slab.head(pkt)
    }
    fn head_mut(&mut self, pkt: Pkt) -> &mut [u8] {
        self.slab.head_mut(pkt)
    }
    fn verify(&self, pkt: Pkt, segment: &Segment) -> bool {
        self.slab.verify(pkt, segment)
    }
    fn len(&self, pkt: Pkt) -> u32 {
        self.slab.len(pkt)
    }
    fn alloc(&mut self, len: u32) -> Option<Pkt> {
        self.slab.alloc(len)
    }
    fn resize(&mut self, pkt: Pkt, len: u32) -> bool {
        self.slab.resize(pkt, len)
    }
    fn room(&self) -> Room {
        self.slab.room()
    }
    fn share(&mut self, pkt: Pkt) -> Pkt {
        self.slab.share(pkt)
    }
    fn free(&mut self, pkt: Pkt) {
        self.slab.free(pkt);
    }
}

impl Driver for PacketDriver {
    fn receive(&mut self, side: Side, max: usize, into: &mut Vec<Pkt>) -> io::Result<usize> {
        let port = &mut self.ports[side.index()];
        let mut count = 0;
        while count < max {
            if !self.slab.has_room() {
                // What is not taken stays in the socket's buffer.
                self.rx_starved += u64::from(!self.starved);
                self.starved = true;
                return Ok(count);
            }
            self.starved = false;
            let Some(got) = port.interface.recv(&mut self.staging)? else {
                break;
            };
            let frame = &self.staging[..got.len];
            let Some(pkt) = self.slab.store(frame, got.offload) else {
                break;
            };
            port.stats.rx_packets += 1;
            port.stats.rx_bytes += got.len as u64;
            into.push(pkt);
            count += 1;
        }
        Ok(count)
    }

    fn transmit(&mut self, out: &mut Vec<Tx>) -> io::Result<()> {
        self.flush();
        for tx in out.drain(..) {
            let port = &mut self.ports[tx.to.index()];
            if port.backlog.is_empty() && port.send(&mut self.slab, tx) {
                continue;
            }
            if port.backlog.len() < self.backlog_max {
                port.backlog.push_back(tx);
            } else {
                self.slab.free(tx.pkt);
                port.stats.tx_dropped += 1;
            }
        }
        Ok(())
    }

    fn wait(&mut self, timeout_ns: Option<u64>) -> io::Result<()> {
        self.flush();
        let mut limit = timeout_ns;
        let mut at_most = |ns: u64| limit = Some(limit.unwrap_or(ns).min(ns));
        if self.ports.iter().any(|p| !p.backlog.is_empty()) {
            at_most(TX_RETRY_NS);
        }
        if self.starved {
            // Frames wait in the sockets already: polling would return at once.
            let ns = limit.unwrap_or(STARVED_RETRY_NS).min(STARVED_RETRY_NS);
            std::thread::sleep(std::time::Duration::from_nanos(ns));
            return Ok(());
        }
        for port in &mut self.ports {
            port.stats.rx_dropped += port.interface.take_dropped();
        }
        let fds = self
            .ports
            .each_ref()
            .map(|p| p.interface.as_fd().as_raw_fd());
        sys::wait_readable(fds, limit)
    }

    fn beat(&mut self) {}

    fn missed(&self) -> u64 {
        0
    }

    fn stats(&self) -> DriverStats {
        DriverStats {
            sides: self.ports.each_ref().map(|p| p.stats),
            frames: FrameStats {
                rx_starved: self.rx_starved,
                not_followed: 0,
                not_bounded: 0,
                frames_free: self.slab.free_count().into(),
                frames_held: self.slab.held_count().into(),
                tx_queued: self.ports.iter().map(|p| p.backlog.len() as u64).sum(),
            },
        }
    }

    fn missed_since(&self, _: u64) -> Option<Vec<u32>> {
        Some(Vec::new())
    }

    fn follow(&mut self, _: &FlowKey, _: Option<u32>) {}

    fn limit_syns(&mut self, _: bool) {}

    fn set_bypass(&mut self, _: bool) -> io::Result<()> {
        Ok(())
    }
    fn share(&self) -> io::Result<Vec<OwnedFd>> {
        Err(io::ErrorKind::Unsupported.into())
    }
    fn export(&mut self) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
