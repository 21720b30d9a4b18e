//! One ACK while it is taken in.

use crate::{ByteRate, Nanos, Newest, RateSample, RateSnapshot};

/// What one ACK, or one timer that has noticed losses, has brought about so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    pub(super) at: Nanos,
    pub(super) before: u64,
    pub(super) acked: u64,
    pub(super) delivered: u64,
    pub(super) lost: u64,
    pub(super) lost_ranges: u32,
    pub(super) rtt: Option<Nanos>,
    rtt_of: Nanos,
    pub(super) newest: Newest,
    pub(super) rate: Option<RateSample>,
    pub(super) marked: u64,
}

/// A packet that has reached the receiver.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// Its payload.
    pub bytes: u64,
    /// When it was sent last.
    pub sent_at: Nanos,
    /// Its end, or its number: of packets sent at one time the one with the highest is the newest.
    pub position: u64,
    /// What [`super::Host::sent`] gave; `None`: nothing is known of how it was sent.
    pub snapshot: Option<RateSnapshot>,
}

/// How the sender stands after an ACK.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// Bytes in flight that the algorithm is told.
    pub inflight: u64,
    /// The window was what held it back in the last round.
    pub cwnd_limited: bool,
    /// A recovery episode is open, and this ACK does not end it.
    pub in_recovery: bool,
}

impl Ack {
    /// An ACK that came at `at`, ns, when `before` bytes were in flight.
    pub fn new(at: Nanos, before: u64) -> Ack {
        Ack {
            at,
            before,
            ..Ack::default()
        }
    }

    /// The cumulative ACK has advanced by so many bytes.
    pub fn set_acked(&mut self, bytes: u64) {
        self.acked = bytes;
    }

    /// So many bytes were reported as CE-marked.
    pub fn set_marked(&mut self, bytes: u64) {
        self.marked = bytes;
    }

    /// Takes in what was noticed to be lost before the ACK came.
    pub fn add_noticed(&mut self, lost: u64, ranges: u32) {
        self.lost += lost;
        self.lost_ranges += ranges;
    }

    /// It delivers a packet that was sent exactly once, at `sent_at`: the newest of them gives the RTT.
    #[inline]
    pub fn offer_rtt(&mut self, sent_at: Nanos) {
        if sent_at >= self.rtt_of {
            self.rtt_of = sent_at;
            self.rtt = Some(self.at.saturating_sub(sent_at));
        }
    }

    /// Sets the RTT sample, or takes it away.
    pub fn set_rtt(&mut self, rtt: Option<Nanos>) {
        self.rtt = rtt;
    }

    /// When it came.
    pub fn at(&self) -> Nanos {
        self.at
    }

    /// Bytes in flight before it.
    pub fn before(&self) -> u64 {
        self.before
    }

    /// Bytes by which the cumulative ACK advanced.
    pub fn acked(&self) -> u64 {
        self.acked
    }

    /// Bytes newly delivered.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Bytes newly lost.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// RTT of the newest packet that was sent once only.
    pub fn rtt(&self) -> Option<Nanos> {
        self.rtt
    }

    /// The rate sample, once it has been measured.
    pub fn rate(&self) -> Option<RateSample> {
        self.rate
    }

    /// Bytes per second of the rate sample.
    pub fn delivery_rate(&self) -> Option<ByteRate> {
        self.rate.map(|sample| sample.rate)
    }
}
