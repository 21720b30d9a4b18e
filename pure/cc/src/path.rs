//! What is known of a path, whichever algorithm is in charge.

use serde::{Deserialize, Serialize};

use crate::{ByteRate, Nanos};

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
    /// Largest delivery rate of the last ten seconds or so, 0 while unknown.
    pub max_bw: ByteRate,
    /// Bytes delivered since the flow began.
    pub delivered: u64,
    /// Bytes marked lost since the flow began.
    pub lost: u64,
    /// Bytes in flight now.
    pub inflight: u64,
    /// The flow moves here from an algorithm that had not found the path's capacity yet, so
    /// `max_bw` says little about it.
    pub starting: bool,
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
            max_bw: 0,
            delivered: 0,
            lost: 0,
            inflight: 0,
            starting: false,
        }
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

    /// What the path can carry has been found out.
    pub fn is_known(&self) -> bool {
        self.max_bw > 0 && !self.starting
    }

    /// Bandwidth-delay product of what has been measured, bytes; 0 while unknown.
    pub fn bdp(&self) -> u64 {
        if self.min_rtt == Nanos::MAX {
            return 0;
        }
        (u128::from(self.max_bw) * u128::from(self.min_rtt) / 1_000_000_000) as u64
    }
}
