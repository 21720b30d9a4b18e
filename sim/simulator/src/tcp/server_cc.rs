//! The congestion control of an untouched sender: Reno, and CUBIC with the classic HyStart, in
//! packets and by the rules that Linux adds to them. Other algorithms are in `native.rs`.
//!
//! Follows RFC 5681 and RFC 9438 with the constants of Linux 6.1 `tcp_cubic.c` (beta 717/1024,
//! C 0.4), and Ha & Rhee, "Hybrid Slow Start for High-Bandwidth and Long-Distance Networks" (2008)
//! with that file's thresholds. Independent of `windlass-cc` on purpose: this is the sender that a
//! box meets, not the one it would like.

use windlass_cc::{MILLISECOND, Nanos, SECOND, Settings};

/// Which law the sender grows its window by.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ServerAlgorithm {
    /// RFC 5681.
    Reno,
    /// RFC 9438, with or without HyStart.
    Cubic {
        /// Leave slow start on long ACK trains and on rising delay.
        hystart: bool,
    },
    /// Any algorithm of `windlass-cc`, however it is set; window and rate are what it says.
    Native(Settings),
}

/// Why HyStart ended slow start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HystartCause {
    /// ACKs closely spaced over more than half the minimum RTT.
    Train,
    /// A whole round above the minimum RTT.
    Delay,
}

/// The end of slow start by HyStart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HystartExit {
    /// By which of its two means.
    pub cause: HystartCause,
    /// Congestion window then, packets.
    pub cwnd_packets: u32,
    /// When.
    pub at: Nanos,
}

/// `ssthresh` before the first congestion.
pub const SSTHRESH_INFINITE: u32 = u32::MAX;

const BETA: f64 = 717.0 / 1024.0;
const CUBIC_C: f64 = 0.4;
/// HyStart leaves smaller windows alone, packets.
const HYSTART_LOW_WINDOW: u32 = 16;
/// ACKs further apart than this are not a train.
const HYSTART_ACK_GAP: Nanos = 2 * MILLISECOND;
/// RTT samples of a round before its delay counts.
const HYSTART_MIN_SAMPLES: u32 = 8;
const HYSTART_DELAY_MIN: Nanos = 4 * MILLISECOND;
const HYSTART_DELAY_MAX: Nanos = 16 * MILLISECOND;

#[derive(Clone, Copy, Debug, Default)]
struct Hystart {
    found: bool,
    round_start: Nanos,
    last_ack: Nanos,
    end_offset: u64,
    round_min_rtt: Nanos,
    samples: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cubic {
    last_max: f64,
    epoch_start: Option<Nanos>,
    origin: f64,
    k: f64,
    reno_cwnd: f64,
    delay_min: Nanos,
}

/// What an ACK tells the algorithm about time.
#[derive(Clone, Copy, Debug)]
pub struct RttEvent {
    /// Arrival.
    pub now: Nanos,
    /// RTT of the newest never-retransmitted packet that it delivers.
    pub rtt: Nanos,
    /// First unacknowledged offset after it.
    pub una: u64,
    /// End of what has been sent.
    pub nxt: u64,
    /// Smoothed RTT, ns.
    pub srtt: Nanos,
}

/// Window, threshold and the algorithm's own state.
#[derive(Clone, Copy, Debug)]
pub struct ServerCc {
    /// Congestion window, packets.
    pub cwnd: u32,
    /// Slow-start threshold, packets.
    pub ssthresh: u32,
    /// Set once HyStart has ended slow start.
    pub hystart_exit: Option<HystartExit>,
    algorithm: ServerAlgorithm,
    credit: f64,
    cubic: Cubic,
    hystart: Hystart,
}

impl ServerCc {
    /// A window of `initial_cwnd` packets in slow start.
    pub fn new(algorithm: ServerAlgorithm, initial_cwnd: u32) -> Self {
        ServerCc {
            cwnd: initial_cwnd,
            ssthresh: SSTHRESH_INFINITE,
            hystart_exit: None,
            algorithm,
            credit: 0.0,
            cubic: Cubic::default(),
            hystart: Hystart::default(),
        }
    }

    /// Which algorithm it is.
    pub fn algorithm(&self) -> ServerAlgorithm {
        self.algorithm
    }

