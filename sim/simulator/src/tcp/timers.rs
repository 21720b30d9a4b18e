//! The sender's timers: one for RTO, tail probe and reordering, as in Linux, and the window probe's.

use windlass_cc::Nanos;

use super::rtt::MAX_RTO;
use super::sender::{CaState, Forced, Sender, Timer};

impl Sender {
    pub(super) fn backed_off_rto(&self) -> Nanos {
        (self.rtt.rto() << self.timers.backoff.min(16)).min(MAX_RTO)
    }

    /// Restarts the timer as RTO, or stops it.
    pub(super) fn arm_rto(&mut self, now: Nanos) {
        let running = self.board.packets_out() > 0;
        let at = now + self.backed_off_rto();
        self.timers.timer = running.then_some((at, Timer::Retransmission));
    }

    /// The cumulative ACK advanced: the timer begins anew.
    pub(super) fn restart_timer(&mut self, now: Nanos) {
        self.arm_rto(now);
        self.schedule_probe(now);
    }

    pub(super) fn reset_backoff(&mut self) {
        self.timers.backoff = 0;
        self.timers.timeouts = 0;
    }

    /// `tcp_schedule_loss_probe()`.
    pub(super) fn schedule_probe(&mut self, now: Nanos) {
        let out = self.board.packets_out();
        let probing = self.habits.tail_probe && self.agreed.sack && out > 0 && self.rtt.srtt > 0;
        let calm = matches!(self.recovery.state, CaState::Open | CaState::Cwr);
        let pending = matches!(self.timers.timer, Some((_, Timer::Reordering)));
        if !probing || !calm || pending || self.timers.timeouts > 0 {
            return;
        }
        let head_sent = self.board.head().map_or(now, |h| h.at);
        let rto_at = (head_sent + self.rtt.rto()).max(now + 1);
        let at = (now + self.rtt.probe_timeout(out)).min(rto_at);
        self.timers.timer = Some((at, Timer::TailProbe));
    }

    pub(super) fn arm_reordering(&mut self, at: Nanos) {
        self.timers.timer = Some((at, Timer::Reordering));
    }

    /// When [`Sender::on_timer`] is due.
    pub fn poll_at(&self) -> Option<Nanos> {
        let timer = self.timers.timer.map(|t| t.0);
        let others = self.timers.window_probe.into_iter().chain(self.pace.until);
        timer.into_iter().chain(others).min()
    }

    /// A timer fired; [`Sender::next`] may have something afterwards.
    pub fn on_timer(&mut self, now: Nanos) {
        self.note_before();
        if let Some((at, kind)) = self.timers.timer
            && at <= now
        {
            self.timers.timer = None;
            match kind {
                Timer::Retransmission => self.on_rto(now),
                Timer::TailProbe => self.on_tail_probe(now),
                Timer::Reordering => {
                    self.on_reordering_timer(now);
                    if self.timers.timer.is_none() {
                        self.arm_rto(now);
                    }
                }
            }
        }
        if self.timers.window_probe.is_some_and(|at| at <= now) {
            let open = self.edge() > self.nxt;
            self.timers.forced = Some(if open {
                Forced::NewData
            } else {
                Forced::WindowProbe
            });
            self.timers.backoff = (self.timers.backoff + 1).min(10);
            self.timers.window_probe = Some(now + self.backed_off_rto());
        }
    }

    fn on_tail_probe(&mut self, now: Nanos) {
        if self.probe.high.is_none() && self.board.packets_out() > 0 {
            self.stats.probes.tail += 1;
            let fits = self
                .next_segment()
                .is_some_and(|(_, end)| end <= self.edge_for(end));
            self.probe.retransmitted = !fits;
            self.probe.high = Some(self.nxt);
            self.timers.forced = Some(if fits { Forced::NewData } else { Forced::Tail });
        }
        self.arm_rto(now);
    }

    fn on_rto(&mut self, now: Nanos) {
        if self.board.packets_out() == 0 {
            return;
        }
        self.stats.rto += 1;
        self.enter_loss(now);
        self.timers.timeouts += 1;
        self.suspect_black_hole();
        self.timers.backoff = (self.timers.backoff + 1).min(15);
        self.arm_rto(now);
    }
}
