//! FAST TCP: Wei, Jin, Low, Hegde, "FAST TCP: Motivation, Architecture, Algorithms, Performance",
//! IEEE/ACM ToN 14(6), 2006. The paper was not at hand: this follows its published update rule as
//! commonly quoted.
//!
//! Every other round trip w becomes min(2w, (1 − gamma) w + gamma (w · baseRTT / RTT + alpha)), RTT
//! being an average with weight min(3 / w, 1/4) per sample; in equilibrium a flow keeps alpha
//! segments in queues. Slow start ends once they are there. A loss halves the window, as Reno's.
//! Settled here: alpha follows the rate by a table unless it is set, with a fifth of hysteresis;
//! base RTT and rounds are Vegas' (learned anew after idling); a window that is not used, or in
//! recovery, does not grow; spreading an increase over the round trip is the pacer's.

use serde::{Deserialize, Serialize};

use crate::parameter::{Thousandths, parameters};
use crate::rtt_round::RttRound;
use crate::scale::rate_over;
use crate::window::slow_start::{SlowStart, SlowStartRule};
use crate::window::windowed::{Cause, Law, Windowed};
use crate::window::{Window, mss};
use crate::{About, AckEvent, ByteRate, Nanos, Path, Preset, Range, Signals, Value};

/// Smallest window that an update leaves, segments.
const MIN_CWND_SEGMENTS: u64 = 2;
/// RTT samples in a row that end slow start (as many as HyStart wants).
const QUEUED_SAMPLES: u32 = 8;
/// Alpha from a rate (bytes per second) on.
const ALPHAS: [(ByteRate, u32); 3] = [(0, 8), (10_000_000 / 8, 20), (100_000_000 / 8, 200)];

fn by_table(rate: ByteRate) -> u32 {
    let step = ALPHAS.iter().rfind(|(from, _)| rate >= *from);
    step.map_or(ALPHAS[0].1, |(_, alpha)| *alpha)
}

parameters! {
    /// What can be set of FAST.
    FastParameters {
        /// Segments to keep in queues; 0: 8 below 10 Mbit/s, 20 below 100 Mbit/s, 200 from there on.
        alpha: u32 = 0, Range::whole(0, 100_000, "segments");
        /// Weight of an update.
        gamma: Thousandths = Thousandths(500), Range::number(0.01, 1.0, "");
        /// Round trips from one update to the next.
        update_rounds: u32 = 2, Range::whole(1, 16, "round trips");
        /// How the first slow start ends, if not by alpha segments in the queue.
        slow_start: SlowStartRule = SlowStartRule::Standard, SlowStartRule::RANGE;
    }
    Preset {
        name: "gigabit",
        meaning: "200 segments in queues from the start, for paths of 1 Gbit/s and more",
        values: &[("alpha", Value::Number(200.0))],
    },
}

/// FAST TCP.
pub type Fast = Windowed<FastLaw>;

/// A window that goes to where alpha segments are queued.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FastLaw {
    round: RttRound,
    /// Average RTT, ns; 0 before the first sample.
    rtt: f64,
    /// Weight of a sample in it, for this round.
    weight: f64,
    /// Segments to keep queued, by the table.
    alpha: u32,
    /// Round trips since the last update.
    rounds: u32,
    /// RTT samples in a row by which slow start should end.
    queued: u32,
}

impl FastLaw {
    fn alpha(&self, p: &FastParameters) -> u32 {
        if p.alpha == 0 { self.alpha } else { p.alpha }
    }

    /// The table, with a step down only from four fifths of the step up.
    fn choose_alpha(&mut self, cwnd: u64) {
        let rate = rate_over(cwnd, self.rtt as Nanos);
        let at_least = by_table(rate);
        let at_most = by_table(rate.saturating_add(rate / 4));
        self.alpha = self.alpha.clamp(at_least, at_most);
    }

    fn take_rtt(&mut self, rtt: Nanos) {
        let sample = rtt.max(1) as f64;
        if self.rtt == 0.0 {
            self.rtt = sample;
        }
        self.rtt += (sample - self.rtt) * self.weight;
    }

