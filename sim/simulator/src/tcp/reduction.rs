//! Loss detection (RACK, RFC 8985), window reductions (PRR, RFC 6937) and taking them back by
//! timestamps (Eifel, RFC 3522) and DSACK (RFC 3708).

use windlass_cc::{MILLISECOND, Nanos, Signal};

use super::ack::{Ack, Progress};
use super::congestion::SSTHRESH_INFINITE;
use super::recovery::DUP_THRESH;
use super::sender::{CaState, Sender, Undo};

/// Shortest timer (Linux `TCP_TIMEOUT_MIN`).
const MIN_TIMEOUT: Nanos = 2 * MILLISECOND;

impl Sender {
    pub(super) fn mark_head(&mut self) -> usize {
        let Some(head) = self.board.head().map(|h| h.start) else {
            return 0;
        };
        self.board
            .mark_lost(|s| s.start == head && !s.retransmitted)
    }

    /// RACK: what was sent before the newest delivered segment, long enough ago, is lost.
    pub(super) fn detect(&mut self, now: Nanos) -> usize {
        let holes = self.board.sacked_out > 0 || self.board.lost_out > 0;
        if !self.agreed.sack || !self.rack.valid || !holes {
            return 0;
        }
        let rack = self.rack;
        let patience = rack.rtt + self.reordering_window();
        let mut wait: Nanos = 0;
        let lost = self.board.mark_lost_before((rack.at, rack.end), |s| {
            let left = (s.at + patience).saturating_sub(now);
            wait = wait.max(left);
            left == 0
        });
        if wait > 0 {
            self.arm_reordering(now + wait + MIN_TIMEOUT);
        }
        lost
    }

    pub(super) fn reordering_window(&self) -> Nanos {
        let certain =
            self.recovery.state >= CaState::Recovery || self.board.sacked_out >= DUP_THRESH;
        if !self.rack.reordering_seen && certain {
            return 0;
        }
        (self.rtt.min_rtt / 4)
            .saturating_mul(u64::from(self.rack.window_steps))
            .min(self.rtt.srtt)
    }

    pub(super) fn on_reordering_timer(&mut self, now: Nanos) {
        if self.detect(now) > 0 && self.recovery.state < CaState::Recovery {
            self.enter_recovery(now, false);
        }
    }

    pub(super) fn enter_recovery(&mut self, now: Nanos, ece: bool) {
        self.stats.recoveries += 1;
        let retransmitted = self.board.retrans_out as i64;
        let mut undo = Undo {
            marker: Some(self.una),
            retransmissions: if retransmitted > 0 { retransmitted } else { -1 },
            cwnd: self.window.cwnd,
            ssthresh: 0,
            // Of the first retransmission since there was none on its way.
            stamp: self.recovery.undo.stamp,
        };
        if self.recovery.state < CaState::Cwr {
            if !ece {
                undo.ssthresh = self.current_ssthresh();
            }
            self.reduce();
        }
        self.recovery.undo = undo;
        self.recovery.state = CaState::Recovery;
        self.tell_congestion(now, Signal::Loss);
    }

    /// `tcp_enter_loss()`.
    pub(super) fn enter_loss(&mut self, now: Nanos) {
        let again = self.timers.timeouts > 0;
        let new_recovery = self.recovery.state < CaState::Recovery;
        let rack = self.rack;
        // Without SACK they were only counted; a head that was reported has been dropped since.
        if !self.agreed.sack || self.board.head().is_some_and(|h| h.sacked) {
            self.board.forget_sacked();
        }
        let mut head = true;
        self.board.mark_lost(|s| {
            let recent = rack.valid && s.at + rack.rtt > now;
            std::mem::take(&mut head) || !recent
        });
        if self.recovery.state <= CaState::Disorder || self.una >= self.recovery.high || !again {
            self.recovery.undo = Undo {
                marker: Some(self.una),
                retransmissions: match self.board.retrans_out as i64 {
                    0 => -1,
                    some => some,
                },
                cwnd: self.window.cwnd,
                ssthresh: self.current_ssthresh(),
                stamp: None,
            };
            self.window.ssthresh = self.cc.ssthresh(&self.window);
            self.cc.on_loss_state();
        }
        self.window.cwnd = self.board.in_flight() as u32 + 1;
        self.recovery.state = CaState::Loss;
        self.recovery.high = self.nxt;
        self.probe.high = None;
        self.recovery.cwr_pending = true;
        self.recovery.frto = new_recovery || again;
        self.tell_timeout(now);
    }

