//! Pacing rate and window from the model (§"Updating Control Parameters").

use super::{Bbr3, MIN_PIPE_SEGMENTS, STARTUP_PACING_GAIN, State, UNIT};
use crate::scale::{bytes_over, mul_div, rate_over};
use crate::window::{MAX_CWND_BYTES, initial_window, mss};
use crate::{AckEvent, ByteRate, MILLISECOND, Nanos, Path};

const PACING_MARGIN_PERCENT: u64 = 1;
/// A send quantum is what the pacing rate sends in this time, 2 segments to 64 KB.
const QUANTUM_SPAN: Nanos = MILLISECOND;
const MAX_QUANTUM_BYTES: u64 = 65_536;
const MIN_QUANTUM_SEGMENTS: u64 = 2;
/// Quanta that may be under way in the two hosts.
const OFFLOAD_QUANTA: u64 = 3;

impl Bbr3 {
    pub(super) fn set_pacing_rate(&mut self, gain: u64, path: &Path) {
        if !self.has_seen_rtt && path.srtt > 0 {
            self.has_seen_rtt = true;
            let initial = rate_over(initial_window(path), path.srtt);
            self.pacing_rate = mul_div(initial, STARTUP_PACING_GAIN, UNIT);
        }
        let rate = mul_div(
            self.model.bw,
            gain * (100 - PACING_MARGIN_PERCENT),
            UNIT * 100,
        );
        if self.full.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
        self.pacing_rate = self.pacing_rate.max(mss(path));
    }

    pub(super) fn min_pipe(&self, path: &Path) -> u64 {
        MIN_PIPE_SEGMENTS * mss(path)
    }

    pub(super) fn bdp(&self, bw: ByteRate, gain: u64, path: &Path) -> u64 {
        if self.min_rtt.value == Nanos::MAX {
            return initial_window(path);
        }
        mul_div(bytes_over(bw, self.min_rtt.value), gain, UNIT)
    }

    /// `Inflight(bw, 1.0)`: the BDP with room for offload.
    pub(super) fn inflight(&self, bw: ByteRate, path: &Path) -> u64 {
        self.quantize(self.bdp(bw, UNIT, path), path)
    }

    pub(super) fn quantize(&self, bytes: u64, path: &Path) -> u64 {
        let mss = mss(path);
        let quantum = bytes_over(self.pacing_rate, QUANTUM_SPAN)
            .min(MAX_QUANTUM_BYTES)
            .max(MIN_QUANTUM_SEGMENTS * mss);
        let bytes = bytes.max(OFFLOAD_QUANTA * quantum).max(self.min_pipe(path));
        if self.state == State::Up {
            bytes.saturating_add(2 * mss)
        } else {
            bytes
        }
    }

    fn max_inflight(&self, path: &Path) -> u64 {
        let bytes = self
            .bdp(self.model.bw, self.state.gains(&self.parameters).1, path)
            .saturating_add(self.aggregation.extra_acked.get());
        self.quantize(bytes, path)
    }

    pub(super) fn set_cwnd(&mut self, event: &AckEvent, path: &Path) {
        let max_inflight = self.max_inflight(path);
        let grown = self.cwnd.saturating_add(event.delivered);
        if self.full.reached {
            self.cwnd = grown.min(max_inflight);
        } else if self.cwnd < max_inflight || path.delivered < initial_window(path) {
            self.cwnd = grown;
        }
        self.bound_cwnd(path);
    }

    /// Back to the window before recovery or ProbeRTT, as far as the model still allows it.
    pub(super) fn restore_cwnd(&mut self, path: &Path) {
        let mut prior = self.prior_cwnd;
        if self.full.reached {
            prior = prior.min(self.max_inflight(path));
        }
        self.cwnd = self.cwnd.max(prior);
        self.bound_cwnd(path);
    }

    pub(super) fn bound_cwnd(&mut self, path: &Path) {
        let floor = self.min_pipe(path);
        let cap = match self.state {
            State::Down | State::Refill | State::Up => self.model.inflight_longterm,
            State::Cruise => self.inflight_with_headroom(path),
            State::ProbeRtt => self
                .inflight_with_headroom(path)
                .min(self.probe_rtt_cwnd(path)),
            State::Startup | State::Drain => MAX_CWND_BYTES,
        };
        let cap = cap.min(self.model.inflight_shortterm).min(MAX_CWND_BYTES);
        self.cwnd = self.cwnd.min(cap).max(floor);
    }
}
