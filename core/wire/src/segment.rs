//! A validated TCP segment: everything the engine wants to know of a frame, read once.

use serde::{Deserialize, Serialize};

use crate::FlowKey;

/// TCP flags (RFC 9293 §3.1; AE: RFC 9768).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug, Serialize, Deserialize)]
pub struct Flags(pub u16);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Flags = Flags(0x001);
    /// Synchronise sequence numbers.
    pub const SYN: Flags = Flags(0x002);
    /// Reset.
    pub const RST: Flags = Flags(0x004);
    /// Push.
    pub const PSH: Flags = Flags(0x008);
    /// The acknowledgement field is valid.
    pub const ACK: Flags = Flags(0x010);
    /// Urgent.
    pub const URG: Flags = Flags(0x020);
    /// ECN echo (RFC 3168).
    pub const ECE: Flags = Flags(0x040);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Flags = Flags(0x080);
    /// Accurate ECN (RFC 9768; formerly NS).
    pub const AE: Flags = Flags(0x100);

    /// True if all of `other`'s bits are set.
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets.
    pub fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// This set without `other`.
    pub fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }
}

/// The ECN field of the IP header (RFC 3168 §5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECT(1), used by L4S (RFC 9331).
    Ect1,
    /// ECT(0).
    Ect0,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// The code point in the two low bits.
    #[inline]
    pub(crate) fn from_bits(bits: u8) -> Ecn {
        match bits & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// The code point.
    #[inline]
    pub(crate) fn bits(self) -> u8 {
        match self {
            Ecn::NotEct => 0,
            Ecn::Ect1 => 1,
            Ecn::Ect0 => 2,
            Ecn::Ce => 3,
        }
    }
}

/// The timestamps option (RFC 7323 §3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Timestamps {
    /// TSval.
    pub val: u32,
    /// TSecr.
    pub ecr: u32,
}

/// SACK blocks (RFC 2018 §3), in the order of the option. Left edge included, right edge not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackBlocks {
    /// Blocks in use.
    pub count: u8,
    /// The blocks.
    pub blocks: [(u32, u32); 4],
}

impl SackBlocks {
    /// The blocks that are there.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.blocks[..usize::from(self.count.min(4))]
            .iter()
            .copied()
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// The options of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpOptions {
    /// Maximum segment size, kind 2.
    pub mss: Option<u16>,
    /// Window scale shift count, kind 3, as sent (RFC 7323 §2.3 caps it at 14).
    pub window_scale: Option<u8>,
    /// SACK permitted, kind 4.
    pub sack_permitted: bool,
    /// SACK, kind 5.
    pub sack: SackBlocks,
    /// Timestamps, kind 8.
    pub timestamps: Option<Timestamps>,
    /// TCP Fast Open, kind 34, or its experimental form (kind 254/253, ExID 0xF989).
    pub fast_open: bool,
    /// Multipath TCP, kind 30.
    pub mptcp: bool,
    /// MD5 signature, kind 19.
    pub md5: bool,
    /// Authentication option, kind 29.
    pub ao: bool,
    /// Any other kind.
    pub unknown: bool,
}

/// Whether the TCP checksum field holds a sum over everything, or only over the pseudo-header, to
/// be completed by whoever transmits it last (Linux `CHECKSUM_PARTIAL`, handed over raw by veth and
/// virtio).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ChecksumState {
    /// A sum over pseudo-header, header and payload (valid or not).
    #[default]
    Full,
    /// The folded, uncomplemented sum of the pseudo-header.
    Partial,
}

/// Where the parts of a frame begin, bytes from its start. Valid for the frame it was read from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Layout {
    /// IP header.
    pub ip: u16,
    /// TCP header.
    pub tcp: u16,
    /// TCP payload.
    pub payload: u16,
    /// TSval of the timestamps option, 0 when there is none.
    pub timestamps: u16,
    /// The kind byte of the SACK option, 0 when there is none.
    pub sack: u16,
    /// The kind byte of the option of another box ([`crate::PeerOption`]), 0 when there is none.
    pub peer: u16,
    /// IPv6 rather than IPv4.
    pub v6: bool,
}

/// One TCP segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Its flow, source first.
    pub key: FlowKey,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number (meaningful with [`Flags::ACK`]).
    pub ack: u32,
    /// Flags.
    pub flags: Flags,
    /// Window field, unscaled.
    pub window: u16,
    /// Payload length by the IP header, bytes (up to 64 KiB: GSO and GRO segments are legal).
    pub payload_len: u32,
    /// ECN field of the IP header.
    pub ecn: Ecn,
    /// Options.
    pub options: TcpOptions,
    /// State of the checksum field.
    pub checksum: ChecksumState,
    /// Where things are.
    pub at: Layout,
}

impl Segment {
    /// Sequence space used: payload, SYN and FIN.
    pub fn seq_len(&self) -> u32 {
        self.payload_len
            + u32::from(self.flags.has(Flags::SYN))
            + u32::from(self.flags.has(Flags::FIN))
    }
}

/// Why a frame is not a [`Segment`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unparsed {
    /// Not IPv4 or IPv6.
    NotIp,
    /// IP, but not TCP.
    NotTcp,
    /// A fragment (IPv4, or an IPv6 fragment header, atomic fragments included).
    Fragment,
    /// Lengths or options contradict each other; says which.
    Malformed(&'static str),
}