    /// `tcp_init_cwnd_reduction()`.
    pub(super) fn reduce(&mut self) {
        self.recovery.high = self.nxt;
        self.probe.high = None;
        self.recovery.prior_cwnd = self.window.cwnd;
        self.recovery.delivered = 0;
        self.recovery.out = 0;
        self.window.ssthresh = self.cc.ssthresh(&self.window);
        self.recovery.cwr_pending = true;
    }

    /// `tcp_end_cwnd_reduction()`.
    pub(super) fn end_reduction(&mut self) {
        let reduced = self.recovery.state == CaState::Cwr || self.recovery.undo.marker.is_some();
        if self.is_hosted() {
            return self.cc.note_recovered();
        }
        if self.window.ssthresh < SSTHRESH_INFINITE && reduced {
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// `tcp_cong_control()`: PRR while a reduction is spread, growth otherwise.
    pub(super) fn control(&mut self, ack: &Ack, p: &Progress) {
        self.tell_ack(ack, p);
        if self.is_hosted() {
            return;
        }
        if matches!(self.recovery.state, CaState::Cwr | CaState::Recovery) {
            self.proportional_reduction(p);
        } else if p.acked > 0 && p.delivered > 0 && self.is_cwnd_limited() {
            self.cc.on_acked(ack.now, p.delivered, &mut self.window);
        }
    }

    /// RFC 6937 with slow-start reduction bound.
    pub(super) fn proportional_reduction(&mut self, p: &Progress) {
        if p.delivered == 0 || self.recovery.prior_cwnd == 0 {
            return;
        }
        self.recovery.delivered += p.delivered;
        let flight = self.board.in_flight() as u32;
        let target = self.window.ssthresh;
        let send = if flight > target {
            let due = u64::from(target) * u64::from(self.recovery.delivered);
            let due = due.div_ceil(u64::from(self.recovery.prior_cwnd)) as u32;
            due.saturating_sub(self.recovery.out)
        } else {
            let owed = self.recovery.delivered.saturating_sub(self.recovery.out);
            let bonus = u32::from(p.advanced && p.lost == 0);
            (owed.max(p.delivered) + bonus).min(target - flight)
        };
        let first = u32::from(self.recovery.out == 0);
        self.window.cwnd = flight + send.max(first);
    }

    /// `tcp_packet_delayed()`: the receiver answered something sent before the first retransmission, or there was none
    /// (since 6.12, and 6.1.113).
    pub(super) fn echo_is_older(&self, ack: &Ack) -> bool {
        match (self.recovery.undo.stamp, ack.echo) {
            (Some(stamp), Some(echo)) => echo != 0 && (echo.wrapping_sub(stamp) as i32) < 0,
            (None, Some(_)) => self.agreed.sack,
            _ => false,
        }
    }

    pub(super) fn dsack_allows_undo(&self) -> bool {
        self.recovery.undo.marker.is_some() && self.recovery.undo.retransmissions == 0
    }

    pub(super) fn may_undo(&self, ack: &Ack) -> bool {
        self.dsack_allows_undo() || self.recovery.undo.marker.is_some() && self.echo_is_older(ack)
    }

    pub(super) fn undo(&mut self, now: Nanos, unmark: bool) {
        self.stats.undos += 1;
        if unmark {
            self.board.unmark_lost();
        }
        self.window.cwnd = self.window.cwnd.max(self.recovery.undo.cwnd);
        self.window.ssthresh = self.window.ssthresh.max(self.recovery.undo.ssthresh);
        self.recovery.undo.marker = None;
        self.tell_spurious(now);
    }
}
