//! The congestion control of a sender: one trait, and the two kinds of what stands behind it.
//!
//! * `kernel`: Reno and CUBIC by the rules of Linux, independent of `windlass-cc` on purpose. This is the sender that a box
//!   meets, not the one it would like. TCP reduces its window, by PRR.
//! * `hosted`: an algorithm of `windlass-cc` in its own host. Window and rate are what it says, in recovery too.

mod algorithm;
mod hosted;
mod kernel;

use std::fmt::Debug;

use windlass_cc::{Nanos, RateSample, Signal};

pub use algorithm::ServerAlgorithm;
pub use kernel::{HystartCause, HystartExit};

use kernel::Kernel;

/// `ssthresh` before the first congestion.
pub const SSTHRESH_INFINITE: u32 = u32::MAX;

/// Window and threshold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// Congestion window, packets.
    pub cwnd: u32,
    /// Slow-start threshold, packets.
    pub ssthresh: u32,
}

impl Window {
    /// In slow start.
    pub(super) fn new(cwnd: u32) -> Window {
        Window {
            cwnd,
            ssthresh: SSTHRESH_INFINITE,
        }
    }

    /// The window is below the threshold.
    pub(super) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// What the sender has counted. Bytes are whole segments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub in_flight: u64,
    pub delivered: u64,
    pub marked_lost: u64,
    /// Runs of segments marked lost, so far.
    pub marked_ranges: u32,
}

/// What an ACK tells the algorithm about time.
#[derive(Clone, Copy, Debug)]
pub(super) struct RttEvent {
    /// Arrival.
    pub now: Nanos,
    /// RTT of the newest never-retransmitted packet that it delivers.
    pub rtt: Nanos,
    /// First unacknowledged offset after it.
    pub una: u64,
    /// End of what has been sent.
    pub nxt: u64,
    /// Smoothed RTT, ns.
    pub srtt: Nanos,
}

/// An ACK that has been taken in.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckTaken {
    pub now: Nanos,
    /// Bytes by which the cumulative ACK advanced, delivered, and reported as marked.
    pub acked: u64,
    pub delivered: u64,
    pub ce_bytes: u64,
    pub rtt: Option<Nanos>,
    pub rate: Option<RateSample>,
    pub cwnd_limited: bool,
    pub in_recovery: bool,
}

/// What a sender asks of its congestion control (Linux `struct tcp_congestion_ops`), and what it tells it.
pub(super) trait CongestionOps: Debug {
    /// It sets window and threshold by itself at all times (`cong_control`). If not, it only grows the window and says the
    /// threshold, and the sender does the rest.
    fn is_hosted(&self) -> bool {
        false
    }

    /// What it sets them to, in segments of `mss` bytes.
    fn window(&self, _mss: u32) -> Option<Window> {
        None
    }

    /// Bytes per second, if it paces.
    fn pacing_rate(&self) -> Option<u64> {
        None
    }

    /// How HyStart ended slow start.
    fn hystart_exit(&self) -> Option<HystartExit> {
        None
    }

    /// An RTT sample (`pkts_acked`).
    fn on_rtt(&mut self, _event: &RttEvent, _window: &mut Window) {}

    /// `packets` were delivered while the window was the limit (`cong_avoid`).
    fn on_acked(&mut self, _now: Nanos, _packets: u32, _window: &mut Window) {}

    /// The threshold for a reduction now (`ssthresh`).
    fn ssthresh(&mut self, window: &Window) -> u32 {
        window.ssthresh
    }

    /// Everything is taken for lost (`set_state`).
    fn on_loss_state(&mut self) {}

    /// Nothing was in flight for `idle`, and something is about to leave.
    fn on_restart(&mut self, _now: Nanos, _idle: Nanos, _app_limited: bool, _counts: &Counts) {}

    /// An ACK or a timer is about to change the scoreboard.
    fn note_before(&mut self, _counts: &Counts) {}

    /// Data left.
    fn on_sent(
        &mut self,
        _now: Nanos,
        _bytes: u64,
        _again: bool,
        _app_limited: bool,
        _counts: &Counts,
    ) {
    }

    /// A recovery begins, maybe with the very ACK that ended the one before.
    fn on_congestion(&mut self, _now: Nanos, _signal: Signal, _counts: &Counts) {}

    /// The retransmission timer has fired.
    fn on_timeout(&mut self, _now: Nanos, _counts: &Counts) {}

    /// Nothing had been lost.
    fn on_spurious(&mut self, _now: Nanos, _counts: &Counts) {}

    /// The recovery is over; what follows is the ACK that ends it.
    fn note_recovered(&mut self) {}

    /// The ACK has been taken in.
    fn on_ack(&mut self, _ack: &AckTaken, _counts: &Counts) {}
}

/// What a sender has until its handshake is over.
pub(super) fn until_established(algorithm: ServerAlgorithm) -> Box<dyn CongestionOps> {
    Box::new(Kernel::new(algorithm.law()))
}

/// What a sender has from then on. `mss`: bytes; `rtt`: of the handshake, 0 if unknown; `seed`: of the algorithm's chances.
pub(super) fn established(
    algorithm: ServerAlgorithm,
    mss: u32,
    rtt: Nanos,
    seed: u64,
) -> Option<Box<dyn CongestionOps>> {
    match algorithm {
        ServerAlgorithm::Native(settings) => {
            Some(Box::new(hosted::Hosted::new(settings, mss, rtt, seed)))
        }
        ServerAlgorithm::Reno | ServerAlgorithm::Cubic { .. } => None,
    }
}
