//! Delivery-rate samples by the rules of Linux 6.1 (`tcp_rate.c`), in bytes of full segments.

use windlass_cc::{Nanos, RateSample, rate_over};

/// What a segment remembers of the connection at its transmission.
#[derive(Clone, Copy, Debug, Default)]
pub struct Snapshot {
    delivered: u64,
    delivered_at: Nanos,
    first_sent_at: Nanos,
    lost: u64,
    in_flight: u64,
    app_limited: bool,
}

/// The newest segment that the ACK at hand delivers.
#[derive(Clone, Copy, Debug)]
struct Newest {
    sent_at: Nanos,
    end: u64,
    snapshot: Snapshot,
}

/// The connection's side of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSampler {
    /// Bytes delivered so far.
    pub delivered: u64,
    delivered_at: Nanos,
    first_sent_at: Nanos,
    /// Samples are limited by the application until so much is delivered; 0: they are not.
    app_limited_until: u64,
    newest: Option<Newest>,
}

impl RateSampler {
    /// A segment leaves. `first`: nothing else is out; `in_flight`: bytes, this segment included;
    /// `lost`: bytes marked lost so far.
    pub fn on_sent(&mut self, now: Nanos, first: bool, in_flight: u64, lost: u64) -> Snapshot {
        if first {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        Snapshot {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            lost,
            in_flight,
            app_limited: self.is_app_limited(),
        }
    }

    /// A segment of `bytes`, sent at `sent_at`, is known to have arrived.
    pub fn on_delivered(&mut self, bytes: u64, sent_at: Nanos, end: u64, snapshot: &Snapshot) {
        self.delivered += bytes;
        let newest = self.newest.map(|n| (n.sent_at, n.end));
        if newest.is_none_or(|newest| (sent_at, end) > newest) {
            self.newest = Some(Newest {
                sent_at,
                end,
                snapshot: *snapshot,
            });
        }
    }

    /// The application had nothing more to send while `in_flight` bytes were out.
    pub fn mark_app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = (self.delivered + in_flight).max(1);
    }

    /// What is sent now is limited by the application.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until != 0
    }

    /// The sample of the ACK at hand. Shorter intervals than `min_rtt` are ACKs that were
    /// compressed on their way, and make none.
    pub fn take(&mut self, now: Nanos, min_rtt: Nanos, lost: u64) -> Option<RateSample> {
        if self.is_app_limited() && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let newest = self.newest.take()?;
        let snapshot = newest.snapshot;
        self.delivered_at = now;
        self.first_sent_at = newest.sent_at;
        let send_interval = newest.sent_at - snapshot.first_sent_at.min(newest.sent_at);
        let interval = send_interval.max(now - snapshot.delivered_at);
        if interval == 0 || min_rtt != Nanos::MAX && interval < min_rtt {
            return None;
        }
        let delivered = self.delivered - snapshot.delivered;
        Some(RateSample {
            delivered,
            interval,
            rate: rate_over(delivered, interval),
            prior_delivered: snapshot.delivered,
            tx_in_flight: snapshot.in_flight,
            lost: lost - snapshot.lost,
            app_limited: snapshot.app_limited,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_cc::MILLISECOND;

    /// Ten segments a millisecond apart, delivered twice as far apart: the slower of the two counts.
    #[test]
    fn the_longer_interval_makes_the_rate() {
        let mut sampler = RateSampler::default();
        let at = |i: u64| i * MILLISECOND;
        let sent = (0..10).map(|i| sampler.on_sent(at(i), i == 0, (i + 1) * 1000, 0));
        let sent: Vec<Snapshot> = sent.collect();
        let mut last = None;
        for (i, snapshot) in (0..).zip(&sent) {
            sampler.on_delivered(1000, at(i), (i + 1) * 1000, snapshot);
            last = sampler.take(at(100 + 2 * i), at(100), 0);
        }
        let last = last.expect("118 ms is more than the RTT");
        assert_eq!((last.delivered, last.interval), (10_000, at(118)));
        assert_eq!((last.rate, last.tx_in_flight), (84_745, 10_000));
    }

    #[test]
    fn limited_by_the_application_until_the_bubble_is_delivered() {
        let mut sampler = RateSampler::default();
        sampler.mark_app_limited(0);
        let snapshot = sampler.on_sent(5, true, 1448, 0);
        sampler.on_delivered(1448, 5, 1448, &snapshot);
        let sample = sampler.take(105, 100, 0).expect("a whole RTT");
        assert!(sample.app_limited && !sampler.is_app_limited());
    }
}
