//! The window as a function of time since the last reduction (RFC 9438 §4.2–4.8), in segments and
//! seconds. Only +, −, ×, ÷ and a cube root from `libm`: the same bits on every machine.

use core::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use super::CubicParameters;
use crate::{Nanos, SECOND};

/// One stage of congestion avoidance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Window at which the plateau lies; 0 while no loss has shown one.
    w_max: f64,
    /// Seconds from the start of the stage to the plateau.
    k: f64,
    /// Window before the last reduction.
    cwnd_prior: f64,
    /// Window that Reno would have.
    w_est: f64,
    /// Start of the stage, moved forward by time that does not count, plus one nanosecond; `None`
    /// between stages.
    start: Option<NonZeroU64>,
}

impl Curve {
    /// Seconds since the stage began. Begins one at `cwnd` if none is running.
    pub(super) fn elapsed(&mut self, now: Nanos, cwnd: f64, p: &CubicParameters) -> f64 {
        let start = match self.start {
            Some(start) => start,
            None => {
                self.begin(cwnd, p);
                *self.start.insert(NonZeroU64::MIN.saturating_add(now))
            }
        };
        now.saturating_sub(start.get() - 1) as f64 / SECOND as f64
    }

    /// Without a plateau above (slow start left without loss, §4.10; after a timeout, §4.8) the
    /// stage starts on it: K = 0.
    fn begin(&mut self, cwnd: f64, p: &CubicParameters) {
        if self.cwnd_prior == 0.0 {
            self.cwnd_prior = cwnd;
        }
        if self.w_max <= cwnd {
            self.w_max = cwnd;
        }
        self.k = libm::cbrt((self.w_max - cwnd) / c(p));
        self.w_est = cwnd;
    }

    /// `W_cubic(t)`, §4.2 figure 1.
    pub(super) fn at(&self, t: f64, p: &CubicParameters) -> f64 {
        let offset = t - self.k;
        c(p) * offset * offset * offset + self.w_max
    }

    /// `W_est` after `acked` more segments, §4.3 figure 4.
    pub(super) fn estimate(&mut self, acked: f64, cwnd: f64, p: &CubicParameters) -> f64 {
        let alpha = if self.w_est >= self.cwnd_prior {
            1.0
        } else {
            // AIMD with beta that matches Reno (RFC 9438 §4.3).
            3.0 * (1.0 - beta(p)) / (1.0 + beta(p))
        };
        self.w_est += alpha * acked / cwnd;
        self.w_est
    }

    /// The stage ends in a reduction from `cwnd`, with fast convergence (§4.7): a flow that lost
    /// before it was back at its old plateau gives way further.
    pub(super) fn on_congestion(&mut self, cwnd: f64, p: &CubicParameters) {
        self.w_max = if p.fast_convergence && cwnd < self.w_max {
            cwnd * (1.0 + beta(p)) / 2.0
        } else {
            cwnd
        };
        self.cwnd_prior = cwnd;
        self.start = None;
    }

    /// The stage ends in a timeout at `cwnd`: the next one has no plateau above it (§4.8).
    pub(super) fn on_timeout(&mut self, cwnd: f64) {
        self.w_max = 0.0;
        self.cwnd_prior = cwnd;
        self.start = None;
    }

    /// The stage ends because slow start resumes.
    pub(super) fn end(&mut self) {
        self.start = None;
    }

    /// Leaves `span` out of the time of the stage.
    pub(super) fn shift(&mut self, span: Nanos, now: Nanos) {
        if let Some(start) = &mut self.start {
            *start = start
                .saturating_add(span)
                .min(NonZeroU64::MIN.saturating_add(now));
        }
    }

    pub(super) fn prior(&self) -> f64 {
        self.cwnd_prior
    }
}

fn c(p: &CubicParameters) -> f64 {
    p.c.get() as f64 / 1000.0
}

fn beta(p: &CubicParameters) -> f64 {
    p.beta.get() as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p() -> CubicParameters {
        CubicParameters::default()
    }

    fn close(value: f64, expected: f64, tolerance: f64) {
        assert!(
            (value - expected).abs() < tolerance,
            "{value} is not {expected}"
        );
    }

    /// s2n-quic `recovery/cubic/tests.rs`: W_max 2,764,800 B of 1200 B.
    #[test]
    fn vectors_w_cubic_as_s2n_quic_has_it() {
        let mut curve = Curve::default();
        curve.on_congestion(2304.0, &p());
        curve.elapsed(0, 2304.0 * 0.7, &p());
        close(curve.k, 12.0, 1e-9);
        close(curve.at(15.0, &p()), 2314.8, 1e-9);
        close(curve.at(10.0, &p()), 2300.8, 1e-9);
        close(curve.at(0.0, &p()), 2304.0 * 0.7, 1e-6);
    }

    /// s2n-quic: W_est(6 s) = 80.588 with an RTT of 0.3 s and W_max 100. There it is a function of
    /// time, W_max * beta + alpha * t / RTT; here it grows per ACK, a round of `cwnd` each.
    #[test]
    fn vectors_w_est_as_s2n_quic_has_it() {
        let mut curve = Curve::default();
        curve.on_congestion(100.0, &p());
        curve.elapsed(0, 70.0, &p());
        let rounds = 20;
        let last = (0..rounds).map(|_| curve.estimate(70.0, 70.0, &p())).last();
        close(last.unwrap(), 80.588, 1e-3);
    }

    /// s2n-quic: after a loss at 80,000 B below a W_max of 100,000 B, W_max is 80,000 * 0.85.
    #[test]
    fn vectors_fast_convergence_as_s2n_quic_has_it() {
        let mut curve = Curve::default();
        curve.on_congestion(100_000.0 / 1200.0, &p());
        curve.on_congestion(80_000.0 / 1200.0, &p());
        close(curve.w_max, 80_000.0 * 0.85 / 1200.0, 1e-9);
        close(curve.prior(), 80_000.0 / 1200.0, 1e-9);
    }

    /// RFC 9438 §4.3: alpha becomes 1 once W_est has reached cwnd_prior.
    #[test]
    fn alpha_is_one_beyond_cwnd_prior() {
        let mut curve = Curve::default();
        curve.on_congestion(10.0, &p());
        curve.elapsed(0, 7.0, &p());
        close(curve.estimate(7.0, 7.0, &p()), 7.0 + 9.0 / 17.0, 1e-12);
        while curve.estimate(7.0, 7.0, &p()) < 10.0 {}
        let reached = curve.w_est;
        close(curve.estimate(7.0, 7.0, &p()), reached + 1.0, 1e-12);
    }
}
