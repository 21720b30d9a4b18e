//! What Mystique knows of a flow, and how it ages: Zhang et al., ANRW 2018, §3.1 and §3.2. The two
//! estimates of BBR are renewed by every ACK and take a step toward a worse path once a period, so
//! that a path that has become worse is believed in the end. [`crate::MystiqueBbr`] follows them,
//! and plugins read them by the paper's Table 1.

use serde::{Deserialize, Serialize};

use crate::scale::rate_over;
use crate::window::mss;
use crate::{AckEvent, ByteRate, Nanos, Path};

/// The states of the paper's §3.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimates {
    /// `c_rtt`, ns; 0 before the first sample.
    pub current_rtt: Nanos,
    /// `c_bw`, bytes per second: the newest delivery-rate sample; 0 before the first.
    pub current_bw: ByteRate,
    /// `min_rtt`; `Nanos::MAX` while unknown.
    pub min_rtt: Nanos,
    /// `max_bw`; 0 while unknown.
    pub max_bw: ByteRate,
    /// Start of the period; `None` before the first ACK and after idling.
    period_start: Option<Nanos>,
}

/// How the estimates age (§3.2: `setPeriod`, `setTstep`, `setBWstep`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steps {
    /// How often they take a step; 0: never.
    pub period: Nanos,
    /// What `min_rtt` grows by.
    pub t_step: Nanos,
    /// What `max_bw` loses, bytes per second.
    pub bw_step: ByteRate,
}

impl Estimates {
    /// What is known of the path so far.
    pub fn new(path: &Path) -> Estimates {
        Estimates {
            current_rtt: path.latest_rtt,
            current_bw: 0,
            min_rtt: path.min_rtt,
            max_bw: path.max_bw,
            period_start: None,
        }
    }

    /// Both are known.
    pub fn are_known(&self) -> bool {
        self.max_bw > 0 && self.min_rtt != Nanos::MAX
    }

    /// What an ACK shows.
    pub fn measure(&mut self, event: &AckEvent) {
        if let Some(rtt) = event.rtt {
            self.current_rtt = rtt;
            self.min_rtt = self.min_rtt.min(rtt);
        }
        if let Some(sample) = event.rate {
            self.current_bw = sample.rate;
            self.max_bw = self.max_bw.max(sample.rate);
        }
    }

    /// Once a period: both a step toward a worse path. What the next ACKs show to be better than
    /// that counts again.
    pub fn step_back(&mut self, now: Nanos, steps: &Steps, path: &Path) {
        let start = *self.period_start.get_or_insert(now);
        if steps.period == 0 || now.saturating_sub(start) < steps.period {
            return;
        }
        self.period_start = Some(now);
        // Never to nothing: a rate of nothing would mean that it is unknown.
        let least = rate_over(mss(path), self.min_rtt.max(1)).min(self.max_bw);
        self.max_bw = self.max_bw.saturating_sub(steps.bw_step).max(least);
        if self.min_rtt != Nanos::MAX {
            self.min_rtt = self.min_rtt.saturating_add(steps.t_step);
        }
    }

    /// Time without ACKs makes no steps.
    pub fn on_idle(&mut self) {
        self.period_start = None;
    }
}
