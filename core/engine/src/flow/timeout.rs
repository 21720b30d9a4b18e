//! How long the box waits for an answer before it takes it for lost.

use windlass_cc::{MILLISECOND, Nanos, SECOND, mul_div};

use super::Flow;
use super::scale::{least_timeout, scaled};
use crate::limits::{RTO_INITIAL, RTO_MAX, RTO_MIN};

/// RFC 8985 §7.2 step 1: what one segment in flight adds to the probe time-out, for the
/// receiver's delayed ACK. Linux receivers wait 40 ms at most, others 200.
const MAX_ACK_DELAY: Nanos = 50 * MILLISECOND;
/// What several add, ns; on short paths half a round trip.
const PROBE_SLACK: Nanos = 2 * MILLISECOND;
const PROBE_SIXTEENTHS: Nanos = 8;
/// No time-out is doubled more often: the shortest one has become [`RTO_MAX`] by then.
const DOUBLINGS_MAX: u32 = 14;

impl Flow {
    /// Retransmission time-out of the box (RFC 6298 §2), with Linux's minimum on long paths.
    pub(super) fn rto(&self) -> Nanos {
        (self.first_rto() << self.timers.backoff.min(DOUBLINGS_MAX)).min(RTO_MAX)
    }

    /// The same where nothing is gained by less patience: a receiver without room, a sender without data.
    pub(super) fn long_rto(&self) -> Nanos {
        self.rto().max(RTO_MIN)
    }

    pub(super) fn first_rto(&self) -> Nanos {
        match (self.host.path().srtt, self.handshake_rtt()) {
            (0, 0) => RTO_INITIAL,
            // The first sample's variation is half of it.
            (0, rtt) => rtt + (2 * rtt).max(self.rto_min()),
            (srtt, _) => srtt + (4 * self.host.path().rttvar).max(self.rto_min()),
        }
    }

    fn rto_min(&self) -> Nanos {
        match self.ack_may_be_delayed() {
            true => RTO_MIN,
            false => least_timeout(RTO_MIN, self.round_trip()) + self.gap_on_short_path(),
        }
    }

    /// The pause that pacing makes between two segments, ns. A receiver acknowledges two at once, so the answer to the first comes with
    /// that to the second. No sample has that time in it, since samples are of the newest. 0 on long paths: [`RTO_MIN`] covers it there.
    fn gap_on_short_path(&self) -> Nanos {
        let gap = |rate| mul_div(self.host.path().mss.into(), SECOND, rate);
        let rate = self.pacing.rate.get().filter(|_| self.has_short_queue());
        rate.map_or(0, gap)
    }

    /// How often a time-out in a row is a short one: shorter than [`RTO_MIN`].
    pub(super) fn short_timeouts(&self) -> u32 {
        let ratio = RTO_MIN / self.first_rto().max(1);
        ratio.checked_ilog2().unwrap_or(0)
    }

    /// What the answer to a tail may take longer than two round trips.
    pub(super) fn probe_slack(&self) -> Nanos {
        let single = self.board.inflight() <= u64::from(self.host.path().mss);
        match single && (!self.has_short_queue() || self.ack_may_be_delayed()) {
            true => MAX_ACK_DELAY,
            false => self.hurried_slack(),
        }
    }

    /// The same of a receiver that does not delay its answer.
    pub(super) fn hurried_slack(&self) -> Nanos {
        scaled(PROBE_SLACK, self.round_trip(), PROBE_SIXTEENTHS)
    }

    /// One segment is out, and none waits that would make the receiver acknowledge it.
    fn ack_may_be_delayed(&self) -> bool {
        let waits = self.board.queued() + self.board.lost_bytes();
        waits == 0 && self.board.inflight() <= u64::from(self.host.path().mss)
    }
}
