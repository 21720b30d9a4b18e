//! The congestion control of an untouched sender: Reno, and CUBIC with the classic HyStart, in
//! packets and by the rules that Linux adds to them. Other algorithms are in `hosted`.
//!
//! Follows RFC 5681 and RFC 9438 with the constants of Linux 6.1 `tcp_cubic.c` (beta 717/1024,
//! C 0.4), and Ha & Rhee, "Hybrid Slow Start for High-Bandwidth and Long-Distance Networks" (2008)
//! with that file's thresholds. Independent of `windlass-cc` on purpose: this is the sender that a
//! box meets, not the one it would like.

use windlass_cc::{MILLISECOND, Nanos, SECOND};

use super::{CongestionOps, Counts, RttEvent, Window};

/// Which law the window grows by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Law {
    /// RFC 5681.
    Reno,
    /// RFC 9438, with or without HyStart.
    Cubic { hystart: bool },
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

/// The algorithm's own state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernel {
    /// Set once HyStart has ended slow start.
    hystart_exit: Option<HystartExit>,
    law: Law,
    credit: f64,
    cubic: Cubic,
    hystart: Hystart,
}

impl Kernel {
    pub(super) fn new(law: Law) -> Self {
        Kernel {
            hystart_exit: None,
            law,
            credit: 0.0,
            cubic: Cubic::default(),
            hystart: Hystart::default(),
        }
    }

    fn hystart_update(&mut self, event: &RttEvent, cwnd: u32) -> Option<HystartCause> {
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
            let slack = ack_delay_allowance(cwnd, event.srtt);
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

    /// ACKed packets per packet of growth.
    fn cubic_count(&mut self, now: Nanos, packets: u32, cwnd: u32) -> f64 {
        let cwnd = f64::from(cwnd);
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
}

impl CongestionOps for Kernel {
    fn hystart_exit(&self) -> Option<HystartExit> {
        self.hystart_exit
    }

    /// Minimum delay and HyStart.
    fn on_rtt(&mut self, event: &RttEvent, window: &mut Window) {
        let Law::Cubic { hystart } = self.law else {
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
            && window.in_slow_start()
            && window.cwnd >= HYSTART_LOW_WINDOW
            && let Some(cause) = self.hystart_update(event, window.cwnd)
        {
            self.hystart.found = true;
            window.ssthresh = window.cwnd;
            self.hystart_exit = Some(HystartExit {
                cause,
                cwnd_packets: window.cwnd,
                at: event.now,
            });
        }
    }

    fn on_acked(&mut self, now: Nanos, packets: u32, window: &mut Window) {
        let mut packets = packets;
        if window.in_slow_start() {
            let room = window.ssthresh - window.cwnd;
            let grow = packets.min(room);
            window.cwnd += grow;
            packets -= grow;
        }
        if packets == 0 {
            return;
        }
        let per_increase = match self.law {
            Law::Reno => f64::from(window.cwnd),
            Law::Cubic { .. } => self.cubic_count(now, packets, window.cwnd),
        };
        self.credit += f64::from(packets) / per_increase;
        window.cwnd += self.credit as u32;
        self.credit = self.credit.fract();
    }

    /// Starts a new epoch.
    fn ssthresh(&mut self, window: &Window) -> u32 {
        let cwnd = f64::from(window.cwnd);
        self.cubic.epoch_start = None;
        self.credit = 0.0;
        match self.law {
            Law::Reno => (window.cwnd / 2).max(2),
            Law::Cubic { .. } => {
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
    fn on_loss_state(&mut self) {
        self.cubic = Cubic {
            delay_min: 0,
            ..Cubic::default()
        };
        self.hystart = Hystart::default();
    }

    /// The epoch does not count idle time.
    fn on_restart(&mut self, now: Nanos, idle: Nanos, _app_limited: bool, _counts: &Counts) {
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

    fn cubic(cwnd: u32) -> (Kernel, Window) {
        (Kernel::new(Law::Cubic { hystart: true }), Window::new(cwnd))
    }

    #[test]
    fn a_train_longer_than_half_the_rtt_ends_slow_start() {
        let (mut cc, mut window) = cubic(100);
        for i in 0..=50 {
            cc.on_rtt(&event(1000.0 + f64::from(i), 100, 1, 1000), &mut window);
            assert_eq!(cc.hystart_exit, None, "at {i} ms");
        }
        cc.on_rtt(&event(1051.0, 100, 1, 1000), &mut window);
        let exit = cc.hystart_exit.expect("51 ms of ACKs at 100 ms RTT");
        assert_eq!((exit.cause, exit.cwnd_packets), (HystartCause::Train, 100));
        assert_eq!(window.ssthresh, 100);
    }

    #[test]
    fn one_gap_of_2_3_ms_breaks_the_train() {
        let (mut cc, mut window) = cubic(100);
        for i in 0..=60 {
            let gap = if i < 20 { 0.0 } else { 2.3 };
            cc.on_rtt(
                &event(1000.0 + f64::from(i) + gap, 100, 1, 1000),
                &mut window,
            );
        }
        assert_eq!(cc.hystart_exit, None);
    }

    #[test]
    fn nine_late_samples_in_a_round_end_slow_start_and_eight_do_not() {
        let (mut cc, mut window) = cubic(100);
        cc.on_rtt(&event(1000.0, 100, 1, 10), &mut window);
        for i in 0..8u32 {
            cc.on_rtt(
                &event(1100.0 + 3.0 * f64::from(i), 113, 11, 100),
                &mut window,
            );
            assert_eq!(cc.hystart_exit, None, "sample {i}");
        }
        cc.on_rtt(&event(1130.0, 113, 12, 100), &mut window);
        let exit = cc.hystart_exit.expect("nine samples above 112.5 ms");
        assert_eq!(exit.cause, HystartCause::Delay);
    }

    #[test]
    fn cubic_returns_to_its_old_window_after_k_seconds() {
        let (mut cc, mut window) = cubic(1000);
        window.ssthresh = cc.ssthresh(&window);
        window.cwnd = window.ssthresh;
        assert_eq!(window.cwnd, 700);
        // K = cbrt(300 / 0.4) = 9.09 s.
        let mut now = SECOND;
        while now < SECOND + 9 * SECOND {
            cc.on_acked(now, window.cwnd, &mut window);
            now += SECOND / 5;
        }
        assert!((970..=1000).contains(&window.cwnd), "{window:?}");
    }

    #[test]
    fn reno_halves_and_grows_by_one_per_window() {
        let (mut cc, mut window) = (Kernel::new(Law::Reno), Window::new(100));
        window.ssthresh = cc.ssthresh(&window);
        window.cwnd = window.ssthresh;
        assert_eq!(window.cwnd, 50);
        for _ in 0..5 {
            cc.on_acked(0, window.cwnd, &mut window);
        }
        assert_eq!(window.cwnd, 55);
    }
}
