//! What a worker needs of whatever moves its packets.

use std::io;

use windlass_engine::{Pkt, Pool, Side, Tx};
use windlass_wire::FlowKey;

/// Two ports and the packet memory between them, for one worker.
pub trait Driver: Pool {
    /// Appends up to `max` packets received on `side` to `into`; each carries one reference.
    /// Returns how many. Never blocks.
    fn receive(&mut self, side: Side, max: usize, into: &mut Vec<Pkt>) -> io::Result<usize>;
    /// Transmits all of `out` and leaves it empty. What the ring cannot take now stays queued
    /// inside, in order, up to a quarter of the frames a side; the rest is dropped and counted.
    fn transmit(&mut self, out: &mut Vec<Tx>) -> io::Result<()>;
    /// Sleeps until a packet has come, or for `timeout_ns` (`None`: as long as it takes). May
    /// return early, and does when packets are still waiting to be transmitted.
    fn wait(&mut self, timeout_ns: Option<u64>) -> io::Result<()>;
    /// Whoever calls has taken what there was: the kernel goes on leaving packets here. If this is not
    /// said for longer than `patience_ms` while packets come, it forwards them.
    fn beat(&mut self);
    /// Packets that the kernel has forwarded so far because that was not said. Always 0 for drivers that
    /// stand instead of a bridge.
    fn missed(&self) -> u64;
    /// Counters since the driver was opened.
    fn stats(&self) -> DriverStats;
    /// From now on the kernel forwards both directions of this connection; its packets are not
    /// received any more. No effect on drivers that stand instead of a bridge.
    fn exclude(&mut self, key: &FlowKey) -> io::Result<()>;
    /// True: the kernel forwards everything. Concerns all drivers of the session at once. No effect
    /// on drivers that stand instead of a bridge.
    fn set_bypass(&mut self, on: bool) -> io::Result<()>;
}

/// Packets per side that wait inside a driver for room in the transmit ring: what flows that are let
/// go of have queued leaves at once, and none of it should be lost. Half of the frames are left for
/// reception while nothing can be sent.
pub(crate) fn tx_backlog_packets(frames: u32) -> usize {
    (frames / 4).max(1) as usize
}

/// Which kind of driver to open.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Prefer {
    /// AF_XDP: native mode, else generic mode. Never AF_PACKET, which is not fail-open.
    #[default]
    Auto,
    /// AF_XDP in native mode or not at all.
    Native,
    /// AF_XDP in generic (skb) mode or not at all.
    Generic,
    /// AF_PACKET. Not fail-open: when the process ends, the wire is cut.
    Packet,
}

/// What to open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DriverConfig {
    /// Interface towards the governed senders.
    pub inside: String,
    /// Interface towards the network.
    pub outside: String,
    /// First receive queue to serve, normally 0; it and those after it get one driver each.
    pub queue: u32,
    /// Packet frames per driver. Bounds what can be held for retransmission.
    pub frames: u32,
    /// Bytes per frame: 2048 or 4096.
    pub frame_size: u32,
    /// Governed server ports; empty: all TCP.
    pub ports: Vec<u16>,
    /// The kernel forwards packets itself while a worker has not taken any for so long, ms; 0: never.
    pub patience_ms: u32,
    /// Which kind of driver.
    pub prefer: Prefer,
}

/// How packets are obtained.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// AF_XDP, the program run by the network driver.
    Native,
    /// AF_XDP, the program run by the network stack (on at least one of the interfaces).
    Generic,
    /// AF_PACKET.
    Packet,
}

/// What was obtained.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DriverInfo {
    /// How packets are obtained.
    pub mode: Mode,
    /// The network card reads and writes the frames itself.
    pub zero_copy: bool,
    /// Queues served, one driver each.
    pub queues: u32,
    /// Partial checksums are completed by the kernel or the card (tx metadata), not by the driver.
    pub tx_checksum: bool,
    /// Packets longer than one frame are possible (jumbo frames).
    pub multi_buffer: bool,
    /// Packets the kernel transmits per call (`XDP_MAX_TX_SKB_BUDGET`, else Linux's 32).
    pub tx_budget: u32,
    /// Packets may come with partial checksums, by side: from a virtual machine or a namespace of this
    /// host, and from no wire.
    pub partial_checksums: [bool; 2],
    /// When the process dies, the kernel goes on forwarding.
    pub fail_open: bool,
    /// Longest packet taken from the interfaces, bytes, Ethernet header included.
    pub max_packet: u32,
}

/// Counters of one side.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SideStats {
    /// Packets received.
    pub rx_packets: u64,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Packets given to the kernel.
    pub tx_packets: u64,
    /// Bytes given to the kernel.
    pub tx_bytes: u64,
    /// Packets dropped because the backlog was full, memory was out, or the kernel refused them.
    pub tx_dropped: u64,
    /// Packets that the kernel could not hand over (ring full, no frame, too long).
    pub rx_dropped: u64,
}

/// Counters of a driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DriverStats {
    /// Per side, by [`Side::index`].
    pub sides: [SideStats; 2],
    /// Times that reception stood still because only the reserve of free frames was left.
    pub rx_starved: u64,
    /// Frames nobody uses.
    pub frames_free: u32,
    /// Frames of live packets: held by the engine or being transmitted.
    pub frames_held: u32,
    /// Packets in the backlog and in the transmit rings.
    pub tx_queued: u32,
}
