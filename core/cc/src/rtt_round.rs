//! The RTTs of one round trip, for the laws that look for a queue once per round: Vegas and its
//! descendants (Veno, YeAH, Compound TCP).
//!
//! A round ends with the first delivery of data sent after it began, as Linux `tcp_vegas.c` has it
//! (`after(ack, beg_snd_nxt)`); it is counted in bytes delivered, since this layer knows no sequence
//! numbers.

use serde::{Deserialize, Serialize};

use crate::scale::mul_div;
use crate::{AckEvent, Nanos, Path};

/// A round with fewer samples may hold only those of delayed ACKs, and says nothing (Linux
/// `tcp_vegas.c`: `cntRTT <= 2`).
const LEAST_SAMPLES: u32 = 3;

/// The round that is running, or the one that the newest ACK ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RttRound {
    /// Smallest RTT since the flow began or it was forgotten, never zero; `Nanos::MAX` if unknown.
    base: Nanos,
    /// Smallest RTT of the round, never zero; `Nanos::MAX` without a sample.
    min: Nanos,
    /// The round ends when more bytes than this have been delivered.
    end: u64,
    samples: u32,
    ended: bool,
}

impl RttRound {
    /// Begins with what is known of the path.
    pub(crate) fn new(path: &Path) -> Self {
        let mut round = RttRound {
            base: path.min_rtt.max(1),
            min: Nanos::MAX,
            end: 0,
            samples: 0,
            ended: false,
        };
        round.restart(path);
        round
    }

    /// Takes every ACK in.
    pub(crate) fn on_ack(&mut self, event: &AckEvent, path: &Path) {
        if self.ended {
            self.clear();
        }
        if let Some(rtt) = event.rtt {
            self.base = self.base.min(rtt.max(1));
            self.min = self.min.min(rtt.max(1));
            self.samples = self.samples.saturating_add(1);
        }
        self.ended = path.delivered > self.end;
        if self.ended {
            self.end = path.delivered.saturating_add(event.inflight);
        }
    }

    /// The newest ACK ended a round.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    /// It ended one whose RTTs can be believed.
    pub(crate) fn measured(&self) -> bool {
        self.ended && self.samples >= LEAST_SAMPLES
    }

    /// Smallest RTT of the round.
    pub(crate) fn min(&self) -> Nanos {
        self.min
    }

    /// Smallest RTT known.
    pub(crate) fn base(&self) -> Nanos {
        self.base
    }

    /// The part of `window` that waits in queues at a round trip of `rtt`: what exceeds
    /// `window * base / rtt`.
    pub(crate) fn backlog(&self, window: u64, rtt: Nanos) -> u64 {
        mul_div(window, rtt.saturating_sub(self.base), rtt)
    }

    /// A new round begins with what is sent from now on: what was measured belongs to another
    /// window.
    pub(crate) fn restart(&mut self, path: &Path) {
        self.clear();
        self.end = path.delivered.saturating_add(path.inflight);
    }

    /// A new round begins after nothing was in flight.
    pub(crate) fn restart_after_idle(&mut self) {
        self.clear();
        self.end = 0;
    }

    /// The path may be another one.
    pub(crate) fn forget_base(&mut self) {
        self.base = Nanos::MAX;
    }

    fn clear(&mut self) {
        self.min = Nanos::MAX;
        self.samples = 0;
        self.ended = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(round: &mut RttRound, path: &mut Path, bytes: u64, inflight: u64, rtt: Nanos) {
        path.delivered += bytes;
        let event = AckEvent {
            delivered: bytes,
            inflight,
            rtt: Some(rtt),
            ..AckEvent::default()
        };
        round.on_ack(&event, path);
    }

    /// Ten segments in flight all the time: the first ACK ends the round of nothing, the eleventh
    /// after it the first full one.
    #[test]
    fn a_round_ends_when_data_sent_in_it_is_delivered() {
        let mut path = Path::new(1000);
        let mut round = RttRound::new(&path);
        let mut ends = Vec::new();
        for n in 1..=34 {
            ack(&mut round, &mut path, 1000, 10_000, 100 + n);
            if round.ended() {
                ends.push((n, round.samples, round.min(), round.measured()));
            }
        }
        let full = |n| (n, 11, 100 + n - 10, true);
        assert_eq!(ends, [(1, 1, 101, false), full(12), full(23), full(34)]);
        assert_eq!(round.base(), 101);
    }

    #[test]
    fn two_samples_are_no_measurement() {
        let mut path = Path::new(1000);
        path.inflight = 2000;
        let mut round = RttRound::new(&path);
        ack(&mut round, &mut path, 2000, 2000, 5);
        assert!(!round.ended());
        ack(&mut round, &mut path, 2000, 2000, 7);
        assert!(round.ended() && !round.measured());
    }

    /// 100 segments at 120 ms over 100 ms: 16.7 wait, 83.3 are under way.
    #[test]
    fn the_backlog_is_what_the_base_rtt_does_not_explain() {
        let mut path = Path::new(1000);
        path.on_rtt(100);
        let mut round = RttRound::new(&path);
        assert_eq!(round.backlog(100_000, 120), 16_666);
        assert_eq!(round.backlog(100_000, 100), 0);
        assert_eq!(round.backlog(100_000, 90), 0);
        round.forget_base();
        assert_eq!(round.backlog(100_000, 120), 0);
    }

    #[test]
    fn a_restart_leaves_out_what_was_in_flight() {
        let mut path = Path::new(1000);
        let mut round = RttRound::new(&path);
        ack(&mut round, &mut path, 1000, 3000, 50);
        path.inflight = 3000;
        round.restart(&path);
        (0..3).for_each(|_| ack(&mut round, &mut path, 1000, 3000, 60));
        assert!(!round.ended());
        ack(&mut round, &mut path, 1000, 3000, 60);
        assert!(round.measured());
        round.restart_after_idle();
        ack(&mut round, &mut path, 1000, 3000, 40);
        assert!(round.ended() && !round.measured());
    }
}
