//! HyStart as Linux has it (`tcp_cubic.c` 6.12; Ha & Rhee 2008): slow start ends when the ACKs of a
//! flight come as a train as long as half of the smallest RTT, or when nine samples of a round are
//! above it by an eighth.

use serde::{Deserialize, Serialize};

use super::Growth;
use crate::scale::rate_over;
use crate::window::mss;
use crate::{AckEvent, MILLISECOND, Nanos, Path, SECOND};

/// Smaller windows are left alone, segments.
const LOW_WINDOW_SEGMENTS: u64 = 16;
/// ACKs further apart do not belong to one train.
const ACK_GAP: Nanos = 2 * MILLISECOND;
const MIN_SAMPLES: u32 = 8;
const MIN_DELAY_THRESHOLD: Nanos = 4 * MILLISECOND;
const MAX_DELAY_THRESHOLD: Nanos = 16 * MILLISECOND;
/// Largest burst of segmentation offload, bytes (`sk_gso_max_size`).
const GSO_MAX_BYTES: u64 = 65_536;

/// The present round, and the smallest delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HyStart {
    delay_min: Nanos,
    /// Start of the round.
    round_start: Nanos,
    /// The newest ACK of its train.
    last_ack: Nanos,
    /// `path.delivered` beyond which it is over; 0 before the first.
    round_end: u64,
    round_min_rtt: Nanos,
    samples: u32,
    /// Only in a state that an older release has written: else [`super::SlowStart`] lets go of all of it.
    finished: bool,
}

impl HyStart {
    /// Takes one ACK in, also when the window may not grow by it.
    pub(super) fn on_ack(&mut self, event: &AckEvent, path: &Path, cwnd: u64) -> Growth {
        let go_on = Growth::By(event.delivered);
        let Some(rtt) = event.rtt.filter(|_| !self.finished) else {
            return go_on;
        };
        if self.delay_min == 0 || rtt < self.delay_min {
            self.delay_min = rtt.max(1);
        }
        if cwnd < LOW_WINDOW_SEGMENTS * mss(path) {
            return go_on;
        }
        self.finished = self.is_full(event, rtt, path, cwnd);
        if self.finished { Growth::Exit } else { go_on }
    }

    fn is_full(&mut self, event: &AckEvent, rtt: Nanos, path: &Path, cwnd: u64) -> bool {
        if path.delivered > self.round_end {
            self.round_start = event.now;
            self.last_ack = event.now;
            self.round_end = path.delivered.saturating_add(event.inflight);
            self.round_min_rtt = Nanos::MAX;
            self.samples = 0;
        }
        if event.now.saturating_sub(self.last_ack) <= ACK_GAP {
            self.last_ack = event.now;
            let train = event.now.saturating_sub(self.round_start);
            if train > self.delay_min.saturating_add(ack_delay(cwnd, path)) / 2 {
                return true;
            }
        }
        // Samples after the eighth count too: one that is not raised keeps slow start going.
        self.round_min_rtt = self.round_min_rtt.min(rtt);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        let rise = (self.delay_min / 8).clamp(MIN_DELAY_THRESHOLD, MAX_DELAY_THRESHOLD);
        self.round_min_rtt > self.delay_min.saturating_add(rise)
    }
}

/// How late the ACK of a burst may be: four of them at the pacing rate of slow start, at most 1 ms.
fn ack_delay(cwnd: u64, path: &Path) -> Nanos {
    let rate = rate_over(cwnd.saturating_mul(2), path.srtt).max(1);
    (4 * GSO_MAX_BYTES * SECOND / rate).min(MILLISECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// A flow in slow start with 40 segments out and a smallest delay of 100 ms.
    struct Run {
        hystart: HyStart,
        path: Path,
        now: Nanos,
        cwnd: u64,
    }

    impl Run {
        fn new() -> Run {
            let mut path = Path::new(MSS as u32);
            path.on_rtt(100 * MILLISECOND);
            let mut run = Run {
                hystart: HyStart::default(),
                path,
                now: SECOND,
                cwnd: 10 * MSS,
            };
            run.ack(100, 0);
            run.cwnd = 41 * MSS;
            run
        }

        fn ack(&mut self, rtt_ms: u64, gap_ms: u64) -> Growth {
            self.now += gap_ms * MILLISECOND;
            self.path.delivered += MSS;
            let event = AckEvent {
                now: self.now,
                delivered: MSS,
                inflight: 40 * MSS,
                rtt: Some(rtt_ms * MILLISECOND),
                ..AckEvent::default()
            };
            self.hystart.on_ack(&event, &self.path, self.cwnd)
        }
    }

    /// google/packetdrill `cubic-hystart-delay-rtt-jumps-upward.pkt`: RTT from 100 to 115 ms, and
    /// the ninth such sample of the round ends slow start; 112.5 is the threshold.
    #[test]
    fn the_ninth_raised_sample_ends_it() {
        let mut run = Run::new();
        for sample in 1..=8 {
            assert_eq!(run.ack(115, 3), Growth::By(MSS), "sample {sample}");
        }
        assert_eq!(run.ack(115, 3), Growth::Exit);
        assert_eq!(run.ack(115, 3), Growth::By(MSS), "once in a flow's life");
    }

    /// google/packetdrill `cubic-hystart-delay-min-rtt-jumps-downward.pkt`: samples after the
    /// eighth lower the minimum of the round.
    #[test]
    fn one_flat_sample_in_a_round_keeps_it_going() {
        let mut run = Run::new();
        for _ in 1..=8 {
            run.ack(115, 3);
        }
        assert_eq!(run.ack(100, 3), Growth::By(MSS));
        assert_eq!(run.ack(115, 3), Growth::By(MSS));
    }

    #[test]
    fn a_train_of_half_the_delay_ends_it_and_a_gap_breaks_it() {
        let mut run = Run::new();
        let exits = |run: &mut Run| (0..30).any(|_| run.ack(100, 2) == Growth::Exit);
        run.ack(100, 3);
        assert!(exits(&mut run));
        let mut broken = Run::new();
        let gap = |n: u64| if n % 10 == 9 { 3 } else { 2 };
        assert!((0..39).all(|n| broken.ack(100, gap(n)) != Growth::Exit));
    }

    #[test]
    fn small_windows_are_left_alone() {
        let mut run = Run::new();
        run.cwnd = 15 * MSS;
        assert!((0..50).all(|_| run.ack(300, 1) != Growth::Exit));
    }
}
