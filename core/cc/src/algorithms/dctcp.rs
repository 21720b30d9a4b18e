//! DCTCP: RFC 8257; its integer arithmetic in the profile `linux` (`tcp_dctcp.c`, 6.12).
//!
//! A running share of marked bytes, alpha, is taken once per window of data, the ACK that ends the
//! window included. The window is reduced at the signal (the first mark of a window), as Linux does
//! and RFC 3168 wants, by the alpha known then: the ACK that brings the signal is counted first,
//! so that a window which it ends is in. RFC 8257 §3.3 has the reduction at the end of the
//! observation window; the two differ by less than a round trip. Nothing grows from the signal
//! until its window is delivered (CWR). Growth and loss are Reno's. Marks that no count comes with
//! (RFC 3168 feedback) halve the window: a share cannot be told from them.
//! In the profile `rfc`, a reduction spares 0.19 of a segment where segments are large and the queue is shorter than the path
//! (docs/acdc.md has the measurements).
//! Setting ECT and reading ECE or AccECN into `ce_bytes` is the caller's part.

use serde::{Deserialize, Serialize};

use crate::marked_share::MarkedShare;
use crate::parameter::{Thousandths, parameters};
use crate::scale::mul_div;
use crate::window::slow_start::{SlowStart, SlowStartRule};
use crate::window::windowed::{Cause, Law, Windowed};
use crate::window::{Window, mss};
use crate::{About, AckEvent, Nanos, Path, Preset, Profile, Range, Signals, Value};

/// One in Linux' arithmetic (`DCTCP_MAX_ALPHA`).
const LINUX_ONE: u64 = 1 << 10;
/// What a reduction spares of a large segment.
const SPARED_PERCENT: u64 = 19;

parameters! {
    /// What can be set of DCTCP.
    DctcpParameters {
        /// Whose arithmetic: the RFC's with real numbers, or Linux' with alpha in 1/1024, whole segments, and an alpha that reaches 0.
        profile: Profile = Profile::Rfc, Profile::RANGE;
        /// Weight of the newest window in alpha, as a power of two: g = 2^-shift_g (Linux dctcp_shift_g).
        shift_g: u32 = 4, Range::whole(0, 10, "");
        /// Alpha before the first window (RFC 8257 §3.3: 1, so that the first mark weight; Linux dctcp_alpha_on_init).
        alpha_init: Thousandths = Thousandths(1000), Range::number(0.0, 1.0, "");
        /// How much of a reduction is spared: 1 reduces by alpha / 2 as DCTCP does, 0 by the whole of alpha (AC/DC TCP, beta).
        priority: Thousandths = Thousandths(1000), Range::number(0.0, 1.0, "");
        /// The least that a reduction leaves (AC/DC TCP goes down to 1, which is what keeps queues short when many send to one).
        least_window: u32 = 2, Range::whole(1, 10, "segments");
        /// How the first slow start ends.
        slow_start: SlowStartRule = SlowStartRule::Standard, SlowStartRule::RANGE;
    }
    Preset {
        name: "linux",
        meaning: "as the kernel's module computes",
        values: &[("profile", Value::Choice("linux"))],
    },
    Preset {
        name: "acdc",
        meaning: "as AC/DC TCP does it in the switch: windows down to one segment",
        values: &[("least_window", Value::Number(1.0))],
    },
}

/// DCTCP.
pub type Dctcp = Windowed<DctcpLaw>;

/// A decrease in proportion to the share of marked bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DctcpLaw {
    /// Running share of marked bytes, 0 to 1. In Linux' arithmetic a whole number of 1/1024.
    pub(crate) alpha: f64,
    share: MarkedShare,
    /// A reduction by a mark is in progress.
    cwr: bool,
}

impl DctcpLaw {
    /// RFC 8257 §3.3; Linux `dctcp_update_alpha`.
    fn update_alpha(&mut self, path: &Path, p: &DctcpParameters) {
        let at_once = p.profile == Profile::Linux;
        let Some(window) = self.share.end_window(path, at_once) else {
            return;
        };
        let shift = p.shift_g.min(10);
        self.alpha = match p.profile {
            Profile::Rfc => {
                let g = 1.0 / f64::from(1u32 << shift);
                (1.0 - g) * self.alpha + g * (window.marked as f64 / window.acked as f64)
            }
            Profile::Linux => {
                let alpha = self.alpha_in_1024ths();
                // What would be less than one is all that is left, so that alpha can reach 0.
                let step = match alpha >> shift {
                    0 => alpha,
                    step => step,
                };
                let share = mul_div(window.marked, LINUX_ONE >> shift, window.acked);
                (alpha - step + share).min(LINUX_ONE) as f64 / LINUX_ONE as f64
            }
        };
    }

