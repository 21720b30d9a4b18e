//! Drives an algorithm of `windlass-cc` from what a QUIC stack tells of its packets.
//!
//! QUIC stacks tell a congestion controller when a packet leaves, when one is acknowledged and when
//! one is taken for lost. The algorithms want more: recovery episodes (RFC 9002 §7.3.2), delivery
//! rates, whether the window was the limit, the state of the path. [`QuicController`] keeps that
//! between the two, so that an adapter to a stack only translates calls. Like the algorithms, it
//! reads no clock and allocates nothing per packet.
//!
//! What it makes of RFC 9002:
//! * A recovery period begins with the first loss or CE mark of a packet that was sent after the
//!   last one began, and ends when a packet sent in it is acknowledged. Until the next packet or
//!   ACK, the window is what is in flight and one datagram: the fast retransmission of §7.3.2.
//! * Persistent congestion (§7.6) is what a retransmission timeout is to TCP.
//! * No window is smaller than two datagrams (§7.2, `kMinimumWindow`), or than the receiver
//!   acknowledges without waiting (`floor.rs`).
//! * The RTT samples that algorithms see are without the delay that the receiver added (§5.3).
//! * Algorithms that ask for no rate are paced at 5/4 of a window per smoothed RTT (§7.7), twice
//!   that of a window in slow start.
//!
//! QUIC never tells that a loss was spurious, so the algorithms' way back from one is not used.
#![forbid(unsafe_code)]

mod controller;
mod floor;
mod pacer;
mod recovery;
mod report;

pub use controller::{QuicController, Rtt, Sent};
pub use report::Report;
