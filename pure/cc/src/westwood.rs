//! Westwood+: Mascolo, Grieco and others, "Performance Evaluation and Comparison of Westwood+, New
//! Reno, and Vegas TCP Congestion Control", CCR 34(2), 2004; and Linux `tcp_westwood.c` 6.12.
//!
//! Bandwidth is measured once per round trip (50 ms at least) and smoothed twice by 7/8, as in
//! Linux. Profile `rfc` is the paper: a loss or mark lowers the window to bandwidth times least
//! RTT, if it is larger than that, and leaves it otherwise. Profile `linux` is the module: the
//! window is halved for the time of the recovery, and set to the product when that is over.
//! Different from Linux: bytes delivered are known exactly, so nothing is estimated from duplicate
//! ACKs; idle time is not measured as low bandwidth; before there is a measurement a reduction
//! halves (Linux: two segments).

use serde::{Deserialize, Serialize};

use crate::parameter::{Millis, parameters};
use crate::scale::{bytes_over, rate_over};
use crate::slow_start::{SlowStart, SlowStartRule};
use crate::window::{Window, mss};
use crate::windowed::{Cause, Law, Windowed};
use crate::{About, AckEvent, ByteRate, Nanos, Path, Profile, Range, Signals};

parameters! {
    /// What can be set of Westwood+.
    WestwoodParameters {
        /// Who is followed: the paper ("rfc"), or the Linux module, which halves until recovery is over.
        profile: Profile = Profile::Rfc, Profile::RANGE;
        /// Least time over which bandwidth is measured.
        least_interval: Millis = Millis(50), Range::whole(1, 1000, "ms");
        /// In slow start, a higher measurement counts at once. Smoothed, it lags far behind a rate that doubles, and the loss that ends slow start finds a twentieth of the path.
        quick_start: bool = false, Range::Flag;
        /// How the first slow start ends.
        slow_start: SlowStartRule = SlowStartRule::Standard, SlowStartRule::RANGE;
    }
}

/// Westwood+.
pub type Westwood = Windowed<WestwoodLaw>;

/// Reno's growth; a loss sets the window to what the path has been seen to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WestwoodLaw {
    /// Bandwidth after the first filter (Linux `bw_ns_est`).
    coarse: ByteRate,
    /// Bandwidth after the second (`bw_est`); 0 before the first measurement.
    bandwidth: ByteRate,
    /// Least RTT since the start or the last timeout; `Nanos::MAX` before the first sample.
    min_rtt: Nanos,
    /// Start of the measurement under way; `None` before the first ACK and after idling.
    since: Option<Nanos>,
    /// Bytes delivered in it.
    delivered: u64,
    /// The window is to be set when recovery is over (Linux only).
    due: bool,
}

impl WestwoodLaw {
    /// Takes in the bytes of an ACK; at the end of an interval, the bandwidth of it.
    fn measure(&mut self, event: &AckEvent, window: &Window, path: &Path, p: &WestwoodParameters) {
        let Some(since) = self.since else {
            // What this ACK delivers was under way for an unknown time.
            self.since = Some(event.now);
            return;
        };
        self.delivered = self.delivered.saturating_add(event.delivered);
        let interval = event.now.saturating_sub(since);
        if path.latest_rtt == 0 || interval <= path.latest_rtt.max(p.least_interval.nanos()) {
            return;
        }
        let sample = rate_over(self.delivered, interval);
        let at_once = p.quick_start && window.in_slow_start() && sample > self.bandwidth;
        if self.bandwidth == 0 || at_once {
            (self.coarse, self.bandwidth) = (sample, sample);
        } else {
            self.coarse = smooth(self.coarse, sample);
            self.bandwidth = smooth(self.bandwidth, self.coarse);
        }
        self.since = Some(event.now);
        self.delivered = 0;
    }

    /// What the path holds without a queue, bytes, two segments at least; `None` before it has been
    /// measured.
    fn capacity(&self, path: &Path) -> Option<u64> {
        let measured = self.bandwidth > 0 && self.min_rtt != Nanos::MAX;
        measured.then(|| bytes_over(self.bandwidth, self.min_rtt).max(2 * mss(path)))
    }
}

/// An eighth of the way from `mean` to `sample`.
fn smooth(mean: ByteRate, sample: ByteRate) -> ByteRate {
    mean - mean / 8 + sample / 8
}

impl Law for WestwoodLaw {
    type Parameters = WestwoodParameters;
    type Undo = ();
    const ABOUT: About = About {
        summary: "Westwood+: after a loss, the window is what the path has delivered",
        source: "Mascolo et al., CCR 34(2), 2004; Linux tcp_westwood.c 6.12",
        advice: "For paths that lose packets at random up to about one per cent, such as wireless: \
                 a loss that is not congestion costs little. Not for RTTs above 100 ms: growth \
                 is Reno's, and the loss that ends slow start finds a bandwidth measured far too \
                 low, unless quick_start is set. Where queues are small it takes more than its \
                 share from Reno; with heavy loss the measured bandwidth sinks with the window.",
        // Neither loss nor mark lowers a window that is no larger than the path holds.
        signals: Signals {
            loss: false,
            ecn: false,
            delay: false,
        },
    };

    fn new(path: &Path, _parameters: &WestwoodParameters) -> Self {
        WestwoodLaw {
            coarse: path.max_bw,
            bandwidth: path.max_bw,
            min_rtt: path.min_rtt,
            since: None,
            delivered: 0,
            due: false,
        }
    }

    fn slow_start(parameters: &WestwoodParameters, _path: &Path) -> SlowStart {
        parameters.slow_start.start()
    }

    fn on_ack(
        &mut self,
        event: &AckEvent,
        window: &mut Window,
        path: &Path,
        p: &WestwoodParameters,
    ) {
        if let Some(rtt) = event.rtt {
            self.min_rtt = self.min_rtt.min(rtt);
        }
        self.measure(event, window, path, p);
    }

    fn avoid(
        &mut self,
        bytes: u64,
        _event: &AckEvent,
        window: &mut Window,
        path: &Path,
        _parameters: &WestwoodParameters,
    ) {
        window.add_segments(window.cwnd, bytes, path);
    }

    fn reduce(
        &mut self,
        cause: Cause,
        window: &Window,
        path: &Path,
        p: &WestwoodParameters,
    ) -> u64 {
        let is_timeout = matches!(cause, Cause::Timeout | Cause::RepeatedTimeout);
        let capacity = self.capacity(path);
        self.due = p.profile == Profile::Linux && !is_timeout;
        if is_timeout {
            self.min_rtt = Nanos::MAX;
        }
        let half = window.cwnd / 2;
        if self.due {
            half
        } else {
            capacity.unwrap_or(half)
        }
    }

    fn on_recovery_exit(
        &mut self,
        _now: Nanos,
        window: &mut Window,
        path: &Path,
        _parameters: &WestwoodParameters,
    ) {
        let capacity = self.capacity(path).filter(|_| self.due);
        self.due = false;
        if let Some(capacity) = capacity {
            window.ssthresh = capacity;
            window.set(capacity);
        }
    }

    fn on_idle(&mut self, _now: Nanos, _idle: Nanos, _shrunk: bool) {
        self.since = None;
        self.delivered = 0;
    }

    fn save(&self) {}

    fn restore(&mut self, (): ()) {
        self.due = false;
    }
}

#[cfg(test)]
#[path = "westwood_tests.rs"]
mod tests;