    fn alpha_in_1024ths(&self) -> u64 {
        (self.alpha * LINUX_ONE as f64) as u64
    }

    fn reduced_by_alpha(&self, window: &Window, path: &Path, p: &DctcpParameters) -> u64 {
        // He et al. 2016: 1 - (alpha - alpha * beta / 2).
        let weight = 2000 - p.priority.get().min(1000);
        let share = weight as f64 / 2000.0;
        match p.profile {
            Profile::Rfc => {
                let left = (window.cwnd as f64 * (1.0 - self.alpha * share)) as u64;
                (left + spared(path)).min(window.cwnd)
            }
            Profile::Linux => {
                let segments = window.cwnd / mss(path);
                let less = mul_div(segments, self.alpha_in_1024ths() * weight, 2000 * LINUX_ONE);
                (segments - less).saturating_mul(mss(path))
            }
        }
    }
}

/// What a reduction leaves on top of its share, bytes. Only whole segments leave, so windows of a few large ones let the link run dry
/// while the queue is shorter than the path. Linux rounds its reductions down, and needs nothing of the kind.
fn spared(path: &Path) -> u64 {
    match path.has_large_segments() && path.queue_is_short() {
        true => mss(path) * SPARED_PERCENT / 100,
        false => 0,
    }
}

impl Law for DctcpLaw {
    type Parameters = DctcpParameters;
    type Undo = ();
    const ABOUT: About = About {
        summary: "DCTCP: reduces in proportion to the share of ECN marks",
        source: "RFC 8257, Linux 6.12 tcp_dctcp.c",
        advice: "For data centres whose switches mark at a shallow threshold and keep other traffic \
                 apart: queues of a few packets at full throughput. Receivers must echo every mark \
                 (DCTCP's echo or AccECN); with plain ECN feedback it is Reno. Not on the Internet: \
                 beside Reno or CUBIC in a queue that marks rarely it takes nearly everything, and \
                 where nothing marks it is Reno.",
        signals: Signals::LOSS,
    };

    fn new(path: &Path, p: &DctcpParameters) -> Self {
        DctcpLaw {
            alpha: match p.profile {
                Profile::Rfc => p.alpha_init.get() as f64 / 1000.0,
                Profile::Linux => (p.alpha_init.get() * LINUX_ONE / 1000) as f64 / 1024.0,
            },
            share: MarkedShare::new(path),
            cwr: false,
        }
    }

    fn slow_start(p: &DctcpParameters, _: &Path) -> SlowStart {
        p.slow_start.start()
    }

    fn least_segments(p: &DctcpParameters) -> u8 {
        p.least_window.clamp(1, 10) as u8
    }

    fn on_ack(&mut self, event: &AckEvent, _: &mut Window, path: &Path, p: &DctcpParameters) {
        self.share.on_ack(event, path);
        self.update_alpha(path, p);
    }

    fn avoid(
        &mut self,
        bytes: u64,
        _: &AckEvent,
        window: &mut Window,
        path: &Path,
        _: &DctcpParameters,
    ) {
        if !self.cwr {
            window.add_segments(window.cwnd, bytes, path);
        }
    }

    fn reduce(&mut self, cause: Cause, window: &Window, path: &Path, p: &DctcpParameters) -> u64 {
        self.cwr = cause == Cause::Ecn;
        if cause != Cause::Ecn || !self.share.on_signal(path) {
            return window.cwnd / 2;
        }
        self.update_alpha(path, p);
        self.reduced_by_alpha(window, path, p)
    }

    fn on_recovery_exit(&mut self, _: Nanos, _: &mut Window, _: &Path, _: &DctcpParameters) {
        self.cwr = false;
    }

    fn save(&self) {}

    fn restore(&mut self, (): ()) {
        self.cwr = false;
    }
}

#[cfg(test)]
mod tests;
