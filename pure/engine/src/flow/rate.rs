//! Delivery-rate samples (draft-ietf-ccwg-bbr, "Delivery Rate Samples").

use windlass_cc::{Nanos, RateSample, rate_over};

/// What a packet remembers of the connection when it is sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Snapshot {
    pub delivered: u64,
    pub delivered_at: Nanos,
    pub first_sent_at: Nanos,
    pub lost: u64,
    pub inflight: u64,
    pub app_limited: bool,
    /// Copies that had left before it.
    pub copies: u32,
}

/// The newest packet that the ACK at hand delivers.
#[derive(Clone, Copy, Debug)]
struct Newest {
    sent_at: Nanos,
    end: u64,
    snapshot: Snapshot,
}

/// Connection state of the sampler.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RateSampler {
    /// `C.delivered`, bytes.
    pub delivered: u64,
    delivered_at: Nanos,
    first_sent_at: Nanos,
    /// `C.app_limited`: samples are app-limited until `delivered` passes this; 0 when not.
    app_limited_until: u64,
    /// Bytes marked lost.
    pub lost: u64,
    newest: Option<Newest>,
}

impl RateSampler {
    /// A packet of `len` bytes leaves with `inflight` bytes in flight before it.
    pub(crate) fn on_sent(&mut self, now: Nanos, inflight: u64, len: u64) -> Snapshot {
        if inflight == 0 {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        Snapshot {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            lost: self.lost,
            inflight: inflight + len,
            app_limited: self.app_limited_until != 0,
            copies: 0,
        }
    }

    /// A packet has been delivered.
    pub(crate) fn on_delivered(
        &mut self,
        now: Nanos,
        len: u64,
        sent_at: Nanos,
        end: u64,
        snapshot: &Snapshot,
    ) {
        self.delivered += len;
        self.delivered_at = now;
        let newer = self
            .newest
            .is_none_or(|n| (sent_at, end) > (n.sent_at, n.end));
        if newer {
            self.newest = Some(Newest {
                sent_at,
                end,
                snapshot: *snapshot,
            });
        }
    }

    /// The sender, not the network, is the limit until what is in flight now is delivered.
    pub(crate) fn mark_app_limited(&mut self, inflight: u64) {
        self.app_limited_until = (self.delivered + inflight).max(1);
    }

    /// The sample of the ACK at hand, if it makes a valid one. Intervals shorter than `min_rtt`
    /// are not believed: they come from ACKs that were compressed on their way.
    pub(crate) fn take(&mut self, now: Nanos, min_rtt: Nanos) -> Option<RateSample> {
        if self.app_limited_until != 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let newest = self.newest.take()?;
        let snapshot = newest.snapshot;
        self.first_sent_at = newest.sent_at;
        let send_elapsed = newest.sent_at - snapshot.first_sent_at.min(newest.sent_at);
        let ack_elapsed = now - snapshot.delivered_at.min(now);
        let interval = send_elapsed.max(ack_elapsed);
        if interval == 0 || (min_rtt != Nanos::MAX && interval < min_rtt) {
            return None;
        }
        let delivered = self.delivered - snapshot.delivered;
        Some(RateSample {
            delivered,
            interval,
            rate: rate_over(delivered, interval),
            prior_delivered: snapshot.delivered,
            tx_in_flight: snapshot.inflight,
            lost: self.lost - snapshot.lost,
            app_limited: snapshot.app_limited,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_cc::MILLISECOND;

    /// Ten packets a millisecond apart, acknowledged 100 ms later at half that pace: the sample is
    /// the slower of the two.
    #[test]
    fn the_longer_interval_counts() {
        let mut sampler = RateSampler::default();
        let mut sent = Vec::new();
        for i in 0..10u64 {
            let now = i * MILLISECOND;
            sent.push((now, sampler.on_sent(now, i * 1000, 1000)));
        }
        let mut last = None;
        for (i, (at, snapshot)) in sent.iter().enumerate() {
            let now = 100 * MILLISECOND + 2 * i as u64 * MILLISECOND;
            sampler.on_delivered(now, 1000, *at, (i as u64 + 1) * 1000, snapshot);
            last = sampler.take(now, 100 * MILLISECOND);
        }
        let last = last.expect("118 ms is long enough");
        assert_eq!(last.delivered, 10_000);
        assert_eq!(last.interval, 118 * MILLISECOND);
        assert_eq!(last.rate, 84_745);
    }

    #[test]
    fn app_limited_until_the_bubble_is_delivered() {
        let mut sampler = RateSampler::default();
        sampler.mark_app_limited(1000);
        let snapshot = sampler.on_sent(1, 0, 1500);
        assert!(snapshot.app_limited);
        sampler.on_delivered(MILLISECOND, 1500, 1, 1500, &snapshot);
        assert!(sampler.take(MILLISECOND, 1).expect("valid").app_limited);
        assert_eq!(sampler.app_limited_until, 0);
    }
}
