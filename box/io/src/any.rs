//! Either driver, without indirection on the packet path.

use std::io;
use std::os::fd::OwnedFd;

use windlass_engine::{Bounds, Nanos, Pkt, Pool, Room, Senders, Side, Tx};
use windlass_wire::{FlowKey, Segment};

use crate::driver::{Driver, DriverStats};
use crate::packet::PacketDriver;
use crate::xdp::XdpDriver;

/// One of the drivers.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one per worker, moved once")]
pub enum AnyDriver {
    /// AF_XDP.
    Xdp(XdpDriver),
    /// AF_PACKET.
    Packet(PacketDriver),
}

macro_rules! each {
    ($any:expr, $driver:ident => $call:expr) => {
        match $any {
            AnyDriver::Xdp($driver) => $call,
            AnyDriver::Packet($driver) => $call,
        }
    };
}

impl Pool for AnyDriver {
    fn head(&self, pkt: Pkt) -> &[u8] {
        each!(self, d => d.head(pkt))
    }
    fn head_mut(&mut self, pkt: Pkt) -> &mut [u8] {
        each!(self, d => d.head_mut(pkt))
    }
    fn verify(&self, pkt: Pkt, segment: &Segment) -> bool {
        each!(self, d => d.verify(pkt, segment))
    }
    fn len(&self, pkt: Pkt) -> u32 {
        each!(self, d => d.len(pkt))
    }
    fn alloc(&mut self, len: u32) -> Option<Pkt> {
        each!(self, d => d.alloc(len))
    }
    fn resize(&mut self, pkt: Pkt, len: u32) -> bool {
        each!(self, d => d.resize(pkt, len))
    }
    fn arrived_at(&self, pkt: Pkt, now: Nanos) -> Option<Nanos> {
        each!(self, d => d.arrived_at(pkt, now))
    }
    fn room(&self) -> Room {
        each!(self, d => d.room())
    }
    fn share(&mut self, pkt: Pkt) -> Pkt {
        each!(self, d => d.share(pkt))
    }
    fn free(&mut self, pkt: Pkt) {
        each!(self, d => d.free(pkt))
    }
}

impl Driver for AnyDriver {
    fn receive(&mut self, side: Side, max: usize, into: &mut Vec<Pkt>) -> io::Result<usize> {
        each!(self, d => d.receive(side, max, into))
    }
    fn transmit(&mut self, out: &mut Vec<Tx>) -> io::Result<()> {
        each!(self, d => d.transmit(out))
    }
    fn wait(&mut self, timeout_ns: Option<u64>) -> io::Result<()> {
        each!(self, d => d.wait(timeout_ns))
    }
    fn beat(&mut self) {
        each!(self, d => d.beat());
    }
    fn missed(&self) -> u64 {
        each!(self, d => d.missed())
    }
    fn stats(&self) -> DriverStats {
        each!(self, d => d.stats())
    }
    fn missed_since(&self, before: u64) -> Option<Vec<u32>> {
        each!(self, d => d.missed_since(before))
    }
    fn follow(&mut self, key: &FlowKey, number: Option<u32>) {
        each!(self, d => d.follow(key, number));
    }
    fn follows(&self, key: &FlowKey) -> bool {
        each!(self, d => d.follows(key))
    }
    fn bound(&mut self, senders: &[(Senders, Bounds)]) {
        each!(self, d => d.bound(senders));
    }
    fn limit_syns(&mut self, flood: bool) {
        each!(self, d => d.limit_syns(flood));
    }
    fn set_bypass(&mut self, on: bool) -> io::Result<()> {
        each!(self, d => d.set_bypass(on))
    }
    fn share(&self) -> io::Result<Vec<OwnedFd>> {
        each!(self, d => d.share())
    }
    fn export(&mut self) -> io::Result<Vec<u8>> {
        each!(self, d => d.export())
    }
}
