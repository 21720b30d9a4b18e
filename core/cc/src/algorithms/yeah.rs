//! YeAH-TCP: Baiocchi, Castellani and Vacirca, "YeAH-TCP: Yet Another Highspeed TCP", PFLDnet 2007;
//! Linux `tcp_yeah.c` (6.12), by one of its authors. Both have the same constants.
//!
//! Scalable TCP while the queue is short (fast mode), Reno while it is not (slow mode). A queue of
//! more than `alpha` segments is taken out of the window before it overflows, but not below
//! `reno_count`, an estimate of the window that a greedy Reno flow beside it would have. After
//! `rho` rounds of slow mode in a row it takes itself to be beside such flows, and a loss costs half;
//! otherwise it costs what is in the queue.
//!
//! Different from Linux: a loss takes at least one segment, where an eighth of fewer than eight
//! segments would be none; growth is by bytes; a round decides before the ACK that ends it makes
//! the window grow.

use serde::{Deserialize, Serialize};

use crate::parameter::{Thousandths, parameters};
use crate::rtt_round::RttRound;
use crate::scale::mul_div;
use crate::window::slow_start::{SlowStart, SlowStartRule};
use crate::window::windowed::{Cause, Law, Windowed};
use crate::window::{Window, mss};
use crate::{About, AckEvent, Nanos, Path, Range, Signals};

/// The least that `reno_count` is, segments.
const MIN_RENO_COUNT: u32 = 2;

parameters! {
    /// What can be set of YeAH.
    YeahParameters {
        /// More segments in the queue are taken out of the window: Qmax.
        alpha: u32 = 80, Range::whole(2, 100_000, "segments");
        /// Divisor of the queue that is taken out.
        gamma: u32 = 1, Range::whole(1, 100, "");
        /// Least share of the window that a loss takes.
        delta: Thousandths = Thousandths(125), Range::number(0.01, 0.5, "");
        /// Largest share of the window that is taken out at once.
        epsilon: Thousandths = Thousandths(500), Range::number(0.01, 0.5, "");
        /// Slow mode if the queueing delay is more than the base RTT divided by this.
        phi: u32 = 8, Range::whole(1, 1000, "");
        /// Rounds of slow mode in a row after which a loss costs half.
        rho: u32 = 16, Range::whole(0, 10_000, "round trips");
        /// Rounds of fast mode after which the flows beside it are forgotten.
        zeta: u32 = 50, Range::whole(1, 10_000, "round trips");
        /// Segments delivered that earn one segment in fast mode (Scalable TCP: 1/a).
        ai_count: u32 = 100, Range::whole(10, 10_000, "segments");
        /// How the first slow start ends.
        slow_start: SlowStartRule = SlowStartRule::Standard, SlowStartRule::RANGE;
    }
}

/// YeAH-TCP.
pub type Yeah = Windowed<YeahLaw>;

/// Scalable TCP or Reno, by the length of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct YeahLaw {
    round: RttRound,
    /// Segments in the queue in the last round that said so.
    last_queue: u32,
    /// Rounds of slow mode in a row; 0 in fast mode.
    slow_rounds: u32,
    /// Rounds of fast mode since the last loss or forgetting.
    fast_rounds: u32,
    /// Segments that a Reno flow beside this one is taken to have.
    reno_count: u32,
}

/// What a loss changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    fast_rounds: u32,
    reno_count: u32,
}

/// Whole segments in `bytes`.
fn segments(bytes: u64, path: &Path) -> u32 {
    u32::try_from(bytes / mss(path)).unwrap_or(u32::MAX)
}

impl YeahLaw {
    /// The decision at the end of a round.
    fn end_round(&mut self, window: &mut Window, path: &Path, p: &YeahParameters) {
        let (base, rtt) = (self.round.base(), self.round.min());
        self.last_queue = segments(self.round.backlog(window.cwnd, rtt), path);
        let long = self.last_queue > p.alpha;
        if long || rtt.saturating_sub(base) > base / u64::from(p.phi) {
            if long {
                self.decongest(window, path, p);
            }
            self.reno_count = if self.reno_count <= MIN_RENO_COUNT {
                segments(window.cwnd / 2, path).max(MIN_RENO_COUNT)
            } else {
                self.reno_count.saturating_add(1)
            };
            self.slow_rounds = self.slow_rounds.saturating_add(1);
        } else {
            self.fast_rounds = self.fast_rounds.saturating_add(1);
            if self.fast_rounds > p.zeta {
                self.reno_count = MIN_RENO_COUNT;
                self.fast_rounds = 0;
            }
            self.slow_rounds = 0;
        }
    }

