//! The XDP program: loading, attaching, and its maps.

mod link;
mod switches;

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use aya::maps::{HashMap, Map, MapData, MapError, PerCpuArray, XskMap};
use aya::programs::Xdp;
use aya::{Ebpf, EbpfLoader};
use windlass_engine::Side;
use windlass_metric::totals;

use crate::driver::DriverConfig;
use crate::pulse::Pulse;
use link::Link;
use switches::{Control, ns_each};

pub(crate) use link::RunBy;
pub(crate) use switches::Switches;

/// Room for the sockets of one interface in the map of sockets.
pub(crate) const QUEUES_PER_SIDE: u32 = 128;

static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/windlass.bpf.o"));

totals! {
    /// Packets seen by the XDP program on both interfaces, by what became of them; in the order of its map `counters`.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct XdpCounters {
        /// Taken into a socket.
        counter taken, One;
        /// Passed: bypass is on.
        counter passed_bypass, One;
        /// Passed: not TCP over IPv4 or IPv6 (ARP, ICMP, UDP, unknown IPv6 extensions …).
        counter passed_not_tcp, One;
        /// Passed: a fragment.
        counter passed_fragment, One;
        /// Passed: neither port is governed.
        counter passed_port, One;
        /// Passed: a connection that the worker does not follow, because it has not seen it begin, or leaves it alone.
        counter passed_not_followed, One;
        /// Passed: headers cut short or contradictory.
        counter passed_malformed, One;
        /// Passed: longer than the interface's MTU allows, so a segment for offload (GSO, GRO, LRO).
        /// Not zero means that an offload keeps flows from being governed.
        counter passed_too_long, One;
        /// Passed: for the box itself, or for everybody.
        counter passed_local, One;
        /// Passed: arrived on a queue that no driver serves.
        counter passed_no_socket, One;
        /// Passed: the worker has not read for a while (it is stopped, starved, or stuck).
        counter passed_unread, One;
        /// Passed: a SYN beyond the rate at which the box takes new connections in.
        counter passed_syn_rate, One;
    }
}

/// The loaded program. Dropping it detaches it, and the bridge forwards everything.
#[derive(Debug)]
pub(crate) struct Program {
    /// Of the inside and the outside.
    links: Vec<Link>,
    ebpf: Ebpf,
}

impl Program {
    /// Loads the program, set to pass everything, with room for so many connections.
    pub(crate) fn load(flows: u32) -> io::Result<Program> {
        let mut loader = EbpfLoader::new();
        let loader = loader.map_max_entries("followed", flows.max(1));
        let mut ebpf = loader.load(OBJECT).map_err(io::Error::other)?;
        for side in [Side::Inside, Side::Outside] {
            xdp(&mut ebpf, side)?.load().map_err(io::Error::other)?;
        }
        Ok(Program {
            links: Vec::new(),
            ebpf,
        })
    }

    /// Attaches the side's program by a link that ends with the process.
    pub(crate) fn attach(&mut self, side: Side, interface: u32, by: RunBy) -> io::Result<()> {
        let program = xdp(&mut self.ebpf, side)?.fd().map_err(io::Error::other)?;
        self.links
            .push(Link::attach(program.as_fd(), interface, by)?);
        Ok(())
    }

    /// Takes the links of another process over. Its program stays attached until [`Program::take_place`].
    pub(crate) fn inherit(&mut self, links: [OwnedFd; 2]) {
        self.links = links.map(Link::inherited).into();
    }

    /// Puts this program in the place of the one that is attached, on both sides.
    pub(crate) fn take_place(&mut self) -> io::Result<()> {
        for (side, link) in [Side::Inside, Side::Outside].into_iter().zip(&self.links) {
            let program = xdp(&mut self.ebpf, side)?.fd().map_err(io::Error::other)?;
            link.put(program.as_fd())?;
        }
        Ok(())
    }

    /// The links, for another process.
    pub(crate) fn share_links(&self) -> io::Result<Vec<OwnedFd>> {
        self.links.iter().map(Link::share).collect()
    }