    /// The window is below the threshold.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// An RTT sample (`pkts_acked` in Linux): minimum delay and HyStart.
    pub fn on_rtt(&mut self, event: &RttEvent) {
        let ServerAlgorithm::Cubic { hystart } = self.algorithm else {
            return;
        };
        // For a second after a reduction the samples are those of a draining queue.
        if let Some(start) = self.cubic.epoch_start
            && event.now - start < SECOND
        {
            return;
        }
        if self.cubic.delay_min == 0 || event.rtt < self.cubic.delay_min {
            self.cubic.delay_min = event.rtt.max(1);
        }
        if hystart
            && !self.hystart.found
            && self.in_slow_start()
            && self.cwnd >= HYSTART_LOW_WINDOW
            && let Some(cause) = self.hystart_update(event)
        {
            self.hystart.found = true;
            self.ssthresh = self.cwnd;
            self.hystart_exit = Some(HystartExit {
                cause,
                cwnd_packets: self.cwnd,
                at: event.now,
            });
        }
    }

    fn hystart_update(&mut self, event: &RttEvent) -> Option<HystartCause> {
        let delay_min = self.cubic.delay_min;
        let round = &mut self.hystart;
        if event.una > round.end_offset || round.round_start == 0 {
            *round = Hystart {
                found: false,
                round_start: event.now,
                last_ack: event.now,
                end_offset: event.nxt,
                round_min_rtt: Nanos::MAX,
                samples: 0,
            };
        }
        if event.now - round.last_ack <= HYSTART_ACK_GAP {
            round.last_ack = event.now;
            // An unpaced sender's train spans half the RTT when the pipe is full.
            let slack = ack_delay_allowance(self.cwnd, event.srtt);
            if event.now - round.round_start > (delay_min + slack) / 2 {
                return Some(HystartCause::Train);
            }
        }
        round.round_min_rtt = round.round_min_rtt.min(event.rtt);
        if round.samples < HYSTART_MIN_SAMPLES {
            round.samples += 1;
            return None;
        }
        let rise = (delay_min / 8).clamp(HYSTART_DELAY_MIN, HYSTART_DELAY_MAX);
        (round.round_min_rtt > delay_min + rise).then_some(HystartCause::Delay)
    }

    /// `packets` were delivered while the window was the limit.
    pub fn on_acked(&mut self, now: Nanos, packets: u32) {
        let mut packets = packets;
        if self.in_slow_start() {
            let room = self.ssthresh - self.cwnd;
            let grow = packets.min(room);
            self.cwnd += grow;
            packets -= grow;
        }
        if packets == 0 {
            return;
        }
        let per_increase = match self.algorithm {
            ServerAlgorithm::Reno | ServerAlgorithm::Native(_) => f64::from(self.cwnd),
            ServerAlgorithm::Cubic { .. } => self.cubic_count(now, packets),
        };
        self.credit += f64::from(packets) / per_increase;
        self.cwnd += self.credit as u32;
        self.credit = self.credit.fract();
    }

    /// ACKed packets per packet of growth.
    fn cubic_count(&mut self, now: Nanos, packets: u32) -> f64 {
        let cwnd = f64::from(self.cwnd);
        let cubic = &mut self.cubic;
        let start = *cubic.epoch_start.get_or_insert_with(|| {
            cubic.reno_cwnd = cwnd;
            if cubic.last_max <= cwnd {
                cubic.k = 0.0;
                cubic.origin = cwnd;
            } else {
                cubic.k = ((cubic.last_max - cwnd) / CUBIC_C).cbrt();
                cubic.origin = cubic.last_max;
            }
            now
        });
        let elapsed = (now - start + cubic.delay_min) as f64 / SECOND as f64;
        let target = cubic.origin + CUBIC_C * (elapsed - cubic.k).powi(3);
        let mut count = if target > cwnd {
            cwnd / (target - cwnd)
        } else {
            100.0 * cwnd
        };
        if cubic.last_max == 0.0 {
            count = count.min(20.0);
        }
        // RFC 9438 §4.3: not slower than Reno with the same beta.
        cubic.reno_cwnd += 3.0 * (1.0 - BETA) / (1.0 + BETA) * f64::from(packets) / cwnd;
        if cubic.reno_cwnd > cwnd {
            count = count.min(cwnd / (cubic.reno_cwnd - cwnd).max(1.0));
        }
        count.max(2.0)
    }

    /// The threshold for a reduction now (`ssthresh()` in Linux). Starts a new epoch.
    pub fn reduced_ssthresh(&mut self) -> u32 {
        let cwnd = f64::from(self.cwnd);
        self.cubic.epoch_start = None;
        self.credit = 0.0;
        match self.algorithm {
            ServerAlgorithm::Native(_) => self.ssthresh,
            ServerAlgorithm::Reno => (self.cwnd / 2).max(2),
            ServerAlgorithm::Cubic { .. } => {
                // Fast convergence (RFC 9438 §4.7).
                self.cubic.last_max = if cwnd < self.cubic.last_max {
                    cwnd * (1.0 + BETA) / 2.0
                } else {
                    cwnd
                };
                ((cwnd * BETA) as u32).max(2)
            }
        }
    }

