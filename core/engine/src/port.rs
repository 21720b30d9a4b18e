//! The boundary between the engine and whatever moves packets for it.

use serde::{Deserialize, Serialize};
use windlass_cc::Nanos;
use windlass_wire::{Segment, verify_ip, verify_tcp};

use crate::Why;

/// One of the two sides of the box.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Side {
    /// Where the governed senders usually are.
    Inside,
    /// The network.
    Outside,
}

impl Side {
    /// The other one.
    pub fn other(self) -> Side {
        match self {
            Side::Inside => Side::Outside,
            Side::Outside => Side::Inside,
        }
    }

    /// 0 or 1, for arrays.
    pub fn index(self) -> usize {
        self as usize
    }
}

/// A handle to a packet in a [`Pool`]. Whoever has one owns one reference to the packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Pkt(pub u32);

/// How much packet memory there is for what is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Room {
    /// Enough.
    Enough,
    /// Little: nothing is held that can be done without, and new connections pass.
    Little,
    /// None: what is left is needed to receive and to pass on.
    None,
}

/// Packet memory: frames of UMEM, a ring, or a heap in the simulator. Packets are counted
/// references; holding a packet for retransmission copies nothing.
///
/// A method given a handle that is not live may panic: the engine never does so.
pub trait Pool {
    /// The first contiguous part of the packet: the whole of it, or at least all headers.
    fn head(&self, pkt: Pkt) -> &[u8];
    /// The same, to be written. The packet may be waiting in a transmit ring: a change is seen or
    /// not seen by a transmission that is under way, and always by the next.
    fn head_mut(&mut self, pkt: Pkt) -> &mut [u8];
    /// Whether the TCP checksum of the packet, which has been read as `segment`, is right. A pool whose
    /// packets have several parts sums them all. A partial checksum is right: it has been on no wire.
    fn verify(&self, pkt: Pkt, segment: &Segment) -> bool {
        verify_tcp(self.head(pkt), segment)
    }
    /// Length of the whole packet, bytes.
    fn len(&self, pkt: Pkt) -> u32;
    /// A new packet of `len` zeroed bytes in one part; `None` when memory is out or `len` is more
    /// than one part can hold.
    fn alloc(&mut self, len: u32) -> Option<Pkt>;
    /// Changes the length of a packet of one part; false if it cannot be that long.
    fn resize(&mut self, pkt: Pkt, len: u32) -> bool;
    /// When the packet came, by the clock of `now`, if the driver knows better than that it is taken in `now`. Of what
    /// has been received, and not been changed in length since.
    fn arrived_at(&self, _pkt: Pkt, _now: Nanos) -> Option<Nanos> {
        None
    }
    /// Whether more packets may be held.
    fn room(&self) -> Room {
        Room::Enough
    }
    /// One more reference to the same bytes.
    fn share(&mut self, pkt: Pkt) -> Pkt;
    /// One reference less; the last one frees the packet.
    fn free(&mut self, pkt: Pkt);
}

/// Whether its receiver would find no damage in a packet: its IPv4 header and its TCP segment are right.
pub(crate) fn is_undamaged<P: Pool>(pool: &P, pkt: Pkt, segment: &Segment) -> bool {
    verify_ip(pool.head(pkt), segment) && pool.verify(pkt, segment)
}

/// What remains to be done about the TCP checksum of a packet on transmission.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum TxChecksum {
    /// Nothing.
    Done,
    /// Sum from byte `start` to the end and store at `start + offset`: the field holds the
    /// pseudo-header's sum (Linux `CHECKSUM_PARTIAL`).
    Partial {
        /// First byte to sum, from the start of the frame.
        start: u16,
        /// Where the checksum field is, from `start`.
        offset: u16,
    },
}

/// A packet to be transmitted. Carries one reference, which the transmitter frees.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Tx {
    /// The packet.
    pub pkt: Pkt,
    /// Which way.
    pub to: Side,
    /// Its checksum.
    pub checksum: TxChecksum,
    /// Why it leaves.
    pub why: Why,
}
