//! Pacing rate and window from the model.

use super::{Bbr, MIN_CWND_SEGMENTS, Mode, Recovery, UNIT};
use crate::scale::{bytes_over, mul_div, rate_over};
use crate::window::{MAX_CWND_BYTES, initial_window, mss};
use crate::{AckEvent, ByteRate, MILLISECOND, Nanos, Path};

/// Pacing stays this far below the bandwidth, so that queues drain, hundredths.
const PACING_MARGIN_PERCENT: u64 = 1;
/// A burst is what the pacing rate sends in this time, at most 64 KB.
const BURST_SPAN: Nanos = MILLISECOND;
const MAX_BURST_BYTES: u64 = 65_536;
/// Below this rate a burst is one segment (Linux `bbr_min_tso_rate`: 1.2 Mbit/s).
const SINGLE_SEGMENT_RATE: ByteRate = 1_200_000 / 8;
/// Bursts that may be under way in the two hosts.
const BURSTS: u64 = 3;

impl Bbr {
    pub(super) fn set_pacing_rate(&mut self, gain: u64, path: &Path) {
        if !self.has_seen_rtt && path.srtt > 0 {
            self.has_seen_rtt = true;
            let gain = self.parameters.startup_gain.get();
            self.pacing_rate = mul_div(rate_over(self.cwnd, path.srtt), gain, UNIT);
        }
        let rate = mul_div(self.bw(), gain * (100 - PACING_MARGIN_PERCENT), UNIT * 100);
        if self.full.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
        // A rate of nothing would never find out that it is wrong.
        self.pacing_rate = self.pacing_rate.max(mss(path));
    }

    /// Bytes in flight that `bw` with `gain` asks for, room for bursts included.
    pub(super) fn inflight(&self, bw: ByteRate, gain: u64, path: &Path) -> u64 {
        self.with_burst_room(self.bdp(bw, gain, path), path)
    }

    fn bdp(&self, bw: ByteRate, gain: u64, path: &Path) -> u64 {
        if self.least.rtt == Nanos::MAX {
            return initial_window(path);
        }
        mul_div(bytes_over(bw, self.least.rtt), gain, UNIT)
    }

    fn with_burst_room(&self, bytes: u64, path: &Path) -> u64 {
        let mss = mss(path);
        let least = if self.pacing_rate < SINGLE_SEGMENT_RATE {
            1
        } else {
            2
        };
        let burst =
            (bytes_over(self.pacing_rate, BURST_SPAN).min(MAX_BURST_BYTES) / mss).max(least);
        let segments = bytes.div_ceil(mss).saturating_add(BURSTS * burst);
        // Even, because receivers acknowledge every other segment.
        let mut even = segments.saturating_add(segments & 1);
        if self.is_pushing() {
            even = even.saturating_add(2);
        }
        even.saturating_mul(mss)
    }

    fn target(&self, path: &Path) -> u64 {
        let bw = self.bw();
        let mut target = self.bdp(bw, self.gains().1, path);
        if self.full.reached {
            target = target.saturating_add(self.aggregation.extra(bw));
        }
        self.with_burst_room(target, path)
    }

    pub(super) fn set_cwnd(&mut self, event: &AckEvent, path: &Path) {
        let acked = event.delivered;
        if event.lost > 0 {
            self.cwnd = self.cwnd.saturating_sub(event.lost).max(mss(path));
        }
        if acked == 0 {
            self.set_window(self.cwnd, path);
            return;
        }
        if self.packet_conservation && self.recovery == Recovery::Fast {
            // One round in which no more leaves than arrives.
            let conserved = event.inflight.saturating_add(acked);
            self.set_window(self.cwnd.max(conserved), path);
            return;
        }
        let target = self.target(path);
        let mut cwnd = self.cwnd;
        if self.full.reached {
            cwnd = cwnd.saturating_add(acked).min(target);
        } else if cwnd < target || path.delivered < initial_window(path) {
            cwnd = cwnd.saturating_add(acked);
        }
        self.set_window(cwnd, path);
    }

    /// Back to the window before recovery or PROBE_RTT, as far as the model still allows it.
    pub(super) fn restore_cwnd(&mut self, path: &Path) {
        let mut prior = self.prior_cwnd;
        if self.full.reached {
            prior = prior.min(self.target(path));
        }
        self.set_window(self.cwnd.max(prior), path);
    }

    pub(super) fn set_window(&mut self, cwnd: u64, path: &Path) {
        let floor = MIN_CWND_SEGMENTS * mss(path);
        self.cwnd = cwnd.clamp(floor, MAX_CWND_BYTES.max(floor));
        if self.mode == Mode::ProbeRtt {
            self.cwnd = floor;
        }
    }
}