    /// The window after an update, bytes.
    fn target(&self, window: &Window, path: &Path, p: &FastParameters) -> u64 {
        let cwnd = window.cwnd as f64;
        let gamma = p.gamma.get() as f64 / 1000.0;
        let alpha = f64::from(self.alpha(p)) * mss(path) as f64;
        let share = (self.round.base() as f64 / self.rtt).min(1.0);
        let next = (1.0 - gamma) * cwnd + gamma * (cwnd * share + alpha);
        libm::round(next.min(2.0 * cwnd)) as u64
    }

    /// Slow start is over once alpha segments wait, by several samples in a row.
    fn check_slow_start(
        &mut self,
        rtt: Nanos,
        window: &mut Window,
        path: &Path,
        p: &FastParameters,
    ) {
        let enough = u64::from(self.alpha(p)) * mss(path);
        if self.round.backlog(window.cwnd, rtt) < enough {
            self.queued = 0;
            return;
        }
        self.queued = self.queued.saturating_add(1);
        if self.queued >= QUEUED_SAMPLES {
            window.leave_slow_start();
        }
    }

    fn end_round(
        &mut self,
        event: &AckEvent,
        window: &mut Window,
        path: &Path,
        p: &FastParameters,
    ) {
        self.weight = (3.0 / window.segments(path).max(1.0)).min(0.25);
        self.choose_alpha(window.cwnd);
        if window.in_slow_start() {
            return;
        }
        self.rounds += 1;
        if self.rounds < p.update_rounds || event.in_recovery {
            return;
        }
        self.rounds = 0;
        let next = self.target(window, path, p);
        if next < window.cwnd {
            window.set(next.max(MIN_CWND_SEGMENTS * mss(path)).min(window.cwnd));
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if event.cwnd_limited {
            window.set(next);
        }
    }
}

impl Law for FastLaw {
    type Parameters = FastParameters;
    type Undo = ();
    const ABOUT: About = About {
        summary: "FAST: it keeps alpha segments queued, and gets there in few round trips",
        source: "Wei, Jin, Low, Hegde 2006 (rule as quoted; the paper was not at hand)",
        advice: "For long fast paths that you own, where queues hold alpha segments for every flow: \
                 fills them in tens of round trips and stays there without loss. Not beside \
                 loss-based flows, which it yields to; not where a late flow takes the others' \
                 queue for its base RTT and gets more; flows get shares in proportion to alpha, so \
                 set it alike for all. A random loss halves it.",
        signals: Signals::LOSS_AND_DELAY,
    };

    fn new(path: &Path, _: &FastParameters) -> Self {
        let mut law = FastLaw {
            round: RttRound::new(path),
            rtt: path.srtt as f64,
            weight: 0.25,
            alpha: ALPHAS[0].1,
            rounds: 0,
            queued: 0,
        };
        if path.max_bw > 0 {
            law.choose_alpha(crate::bytes_over(path.max_bw, path.srtt));
        }
        law
    }

    fn slow_start(p: &FastParameters, _: &Path) -> SlowStart {
        p.slow_start.start()
    }

    fn on_ack(&mut self, event: &AckEvent, window: &mut Window, path: &Path, p: &FastParameters) {
        self.round.on_ack(event, path);
        if let Some(rtt) = event.rtt {
            self.take_rtt(rtt);
            if window.in_slow_start() {
                self.check_slow_start(rtt, window, path, p);
            }
        }
        if self.round.ended() && self.rtt > 0.0 {
            self.end_round(event, window, path, p);
        }
    }

    fn avoid(
        &mut self,
        bytes: u64,
        _: &AckEvent,
        window: &mut Window,
        path: &Path,
        _: &FastParameters,
    ) {
        if self.rtt == 0.0 {
            window.add_segments(window.cwnd, bytes, path);
        }
    }

    fn reduce(&mut self, _: Cause, window: &Window, _: &Path, _: &FastParameters) -> u64 {
        window.cwnd / 2
    }

    fn on_recovery_exit(&mut self, _: Nanos, _: &mut Window, path: &Path, _: &FastParameters) {
        self.round.restart(path);
        self.rounds = 0;
    }

    fn on_idle(&mut self, _now: Nanos, _idle: Nanos, _shrunk: bool) {
        self.round.forget_base();
        self.round.restart_after_idle();
        self.rtt = 0.0;
        self.rounds = 0;
    }

    fn save(&self) {}

    fn restore(&mut self, (): ()) {}
}

#[cfg(test)]
mod tests;
