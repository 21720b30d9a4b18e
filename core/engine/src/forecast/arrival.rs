//! What the model's sender makes of an ACK: losses, recovery, the algorithm.

use windlass_cc::Signal;
use windlass_cc::host::{Ack, Delivery, Standing};

use super::model::{Model, Packet};

/// RFC 8985 §6.2 step 4: so many packets that were sent later speak for loss.
const REORDERING: u64 = 3;
/// A probe asks after so many round trips for what nothing else speaks for (RFC 8985 §7.2).
const PROBE_ROUND_TRIPS: u64 = 2;

impl Model {
    pub(super) fn acknowledge(&mut self) {
        let acked = self.flying.iter().position(|p| p.acked_at.is_some());
        let Some(packet) = acked.and_then(|at| self.flying.remove(at)) else {
            return;
        };
        let mss = self.mss();
        let mut ack = Ack::new(self.now, self.inflight);
        self.inflight -= mss;
        self.arrived += 1;
        self.holes -= u64::from(packet.again);
        if let Some(episode) = self.host.episode() {
            self.missing -= u64::from(packet.segment < episode.point);
        }
        if !packet.again {
            ack.offer_rtt(packet.sent_at);
        }
        let delivery = Delivery {
            bytes: mss,
            sent_at: packet.sent_at,
            position: packet.number,
            snapshot: Some(packet.snapshot),
        };
        self.host.delivered(&mut ack, &delivery);
        self.host.measure(&mut ack, self.now);
        self.notice_losses(&mut ack, packet.number);
        self.host.settle(self.inflight);
        self.begin_recovery(&ack, ack.lost());
        ack.set_acked(mss * u64::from(self.holes == 0));
        let standing = Standing {
            inflight: self.inflight,
            cwnd_limited: self.is_limited(packet.number),
            in_recovery: self.host.episode().is_some() && self.missing > 0,
        };
        self.host.finish_ack(self.now, &ack, &standing);
        self.end_recovery(&ack);
    }

    /// What is noticed to be lost now that transmission `newest` has arrived.
    fn notice_losses(&mut self, ack: &mut Ack, newest: u64) {
        let mut last = None;
        while let Some(front) = self.flying.front().copied() {
            if front.acked_at.is_some() || front.number + REORDERING > newest {
                break;
            }
            self.flying.pop_front();
            self.lose(ack, &front, last != Some(front.segment));
            last = Some(front.segment + 1);
        }
    }

    fn lose(&mut self, ack: &mut Ack, packet: &Packet, range: bool) {
        let mss = self.mss();
        self.holes += u64::from(!packet.again);
        self.inflight -= mss;
        self.host.lost(ack, mss, range);
        self.to_repair.push_back(packet.segment);
    }

    fn begin_recovery(&mut self, ack: &Ack, lost: u64) {
        if lost == 0 || self.host.episode().is_some() {
            return;
        }
        self.missing = self.next_segment - self.arrived;
        self.host.congested(
            self.now,
            Signal::Loss,
            self.next_segment,
            ack.before(),
            lost,
        );
    }

    /// What was lost of the data sent since the episode began opens the next (RFC 6675 §5).
    fn end_recovery(&mut self, ack: &Ack) {
        if self.missing == 0 && self.host.episode().is_some() {
            self.host.recovered(self.now);
            self.begin_recovery(ack, self.holes * self.mss());
        }
    }

    fn is_limited(&mut self, newest: u64) -> bool {
        let limited = self.host.usage().limited(&self.host.control());
        if self.host.usage().is_over(newest) {
            let next = self.transmissions;
            self.host.usage_mut().begin(next, false, self.inflight);
        }
        limited
    }

    /// All that is under way is lost, and the last of it is asked for again.
    pub(super) fn probe(&mut self) {
        let rtt = self.host.path().srtt.max(self.link.rtt);
        let last = self.flying.back().map_or(self.now, |packet| packet.sent_at);
        self.now = self.now.max(last + PROBE_ROUND_TRIPS * rtt);
        let mut ack = Ack::new(self.now, self.inflight);
        while let Some(front) = self.flying.pop_front() {
            self.lose(&mut ack, &front, true);
        }
        self.host.settle(self.inflight);
        self.begin_recovery(&ack, ack.lost());
        self.next_send = self.now;
    }
}
