//! What is known of a path, whichever algorithm is in charge.

use serde::{Deserialize, Serialize};

use crate::{ByteRate, Nanos, RateSample, bytes_over};

/// What is measured is of late for so long at most (BBR's `MinRTTFilterLen`), ns.
const RECENT: Nanos = 10 * crate::SECOND;

/// A handshake takes some time, even if the clock has not seen it, ns.
const HANDSHAKE_RTT_MIN: Nanos = 1_000;

/// The smallest RTT of late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recent {
    /// Of the half period before, and of this one.
    halves: [Nanos; 2],
    until: Nanos,
}

impl Default for Recent {
    fn default() -> Self {
        Recent {
            halves: [Nanos::MAX; 2],
            until: 0,
        }
    }
}

impl Recent {
    /// Takes an RTT sample in that came at `now`.
    pub fn on_rtt(&mut self, rtt: Nanos, now: Nanos) {
        if now >= self.until {
            let before = match now < self.until + RECENT / 2 {
                true => self.halves[1],
                false => Nanos::MAX,
            };
            self.halves = [before, Nanos::MAX];
            self.until = now + RECENT / 2;
        }
        self.halves[1] = self.halves[1].min(rtt);
    }

    fn least(&self) -> Nanos {
        self.halves[0].min(self.halves[1])
    }
}

/// The largest delivery rate of late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecentRate {
    /// Of the half period before, and of this one, bytes per second.
    halves: [ByteRate; 2],
    until: Nanos,
}

impl RecentRate {
    fn on_rate(&mut self, rate: ByteRate, now: Nanos) -> ByteRate {
        if now >= self.until {
            self.halves = [self.halves[1], 0];
            self.until = now + RECENT / 2;
        }
        self.halves[1] = self.halves[1].max(rate);
        self.halves[0].max(self.halves[1])
    }
}

/// From so many bytes on a segment is a large part of what a short path holds.
const LARGE_SEGMENT_BYTES: u32 = 4096;

/// Measurements of the path of one flow, kept by the engine and read by the algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Path {
    /// Sender maximum segment size: payload bytes of a full segment.
    pub mss: u32,
    /// Smoothed RTT (RFC 6298), 0 before the first sample.
    pub srtt: Nanos,
    /// RTT variation (RFC 6298).
    pub rttvar: Nanos,
    /// Newest RTT sample, 0 before the first.
    pub latest_rtt: Nanos,
    /// Smallest RTT seen on this flow, `Nanos::MAX` before the first sample.
    pub min_rtt: Nanos,
    /// Largest RTT seen.
    pub max_rtt: Nanos,
    /// For [`Path::recent_min_rtt`].
    pub recent: Recent,
    /// Largest delivery rate of the last five to ten seconds in which the network was the limit,
    /// 0 while unknown.
    pub max_bw: ByteRate,
    /// For `max_bw`.
    pub recent_rate: RecentRate,
    /// Bytes delivered since the flow began.
    pub delivered: u64,
    /// Bytes marked lost since the flow began.
    pub lost: u64,
    /// Bytes in flight now.
    pub inflight: u64,
}

impl Path {
    /// A path of which only the segment size is known.
    pub fn new(mss: u32) -> Self {
        Path {
            mss,
            srtt: 0,
            rttvar: 0,
            latest_rtt: 0,
            min_rtt: Nanos::MAX,
            max_rtt: 0,
            recent: Recent::default(),
            max_bw: 0,
            recent_rate: RecentRate::default(),
            delivered: 0,
            lost: 0,
            inflight: 0,
        }
    }

    /// Segments of jumbo frames, of which short paths hold few.
    pub fn has_large_segments(&self) -> bool {
        self.mss >= LARGE_SEGMENT_BYTES
    }

    /// What stands in queues takes less time than the path does without them. False before the first sample.
    pub fn queue_is_short(&self) -> bool {
        self.srtt / 2 < self.min_rtt && self.srtt > 0
    }

