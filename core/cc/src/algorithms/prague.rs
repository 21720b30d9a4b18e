//! TCP Prague: draft-briscoe-iccrg-prague-congestion-control-04 and L4STeam's `tcp_prague.c`, in bytes.
//!
//! DCTCP for the Internet. Followed: alpha by EWMA, at 1 and unchanged until the first mark has
//! shown that something on the path marks; a reduction by alpha / 2 at the signal; additive
//! increase by every byte that is not marked, also while a reduction is in progress (CWR), with a
//! window that keeps fractions; RTT independence: below a virtual RTT of 25 ms increase is
//! (srtt / 25 ms)² of a segment a round trip, and alpha and reductions by marks come once per
//! virtual RTT, from the fourth round after slow start on; a loss halves; pacing at the window per
//! srtt, twice that in slow start.
//! Different: marks are counted before the reduction that they signal (as in `dctcp`; Linux takes
//! the alpha of the round before); PRR spreads a reduction over its round trip; the segment is
//! never made smaller. Not here: udp_prague's faster growth after marks have ceased, and Linux'
//! detection of a classic ECN queue, which is off by default. Marks without counts (RFC 3168
//! feedback) halve. Sending ECT(1) and reading AccECN into `ce_bytes` is the caller's part.

use serde::{Deserialize, Serialize};

use crate::marked_share::MarkedShare;
use crate::parameter::{Millis, Thousandths, parameters};
use crate::scale::rate_over;
use crate::window::slow_start::{SlowStart, SlowStartRule};
use crate::window::windowed::{Cause, Law, Windowed};
use crate::window::{Window, mss};
use crate::{About, AckEvent, ByteRate, Nanos, Path, Preset, Range, Signals, Value};

parameters! {
    /// What can be set of Prague.
    PragueParameters {
        /// Flows with a shorter RTT behave as with this one (draft §2.4.4; Linux prague_rtt_target); 0: no RTT independence.
        rtt_virt: Millis = Millis(25), Range::whole(0, 100, "ms");
        /// Round trips after slow start from which that holds (Linux rtt_transition).
        rtt_transition: u32 = 4, Range::whole(0, 10_000, "round trips");
        /// Weight of the newest window in alpha, as a power of two: g = 2^-shift_g.
        shift_g: u32 = 4, Range::whole(0, 10, "");
        /// Alpha at the first mark.
        alpha_init: Thousandths = Thousandths(1000), Range::number(0.0, 1.0, "");
        /// How the first slow start ends, if not by a mark.
        slow_start: SlowStartRule = SlowStartRule::Standard, SlowStartRule::RANGE;
    }
    Preset {
        name: "rtt_dependent",
        meaning: "a rate in inverse proportion to the RTT, as DCTCP",
        values: &[("rtt_virt", Value::Number(0.0))],
    },
}

/// TCP Prague.
pub type Prague = Windowed<PragueLaw>;

/// DCTCP's decrease, with an increase that never pauses and does not depend on the RTT.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PragueLaw {
    /// Running share of marked bytes, 0 to 1.
    pub(crate) alpha: f64,
    share: MarkedShare,
    /// Bytes by which the window should be larger than it is.
    fraction: f64,
    /// Time of the last ACK, of the last update of alpha, and of the last reduction by a mark.
    now: Nanos,
    updated: Nanos,
    reduced: Nanos,
    /// Round trips since slow start.
    rounds: u32,
    /// A byte was marked.
    has_seen_ce: bool,
    /// A reduction by a mark is in progress.
    cwr: bool,
}

impl PragueLaw {
    /// The virtual RTT, if the flow is to behave as one with that.
    fn rtt_virt(&self, path: &Path, p: &PragueParameters) -> Option<Nanos> {
        let rtt = p.rtt_virt.nanos();
        (path.srtt < rtt && self.rounds >= p.rtt_transition).then_some(rtt)
    }

    /// At the end of a window of data that has taken a virtual RTT.
    fn update_alpha(&mut self, in_slow_start: bool, path: &Path, p: &PragueParameters) {
        let elapsed = self.now.saturating_sub(self.updated);
        if self.rtt_virt(path, p).is_some_and(|rtt| elapsed < rtt) {
            return;
        }
        let Some(window) = self.share.end_window(path, true) else {
            return;
        };
        self.updated = self.now;
        self.rounds = self.rounds.saturating_add(u32::from(!in_slow_start));
        if self.has_seen_ce {
            let g = 1.0 / f64::from(1u32 << p.shift_g.min(10));
            let share = window.marked as f64 / window.acked as f64;
            self.alpha += g * (share - self.alpha);
        }
    }

