//! Estimator of token-bucket policers (Linux `bbr_lt_bw_*`): two intervals in a row, each bounded
//! by losses of a fifth or more, that delivered at the same rate, mean that something enforces it.

use serde::{Deserialize, Serialize};

use crate::scale::rate_over;
use crate::window::mss;
use crate::{ByteRate, MILLISECOND, Nanos, Path};

const MIN_INTERVAL_ROUNDS: u32 = 4;
const MAX_INTERVAL_ROUNDS: u32 = 4 * MIN_INTERVAL_ROUNDS;
/// Lost per delivered that makes an interval lossy, in 256ths (19.5 %).
const LOSS_256THS: u128 = 50;
/// Two rates are the same within an eighth,
const RATE_SHIFT: u32 = 3;
/// or within 4 kbit/s.
const RATE_SLACK: ByteRate = 4000 / 8;
/// A queue stands where the RTT is longer than the least by so much of it.
const QUEUE_RTT_PARTS: Nanos = 4;
/// Rounds for which the enforced rate is used before probing again.
const USE_ROUNDS: u32 = 48;
/// What left before the rate was kept to is accounted for after so many of them.
const SETTLED_ROUNDS: u32 = 2;
/// Of so many segments sent at the enforced rate, a policer takes less than this part.
const REFUTED_SEGMENTS: u64 = 24;
const REFUTED_PARTS: u64 = 8;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Policer {
    sampling: bool,
    in_use: bool,
    rate: ByteRate,
    rounds: u32,
    start: Nanos,
    start_delivered: u64,
    start_lost: u64,
    /// `start_delivered` and `start_lost` are of the use of the rate. Not in the state that processes hand over, nor is the next.
    #[serde(skip)]
    settled: bool,
    /// What looked like a policer was none.
    #[serde(skip)]
    refuted: bool,
}

/// A policer drops what its bucket does not allow, and lets nothing wait. Where packets wait, the queue drops them: what is
/// delivered is this flow's share among others, and not a rate that somebody enforces.
fn queue_stands(path: &Path) -> bool {
    let least = path.recent_min_rtt();
    path.srtt == 0 || path.srtt > least.saturating_add(least / QUEUE_RTT_PARTS)
}

/// What became of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Unchanged,
    /// The enforced rate has been used long enough: probe for bandwidth again.
    ProbeAgain,
}

impl Policer {
    /// The enforced rate, while one is believed in.
    pub(super) fn rate(&self) -> Option<ByteRate> {
        self.in_use.then_some(self.rate)
    }

    pub(super) fn reset(&mut self) {
        *self = Policer {
            refuted: self.refuted,
            ..Policer::default()
        };
    }

    /// Takes in what one ACK says. `probing` says that the flow is in PROBE_BW.
    pub(super) fn on_ack(
        &mut self,
        now: Nanos,
        path: &Path,
        round_start: bool,
        lossy: bool,
        app_limited: bool,
        probing: bool,
    ) -> Verdict {
        if self.in_use {
            return match probing && round_start {
                true => self.use_for_a_round(path),
                false => Verdict::Unchanged,
            };
        }
        if !self.sampling {
            if !lossy || self.refuted {
                return Verdict::Unchanged;
            }
            // The bucket has just run empty: what is delivered from now on is what fills it.
            self.sampling = true;
            self.begin(now, path);
        }
        if app_limited {
            self.reset();
            return Verdict::Unchanged;
        }
        self.rounds += u32::from(round_start);
        if self.rounds > MAX_INTERVAL_ROUNDS {
            self.reset();
        } else if self.rounds >= MIN_INTERVAL_ROUNDS && lossy {
            self.end_interval(now, path);
        }
        Verdict::Unchanged
    }

    /// A round at the enforced rate has passed.
    fn use_for_a_round(&mut self, path: &Path) -> Verdict {
        self.rounds += 1;
        if self.rounds >= USE_ROUNDS {
            self.reset();
            return Verdict::ProbeAgain;
        }
        if self.rounds == SETTLED_ROUNDS {
            (self.start_delivered, self.start_lost) = (path.delivered, path.lost);
            self.settled = true;
        }
        Verdict::Unchanged
    }

    /// A policer lets pass what comes at its rate. A queue that others keep full drops the same share of whatever comes: where
    /// that goes on, there is no policer, and a newcomer that believed in one would keep to what the others have left it.
    pub(super) fn is_refuted(&self, path: &Path) -> bool {
        if !self.in_use || !self.settled {
            return false;
        }
        let lost = path.lost.saturating_sub(self.start_lost);
        let sent = path.delivered.saturating_sub(self.start_delivered) + lost;
        sent >= REFUTED_SEGMENTS * mss(path) && lost * REFUTED_PARTS >= sent
    }

    /// There is no policer on this path.
    pub(super) fn refute(&mut self) {
        *self = Policer {
            refuted: true,
            ..Policer::default()
        };
    }

    fn begin(&mut self, now: Nanos, path: &Path) {
        self.start = now;
        self.start_delivered = path.delivered;
        self.start_lost = path.lost;
        self.rounds = 0;
    }

    fn end_interval(&mut self, now: Nanos, path: &Path) {
        let lost = path.lost.saturating_sub(self.start_lost);
        let delivered = path.delivered.saturating_sub(self.start_delivered);
        let span = now.saturating_sub(self.start);
        let lossy = u128::from(lost) * 256 >= LOSS_256THS * u128::from(delivered);
        if delivered == 0 || !lossy || span < MILLISECOND {
            return;
        }
        if queue_stands(path) {
            return self.reset();
        }
        let rate = rate_over(delivered, span);
        let difference = rate.abs_diff(self.rate);
        if self.rate > 0 && (difference <= self.rate >> RATE_SHIFT || difference <= RATE_SLACK) {
            self.rate = self.rate.midpoint(rate);
            self.in_use = true;
            self.rounds = 0;
        } else {
            self.rate = rate;
            self.begin(now, path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that knew nothing of refuting has counted from the interval that showed the policer. Its heir does not hold that
    /// loss against it.
    #[test]
    fn what_another_process_has_counted_refutes_nothing() {
        let policer = Policer {
            in_use: true,
            rate: 1_000_000,
            rounds: SETTLED_ROUNDS + 3,
            ..Policer::default()
        };
        let written = postcard::to_allocvec(&policer).expect("bytes");
        let mut heir: Policer = postcard::from_bytes(&written).expect("a policer");
        let mut path = Path::new(1000);
        (path.delivered, path.lost) = (100_000, 30_000);
        heir.use_for_a_round(&path);
        assert!(heir.rate().is_some() && !heir.is_refuted(&path));
    }
}
