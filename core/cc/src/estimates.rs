//! What Mystique knows of a flow, and how it ages: Zhang et al., ANRW 2018, §3.1 and §3.2. The two
//! estimates of BBR are renewed by every ACK and take a step toward a worse path once a period, so
//! that a path that has become worse is believed in the end. The largest RTT is renewed and forgotten in the same way. [`crate::MystiqueBbr`] follows them,
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
    /// `max_rtt`, ns; 0 before the first sample. It is not in what is exported, and is measured anew after that.
    #[serde(skip)]
    pub max_rtt: Nanos,
}

/// How the estimates age (§3.2: `setPeriod`, `setTstep`, `setBWstep`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steps {
    /// How often they take a step; 0: never.
    pub period: Nanos,
    /// What `min_rtt` grows by, and `max_rtt` loses.
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
            max_rtt: path.max_rtt,
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
            self.max_rtt = self.max_rtt.max(rtt);
        }
        if let Some(sample) = event.rate {
            self.current_bw = sample.rate;
            self.max_bw = self.max_bw.max(sample.rate);
        }
    }

    /// Once a period: the extremes take a step, the two of BBR toward a worse path. What the next ACKs show to be beyond
    /// them counts again.
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
            let shorter = self.max_rtt.saturating_sub(steps.t_step);
            self.max_rtt = shorter.max(self.min_rtt);
        }
    }

    /// Time without ACKs makes no steps.
    pub fn on_idle(&mut self) {
        self.period_start = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MILLISECOND, SECOND};

    /// A queue of 200 ms that is gone is forgotten as step by step as a path of 40 ms that has become one of 60.
    #[test]
    fn the_largest_round_trip_ages_like_the_smallest() {
        let path = Path::new(1000);
        let mut estimates = Estimates::new(&path);
        assert_eq!((estimates.min_rtt, estimates.max_rtt), (Nanos::MAX, 0));
        let steps = Steps {
            period: 5 * SECOND,
            t_step: 10 * MILLISECOND,
            bw_step: 0,
        };
        let mut ack = |rtt_ms, second| {
            let event = AckEvent {
                now: second * SECOND,
                rtt: Some(rtt_ms * MILLISECOND),
                ..AckEvent::default()
            };
            estimates.measure(&event);
            estimates.step_back(event.now, &steps, &path);
            let ms = |rtt| rtt / MILLISECOND;
            (ms(estimates.min_rtt), ms(estimates.max_rtt))
        };
        assert_eq!(ack(40, 0), (40, 40));
        assert_eq!(ack(200, 1), (40, 200));
        assert_eq!(ack(60, 5), (50, 190));
        assert_eq!(ack(60, 10), (60, 180));
        for period in 3..40 {
            ack(60, 5 * period);
        }
        let (least, most) = ack(60, 204);
        assert!(least <= most && (60..=70).contains(&most), "{least} {most}");
        assert_eq!(ack(300, 205).1, 300);
    }
}
