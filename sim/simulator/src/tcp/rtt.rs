//! RTT and RTO as Linux keeps them.

use windlass_cc::{MILLISECOND, Nanos, SECOND};

/// RTO before the first sample (RFC 6298 §2.1).
pub const INITIAL_RTO: Nanos = SECOND;
/// Linux `TCP_RTO_MAX`.
pub const MAX_RTO: Nanos = 120 * SECOND;

/// Smoothed RTT and variation (RFC 6298), the variation bounded below as Linux bounds it.
#[derive(Clone, Copy, Debug)]
pub struct RttEstimator {
    /// Smoothed RTT, 0 before the first sample.
    pub srtt: Nanos,
    /// Mean deviation.
    pub rttvar: Nanos,
    /// Smallest sample, `Nanos::MAX` before the first.
    pub min_rtt: Nanos,
    min_rto: Nanos,
}

impl RttEstimator {
    /// Nothing measured; `min_rto` is what is always left above the smoothed RTT.
    pub fn new(min_rto: Nanos) -> Self {
        RttEstimator {
            srtt: 0,
            rttvar: 0,
            min_rtt: Nanos::MAX,
            min_rto,
        }
    }

    /// Takes a sample in.
    pub fn sample(&mut self, rtt: Nanos) {
        let rtt = rtt.max(1);
        self.min_rtt = self.min_rtt.min(rtt);
        if self.srtt == 0 {
            self.srtt = rtt;
            self.rttvar = rtt / 2;
            return;
        }
        let deviation = self.srtt.abs_diff(rtt);
        self.rttvar = self.rttvar - self.rttvar / 4 + deviation / 4;
        self.srtt = self.srtt - self.srtt / 8 + rtt / 8;
    }

    /// Smallest sample, 0 before the first, ns.
    pub fn min_rtt_or_zero(&self) -> Nanos {
        if self.srtt == 0 { 0 } else { self.min_rtt }
    }

    /// Retransmission timeout without back-off: Linux adds max(4·rttvar, 200 ms) to the smoothed
    /// RTT where RFC 6298 only bounds the sum.
    pub fn rto(&self) -> Nanos {
        if self.srtt == 0 {
            return INITIAL_RTO;
        }
        (self.srtt + (4 * self.rttvar).max(self.min_rto)).min(MAX_RTO)
    }

    /// Tail-probe timeout (RFC 8985 §7.2 with Linux' constants): 2·SRTT, and room for a delayed
    /// ACK when a single packet is out.
    pub fn probe_timeout(&self, packets_out: usize) -> Nanos {
        if self.srtt == 0 {
            return INITIAL_RTO;
        }
        let slack = if packets_out == 1 {
            self.min_rto
        } else {
            2 * MILLISECOND
        };
        2 * self.srtt + slack
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_keeps_200_ms_above_a_steady_rtt() {
        let mut rtt = RttEstimator::new(200 * MILLISECOND);
        assert_eq!(rtt.rto(), SECOND);
        rtt.sample(100 * MILLISECOND);
        assert_eq!(rtt.rto(), 300 * MILLISECOND);
        for _ in 0..100 {
            rtt.sample(100 * MILLISECOND);
        }
        assert_eq!(rtt.rto(), 300 * MILLISECOND);
        assert_eq!(rtt.probe_timeout(2), 202 * MILLISECOND);
        assert_eq!(rtt.probe_timeout(1), 400 * MILLISECOND);
    }
}
