//! Drives an algorithm of `windlass-cc` from the events of a QUIC stack.
//!
//! QUIC stacks report when a packet leaves, is acknowledged, or is taken for lost. The algorithms need more: recovery
//! periods, delivery rates, whether the window was the limit, the state of the path. [`QuicController`] adds these, so an
//! adapter to a stack only translates calls. It reads no clock and allocates nothing per packet.
//!
//! How it applies RFC 9002:
//! * §7.3.2: a recovery period begins with the first loss or CE mark of a packet that was sent after the last period began.
//!   It ends when a packet sent in it is acknowledged. Until the next packet or ACK, the window is the data in flight and
//!   one datagram (fast retransmission).
//! * §7.6: persistent congestion takes the place of TCP's retransmission timeout.
//! * §7.2: no window is smaller than two datagrams (`kMinimumWindow`), or than the receiver acknowledges without waiting
//!   (`floor.rs`).
//! * §5.3: RTT samples do not contain the delay that the receiver added.
//! * §7.7: algorithms without a rate are paced at 5/4 of a window per smoothed RTT, and at twice a window in slow start.
//!
//! QUIC does not report that a loss was spurious, so the algorithms never undo a reduction.
#![forbid(unsafe_code)]

mod controller;
mod floor;
mod pacer;
mod recovery;
mod report;

pub use controller::{QuicController, Rtt, Sent};
pub use report::Report;
