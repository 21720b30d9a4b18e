//! What a worker needs of whatever moves its packets.

use std::io;
use std::os::fd::OwnedFd;

use serde::{Deserialize, Serialize};
use windlass_engine::{Bounds, Pkt, Pool, Room, Senders, Side, Tx};
use windlass_metric::totals;
use windlass_wire::FlowKey;

use crate::xdp::FILL_FRAMES_MAX;

/// Two ports and the packet memory between them, for one worker.
pub trait Driver: Pool {
    /// Appends up to `max` packets received on `side` to `into`; each carries one reference.
    /// Returns how many. Never blocks.
    fn receive(&mut self, side: Side, max: usize, into: &mut Vec<Pkt>) -> io::Result<usize>;
    /// Transmits all of `out` and leaves it empty. What the ring cannot take now stays queued
    /// inside, in order, while there are frames for it; the rest is dropped and counted.
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
    /// The connections ([`Driver::follow`]) of the packets forwarded since there were `before` of them; `None` if not
    /// all of them are known.
    fn missed_since(&self, before: u64) -> Option<Vec<u32>>;
    /// Counters since the driver was opened.
    fn stats(&self) -> DriverStats;
    /// From now on packets of this connection come here, in both directions, and `number` names it in
    /// [`Driver::missed_since`]. `None`: the kernel forwards them, and only a SYN of that name comes. What the kernel refuses is counted ([`DriverStats::not_followed`]). No
    /// effect where [`DriverConfig::follows`] is `None`, and on drivers that stand instead of a bridge.
    fn follow(&mut self, key: &FlowKey, number: Option<u32>);
    /// That of [`Driver::follow`] still holds for this connection: while [`Driver::set_bypass`] was on, neither a SYN nor a
    /// reset of it went by.
    fn follows(&self, _key: &FlowKey) -> bool {
        true
    }
    /// From now on packets of these senders come here too that belong to no followed connection, and of no others: what the
    /// bounds name, of all of them. Those that the kernel has no room
    /// for are counted ([`FrameStats::not_bounded`]): theirs go by. No effect on drivers that stand instead of a bridge.
    fn bound(&mut self, _senders: &[(Senders, Bounds)]) {}
    /// A flood is on: a tenth of [`Follows::syns_per_second`] is taken; or it is over. No effect on drivers that
    /// stand instead of a bridge.
    fn limit_syns(&mut self, flood: bool);
    /// True: the kernel forwards everything. Concerns all drivers of the session at once. No effect
    /// on drivers that stand instead of a bridge.
    fn set_bypass(&mut self, on: bool) -> io::Result<()>;
    /// Descriptors by which another process can take this driver over ([`crate::handover`]).
    ///
    /// # Errors
    /// The kernel's, or `Unsupported`.
    fn share(&self) -> io::Result<Vec<OwnedFd>>;
    /// What another process has to know beside them. From here on it must not be used, but for [`Driver::beat`], unless the
    /// other does not take it over.
    ///
    /// # Errors
    /// The kernel's, or `Unsupported`.
    fn export(&mut self) -> io::Result<Vec<u8>>;
}

/// What the frames of one driver are for: the parts add up to all of them, whatever their number is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shares {
    /// Kept ready for reception, of each side. What is held cannot use these up, so acknowledgements always find some.
    pub(crate) fill: u32,
    /// Kept for packets that are made here.
    pub(crate) reserve: u32,
    /// For packets that are passed on and not held.
    pub(crate) transit: u32,
    /// May be held for repair.
    pub(crate) hold: u32,
}

impl Shares {
    /// Those of so many frames, where a ring takes `fill_max` for reception.
    pub(crate) fn of(frames: u32, fill_max: u32) -> Shares {
        let fill = (frames / 8).min(fill_max);
        let (reserve, transit) = (frames / 16, frames / 8);
        Shares {
            fill,
            reserve,
            transit,
            hold: frames - 2 * fill - reserve - transit,
        }
    }

