//! Every limit of the engine, and what happens when it is reached.

use windlass_cc::{MILLISECOND, Nanos, SECOND};

/// Limits of one engine (one worker). At each of them a flow degrades to being passed unchanged,
/// and a counter says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections tracked at once. Beyond it new connections pass ([`crate::PassReason::FlowLimit`]).
    pub flows: usize,
    /// Of these, begun by one prefix (/24 of IPv4, /48 of IPv6), with the same behaviour.
    pub flows_per_prefix: usize,
    /// Handshakes under way at once. Beyond it the oldest is forgotten, and passes.
    pub half_open: usize,
    /// Handshakes under way from one prefix (/24 of IPv4, /48 of IPv6). Beyond it new connections pass
    /// ([`crate::PassReason::HandshakeLimit`]).
    pub half_open_per_prefix: usize,
    /// Bytes held for repair per flow: the edge shown to the sender stays within it.
    pub held_bytes_per_flow: u64,
    /// Bytes held for repair in all. Beyond it packets are forwarded without being held; a loss
    /// among them hands the flow back to its sender.
    pub held_bytes_total: u64,
    /// Packets held for repair in all, with the same behaviour: small packets use up frames too.
    pub held_packets_total: u64,
    /// Of these, for connections that one prefix (/24 of IPv4, /48 of IPv6) has begun, with the same behaviour.
    pub held_packets_per_prefix: u64,
    /// Segments tracked per flow. Beyond it the flow passes ([`crate::PassReason::SegmentLimit`]).
    pub segments_per_flow: usize,
    /// Segments tracked in all, with their packets or without (about 130 bytes each), with the same
    /// behaviour.
    pub segments_total: u64,
    /// Disjoint SACK ranges remembered per flow. Further blocks are not taken in until holes close.
    pub sack_ranges_per_flow: usize,
    /// Connections in mid-flow that are watched at once, to govern them ([`crate::Engine::watch_strangers`]). Beyond it others
    /// pass unwatched.
    pub strangers: usize,
    /// One that is not understood for so long is not watched any more, ns.
    pub stranger_timeout: Nanos,
    /// An established connection without a packet for this long is forgotten, ns.
    pub idle_timeout: Nanos,
    /// A handshake that does not complete for this long is forgotten, ns.
    pub handshake_timeout: Nanos,
    /// A closed connection is remembered for this long, for its last retransmissions, ns.
    pub closed_linger: Nanos,
    /// After this long without a packet an idle flow gives its buffers back, ns.
    pub shrink_after: Nanos,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            flows: 1 << 20,
            flows_per_prefix: 1 << 19,
            half_open: 1 << 16,
            half_open_per_prefix: 1 << 13,
            held_bytes_per_flow: 256 << 20,
            held_bytes_total: 1 << 30,
            held_packets_total: 1 << 20,
            held_packets_per_prefix: 1 << 19,
            segments_per_flow: 1 << 18,
            segments_total: 1 << 21,
            sack_ranges_per_flow: 1024,
            strangers: 1024,
            stranger_timeout: 60 * SECOND,
            idle_timeout: 7200 * SECOND,
            handshake_timeout: 75 * SECOND,
            closed_linger: 10 * SECOND,
            shrink_after: 30 * SECOND,
        }
    }
}

/// The shortest retransmission time-out of the box, ns (Linux `TCP_RTO_MIN`, `net/tcp.h` 6.12).
pub(crate) const RTO_MIN: Nanos = 200 * MILLISECOND;
/// The time-out before there is an RTT sample, ns (RFC 6298 §2.1).
pub(crate) const RTO_INITIAL: Nanos = SECOND;
/// The longest time-out of the box, ns: beyond it the sender's own timer is in charge anyway.
pub(crate) const RTO_MAX: Nanos = 10 * SECOND;