    /// Frames to these MAC addresses belong to the box.
    pub(crate) fn set_local_macs(&mut self, macs: &[[u8; 6]]) -> io::Result<()> {
        let mut map: HashMap<_, u64, u8> =
            HashMap::try_from(self.map("local_macs")?).map_err(io::Error::other)?;
        for mac in macs {
            let mut key = [0; 8];
            key[..6].copy_from_slice(mac);
            map.insert(u64::from_ne_bytes(key), 1, 0)
                .map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// What is taken; `max_frame` is the longest frame, bytes.
    pub(crate) fn configure(&mut self, config: &DriverConfig, max_frame: u32) -> io::Result<()> {
        let mut ports: HashMap<_, u16, u8> =
            HashMap::try_from(self.map("ports")?).map_err(io::Error::other)?;
        for port in &config.ports {
            ports.insert(port, 1, 0).map_err(io::Error::other)?;
        }
        let follows = config.follows.unwrap_or_default();
        let mut switches = self.switches()?;
        switches.set(Control::AllPorts, u32::from(config.ports.is_empty()))?;
        switches.set(Control::PatienceMs, config.patience_ms)?;
        switches.set(Control::AllFlows, u32::from(config.follows.is_none()))?;
        let of_prefix = follows.syns_per_second_per_prefix;
        switches.set(Control::PrefixSynNs, ns_each(of_prefix))?;
        switches.set(Control::Seed, config.seed)?;
        switches.set(Control::StrangerNs, ns_each(follows.strangers_per_second))?;
        switches.set(Control::MaxFrame, max_frame)
    }

    /// The pulse of a queue's worker.
    pub(crate) fn pulse(&self, queue: u32) -> io::Result<Pulse> {
        let map = self.same_map("pulses")?;
        Pulse::new(map.fd().as_fd(), queue)
    }

    /// Has packets of this side's queue taken into this socket.
    pub(crate) fn set_socket(
        &mut self,
        side: Side,
        queue: u32,
        socket: impl AsRawFd,
    ) -> io::Result<()> {
        let mut map = XskMap::try_from(self.map("xsks")?).map_err(io::Error::other)?;
        let index = side.index() as u32 * QUEUES_PER_SIDE + queue;
        map.set(index, socket, 0).map_err(io::Error::other)
    }

    /// A handle of its own for whoever may change what is taken.
    pub(crate) fn switches(&self) -> io::Result<Switches> {
        let map = |name| self.same_map(name);
        Switches::new(
            map("control")?,
            map("syns_of_socket")?,
            map("followed")?,
            map("bounded")?,
        )
    }

    /// Sums over all CPUs.
    pub(crate) fn counters(&self) -> io::Result<XdpCounters> {
        let map = self.ebpf.map("counters").ok_or_else(missing)?;
        let map: PerCpuArray<_, u64> = PerCpuArray::try_from(map).map_err(io::Error::other)?;
        let sum = |index: u32| -> Result<u64, MapError> { Ok(map.get(&index, 0)?.iter().sum()) };
        let mut indices = 0..;
        let next = || sum(indices.next().unwrap_or(u32::MAX));
        XdpCounters::read(next).map_err(io::Error::other)
    }

    fn map(&mut self, name: &str) -> io::Result<&mut Map> {
        self.ebpf.map_mut(name).ok_or_else(missing)
    }

    fn same_map(&self, name: &str) -> io::Result<MapData> {
        let map = self.ebpf.map(name).ok_or_else(missing)?;
        let (Map::Array(data) | Map::HashMap(data) | Map::LpmTrie(data)) = map else {
            return Err(missing());
        };
        let fd = data.fd().as_fd().try_clone_to_owned()?;
        MapData::from_fd(fd).map_err(io::Error::other)
    }
}

fn xdp(ebpf: &mut Ebpf, side: Side) -> io::Result<&mut Xdp> {
    let name = match side {
        Side::Inside => "windlass_inside",
        Side::Outside => "windlass_outside",
    };
    let program = ebpf.program_mut(name).ok_or_else(missing)?;
    program.try_into().map_err(io::Error::other)
}

fn missing() -> io::Error {
    io::Error::other("the XDP program lacks a map or a program")
}

#[cfg(test)]
mod agreement;
#[cfg(test)]
mod source;
