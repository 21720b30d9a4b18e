//! Delivery-rate samples (draft-ietf-ccwg-bbr, "Delivery Rate Samples"; Linux 6.1 `tcp_rate.c`),
//! for senders that feed an algorithm.

use serde::{Deserialize, Serialize};

use crate::{Nanos, RateSample, rate_over};

/// What a packet remembers of the connection when it is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RateSnapshot {
    delivered: u64,
    delivered_at: Nanos,
    first_sent_at: Nanos,
    lost: u64,
    inflight: u64,
    /// The application, not the path, was the limit then.
    pub app_limited: bool,
}

/// The newest packet that the ACK at hand delivers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Newest(Option<Delivered>);

#[derive(Clone, Copy, Debug)]
struct Delivered {
    sent_at: Nanos,
    end: u64,
    snapshot: RateSnapshot,
}

/// Connection state of the sampler.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct RateSampler {
    /// `C.delivered`, bytes.
    pub delivered: u64,
    delivered_at: Nanos,
    first_sent_at: Nanos,
    /// `C.app_limited`: samples are app-limited until `delivered` passes this; 0 when not.
    app_limited_until: u64,
    /// `C.lost`, bytes marked lost so far: kept by the caller.
    pub lost: u64,
}

impl RateSampler {
    /// A packet leaves. `first`: nothing else is out; `inflight`: bytes, this packet included.
    #[inline]
    pub fn on_sent(&mut self, now: Nanos, first: bool, inflight: u64) -> RateSnapshot {
        if first {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        RateSnapshot {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            lost: self.lost,
            inflight,
            app_limited: self.is_app_limited(),
        }
    }

    /// A packet of `len` bytes that ends at offset `end` and was sent at `sent_at` has been
    /// delivered.
    #[inline]
    pub fn on_delivered(
        &mut self,
        newest: &mut Newest,
        len: u64,
        sent_at: Nanos,
        end: u64,
        snapshot: &RateSnapshot,
    ) {
        self.delivered += len;
        let newer = newest.0.is_none_or(|n| (sent_at, end) > (n.sent_at, n.end));
        if newer {
            newest.0 = Some(Delivered {
                sent_at,
                end,
                snapshot: *snapshot,
            });
        }
    }

    /// The sender, not the network, is the limit until what is in flight now is delivered.
    #[inline]
    pub fn mark_app_limited(&mut self, inflight: u64) {
        self.app_limited_until = (self.delivered + inflight).max(1);
    }

    /// What is sent now is limited by the application.
    #[inline]
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until != 0
    }

    /// The sample of the ACK at hand, if it makes a valid one. Intervals shorter than `min_rtt`
    /// are not believed: they come from ACKs that were compressed on their way.
    #[inline]
    pub fn take(&mut self, newest: Newest, now: Nanos, min_rtt: Nanos) -> Option<RateSample> {
        if self.is_app_limited() && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let newest = newest.0?;
        let snapshot = newest.snapshot;
        self.delivered_at = now;
        self.first_sent_at = newest.sent_at;
        let send_elapsed = newest.sent_at.saturating_sub(snapshot.first_sent_at);
        let ack_elapsed = now.saturating_sub(snapshot.delivered_at);
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
    use crate::MILLISECOND;

    /// Ten packets a millisecond apart, acknowledged 100 ms later at half that pace: the sample is
    /// the slower of the two.
    #[test]
    fn the_longer_interval_counts() {
        let mut newest = Newest::default();
        let mut sampler = RateSampler::default();
        let mut sent = Vec::new();
        for i in 0..10u64 {
            let now = i * MILLISECOND;
            sent.push((now, sampler.on_sent(now, i == 0, (i + 1) * 1000)));
        }
        let mut last = None;
        for (i, (at, snapshot)) in sent.iter().enumerate() {
            let now = 100 * MILLISECOND + 2 * i as u64 * MILLISECOND;
            sampler.on_delivered(&mut newest, 1000, *at, (i as u64 + 1) * 1000, snapshot);
            last = sampler.take(std::mem::take(&mut newest), now, 100 * MILLISECOND);
        }
        let last = last.expect("118 ms is long enough");
        assert_eq!(last.delivered, 10_000);
        assert_eq!(last.interval, 118 * MILLISECOND);
        assert_eq!(last.rate, 84_745);
        assert_eq!(last.tx_in_flight, 10_000);
    }

    #[test]
    fn app_limited_until_the_bubble_is_delivered() {
        let mut newest = Newest::default();
        let mut sampler = RateSampler::default();
        sampler.mark_app_limited(1000);
        let snapshot = sampler.on_sent(1, true, 1500);
        assert!(snapshot.app_limited);
        sampler.on_delivered(&mut newest, 1500, 1, 1500, &snapshot);
        assert!(
            sampler
                .take(std::mem::take(&mut newest), MILLISECOND, 1)
                .expect("valid")
                .app_limited
        );
        assert_eq!(sampler.app_limited_until, 0);
    }

    /// The bubble of an application that was limited with nothing in flight ends with the next
    /// packet.
    #[test]
    fn an_empty_bubble_ends_with_the_next_packet() {
        let mut newest = Newest::default();
        let mut sampler = RateSampler::default();
        sampler.mark_app_limited(0);
        let snapshot = sampler.on_sent(5, true, 1448);
        sampler.on_delivered(&mut newest, 1448, 5, 1448, &snapshot);
        let sample = sampler
            .take(std::mem::take(&mut newest), 105, 100)
            .expect("a whole RTT");
        assert!(sample.app_limited && !sampler.is_app_limited());
    }

    /// What is delivered without a sample belongs to the next one, whose packets do not count
    /// their time from it (Linux: an ACK older than the newest).
    #[test]
    fn time_counts_from_the_last_sample() {
        let mut newest = Newest::default();
        let mut sampler = RateSampler::default();
        let first = sampler.on_sent(0, true, 1000);
        let second = sampler.on_sent(0, false, 2000);
        sampler.on_delivered(&mut newest, 1000, 0, 1000, &first);
        let third = sampler.on_sent(120, false, 2000);
        sampler.on_delivered(&mut newest, 1000, 0, 2000, &second);
        let sample = sampler
            .take(std::mem::take(&mut newest), 150, 100)
            .expect("longer than the RTT");
        assert_eq!((sample.delivered, sample.interval), (2000, 150));
        sampler.on_delivered(&mut newest, 1000, 120, 3000, &third);
        let sample = sampler
            .take(std::mem::take(&mut newest), 250, 100)
            .expect("longer than the RTT");
        assert_eq!((sample.delivered, sample.interval), (2000, 250));
    }

    #[test]
    fn a_sample_knows_what_was_lost_since_its_packet_left() {
        let mut newest = Newest::default();
        let mut sampler = RateSampler {
            lost: 1000,
            ..RateSampler::default()
        };
        let snapshot = sampler.on_sent(0, true, 3000);
        sampler.lost += 2000;
        sampler.on_delivered(&mut newest, 1000, 0, 3000, &snapshot);
        assert_eq!(
            sampler
                .take(std::mem::take(&mut newest), 100, 100)
                .expect("valid")
                .lost,
            2000
        );
    }
}
