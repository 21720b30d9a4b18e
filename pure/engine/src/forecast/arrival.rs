//! What the model's sender makes of an ACK: losses, recovery, the algorithm.

use windlass_cc::{AckEvent, CongestionEvent, Phase, Signal};

use super::model::{Episode, Model, Packet};

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
        let before = self.path.inflight;
        self.path.inflight -= mss;
        self.arrived += 1;
        self.holes -= u64::from(packet.again);
        if let Some(episode) = &mut self.episode {
            episode.missing -= u64::from(packet.segment < episode.point);
        }
        let rtt = (!packet.again).then_some(self.now - packet.sent_at);
        if let Some(rtt) = rtt {
            self.path.on_rtt(rtt);
            self.path.recent.on_rtt(rtt, self.now);
        }
        self.sampler
            .on_delivered(mss, packet.sent_at, packet.number, &packet.snapshot);
        let rate = self.sampler.take(self.now, self.path.min_rtt);
        if let Some(rate) = &rate {
            self.path.on_rate(rate, self.now);
        }
        let (lost, lost_ranges) = self.notice_losses(packet.number);
        (self.path.delivered, self.path.lost) = (self.sampler.delivered, self.sampler.lost);
        self.begin_recovery(lost, before);
        let event = AckEvent {
            now: self.now,
            acked: mss * u64::from(self.holes == 0),
            delivered: mss,
            lost,
            inflight_before: before,
            inflight: self.path.inflight,
            rtt,
            rate,
            ce_bytes: 0,
            cwnd_limited: self.is_limited(packet.number),
            in_recovery: self.episode.is_some_and(|e| e.missing > 0),
            lost_ranges,
        };
        self.cc.on_ack(&event, &self.path);
        self.end_recovery(before);
    }

    /// Bytes newly noticed to be lost now that transmission `newest` has arrived, and in how many runs.
    fn notice_losses(&mut self, newest: u64) -> (u64, u32) {
        let (mut lost, mut ranges, mut last) = (0, 0, None);
        while let Some(front) = self.flying.front().copied() {
            if front.acked_at.is_some() || front.number + REORDERING > newest {
                break;
            }
            self.flying.pop_front();
            ranges += u32::from(last != Some(front.segment));
            last = Some(front.segment + 1);
            lost += self.lose(&front);
        }
        (lost, ranges)
    }

    fn lose(&mut self, packet: &Packet) -> u64 {
        let mss = self.mss();
        self.holes += u64::from(!packet.again);
        self.path.inflight -= mss;
        self.sampler.lost += mss;
        self.to_repair.push_back(packet.segment);
        mss
    }

    fn begin_recovery(&mut self, lost: u64, before: u64) {
        if lost == 0 || self.episode.is_some() {
            return;
        }
        self.episode = Some(Episode {
            point: self.next_segment,
            missing: self.next_segment - self.arrived,
        });
        let event = CongestionEvent {
            now: self.now,
            signal: Signal::Loss,
            inflight_before: before,
            lost,
        };
        self.cc.on_congestion(&event, &self.path);
    }

    /// What was lost of the data sent since the episode began opens the next (RFC 6675 §5).
    fn end_recovery(&mut self, before: u64) {
        if self.episode.is_none_or(|episode| episode.missing > 0) {
            return;
        }
        self.episode = None;
        self.cc.on_recovery_exit(self.now, &self.path);
        self.begin_recovery(self.holes * self.mss(), before);
    }

    /// Linux `tcp_is_cwnd_limited`.
    fn is_limited(&mut self, newest: u64) -> bool {
        let control = self.cc.control();
        let limited = match control.phase {
            Phase::SlowStart | Phase::ConservativeSlowStart => control.cwnd < 2 * self.max_inflight,
            _ => self.limited,
        };
        if newest >= self.round_end {
            self.round_end = self.transmissions;
            self.limited = false;
            self.max_inflight = self.path.inflight;
        }
        limited
    }

    /// All that is under way is lost, and the last of it is asked for again.
    pub(super) fn probe(&mut self) {
        let rtt = self.path.srtt.max(self.link.rtt);
        let last = self.flying.back().map_or(self.now, |packet| packet.sent_at);
        self.now = self.now.max(last + PROBE_ROUND_TRIPS * rtt);
        let before = self.path.inflight;
        let mut lost = 0;
        while let Some(front) = self.flying.pop_front() {
            lost += self.lose(&front);
        }
        self.path.lost = self.sampler.lost;
        self.begin_recovery(lost, before);
        self.next_send = self.now;
    }
}
