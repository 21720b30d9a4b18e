//! Proportional Rate Reduction (RFC 9937), in bytes.
//!
//! Spreads the reduction of a recovery episode over the ACKs of one round: while more is in flight
//! than the threshold, a share `ssthresh / RecoverFS` of what is delivered may be sent; below it,
//! as much as is delivered, and one segment more for each ACK that shows progress without new
//! loss.

use serde::{Deserialize, Serialize};

/// One recovery episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prr {
    ssthresh: u64,
    /// Bytes in flight when recovery began, lost ones included (`RecoverFS`).
    recover_fs: u64,
    /// Bytes delivered during recovery.
    delivered: u64,
    /// Bytes sent during recovery.
    out: u64,
    cwnd: u64,
}

impl Prr {
    /// Begins an episode with the window to end at and the flight to start from. `inflight` is
    /// what is left of it without the loss; until an ACK says more, one segment may be sent.
    pub fn new(ssthresh: u64, recover_fs: u64, inflight: u64, mss: u64) -> Self {
        Prr {
            ssthresh,
            recover_fs: recover_fs.max(1),
            delivered: 0,
            out: 0,
            cwnd: inflight.saturating_add(mss),
        }
    }

    /// An ACK that delivers `delivered` bytes and leaves `inflight`. `safe` says that it advanced
    /// the cumulative ACK and marked nothing lost (RFC 9937 `SafeACK`).
    pub fn on_ack(&mut self, delivered: u64, inflight: u64, safe: bool, mss: u64) {
        if delivered == 0 {
            return;
        }
        self.delivered = self.delivered.saturating_add(delivered);
        let mut may_send = if inflight > self.ssthresh {
            self.proportional().saturating_sub(self.out)
        } else {
            let bonus = if safe { mss } else { 0 };
            self.delivered
                .saturating_sub(self.out)
                .max(delivered)
                .saturating_add(bonus)
                .min(self.ssthresh - inflight)
        };
        if self.out == 0 {
            // The fast retransmission itself leaves at once. The RFC says so for SndCnt = 0; less
            // than a segment would hold it up just as well.
            may_send = may_send.max(mss);
        }
        self.cwnd = inflight.saturating_add(may_send);
    }

    /// Data left during recovery.
    pub fn on_sent(&mut self, bytes: u64) {
        self.out = self.out.saturating_add(bytes);
    }

    /// Bytes that may be in flight.
    pub fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// `ceil(prr_delivered * ssthresh / RecoverFS)`.
    fn proportional(&self) -> u64 {
        let share = u128::from(self.delivered) * u128::from(self.ssthresh);
        u64::try_from(share.div_ceil(u128::from(self.recover_fs))).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests;
