//! Slow start, standard (RFC 5681 §3.1) and HyStart++ (RFC 9406), as parts that a window law takes.
//!
//! Growth is by bytes delivered without the limit of L segments per ACK: RFC 9406 §4.3 asks for
//! none when the sender paces, and Linux has none. Rounds are counted in bytes delivered, since
//! this layer knows no sequence numbers.

use core::fmt::Debug;

use crate::{AckEvent, MILLISECOND, Nanos, Path};

/// What slow start makes of one ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Grow by the bytes delivered, divided by this.
    Divided(u64),
    /// The pipe is full: leave slow start at the present window.
    Exit,
}

/// A way to run slow start.
pub trait SlowStart: Clone + Debug + Default {
    /// Takes one ACK of slow start in, also when the window may not grow by it.
    fn on_ack(&mut self, event: &AckEvent, path: &Path) -> Growth;

    /// Congestion was signalled: the first slow start is over.
    fn finish(&mut self) {}

    /// In conservative slow start.
    fn is_conservative(&self) -> bool {
        false
    }
}

/// Doubling until something is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StandardSlowStart;

impl SlowStart for StandardSlowStart {
    fn on_ack(&mut self, _event: &AckEvent, _path: &Path) -> Growth {
        Growth::Divided(1)
    }
}

const MIN_RTT_THRESHOLD: Nanos = 4 * MILLISECOND;
const MAX_RTT_THRESHOLD: Nanos = 16 * MILLISECOND;
const MIN_RTT_DIVISOR: u64 = 8;
const RTT_SAMPLES: u32 = 8;
const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;

/// HyStart++: leaves slow start when the RTT of a round rises, by way of five rounds of slower
/// growth that it can take back. Only for the first slow start of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HyStartPlusPlus {
    last_round_min_rtt: Nanos,
    current_round_min_rtt: Nanos,
    /// RTT that put it into conservative slow start; `Nanos::MAX` outside.
    css_baseline_min_rtt: Nanos,
    /// `path.delivered` at which the round ends; `None` before the first ACK.
    window_end: Option<u64>,
    rtt_samples: u32,
    css_rounds: u32,
    finished: bool,
}

impl Default for HyStartPlusPlus {
    fn default() -> Self {
        HyStartPlusPlus {
            last_round_min_rtt: Nanos::MAX,
            current_round_min_rtt: Nanos::MAX,
            css_baseline_min_rtt: Nanos::MAX,
            window_end: None,
            rtt_samples: 0,
            css_rounds: 0,
            finished: false,
        }
    }
}

impl HyStartPlusPlus {
    fn take_rtt(&mut self, rtt: Nanos) {
        self.current_round_min_rtt = self.current_round_min_rtt.min(rtt);
        self.rtt_samples = self.rtt_samples.saturating_add(1);
        if self.rtt_samples < RTT_SAMPLES {
            return;
        }
        if self.is_conservative() {
            if self.current_round_min_rtt < self.css_baseline_min_rtt {
                // The rise was jitter: back to full growth.
                self.css_baseline_min_rtt = Nanos::MAX;
            }
        } else if self.last_round_min_rtt != Nanos::MAX {
            let threshold = (self.last_round_min_rtt / MIN_RTT_DIVISOR)
                .clamp(MIN_RTT_THRESHOLD, MAX_RTT_THRESHOLD);
            if self.current_round_min_rtt >= self.last_round_min_rtt.saturating_add(threshold) {
                self.css_baseline_min_rtt = self.current_round_min_rtt;
                self.css_rounds = 0;
            }
        }
    }

    /// True if the round that ends here is the last of conservative slow start.
    fn end_round(&mut self) -> bool {
        self.last_round_min_rtt = self.current_round_min_rtt;
        self.current_round_min_rtt = Nanos::MAX;
        self.rtt_samples = 0;
        if self.is_conservative() {
            self.css_rounds += 1;
        }
        self.css_rounds >= CSS_ROUNDS && self.is_conservative()
    }
}

impl SlowStart for HyStartPlusPlus {
    fn on_ack(&mut self, event: &AckEvent, path: &Path) -> Growth {
        if self.finished {
            return Growth::Divided(1);
        }
        let first_flight = path
            .delivered
            .saturating_sub(event.delivered)
            .saturating_add(event.inflight_before);
        let window_end = *self.window_end.get_or_insert(first_flight);
        if let Some(rtt) = event.rtt {
            self.take_rtt(rtt);
        }
        if path.delivered >= window_end {
            self.window_end = Some(path.delivered.saturating_add(event.inflight));
            if self.end_round() {
                self.finished = true;
                return Growth::Exit;
            }
        }
        Growth::Divided(if self.is_conservative() {
            CSS_GROWTH_DIVISOR
        } else {
            1
        })
    }

    fn finish(&mut self) {
        self.finished = true;
    }

    fn is_conservative(&self) -> bool {
        !self.finished && self.css_baseline_min_rtt != Nanos::MAX
    }
}

#[cfg(test)]
#[path = "slow_start_tests.rs"]
mod tests;