    /// A segment a round trip by bytes without a mark, or less on short paths.
    fn increase(&mut self, unmarked: u64, window: &mut Window, path: &Path, p: &PragueParameters) {
        let scale = match self.rtt_virt(path, p) {
            None => 1.0,
            Some(rtt) => {
                let share = path.srtt as f64 / rtt as f64;
                share * share
            }
        };
        let segments = unmarked as f64 / window.cwnd.max(1) as f64;
        let grown = segments * mss(path) as f64 * scale + self.fraction;
        let whole = libm::floor(grown);
        self.fraction = grown - whole;
        window.set(window.cwnd.saturating_add(whole as u64));
    }
}

impl Law for PragueLaw {
    type Parameters = PragueParameters;
    type Undo = ();
    const ABOUT: About = About {
        summary: "TCP Prague: DCTCP for the Internet, for L4S queues",
        source: "draft-briscoe-iccrg-prague-congestion-control-04, L4STeam tcp_prague.c",
        advice: "Where the bottleneck has an L4S queue (DualPI2, or fq with a CE threshold) and the \
                 receiver speaks AccECN: under a millisecond of queue at full throughput, and RTTs \
                 below 25 ms make no difference. Without marks it is Reno with pacing. Not through \
                 a classic ECN queue that it shares with other flows: it does not notice, and takes \
                 most of it.",
        signals: Signals::LOSS,
    };

    fn new(path: &Path, p: &PragueParameters) -> Self {
        PragueLaw {
            alpha: p.alpha_init.get() as f64 / 1000.0,
            share: MarkedShare::new(path),
            fraction: 0.0,
            now: 0,
            updated: 0,
            reduced: 0,
            rounds: 0,
            has_seen_ce: false,
            cwr: false,
        }
    }

    fn slow_start(p: &PragueParameters, _: &Path) -> SlowStart {
        p.slow_start.start()
    }

    fn on_ack(&mut self, event: &AckEvent, window: &mut Window, path: &Path, p: &PragueParameters) {
        self.now = event.now;
        self.has_seen_ce |= event.ce_bytes > 0;
        self.share.on_ack(event, path);
        self.update_alpha(window.in_slow_start(), path, p);
    }

    fn avoid(
        &mut self,
        bytes: u64,
        event: &AckEvent,
        window: &mut Window,
        path: &Path,
        p: &PragueParameters,
    ) {
        let unmarked = bytes.saturating_sub(event.ce_bytes);
        self.increase(unmarked, window, path, p);
    }

    /// In CWR growth goes on (draft §2.4.3).
    fn held(&mut self, event: &AckEvent, window: &mut Window, path: &Path, p: &PragueParameters) {
        if self.cwr && event.cwnd_limited {
            let unmarked = event.delivered.saturating_sub(event.ce_bytes);
            self.increase(unmarked, window, path, p);
        }
    }

    fn reduce(&mut self, cause: Cause, window: &Window, path: &Path, p: &PragueParameters) -> u64 {
        self.cwr = cause == Cause::Ecn;
        if cause != Cause::Ecn || !self.share.on_signal(path) {
            return window.cwnd / 2;
        }
        let is_first = !core::mem::replace(&mut self.has_seen_ce, true);
        if !is_first {
            self.update_alpha(false, path, p);
            let elapsed = self.now.saturating_sub(self.reduced);
            if self.rtt_virt(path, p).is_some_and(|rtt| elapsed < rtt) {
                return window.cwnd;
            }
        }
        self.reduced = self.now;
        let cwnd = window.cwnd as f64 + self.fraction;
        let left = cwnd * (1.0 - self.alpha / 2.0);
        let whole = libm::floor(left);
        self.fraction = left - whole;
        whole as u64
    }

    fn on_recovery_exit(&mut self, _: Nanos, _: &mut Window, _: &Path, _: &PragueParameters) {
        self.cwr = false;
    }

    fn save(&self) {}

    fn restore(&mut self, (): ()) {
        self.cwr = false;
    }

    fn pacing_rate(&self, window: &Window, path: &Path, _: &PragueParameters) -> Option<ByteRate> {
        if path.srtt == 0 {
            return None;
        }
        let gain = if window.cwnd < window.ssthresh / 2 {
            2
        } else {
            1
        };
        Some(rate_over(gain * window.cwnd, path.srtt).max(1))
    }
}

#[cfg(test)]
mod tests;
