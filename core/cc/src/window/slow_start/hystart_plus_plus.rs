//! HyStart++ (RFC 9406).

use serde::{Deserialize, Serialize};

use super::Growth;
use crate::{AckEvent, MILLISECOND, Nanos, Path};

const MIN_RTT_THRESHOLD: Nanos = 4 * MILLISECOND;
const MAX_RTT_THRESHOLD: Nanos = 16 * MILLISECOND;
const MIN_RTT_DIVISOR: u64 = 8;
const RTT_SAMPLES: u32 = 8;
const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;

/// HyStart++: leaves slow start when the RTT of a round rises, by way of five rounds of slower
/// growth that it can take back. Only for the first slow start of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HyStartPlusPlus {
    last_round_min_rtt: Nanos,
    current_round_min_rtt: Nanos,
    /// RTT that put it into conservative slow start; `Nanos::MAX` outside.
    css_baseline_min_rtt: Nanos,
    /// `path.delivered` at which the round ends; `None` before the first ACK.
    window_end: Option<u64>,
    rtt_samples: u32,
    css_rounds: u32,
    /// Only in a state that an older release has written: else [`super::SlowStart`] lets go of all of it.
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

    /// Takes one ACK in, also when the window may not grow by it.
    pub(super) fn on_ack(&mut self, event: &AckEvent, path: &Path) -> Growth {
        if self.finished {
            return Growth::By(event.delivered);
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
        let divisor = if self.is_conservative() {
            CSS_GROWTH_DIVISOR
        } else {
            1
        };
        Growth::By(event.delivered / divisor)
    }

    /// In conservative slow start.
    pub(super) fn is_conservative(&self) -> bool {
        !self.finished && self.css_baseline_min_rtt != Nanos::MAX
    }
}

#[cfg(test)]
mod tests;
