//! Congestion states and their transitions, by the rules of Linux 6.1: what begins and ends a
//! recovery, F-RTO (RFC 5682), the tail probe's end (RFC 8985 §7.4).

use windlass_cc::Signal;

use super::ack::{Ack, Progress};
use super::sender::{CaState, Sender, Undo};

/// Duplicate ACKs, or segments above a hole, that prove a loss at once.
pub(super) const DUP_THRESH: usize = 3;

impl Sender {
    /// `tcp_process_tlp_ack()`.
    pub(super) fn end_tail_probe(&mut self, ack: &Ack, p: &Progress) {
        let Some(high) = self.probe.high.filter(|&high| ack.number >= high) else {
            return;
        };
        if !self.probe.retransmitted || p.dsack_of_probe {
            self.probe.high = None;
        } else if ack.number > high {
            // The probe repaired a loss: one reduction.
            self.stats.probes.tail_recoveries += 1;
            self.reduce();
            if !self.is_hosted() {
                self.window.cwnd = self.window.ssthresh;
            }
            self.recovery.undo.marker = None;
            self.recovery.state = CaState::Open;
        } else if p.dup && !p.newly_sacked {
            self.probe.high = None;
        }
    }

    /// `tcp_fastretrans_alert()`: the state machine.
    pub(super) fn alert(&mut self, ack: &Ack, p: &mut Progress) {
        let ece = self.agreed.ecn && ack.ece;
        if ece {
            self.recovery.undo.ssthresh = 0;
        }
        if !self.agreed.sack && p.dup {
            self.count_duplicate();
        }
        if self.recovery.state > CaState::Disorder
            && self.una >= self.recovery.high
            && !self.leave(ack)
        {
            return;
        }
        match self.recovery.state {
            CaState::Recovery => self.in_recovery(ack, p),
            CaState::Loss => self.in_loss(ack, p),
            _ => self.in_open(ack, p, ece),
        }
    }

    fn count_duplicate(&mut self) {
        let holes = self.board.lost_out.max(1);
        let most = self.board.packets_out().saturating_sub(holes);
        self.board.sacked_out = (self.board.sacked_out + 1).min(most);
    }

    /// Everything sent before the reduction has been acknowledged. False if the state is held.
    fn leave(&mut self, ack: &Ack) -> bool {
        match self.recovery.state {
            CaState::Cwr => {
                // Until something above is acknowledged, CWR may not have arrived.
                if self.una != self.recovery.high {
                    self.end_reduction();
                    self.recovery.state = CaState::Open;
                }
                true
            }
            CaState::Recovery | CaState::Loss => {
                if self.may_undo(ack) {
                    self.undo(ack.now, false);
                } else if !self.agreed.sack && self.una == self.recovery.high {
                    // RFC 6582 §4: late duplicate ACKs must not begin a new recovery.
                    return false;
                }
                if self.recovery.state == CaState::Recovery {
                    self.end_reduction();
                } else {
                    self.cc.note_recovered();
                }
                self.recovery.undo = Undo {
                    stamp: self.recovery.undo.stamp,
                    ..Undo::default()
                };
                self.recovery.frto = false;
                self.recovery.state = CaState::Open;
                self.forget_stamp();
                true
            }
            _ => true,
        }
    }

    /// `tcp_any_retrans_done()`: no retransmission is on its way any more.
    fn forget_stamp(&mut self) {
        let head = self.board.head();
        if self.board.retrans_out == 0 && head.is_none_or(|head| head.retransmissions == 0) {
            self.recovery.undo.stamp = None;
        }
    }

    fn in_open(&mut self, ack: &Ack, p: &mut Progress, ece: bool) {
        if !self.agreed.sack && p.advanced {
            self.board.sacked_out = 0;
        }
        if self.recovery.state <= CaState::Disorder && p.dsack && self.dsack_allows_undo() {
            self.undo(ack.now, false);
        }
        p.lost = self.detect(ack.now);
        if !self.agreed.sack && self.board.sacked_out >= DUP_THRESH {
            p.lost += self.mark_head();
        }
        if self.board.lost_out > 0 {
            self.enter_recovery(ack.now, ece);
            return;
        }
        if ece && self.recovery.state < CaState::Cwr {
            self.stats.marks.reductions += 1;
            self.recovery.undo = Undo::default();
            self.reduce();
            self.recovery.state = CaState::Cwr;
            self.tell_congestion(ack.now, Signal::Ecn);
        } else if self.recovery.state != CaState::Cwr {
            let disorder = self.board.sacked_out > 0;
            self.recovery.state = if disorder {
                CaState::Disorder
            } else {
                CaState::Open
            };
            self.forget_stamp();
        }
    }

    fn in_recovery(&mut self, ack: &Ack, p: &mut Progress) {
        if p.advanced {
            if !self.agreed.sack {
                p.lost += self.mark_head();
            }
            if self.recovery.undo.marker.is_some()
                && self.echo_is_older(ack)
                && self.board.retrans_out == 0
            {
                self.undo(ack.now, true);
                self.recovery.state = CaState::Open;
                return;
            }
        }
        if p.dsack && self.dsack_allows_undo() {
            self.undo(ack.now, true);
            self.recovery.state = CaState::Open;
            return;
        }
        p.lost += self.detect(ack.now);
    }

    fn in_loss(&mut self, ack: &Ack, p: &mut Progress) {
        let eifel = p.advanced && self.recovery.undo.marker.is_some() && self.echo_is_older(ack);
        let frto = self.recovery.frto && p.original && self.recovery.undo.marker.is_some();
        if eifel || frto || p.dsack && self.dsack_allows_undo() {
            self.undo(ack.now, true);
            self.recovery.undo = Undo::default();
            self.recovery.frto = false;
            self.timers.timeouts = 0;
            self.recovery.state = CaState::Open;
            return;
        }
        if self.recovery.frto && self.nxt > self.recovery.high && p.newly_sacked {
            self.recovery.frto = false;
        }
        p.lost = self.detect(ack.now);
    }
}