    /// Takes an RTT sample in (RFC 6298 §2: gains 1/8 and 1/4).
    pub fn on_rtt(&mut self, rtt: Nanos) {
        if self.srtt == 0 {
            self.srtt = rtt;
            self.rttvar = rtt / 2;
        } else {
            let deviation = self.srtt.abs_diff(rtt);
            self.rttvar = self.rttvar - self.rttvar / 4 + deviation / 4;
            self.srtt = self.srtt - self.srtt / 8 + rtt / 8;
        }
        self.latest_rtt = rtt;
        self.min_rtt = self.min_rtt.min(rtt);
        self.max_rtt = self.max_rtt.max(rtt);
    }

    /// Begins with what somebody else has measured of late: the least RTT, and the largest delivery rate.
    pub fn expect(&mut self, min_rtt: Nanos, max_bw: ByteRate, now: Nanos) {
        self.min_rtt = min_rtt;
        self.recent.on_rtt(min_rtt, now);
        self.max_bw = self.recent_rate.on_rate(max_bw, now);
    }

    /// Takes a delivery rate in that was measured at `now`. One that the application has limited
    /// counts if it is larger than what is known, and no time passes with it, as in BBR.
    pub fn on_rate(&mut self, sample: &RateSample, now: Nanos) {
        if !sample.app_limited || sample.rate > self.max_bw {
            self.max_bw = self.recent_rate.on_rate(sample.rate, now);
        }
    }

    /// Takes the RTT of the handshake in, which was measured at `now`: of packets without a queue of their own. Only
    /// [`Path::recent_min_rtt`] has it, which says whether a queue stands. Algorithms that measure the queue of their own data measure it
    /// against [`Path::min_rtt`], as in Linux 6.12 (`tcp_min_rtt` has the handshake, `pkts_acked` does not).
    pub fn on_handshake_rtt(&mut self, rtt: Nanos, now: Nanos) {
        self.recent.on_rtt(rtt.max(HANDSHAKE_RTT_MIN), now);
    }

    /// Smallest RTT of the last five to ten seconds, the handshake's too: that of the flow, unless its path has become longer.
    /// `Nanos::MAX` while unknown.
    pub fn recent_min_rtt(&self) -> Nanos {
        match self.recent.least() {
            Nanos::MAX => self.min_rtt,
            recent => recent,
        }
    }

    /// The same of data alone: [`Path::min_rtt`] for somebody who goes on from here.
    pub fn recent_data_rtt(&self) -> Nanos {
        self.recent_min_rtt().max(self.min_rtt)
    }

    /// Bandwidth-delay product of what has been measured, bytes; 0 while unknown.
    pub fn bdp(&self) -> u64 {
        if self.min_rtt == Nanos::MAX {
            return 0;
        }
        bytes_over(self.max_bw, self.min_rtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MILLISECOND, SECOND};

    #[test]
    fn a_path_that_has_become_longer_is_known_after_ten_seconds() {
        let mut path = Path::new(1448);
        assert_eq!(path.recent_min_rtt(), Nanos::MAX);
        for (seconds, rtt_ms, expected_ms) in [
            (0, 40, 40),
            (1, 30, 30),
            (4, 30, 30),
            (6, 200, 30),
            (9, 210, 30),
            (12, 205, 200),
            (17, 220, 205),
            (18, 35, 35),
        ] {
            path.on_rtt(rtt_ms * MILLISECOND);
            path.recent.on_rtt(rtt_ms * MILLISECOND, seconds * SECOND);
            let recent = path.recent_min_rtt();
            assert_eq!(recent, expected_ms * MILLISECOND, "{seconds} s");
        }
        assert_eq!(path.min_rtt, 30 * MILLISECOND);
    }

    #[test]
    fn a_path_that_has_become_slower_is_known_after_ten_seconds() {
        let mut path = Path::new(1448);
        for (seconds, rate, app_limited, expected) in [
            (0, 100, false, 100),
            (1, 900, false, 900),
            (6, 200, false, 900),
            // Nothing is known of the path while the application sends less than it carries.
            (40, 10, true, 900),
            (90, 10, true, 900),
            (91, 300, false, 300),
            (97, 250, false, 300),
            (103, 250, false, 250),
            (104, 400, true, 400),
        ] {
            let sample = RateSample {
                rate,
                app_limited,
                ..RateSample::default()
            };
            path.on_rate(&sample, seconds * SECOND);
            assert_eq!(path.max_bw, expected, "{seconds} s");
        }
    }
}
