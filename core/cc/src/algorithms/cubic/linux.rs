//! The curve in the integers of Linux (`tcp_cubic.c` 6.12): segments, time in 1/1024 s, a price in
//! ACKed segments for one segment of growth, computed anew at most every 1/32 s.
//!
//! Different: the cube root is the exact integer one (Linux: a table and one Newton step, 0.2 % off
//! in the mean), and time is in nanoseconds where Linux counts jiffies.

use serde::{Deserialize, Serialize};

use crate::{MILLISECOND, Nanos, SECOND};

/// 0.7 in 1/1024.
const BETA: u64 = 717;
const BETA_SCALE: u64 = 1024;
/// `bic_scale`: C is 10 × 41 / 1024 segments/s³.
const BIC_SCALE: u64 = 41;
/// Distance in segments to time cubed.
const CUBE_FACTOR: u64 = (1 << 40) / (BIC_SCALE * 10);
/// ACKed segments per segment of Reno's window, eighths: 8 (1024 + β) / 3 / (1024 − β).
const RENO_PRICE_8THS: u64 = 8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA);
/// The price is believed for so long (`HZ / 32`).
const RECOMPUTE: Nanos = SECOND / 32;
/// A jiffy at HZ = 1000: no two prices within it.
const JIFFY: Nanos = MILLISECOND;
/// Growth of at most one segment in 20 while no loss has shown a plateau.
const FIRST_PRICE_MOST: u32 = 20;
/// Growth by a half a round trip at most.
const PRICE_LEAST: u32 = 2;

/// State of `struct bictcp`, as far as it belongs to the curve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinuxCurve {
    /// Start of the stage plus one nanosecond, 0 between stages.
    epoch_start: Nanos,
    /// Smallest RTT, without those of the first second of a stage; 0 while unknown.
    delay_min: Nanos,
    /// When the price was computed.
    last_time: Nanos,
    /// Window before the last reduction; 0 while there was none.
    last_max: u32,
    /// Window at the last computation.
    last_cwnd: u32,
    origin: u32,
    /// Time to the origin, 1/1024 s.
    k: u32,
    /// ACKed segments towards Reno's next one.
    ack_count: u32,
    /// Window that Reno would have.
    reno_cwnd: u32,
    /// ACKed segments for one segment of growth.
    price: u32,
}

impl LinuxCurve {
    /// An RTT sample.
    pub(super) fn on_rtt(&mut self, now: Nanos, rtt: Nanos) {
        // After a reduction the samples are those of a draining queue.
        if self.epoch_start != 0 && now.saturating_sub(self.epoch_start) < SECOND {
            return;
        }
        if self.delay_min == 0 || rtt < self.delay_min {
            self.delay_min = rtt.max(1);
        }
    }

    /// The price of a segment of growth in ACKed segments, at a window of `cwnd` segments of which
    /// `acked` have just been acknowledged.
    pub(super) fn price(&mut self, now: Nanos, cwnd: u32, acked: u32, reno_friendly: bool) -> u32 {
        self.ack_count = self.ack_count.saturating_add(acked);
        let fresh = self.last_cwnd == cwnd && now.saturating_sub(self.last_time) <= RECOMPUTE;
        if self.price != 0 && fresh {
            return self.price;
        }
        let same_jiffy = self.epoch_start != 0 && now / JIFFY == self.last_time / JIFFY;
        if !same_jiffy {
            self.last_cwnd = cwnd;
            self.last_time = now;
            if self.epoch_start == 0 {
                self.begin(now, cwnd, acked);
            }
            self.price = self.cubic_price(now, cwnd);
        }
        if reno_friendly {
            self.at_least_reno(cwnd);
        }
        self.price = self.price.max(PRICE_LEAST);
        self.price
    }

    fn begin(&mut self, now: Nanos, cwnd: u32, acked: u32) {
        self.epoch_start = now.saturating_add(1);
        self.ack_count = acked;
        self.reno_cwnd = cwnd;
        if self.last_max <= cwnd {
            self.k = 0;
            self.origin = cwnd;
        } else {
            let distance = u64::from(self.last_max - cwnd);
            self.k = cube_root(CUBE_FACTOR.saturating_mul(distance)) as u32;
            self.origin = self.last_max;
        }
    }

    fn cubic_price(&self, now: Nanos, cwnd: u32) -> u32 {
        let elapsed = now.saturating_sub(self.epoch_start - 1);
        let t = units(elapsed.saturating_add(self.delay_min));
        let offset = t.abs_diff(u64::from(self.k));
        // A day; windows stay far below what the curve has grown to by then.
        let offset = u128::from(offset.min(1 << 27));
        let delta = (u128::from(BIC_SCALE * 10) * offset * offset * offset) >> 40;
        let delta = u64::try_from(delta).unwrap_or(u64::MAX);
        let origin = u64::from(self.origin);
        let target = if t < u64::from(self.k) {
            origin.saturating_sub(delta)
        } else {
            origin.saturating_add(delta)
        };
        let cwnd = u64::from(cwnd);
        let price = if target > cwnd {
            cwnd / (target - cwnd)
        } else {
            cwnd.saturating_mul(100)
        };
        let price = u32::try_from(price).unwrap_or(u32::MAX);
        if self.last_max == 0 {
            price.min(FIRST_PRICE_MOST)
        } else {
            price
        }
    }

    /// Not slower than Reno with the same decrease.
    fn at_least_reno(&mut self, cwnd: u32) {
        let segment = ((u64::from(cwnd) * RENO_PRICE_8THS) >> 3).max(1);
        // While more than one segment's price is left.
        let grown = u64::from(self.ack_count.saturating_sub(1)) / segment;
        self.ack_count -= (grown * segment) as u32;
        self.reno_cwnd = self.reno_cwnd.saturating_add(grown as u32);
        if self.reno_cwnd > cwnd {
            self.price = self.price.min(cwnd / (self.reno_cwnd - cwnd));
        }
    }

    /// A reduction from `cwnd` segments. The answer is the window after it.
    pub(super) fn on_congestion(&mut self, cwnd: u32, fast_convergence: bool) -> u32 {
        self.epoch_start = 0;
        self.last_max = if cwnd < self.last_max && fast_convergence {
            (u64::from(cwnd) * (BETA_SCALE + BETA) / (2 * BETA_SCALE)) as u32
        } else {
            cwnd
        };
        ((u64::from(cwnd) * BETA / BETA_SCALE) as u32).max(2)
    }

    /// A timeout: everything is forgotten but what the reduction says.
    pub(super) fn on_timeout(&mut self) {
        *self = LinuxCurve::default();
    }

    /// Leaves idle time out of the time of the stage.
    pub(super) fn shift(&mut self, span: Nanos, now: Nanos) {
        if self.epoch_start != 0 {
            self.epoch_start = self
                .epoch_start
                .saturating_add(span)
                .min(now.saturating_add(1));
        }
    }
}

/// In 1/1024 s.
fn units(span: Nanos) -> u64 {
    (u128::from(span) * 1024 / u128::from(SECOND)) as u64
}

/// The largest integer whose cube is not above `a`.
fn cube_root(a: u64) -> u64 {
    let mut root = libm::cbrt(a as f64) as u64;
    while root.saturating_mul(root).saturating_mul(root) > a {
        root -= 1;
    }
    while (root + 1).saturating_mul(root + 1).saturating_mul(root + 1) <= a {
        root += 1;
    }
    root
}