    /// Takes the queue out of the window. It ends slow start too.
    fn decongest(&self, window: &mut Window, path: &Path, p: &YeahParameters) {
        let floor = u64::from(self.reno_count) * mss(path);
        if window.cwnd <= floor {
            return;
        }
        let most = segments(mul_div(window.cwnd, p.epsilon.get(), 1000), path);
        let excess = (self.last_queue / p.gamma).min(most);
        let left = window.cwnd - u64::from(excess) * mss(path);
        window.set(left.max(floor));
        window.ssthresh = window.cwnd;
    }
}

impl Law for YeahLaw {
    type Parameters = YeahParameters;
    type Undo = Before;
    const ABOUT: About = About {
        summary: "YeAH: Scalable TCP while the queue is short, Reno while it is not",
        source: "Baiocchi, Castellani and Vacirca 2007; Linux tcp_yeah.c 6.12",
        advice: "Long fast paths that it has to itself or shares with Reno: it fills them in \
                 seconds, keeps the queue at 80 segments where it is alone, and bears random loss \
                 well. Not on slow links, where 80 segments are a long delay and an eighth of the \
                 RTT too little for it to be more than Reno, nor beside many flows of its own kind: \
                 each keeps a queue, and a late one takes the others' for its base RTT.",
        signals: Signals::LOSS_AND_DELAY,
    };

    fn new(path: &Path, _parameters: &YeahParameters) -> Self {
        YeahLaw {
            round: RttRound::new(path),
            last_queue: 0,
            slow_rounds: 0,
            fast_rounds: 0,
            reno_count: MIN_RENO_COUNT,
        }
    }

    fn slow_start(parameters: &YeahParameters, _path: &Path) -> SlowStart {
        parameters.slow_start.start()
    }

    fn on_ack(&mut self, event: &AckEvent, window: &mut Window, path: &Path, p: &YeahParameters) {
        self.round.on_ack(event, path);
        if self.round.measured() && event.cwnd_limited && !event.in_recovery {
            self.end_round(window, path, p);
        }
    }

    fn avoid(
        &mut self,
        bytes: u64,
        _event: &AckEvent,
        window: &mut Window,
        path: &Path,
        parameters: &YeahParameters,
    ) {
        let scalable = u64::from(parameters.ai_count) * mss(path);
        let price = if self.slow_rounds > 0 {
            window.cwnd
        } else {
            window.cwnd.min(scalable)
        };
        window.add_segments(price, bytes, path);
    }

    fn reduce(&mut self, cause: Cause, window: &Window, path: &Path, p: &YeahParameters) -> u64 {
        let half = segments(window.cwnd / 2, path).max(2);
        let taken = if self.slow_rounds < p.rho {
            let least = segments(mul_div(window.cwnd, p.delta.get(), 1000), path);
            self.last_queue.min(half).max(least).max(1)
        } else {
            half
        };
        if cause != Cause::RepeatedTimeout {
            self.fast_rounds = 0;
            self.reno_count = (self.reno_count / 2).max(MIN_RENO_COUNT);
        }
        window.cwnd.saturating_sub(u64::from(taken) * mss(path))
    }

    fn on_recovery_exit(&mut self, _: Nanos, _: &mut Window, path: &Path, _: &YeahParameters) {
        self.round.restart(path);
    }

    fn on_idle(&mut self, _now: Nanos, _idle: Nanos, _shrunk: bool) {
        self.round.forget_base();
        self.round.restart_after_idle();
    }

    fn save(&self) -> Before {
        Before {
            fast_rounds: self.fast_rounds,
            reno_count: self.reno_count,
        }
    }

    fn restore(&mut self, before: Before) {
        self.fast_rounds = before.fast_rounds;
        self.reno_count = before.reno_count;
    }
}

#[cfg(test)]
mod tests;