    /// The retransmission timer fired: the algorithm forgets its epoch and looks for the end of
    /// slow start again.
    pub fn on_loss_state(&mut self) {
        self.cubic = Cubic {
            delay_min: 0,
            ..Cubic::default()
        };
        self.hystart = Hystart::default();
    }

    /// Sending resumes after nothing was in flight: the epoch does not count idle time.
    pub fn on_restart(&mut self, now: Nanos, idle: Nanos) {
        if let Some(start) = &mut self.cubic.epoch_start {
            *start = (*start + idle).min(now);
        }
    }
}

/// Time by which a sender's own super-segments may stretch an ACK train, at most 1 ms: four times
/// 64 KiB at twice the window per RTT.
fn ack_delay_allowance(cwnd: u32, srtt: Nanos) -> Nanos {
    let packets_per_rtt = 2 * u64::from(cwnd.max(1));
    (4 * 45 * srtt / packets_per_rtt).min(MILLISECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(now_ms: f64, rtt_ms: u64, una: u64, nxt: u64) -> RttEvent {
        RttEvent {
            now: (now_ms * MILLISECOND as f64) as Nanos,
            rtt: rtt_ms * MILLISECOND,
            una,
            nxt,
            srtt: rtt_ms * MILLISECOND,
        }
    }

    fn cubic(cwnd: u32) -> ServerCc {
        ServerCc::new(ServerAlgorithm::Cubic { hystart: true }, cwnd)
    }

    #[test]
    fn a_train_longer_than_half_the_rtt_ends_slow_start() {
        let mut cc = cubic(100);
        for i in 0..=50 {
            cc.on_rtt(&event(1000.0 + f64::from(i), 100, 1, 1000));
            assert_eq!(cc.hystart_exit, None, "at {i} ms");
        }
        cc.on_rtt(&event(1051.0, 100, 1, 1000));
        let exit = cc.hystart_exit.expect("51 ms of ACKs at 100 ms RTT");
        assert_eq!((exit.cause, exit.cwnd_packets), (HystartCause::Train, 100));
        assert_eq!(cc.ssthresh, 100);
    }

    #[test]
    fn one_gap_of_2_3_ms_breaks_the_train() {
        let mut cc = cubic(100);
        for i in 0..=60 {
            let gap = if i < 20 { 0.0 } else { 2.3 };
            cc.on_rtt(&event(1000.0 + f64::from(i) + gap, 100, 1, 1000));
        }
        assert_eq!(cc.hystart_exit, None);
    }

    #[test]
    fn nine_late_samples_in_a_round_end_slow_start_and_eight_do_not() {
        let mut cc = cubic(100);
        cc.on_rtt(&event(1000.0, 100, 1, 10));
        for i in 0..8u32 {
            cc.on_rtt(&event(1100.0 + 3.0 * f64::from(i), 113, 11, 100));
            assert_eq!(cc.hystart_exit, None, "sample {i}");
        }
        cc.on_rtt(&event(1130.0, 113, 12, 100));
        let exit = cc.hystart_exit.expect("nine samples above 112.5 ms");
        assert_eq!(exit.cause, HystartCause::Delay);
    }

    #[test]
    fn cubic_returns_to_its_old_window_after_k_seconds() {
        let mut cc = cubic(1000);
        cc.ssthresh = cc.reduced_ssthresh();
        cc.cwnd = cc.ssthresh;
        assert_eq!(cc.cwnd, 700);
        // K = cbrt(300 / 0.4) = 9.09 s.
        let mut now = SECOND;
        while now < SECOND + 9 * SECOND {
            cc.on_acked(now, cc.cwnd);
            now += SECOND / 5;
        }
        assert!((970..=1000).contains(&cc.cwnd), "cwnd {}", cc.cwnd);
    }

    #[test]
    fn reno_halves_and_grows_by_one_per_window() {
        let mut cc = ServerCc::new(ServerAlgorithm::Reno, 100);
        cc.ssthresh = cc.reduced_ssthresh();
        cc.cwnd = cc.ssthresh;
        assert_eq!(cc.cwnd, 50);
        for _ in 0..5 {
            cc.on_acked(0, cc.cwnd);
        }
        assert_eq!(cc.cwnd, 55);
    }
}
