//! What an algorithm is told, and what it answers.

use serde::{Deserialize, Serialize};

use crate::{ByteRate, Nanos};

/// A delivery-rate sample, as draft-ietf-ccwg-bbr (§"Delivery Rate Samples") takes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateSample {
    /// Bytes delivered over `interval`.
    pub delivered: u64,
    /// The longer of the send and the ACK interval, ns.
    pub interval: Nanos,
    /// `delivered / interval`, bytes per second.
    pub rate: ByteRate,
    /// Total bytes delivered when the newest packet of the sample was sent (`P.delivered`).
    pub prior_delivered: u64,
    /// Bytes in flight when that packet was sent, itself included.
    pub tx_in_flight: u64,
    /// Bytes marked lost between the sending of that packet and now.
    pub lost: u64,
    /// The packet was sent while the sender, not the network, was the limit.
    pub app_limited: bool,
}

/// One ACK, after the scoreboard has taken it in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckEvent {
    /// Arrival time of the ACK.
    pub now: Nanos,
    /// Bytes by which the cumulative ACK advanced.
    pub acked: u64,
    /// Bytes newly known to be delivered: cumulatively or selectively, each counted once.
    pub delivered: u64,
    /// Bytes newly marked lost while this ACK was processed.
    pub lost: u64,
    /// Bytes in flight before this ACK.
    pub inflight_before: u64,
    /// Bytes in flight after it (retransmissions not yet sent are not in flight).
    pub inflight: u64,
    /// RTT of the newest never-retransmitted packet that this ACK delivers.
    pub rtt: Option<Nanos>,
    /// Delivery rate, if a valid sample could be taken.
    pub rate: Option<RateSample>,
    /// Bytes newly reported as CE-marked.
    pub ce_bytes: u64,
    /// The window was what held the sender back during the last round
    /// (Linux `tcp_is_cwnd_limited`).
    pub cwnd_limited: bool,
    /// A recovery episode is open, and this ACK does not end it.
    pub in_recovery: bool,
    /// Discontiguous ranges newly marked lost while this ACK was processed.
    pub lost_ranges: u32,
}

/// Data leaving for the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendEvent {
    /// When.
    pub now: Nanos,
    /// How much.
    pub bytes: u64,
    /// Bytes in flight with it.
    pub inflight: u64,
    /// It has been sent before.
    pub retransmission: bool,
    /// The sender is the limit, not the network.
    pub app_limited: bool,
}

/// Why a congestion event was raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A packet was lost.
    Loss,
    /// The receiver reported a CE mark.
    Ecn,
}

/// The first signal of congestion in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CongestionEvent {
    /// When it was noticed.
    pub now: Nanos,
    /// By what.
    pub signal: Signal,
    /// Bytes in flight before the loss was taken out.
    pub inflight_before: u64,
    /// Bytes marked lost.
    pub lost: u64,
}

/// The phase of an algorithm's life, for people and for the box's own start-up measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// Exponential growth of a window.
    SlowStart,
    /// HyStart++ conservative slow start (RFC 9406).
    ConservativeSlowStart,
    /// Window growth by the algorithm's own law.
    Avoidance,
    /// BBR: looking for the bandwidth.
    Startup,
    /// BBR: emptying the queue that Startup made.
    Drain,
    /// BBR v1: cycling pacing gains.
    ProbeBw,
    /// BBR v3: ProbeBW_DOWN.
    ProbeBwDown,
    /// BBR v3: ProbeBW_CRUISE.
    ProbeBwCruise,
    /// BBR v3: ProbeBW_REFILL.
    ProbeBwRefill,
    /// BBR v3: ProbeBW_UP.
    ProbeBwUp,
    /// BBR: measuring the round-trip time with a small window.
    ProbeRtt,
}

impl Phase {
    /// As it stands in JSON and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Phase::SlowStart => "slow_start",
            Phase::ConservativeSlowStart => "conservative_slow_start",
            Phase::Avoidance => "avoidance",
            Phase::Startup => "startup",
            Phase::Drain => "drain",
            Phase::ProbeBw => "probe_bw",
            Phase::ProbeBwDown => "probe_bw_down",
            Phase::ProbeBwCruise => "probe_bw_cruise",
            Phase::ProbeBwRefill => "probe_bw_refill",
            Phase::ProbeBwUp => "probe_bw_up",
            Phase::ProbeRtt => "probe_rtt",
        }
    }
}

/// What an algorithm wants now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Control {
    /// Bytes that may be in flight.
    pub cwnd: u64,
    /// Slow-start threshold, `u64::MAX` while unknown. PRR's target.
    pub ssthresh: u64,
    /// Bytes per second at which they may leave; `None`: no pacing asked for.
    pub pacing_rate: Option<ByteRate>,
    /// Where the algorithm is.
    pub phase: Phase,
}
