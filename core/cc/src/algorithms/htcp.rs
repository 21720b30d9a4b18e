//! H-TCP: Shorten and Leith, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004;
//! draft-leith-tcp-htcp-06; Linux `tcp_htcp.c` (6.12).
//!
//! The longer the last loss lies back, the faster the window grows; what a loss leaves is the share
//! that empties the queue, if the throughput before it was like that before the last. Profile
//! `linux` has the kernel's steps: growth and reduction by whole segments, shares of 128ths; and the
//! ACK that brings a segment is itself not counted for the next, nor is what was over. The fading
//! memory of the largest RTT, the step of 20 ms by which it may rise and the throughput sample are
//! Linux' in both.
//!
//! Different from Linux: time in which the window is not the limit, or nothing is sent, earns no
//! growth; the window never grows faster than slow start would, where Linux overflows after hours
//! without a loss; a throughput sample takes in a whole window, not one less what it grew by.

use core::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use crate::parameter::{Millis, parameters};
use crate::scale::mul_div;
use crate::window::slow_start::{SlowStart, SlowStartRule};
use crate::window::windowed::{Cause, Law, Windowed};
use crate::window::{Window, mss, whole_segments};
use crate::{
    About, AckEvent, MILLISECOND, Nanos, Path, Preset, Profile, Range, Signals, Spare, Value,
};

mod throughput;

use throughput::Throughput;

/// Share of the window that a loss leaves: at least, and at most.
const BETA_MIN: f64 = 0.5;
const BETA_MAX: f64 = 0.8;
/// Shorter round trips say too little about the queue (Linux).
const LEAST_RTT_TO_ADAPT: Nanos = 10 * MILLISECOND;
/// The largest RTT rises by no more at once: an outlier is not a queue (Linux).
const MAX_RTT_STEP: Nanos = 20 * MILLISECOND;
/// In a nanosecond.
const SECONDS: f64 = 1e-9;
/// Its inverse is the RTT at which RTT scaling changes nothing, 100 ms; and the factors that it may
/// have.
const PER_REFERENCE_RTT: f64 = 10.0;
const RTT_SCALES: (f64, f64) = (0.1, 2.0);

parameters! {
    /// What can be set of H-TCP.
    HtcpParameters {
        /// Time after a loss in which the window grows like Reno's: delta_L.
        delta_l: Millis = Millis(1000), Range::whole(0, 60_000, "ms");
        /// Faster growth on long paths and slower on short ones, so that all need the same time.
        rtt_scaling: bool = true, Range::Flag;
        /// What a loss leaves depends on the queue: RTTmin / RTTmax, from 0.5 to 0.8. Off: half.
        adaptive_backoff: bool = true, Range::Flag;
        /// Half after all, if the throughput has changed by more than a fifth between two losses.
        bandwidth_switch: bool = true, Range::Flag;
        /// Real numbers ("rfc": paper and draft), or the steps of the Linux module.
        profile: Profile = Profile::Rfc, Profile::RANGE;
        /// How the first slow start ends.
        slow_start: SlowStartRule = SlowStartRule::Standard, SlowStartRule::RANGE;
    }
    Preset {
        name: "freebsd",
        meaning: "FreeBSD's defaults, cc_htcp(4)",
        values: &[("rtt_scaling", Value::Flag(false)), ("adaptive_backoff", Value::Flag(false))],
    },
}

/// H-TCP.
pub type Htcp = Windowed<HtcpLaw>;

/// Growth by the time since the last loss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HtcpLaw {
    /// End of the last loss episode, moved forward by time that does not count, plus one
    /// nanosecond; `None` until congestion avoidance begins.
    since: Option<NonZeroU64>,
    last_ack: Nanos,
    /// Largest RTT, fading, ns; 0 before the first.
    max_rtt: Nanos,
    throughput: Throughput,
    /// Share of the window that the last loss left.
    beta: f32,
    /// The next loss may leave more than half.
    adaptive: bool,
    /// Bytes delivered since the window grew (Linux only).
    credit: u64,
}

/// What a loss destroys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Before {
    since: Option<NonZeroU64>,
    max_rtt: Nanos,
    throughput_at_loss: u64,
    beta: f32,
    adaptive: bool,
}

impl HtcpLaw {
    fn elapsed(&self, now: Nanos) -> Nanos {
        self.since
            .map_or(0, |since| now.saturating_sub(since.get() - 1))
    }

    /// Segments by which the window grows per round trip.
    fn alpha(&self, now: Nanos, path: &Path, p: &HtcpParameters) -> f64 {
        let steps = |factor: f64| match p.profile {
            Profile::Linux => libm::floor(factor),
            Profile::Rfc => factor,
        };
        let beyond = self.elapsed(now).saturating_sub(p.delta_l.nanos());
        let seconds = beyond as f64 * SECONDS;
        let mut factor = steps(1.0 + 10.0 * seconds + 0.25 * seconds * seconds);
        if p.rtt_scaling && path.min_rtt != Nanos::MAX {
            let scale = path.min_rtt as f64 * SECONDS * PER_REFERENCE_RTT;
            factor = steps(factor * scale.clamp(RTT_SCALES.0, RTT_SCALES.1)).max(1.0);
        }
        2.0 * (1.0 - f64::from(self.beta)) * factor
    }

    /// The module's growth: the ACK that makes up a window is counted, and the one behind it brings
    /// the segment, whatever it acknowledges.
    fn grow_linux(&mut self, bytes: u64, alpha: f64, window: &mut Window, path: &Path) {
        let mss = mss(path);
        let earned = libm::floor((self.credit / mss) as f64 * alpha) as u64;
        if earned >= window.cwnd / mss {
            window.set(window.cwnd.saturating_add(mss));
            self.credit = 0;
        } else {
            self.credit = self.credit.saturating_add(bytes);
        }
    }

