//! Westwood+: Mascolo, Grieco and others, "Performance Evaluation and Comparison of Westwood+, New
//! Reno, and Vegas TCP Congestion Control", CCR 34(2), 2004; and Linux `tcp_westwood.c` 6.12.
//!
//! Bandwidth is measured once per round trip (50 ms at least) and smoothed twice by 7/8, as in
//! Linux. Profile `rfc` is the paper: a loss or mark lowers the window to bandwidth times least
//! RTT, if it is larger than that, and leaves it otherwise. Profile `linux` is the module: the
//! window is halved for the time of the recovery, and set to the product when that is over.
//!
//! Windows are whole segments then, and times are counted in jiffies, an RTT rounded up (`tick`): 61 ms
//! are 64.
//!
//! The window is set to a bandwidth that the window before has allowed, so what is little at once
//! is much in the end. At one loss in 100 (10 Mbit/s, 60 ms) the module's window is met within 3 % as
//! long as the kernel sends the packets, and within 5 % without the jiffies. But a sender that often
//! has a packet less in flight than it may comes to 6 % less, and one that paces at 1.2 windows a
//! round trip to 15 % less: hence this law's own pacing, which only spreads bursts.
//!
//! Different from Linux: bytes delivered are known exactly, so nothing is estimated from duplicate
//! ACKs (which counts a segment too much for each partial ACK); idle time is not measured as low
//! bandwidth; before there is a measurement a reduction halves (Linux: two segments).

use serde::{Deserialize, Serialize};

use crate::parameter::{Millis, parameters};
use crate::scale::{bytes_over, rate_over};
use crate::window::slow_start::{SlowStart, SlowStartRule};
use crate::window::windowed::{Cause, Law, Windowed};
use crate::window::{Window, mss, whole_segments};
use crate::{About, AckEvent, ByteRate, Nanos, Path, Preset, Profile, Range, Signals, Value};

/// Pacing, in windows per round trip: Linux' 1.2 would hold back a tenth of the flight.
const WINDOWS_PER_RTT: u64 = 8;

parameters! {
    /// What can be set of Westwood+.
    WestwoodParameters {
        /// Who is followed: the paper ("rfc"), or the Linux module, which halves until recovery is over.
        profile: Profile = Profile::Rfc, Profile::RANGE;
        /// Least time over which bandwidth is measured.
        least_interval: Millis = Millis(50), Range::whole(1, 1000, "ms");
        /// Tick of the clock that times are measured with, an RTT rounded up: Linux' jiffy, 4 ms in Debian's kernels. 0: exact.
        tick: Millis = Millis(0), Range::whole(0, 10, "ms");
        /// In slow start, a higher measurement counts at once. Smoothed, it lags far behind a rate that doubles, and the loss that ends slow start finds a twentieth of the path.
        quick_start: bool = false, Range::Flag;
        /// How the first slow start ends.
        slow_start: SlowStartRule = SlowStartRule::Standard, SlowStartRule::RANGE;
    }
    Preset {
        name: "linux",
        meaning: "Linux 6.12 with 250 ticks a second, as in Debian",
        values: &[("profile", Value::Choice("linux")), ("tick", Value::Number(4.0))],
    },
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
        let now = event.now - event.now % p.tick.nanos().max(1);
        let Some(since) = self.since else {
            // What this ACK delivers was under way for an unknown time.
            self.since = Some(now);
            return;
        };
        self.delivered = self.delivered.saturating_add(event.delivered);
        let interval = now.saturating_sub(since);
        let least = ticks_up(path.latest_rtt, p).max(p.least_interval.nanos());
        if path.latest_rtt == 0 || interval <= least {
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
        self.since = Some(now);
        self.delivered = 0;
    }

    /// What the path holds without a queue, bytes, two segments at least; `None` before it has been
    /// measured.
    fn capacity(&self, path: &Path) -> Option<u64> {
        let measured = self.bandwidth > 0 && self.min_rtt != Nanos::MAX;
        measured.then(|| bytes_over(self.bandwidth, self.min_rtt).max(2 * mss(path)))
    }
}

/// A time in whole ticks, rounded up.
fn ticks_up(time: Nanos, p: &WestwoodParameters) -> Nanos {
    let up = time.checked_next_multiple_of(p.tick.nanos().max(1));
    up.unwrap_or(time)
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
            self.min_rtt = self.min_rtt.min(ticks_up(rtt, p));
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
        let target = match capacity {
            Some(capacity) if !self.due => capacity,
            _ => half,
        };
        match p.profile {
            Profile::Rfc => target,
            Profile::Linux => whole_segments(target, path),
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
            let capacity = whole_segments(capacity, path);
            window.ssthresh = capacity;
            window.set(capacity);
        }
    }

    /// What is held back here would be measured as a path that delivers less, and lower the window
    /// again and again. Only bursts are to be spread.
    fn pacing_rate(
        &self,
        window: &Window,
        path: &Path,
        _: &WestwoodParameters,
    ) -> Option<ByteRate> {
        (path.srtt > 0).then(|| rate_over(WINDOWS_PER_RTT * window.cwnd, path.srtt))
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
mod tests;
