//! A sender that keeps its own congestion control (modes `observe` and `advise`), as far as its packets
//! tell: whether its window is what holds it back, and its time-outs. So the algorithm that is asked
//! for its opinion meets the events that the sender's own algorithm meets.
//!
//! A window is what holds a sender back when ACKs are what lets it go on: most of what is new in a
//! round trip then comes in full segments, each right after an ACK that delivered something. An
//! application that has little to say sends when it likes, or short segments; one that waits for a
//! request sends after a packet that is more than an ACK; a sender that fills the receiver's window
//! is held back by that. Linux knows it exactly (`tcp_cwnd_validate`), and remembers it for a round
//! trip too.

use serde::{Deserialize, Serialize};
use windlass_cc::host::Ack;
use windlass_cc::{MILLISECOND, Nanos, Phase};
use windlass_wire::Segment;

use super::Flow;
use crate::Pool;
use crate::context::Context;

/// A sender answers an ACK within this, or within an eighth of the RTT, ns.
const ANSWER_MIN: Nanos = 2 * MILLISECOND;

/// What is known of a sender's behaviour in the round under way, and in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Watch {
    /// Until then what the sender sends is an answer to an ACK.
    answer_until: Nanos,
    /// New payload in this round.
    pub(super) fresh: u64,
    /// Of this, in full segments that answer ACKs.
    pub(super) answers: u64,
    /// Of this, near to the edge of the receiver's window.
    pub(super) filling: u64,
    pub(super) round_began: Nanos,
    /// How long each of [`HeldBack`] has kept it from sending more in the transfer under way, ns.
    pub(super) held_back: [Nanos; 3],
    /// When the receiver last acknowledged anything.
    pub(super) acked_at: Nanos,
    /// Bytes delivered and lost while no queue stood, and lost while one did.
    pub(super) calm_delivered: u64,
    pub(super) calm_lost: u64,
    pub(super) queue_lost: u64,
    /// Until then what comes may have been sent before the recovery began for its sender.
    unaware_until: Nanos,
    /// No ACK has come in the time-out since the last.
    overdue: bool,
}

impl Flow {
    /// The sender sends `len` bytes that are new.
    pub(crate) fn watch_new_data(&mut self, now: Nanos, len: u64) {
        let full = 2 * len > u64::from(self.host.path().mss);
        let left = self.receiver_edge.saturating_sub(self.board.nxt());
        let room = left >= u64::from(self.host.path().mss);
        let nearly_full = self.nearly_full();
        let Some(watch) = self.cold.watch_mut() else {
            return;
        };
        watch.fresh += len;
        if left < nearly_full {
            watch.filling += len;
        }
        if self.board.resent() == 0 && now <= watch.unaware_until {
            // It was on its way here when its sender learned of the loss: a recovery begins with a
            // retransmission.
            self.host.extend_episode(self.board.sent_nxt());
        }
        if now <= watch.answer_until && full && room {
            watch.answers += len;
        }
        self.host.usage_mut().note(false, self.board.inflight());
    }

    /// What the algorithm is told to be in flight. One that waits for a flight as small as it wants it
    /// (ProbeRTT) would wait for ever for a sender that does not hear it: that is taken for obeyed.
    pub(crate) fn told_inflight(&self) -> u64 {
        let control = self.host.control();
        match control.phase {
            Phase::ProbeRtt if !self.enforcing() => self.board.pipe().min(control.cwnd),
            _ => self.board.pipe(),
        }
    }

    /// The receiver has acknowledged, of what was in flight `before`.
    pub(crate) fn watch_ack(&mut self, now: Nanos, segment: &Segment, ack: &Ack) {
        let delivered = ack.delivered();
        self.watch_losses(delivered, ack.lost());
        let round_is_over = self.host.usage().is_over(self.board.una());
        if round_is_over {
            self.note_what_held_back(now);
        }
        let Some(watch) = self.cold.watch_mut() else {
            return;
        };
        if delivered > 0 {
            watch.overdue = false;
            watch.acked_at = now;
        }
        if round_is_over {
            let Watch { fresh, answers, .. } = *watch;
            let limited = 2 * answers > fresh;
            // Linux: `max_packets_out` changes when something is sent.
            let most = match fresh {
                0 => self.host.usage().most(),
                _ => ack.before(),
            };
            self.host
                .usage_mut()
                .begin(self.board.sent_nxt(), limited, most);
            if !limited {
                self.host.app_limited(self.board.inflight());
            }
            (watch.fresh, watch.answers, watch.filling) = (0, 0, 0);
        }
        if delivered > 0 && Self::is_pure_ack(segment) {
            watch.answer_until = now + ANSWER_MIN.max(self.host.path().srtt / 8);
        }
    }

    /// A recovery episode begins here; the ACK that says so is still on its way to the sender. If it is
    /// no `news`, the sender is retransmitting already, and nothing will tell when it has heard.
    pub(crate) fn watch_recovery(&mut self, now: Nanos, news: bool) {
        if let Some(watch) = self.cold.watch_mut() {
            watch.unaware_until = if news { now + ANSWER_MIN } else { 0 };
        }
    }

    /// The sender sends again what begins at `start`. If it is the oldest, was not taken for lost and
    /// is overdue, the sender's timer has fired; of a single segment the first time may be a probe
    /// (RFC 8985 §7).
    pub(crate) fn watch_retransmission<P: Pool>(&mut self, ctx: &mut Context<'_, P>, start: u64) {
        self.note_resent();
        let Some(front) = self.board.front().copied() else {
            return;
        };
        let probe = front.end == self.board.sent_nxt() && front.transmissions == 1;
        let overdue = self.cold.watch_mut().map(|w| &mut w.overdue);
        let overdue = overdue.filter(|overdue| **overdue);
        if let Some(overdue) = overdue
            && start < front.end
            && front.in_flight()
            && !probe
        {
            *overdue = false;
            self.take_all_for_lost(ctx);
        }
    }

    /// The time-out has passed without an ACK: the sender's own is due about now.
    pub(crate) fn note_overdue(&mut self) {
        if let Some(watch) = self.cold.watch_mut() {
            watch.overdue = true;
        }
    }

    /// Opens the episode of a time-out that the sender shows by what it sends.
    fn take_all_for_lost<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        // Of what is taken for lost, one packet was.
        self.watch_losses(0, u64::from(self.host.path().mss));
        self.mark_all_lost(ctx);
        self.board.begin_episode();
        self.board.note_resent();
        self.host.timed_out(ctx.now, self.board.sent_nxt());
    }
}