    fn take_rtt(&mut self, rtt: Nanos, path: &Path) {
        self.max_rtt = self.max_rtt.max(path.min_rtt);
        if rtt <= self.max_rtt.saturating_add(MAX_RTT_STEP) {
            self.max_rtt = self.max_rtt.max(rtt);
        }
    }

    fn adapt(&mut self, path: &Path, p: &HtcpParameters) {
        let steady = self.throughput.on_loss() || !p.bandwidth_switch;
        let ready = self.adaptive && path.min_rtt > LEAST_RTT_TO_ADAPT && self.max_rtt > 0;
        self.beta = if steady && ready && p.adaptive_backoff {
            let share = path.min_rtt as f64 / self.max_rtt as f64;
            match p.profile {
                Profile::Rfc => share.clamp(BETA_MIN, BETA_MAX),
                Profile::Linux => libm::floor(share * 128.0).clamp(64.0, 102.0) / 128.0,
            }
        } else {
            BETA_MIN
        } as f32;
        self.adaptive = steady;
        if self.max_rtt > path.min_rtt {
            // Slowly forgotten, since the route may change.
            self.max_rtt = path.min_rtt + mul_div(self.max_rtt - path.min_rtt, 95, 100);
        }
    }

    /// Leaves the time since the last ACK out.
    fn skip_time(&mut self, now: Nanos) {
        let gap = now.saturating_sub(self.last_ack);
        self.last_ack = now;
        if let Some(since) = &mut self.since {
            *since = since
                .saturating_add(gap)
                .min(NonZeroU64::MIN.saturating_add(now));
        }
    }
}

impl Law for HtcpLaw {
    type Parameters = HtcpParameters;
    type Undo = Spare<Before>;
    const ABOUT: About = About {
        summary: "H-TCP: grows faster the longer no loss has come, backs off to empty the queue",
        source: "Shorten and Leith 2004; draft-leith-tcp-htcp-06; Linux tcp_htcp.c 6.12",
        advice: "Long fast paths that lose little: it is back at 1 Gbit/s over 100 ms ten seconds \
                 after a loss, RTT scaling evens out flows of different RTTs, and the queue is not \
                 drained further than it must be. Where losses come more than once a second it is \
                 Reno, random loss included. Where they are rarer it takes more than its share from \
                 Reno and CUBIC, and it fills the queue.",
        signals: Signals::LOSS,
    };

    fn new(_path: &Path, _parameters: &HtcpParameters) -> Self {
        HtcpLaw {
            since: None,
            last_ack: 0,
            max_rtt: 0,
            throughput: Throughput::default(),
            beta: BETA_MIN as f32,
            adaptive: false,
            credit: 0,
        }
    }

    fn slow_start(parameters: &HtcpParameters, _path: &Path) -> SlowStart {
        parameters.slow_start.start()
    }

    fn on_ack(&mut self, event: &AckEvent, window: &mut Window, path: &Path, _: &HtcpParameters) {
        if path.min_rtt == Nanos::MAX {
            return;
        }
        if event.in_recovery {
            self.throughput.restart(event.now);
            return;
        }
        if let Some(rtt) = event.rtt {
            self.take_rtt(rtt, path);
        }
        let since_loss = self.elapsed(event.now);
        self.throughput
            .on_ack(event, window.cwnd, path.min_rtt, since_loss);
    }

    fn avoid(
        &mut self,
        bytes: u64,
        event: &AckEvent,
        window: &mut Window,
        path: &Path,
        parameters: &HtcpParameters,
    ) {
        self.last_ack = event.now;
        self.since
            .get_or_insert(NonZeroU64::MIN.saturating_add(event.now));
        let alpha = self.alpha(event.now, path, parameters);
        let mss = mss(path);
        if parameters.profile == Profile::Linux {
            return self.grow_linux(bytes, alpha, window, path);
        }
        if alpha * mss as f64 > window.cwnd as f64 {
            window.add_segments(mss, bytes, path);
        } else {
            window.add_segments(window.cwnd, (bytes as f64 * alpha) as u64, path);
        }
    }

    fn held(&mut self, event: &AckEvent, _: &mut Window, _: &Path, _: &HtcpParameters) {
        self.skip_time(event.now);
    }

    fn reduce(&mut self, cause: Cause, window: &Window, path: &Path, p: &HtcpParameters) -> u64 {
        self.credit = 0;
        if cause != Cause::RepeatedTimeout {
            self.adapt(path, p);
            self.since = None;
        }
        let target = (window.cwnd as f64 * f64::from(self.beta)) as u64;
        match p.profile {
            Profile::Rfc => target,
            Profile::Linux => whole_segments(target, path),
        }
    }

    fn on_recovery_exit(&mut self, now: Nanos, _: &mut Window, _: &Path, _: &HtcpParameters) {
        self.since = Some(NonZeroU64::MIN.saturating_add(now));
        self.last_ack = now;
    }

    fn on_idle(&mut self, now: Nanos, _idle: Nanos, _shrunk: bool) {
        self.skip_time(now);
        self.throughput.restart(now);
    }

    fn save(&self) -> Spare<Before> {
        Spare::of(Before {
            since: self.since,
            max_rtt: self.max_rtt,
            throughput_at_loss: self.throughput.at_loss(),
            beta: self.beta,
            adaptive: self.adaptive,
        })
    }

    fn restore(&mut self, before: Spare<Before>) {
        let before = before.read();
        self.since = before.since;
        self.max_rtt = before.max_rtt;
        self.throughput.restore(before.throughput_at_loss);
        self.beta = before.beta;
        self.adaptive = before.adaptive;
    }
}

#[cfg(test)]
mod tests;
