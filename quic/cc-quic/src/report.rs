//! What can be seen of a controller at work.

use windlass_cc::{ByteRate, Nanos, Phase};

/// The state of a connection's congestion control after an event. Bytes and nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// When.
    pub at: Nanos,
    /// What may be in flight.
    pub window: u64,
    /// Slow-start threshold, `u64::MAX` while unknown.
    pub ssthresh: u64,
    /// What is in flight.
    pub inflight: u64,
    /// Rate at which packets leave; `None`: as fast as the window lets them.
    pub pacing_rate: Option<ByteRate>,
    /// Smoothed RTT, 0 before the first sample.
    pub srtt: Nanos,
    /// Newest RTT, 0 before the first sample.
    pub latest_rtt: Nanos,
    /// Smallest RTT, `Nanos::MAX` before the first sample.
    pub min_rtt: Nanos,
    /// Newest delivery-rate sample, 0 before the first.
    pub delivery_rate: ByteRate,
    /// Delivered since the connection began.
    pub delivered: u64,
    /// Lost since the connection began.
    pub lost: u64,
    /// Reported as CE-marked since the connection began, in full datagrams.
    pub marked: u64,
    /// Where the algorithm is.
    pub phase: Phase,
    /// A recovery period is open.
    pub in_recovery: bool,
}
