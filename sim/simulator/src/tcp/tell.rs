//! What a sender tells its congestion control, and how it follows what that wants.

use windlass_cc::{Nanos, Signal};

use super::ack::{Ack, Progress};
use super::congestion::{AckTaken, CongestionOps, Counts, established};
use super::sender::{CaState, Sender};

impl Sender {
    /// The handshake is over and has measured the RTT. `seed`: of the algorithm's chances.
    pub fn start_algorithm(&mut self, seed: u64) {
        let (mss, rtt) = (self.agreed.mss, self.rtt.srtt);
        if let Some(cc) = established(self.habits.algorithm, mss, rtt, seed) {
            self.cc = cc;
            self.follow();
        }
    }

    /// Bytes, where segments are counted.
    pub(super) fn bytes_of(&self, segments: usize) -> u64 {
        segments as u64 * u64::from(self.agreed.mss)
    }

    /// The algorithm decides the window at all times, and not TCP.
    pub(super) fn is_hosted(&self) -> bool {
        self.cc.is_hosted()
    }

    fn counts(&self) -> Counts {
        Counts {
            in_flight: self.bytes_of(self.board.in_flight()),
            delivered: self.sampler.delivered,
            marked_lost: self.bytes_of(self.board.marked_lost),
            marked_ranges: self.board.marked_ranges,
        }
    }

    /// Tells it something, and does what it wants from then on.
    fn tell(&mut self, tell: impl FnOnce(&mut dyn CongestionOps, &Counts)) {
        let counts = self.counts();
        tell(self.cc.as_mut(), &counts);
        self.follow();
    }

    fn follow(&mut self) {
        if let Some(window) = self.cc.window(self.agreed.mss) {
            self.window = window;
        }
    }

    /// An ACK or a timer is about to change the scoreboard.
    pub(super) fn note_before(&mut self) {
        let counts = self.counts();
        self.cc.note_before(&counts);
    }

    pub(super) fn tell_sent(&mut self, now: Nanos, bytes: u64, again: bool) {
        let app_limited = self.sampler.is_app_limited();
        self.tell(|cc, counts| cc.on_sent(now, bytes, again, app_limited, counts));
    }

    /// Nothing was out, and something is about to leave.
    pub(super) fn tell_restart(&mut self, now: Nanos, idle: Nanos) {
        let app_limited = self.sampler.is_app_limited();
        self.tell(|cc, counts| cc.on_restart(now, idle, app_limited, counts));
    }

    pub(super) fn tell_congestion(&mut self, now: Nanos, signal: Signal) {
        self.tell(|cc, counts| cc.on_congestion(now, signal, counts));
    }

    pub(super) fn tell_timeout(&mut self, now: Nanos) {
        self.tell(|cc, counts| cc.on_timeout(now, counts));
    }

    pub(super) fn tell_spurious(&mut self, now: Nanos) {
        self.tell(|cc, counts| cc.on_spurious(now, counts));
    }

    /// The ACK has been taken in.
    pub(super) fn tell_ack(&mut self, ack: &Ack, p: &Progress) {
        self.sampler.lost = self.bytes_of(self.board.marked_lost);
        let rate = self.sampler.take(p.newest, ack.now, self.rtt.min_rtt);
        if let Some(rate) = rate {
            self.stats.now.delivery_rate = rate.rate;
        }
        let delivered = self.bytes_of(p.delivered as usize);
        // As Linux `tcp_newly_delivered`: all that an ACK with ECE delivers counts as marked.
        let marked = self.agreed.ecn && ack.ece;
        let ce_bytes = if marked { delivered } else { 0 };
        self.stats.marks.bytes += ce_bytes;
        let taken = AckTaken {
            now: ack.now,
            acked: p.acked_bytes,
            delivered,
            ce_bytes,
            rtt: p.rtt,
            rate,
            cwnd_limited: self.is_cwnd_limited(),
            in_recovery: self.recovery.state >= CaState::Cwr,
        };
        self.tell(|cc, counts| cc.on_ack(&taken, counts));
    }
}
