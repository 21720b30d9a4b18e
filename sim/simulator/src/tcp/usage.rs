//! How much of its window a sender uses: growth, decay and restart depend on it (RFC 7661 in spirit,
//! Linux in the letter).

use windlass_cc::Nanos;

use super::sender::{CaState, Sender};

impl Sender {
    /// `tcp_slow_start_after_idle_check()`: the window halves with every RTO of idleness.
    pub(super) fn restart_after_idle(&mut self, now: Nanos) {
        let idle = now - self.last_sent;
        if self.board.packets_out() > 0 || self.last_sent == 0 || self.next_segment().is_none() {
            return;
        }
        let rto = self.rtt.rto();
        self.tell_restart(now, idle);
        if idle > rto && !self.is_hosted() {
            self.window.ssthresh = self.current_ssthresh();
            let restart = self.habits.initial_cwnd.min(self.window.cwnd);
            let halvings = (idle / rto).min(31) as u32;
            self.window.cwnd = (self.window.cwnd >> halvings).max(restart);
            self.usage.used_stamp = now;
            self.usage.used_packets = 0;
        }
        self.last_sent = now;
    }

    pub(super) fn current_ssthresh(&self) -> u32 {
        if matches!(self.recovery.state, CaState::Cwr | CaState::Recovery) {
            return self.window.ssthresh;
        }
        self.window
            .ssthresh
            .max(self.window.cwnd - self.window.cwnd / 4)
    }

    /// After a burst of [`Sender::next`]: window validation and the tail-probe timer.
    pub fn after_burst(&mut self, now: Nanos, sent_any: bool) {
        self.stats.max_cwnd_packets = self.stats.max_cwnd_packets.max(self.window.cwnd);
        let limited = std::mem::take(&mut self.pace.deferred_by_cwnd)
            || self.board.in_flight() >= self.window.cwnd as usize;
        if sent_any || limited {
            self.validate_cwnd(now, limited);
        }
        if sent_any {
            self.schedule_probe(now);
        }
        let waiting = self.board.packets_out() == 0 && self.next_segment().is_some();
        if waiting && self.timers.window_probe.is_none() && self.timers.forced.is_none() {
            self.timers.window_probe = Some(now + self.backed_off_rto());
        }
        if !waiting {
            self.timers.window_probe = None;
        }
    }

    /// `tcp_cwnd_validate()`: remembers the most that was out in a round, which bounds growth.
    pub(super) fn validate_cwnd(&mut self, now: Nanos, limited: bool) {
        let out = self.board.packets_out();
        if self.una >= self.usage.seq
            || limited
            || !self.usage.cwnd_limited && out > self.usage.max_packets_out
        {
            self.usage.cwnd_limited = limited;
            self.usage.max_packets_out = out;
            self.usage.seq = self.nxt;
        }
        if self.is_cwnd_limited() {
            self.usage.used_packets = 0;
            self.usage.used_stamp = now;
            return;
        }
        self.usage.used_packets = self.usage.used_packets.max(out as u32);
        // Linux spares senders whose socket buffer is full: the window was the limit there.
        let starved = self.next_segment().is_none() && !self.is_hosted();
        if starved
            && self.recovery.state == CaState::Open
            && now - self.usage.used_stamp >= self.rtt.rto()
        {
            let used = self.usage.used_packets.max(self.habits.initial_cwnd);
            if used < self.window.cwnd {
                self.window.ssthresh = self.current_ssthresh();
                self.window.cwnd = (self.window.cwnd + used) / 2;
            }
            self.usage.used_packets = 0;
            self.usage.used_stamp = now;
        }
    }

    /// `tcp_is_cwnd_limited()`: in slow start the window may reach twice what was out.
    pub(super) fn is_cwnd_limited(&self) -> bool {
        self.usage.cwnd_limited
            || self.window.in_slow_start()
                && (self.window.cwnd as usize) < 2 * self.usage.max_packets_out
    }
}