    /// The most that may be in packets, held and passing.
    pub(crate) fn live_max(&self) -> u32 {
        self.hold + self.transit
    }

    /// Whether more may be held when so many frames are in packets.
    pub(crate) fn room(&self, live: u32) -> Room {
        match live {
            live if live >= self.hold => Room::None,
            live if live >= self.hold / 4 * 3 => Room::Little,
            _ => Room::Enough,
        }
    }
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
    /// Of which connections packets are taken; `None`: of all.
    pub follows: Option<Follows>,
    /// A number that nobody outside should know: prefixes are told apart by a hash with it.
    pub seed: u32,
    /// Which kind of driver.
    pub prefer: Prefer,
}

impl DriverConfig {
    /// Frames that may hold packets for repair, per driver.
    pub fn hold_frames(&self) -> u32 {
        Shares::of(self.frames, FILL_FRAMES_MAX).hold
    }
}

/// Packets are taken of connections that [`Driver::follow`] names, and SYNs that may begin another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Follows {
    /// Room for so many connections, of all drivers together.
    pub flows: u32,
    /// SYNs of unknown connections that each driver takes from each side, a second; a quarter of them may come at
    /// once. The kernel forwards the others, and their connections. 0: any number.
    pub syns_per_second: u32,
    /// Of these, from one prefix (/24 of IPv4, /48 of IPv6).
    pub syns_per_second_per_prefix: u32,
    /// Packets of unknown connections in mid-flow that each driver takes from each side, a second. 0: none.
    pub strangers_per_second: u32,
}

/// How packets are obtained.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Mode {
    /// AF_XDP, the program run by the network driver.
    Native,
    /// AF_XDP, the program run by the network stack (on at least one of the interfaces).
    Generic,
    /// AF_PACKET.
    Packet,
}

/// What was obtained.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
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

totals! {
    /// Counters of one side.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct SideStats {
        /// Packets received.
        counter rx_packets, One;
        /// Bytes received.
        counter rx_bytes, Bytes;
        /// Packets given to the kernel.
        counter tx_packets, One;
        /// Bytes given to the kernel.
        counter tx_bytes, Bytes;
        /// Packets dropped because the backlog was full, memory was out, or the kernel refused them.
        counter tx_dropped, One;
        /// Packets that the kernel could not hand over (ring full, no frame, too long).
        counter rx_dropped, One;
    }
}

totals! {
    /// What a driver does with its frames.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct FrameStats {
        /// Times that reception stood still because only the reserve of free frames was left.
        counter rx_starved, One;
        /// Connections that the kernel had no room to take packets of: they pass ungoverned.
        counter not_followed, One;
        /// Times that the kernel had no room for the prefixes of tenants whose packets without a flow are limited: they pass.
        counter not_bounded, One;
        /// Frames nobody uses.
        gauge frames_free, One;
        /// Frames of live packets: held by the engine or being transmitted.
        gauge frames_held, One;
        /// Packets in the backlog and in the transmit rings.
        gauge tx_queued, One;
    }
}

/// Figures of a driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DriverStats {
    /// Per side, by [`Side::index`].
    pub sides: [SideStats; 2],
    /// Of its frames.
    pub frames: FrameStats,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_add_up_whatever_the_number_of_frames_is() {
        for frames in (64..100_000).chain([1 << 20, 1 << 24]) {
            let shares = Shares::of(frames, 8192);
            let sum = shares.live_max() + 2 * shares.fill + shares.reserve;
            assert_eq!(sum, frames);
            assert!(shares.fill >= 8 && shares.reserve >= 4, "{shares:?}");
            assert!(shares.hold >= frames / 2, "{shares:?}");
            assert_eq!(shares.room(shares.hold), Room::None);
            assert_eq!(shares.room(shares.hold - 1), Room::Little);
            assert_eq!(shares.room(0), Room::Enough);
        }
    }
}
