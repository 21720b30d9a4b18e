//! Loss and what is done about it: RACK, tail probes, the box's own retransmission time-out.

use windlass_cc::Nanos;
use windlass_cc::host::{Ack, Standing};

use super::Flow;
use super::scoreboard::{Overdue, probe_timeout};
use crate::context::Context;
use crate::maybe::Maybe;
use crate::{PassReason, Pool, Why};

/// Time-outs in a row after which the box gives up: half a minute without any sign of the receiver. Those that are shorter
/// than on long paths do not count.
const TIMEOUTS_MAX: u32 = 8;

impl Flow {
    /// Takes the piece at `index` for lost, unless it is already, or has arrived.
    pub(crate) fn mark_lost<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        index: usize,
        ack: &mut Ack,
    ) {
        let Some((len, range)) = self.board.lose(index) else {
            return;
        };
        self.host.lost(ack, len, range);
        self.note_loss();
        self.cold.tally_mut().lost += 1;
        ctx.counters.lost += 1;
    }

    /// RFC 8985 §6.2 step 5: what was sent well before something that has arrived is lost.
    pub(crate) fn detect_losses<P: Pool>(&mut self, ctx: &mut Context<'_, P>, ack: &mut Ack) {
        self.timers.rack_at = Maybe::NONE;
        if !self.setup.receiver_sacks {
            return;
        }
        let in_recovery = self.host.in_recovery(self.board.una());
        while let Some(overdue) = self.board.overdue(ctx.now, self.host.path(), in_recovery) {
            match overdue {
                Overdue::Lost(index) => self.mark_lost(ctx, index, ack),
                Overdue::At(due) => {
                    self.timers.rack_at = Maybe::some(due);
                    break;
                }
            }
        }
    }

    /// RFC 6298 §5 and RFC 8985 §7.2, on sending.
    pub(crate) fn arm_timers_on_send(&mut self, now: Nanos) {
        let at = now + self.rto();
        let armed = self.timers.rto_at.get_or_insert(at);
        // More is out than a segment whose acknowledgement the receiver may delay.
        self.timers.rto_at = Maybe::some(at.min(armed));
        self.arm_probe(now);
    }

    /// The same when an ACK delivered something.
    pub(crate) fn arm_timers_on_ack(&mut self, now: Nanos) {
        let outstanding = self.board.is_outstanding();
        self.timers.rto_at = outstanding.then(|| now + self.rto()).into();
        self.arm_probe(now);
    }

    fn arm_probe(&mut self, now: Nanos) {
        let may = self.board.inflight() > 0 && self.board.may_probe() && self.setup.receiver_sacks;
        let at = match (may, self.is_repairing()) {
            (false, _) => None,
            (true, false) => Some(self.tail_probe_at(now)),
            (true, true) => self.silence_probe_at(now),
        };
        self.timers.probe_at = at.into();
    }

    /// Something is known to be lost, or is about to be.
    fn is_repairing(&self) -> bool {
        self.host.episode().is_some() || self.board.sacked_bytes() > 0
    }

    fn tail_probe_at(&self, now: Nanos) -> Nanos {
        let srtt = match self.host.path().srtt {
            0 => self.handshake_rtt(),
            srtt => srtt,
        };
        let srtt = Some(srtt).filter(|srtt| *srtt > 0);
        let at = now + probe_timeout(srtt, self.probe_slack());
        self.timers.rto_at.get().map_or(at, |rto| at.min(rto))
    }

    /// Where repairs are lost with all that left beside them no ACK comes any more, and RACK learns nothing. RFC 8985 leaves
    /// that to the time-out; here a repair is cheap, and the first hole is repaired once more when nothing has come for two
    /// round trips, as QUIC's probe time-out has it (RFC 9002 §6.2). After a time-out nothing is hurried.
    fn silence_probe_at(&self, now: Nanos) -> Option<Nanos> {
        let srtt = self.host.path().srtt;
        if srtt == 0 || self.timers.unanswered > 0 {
            return None;
        }
        // Receivers acknowledge at once what fills a hole (RFC 5681 §4.2).
        let at = now + probe_timeout(Some(srtt), self.hurried_slack());
        (self.timers.rto_at.get().is_none_or(|rto| at < rto)).then_some(at)
    }

    /// What has come due of RACK, probe and time-out.
    pub(crate) fn on_repair_timers<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        let now = ctx.now;
        if self.timers.rack_at.get().is_some_and(|at| at <= now) {
            let mut ack = Ack::new(now, self.board.inflight());
            self.detect_losses(ctx, &mut ack);
            self.report_loss(ctx, &ack);
        }
        if self.timers.probe_at.get().is_some_and(|at| at <= now) {
            self.timers.probe_at = Maybe::NONE;
            self.send_probe(ctx);
        }
        if self.timers.rto_at.get().is_some_and(|at| at <= now) {
            self.on_timeout(ctx);
        }
    }

    /// Loss that no ACK reported.
    pub(super) fn report_loss<P: Pool>(&mut self, ctx: &mut Context<'_, P>, ack: &Ack) {
        if ack.lost() == 0 {
            return;
        }
        self.host.settle(self.board.inflight());
        self.watch_losses(0, ack.lost());
        self.enter_recovery(ctx.now, ack);
        let standing = Standing {
            inflight: self.board.inflight(),
            cwnd_limited: false,
            in_recovery: true,
        };
        self.host.finish_ack(ctx.now, ack, &standing);
        self.update_pacing();
    }

    /// RFC 8985 §7.3: new data if there is any that may go, else the last segment once more.
    fn send_probe<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        if !self.in_charge() || self.board.inflight() == 0 {
            return;
        }
        if self.is_repairing() {
            return self.probe_silence(ctx);
        }
        let fresh = self
            .board
            .unsent()
            .filter(|&i| self.board.piece(i).end <= self.receiver_edge);
        let Some(index) = fresh.or_else(|| self.board.last_sent()) else {
            return;
        };
        if self.board.piece(index).pkt.is_none() {
            return;
        }
        ctx.counters.tail_probes += 1;
        self.board.begin_probe(index);
        self.transmit(ctx, index, Why::Probe);
        self.timers.rto_at = Maybe::some(ctx.now + self.rto());
        self.timers.probe_at = Maybe::NONE;
    }

    /// The first hole once more. Once until something is answered: the time-out is not put off.
    fn probe_silence<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        let Some(index) = self.board.first_hole() else {
            return;
        };
        ctx.counters.tail_probes += 1;
        self.board.spend_probe();
        self.transmit(ctx, index, Why::Probe);
    }

    /// RFC 8985 §7.4: the end of a probe. One that was a retransmission, is acknowledged and was
    /// not reported as a duplicate has repaired a loss: the algorithm hears of it.
    pub(crate) fn finish_probe(&mut self, now: Nanos, dsack: bool, before: u64) {
        let Some(probe) = self.board.probe() else {
            return;
        };
        if self.board.una() < probe.end && !dsack {
            return;
        }
        self.board.end_probe();
        if probe.retransmission && !dsack && self.host.episode().is_none() {
            let lost = u64::from(self.host.path().mss);
            self.host.repaired_by_probe(now, before, lost);
        }
    }

    /// Its own time-out has passed, and nothing has been acknowledged since.
    pub(crate) fn is_timed_out(&self) -> bool {
        self.timers.unanswered > 0 && self.hands.pass.is_none()
    }

    /// RFC 6298 §5.4 to §5.7 and RFC 8985 §6.3: what is outstanding is taken for lost.
    fn on_timeout<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        self.timers.rto_at = Maybe::NONE;
        if !self.board.is_outstanding() {
            return;
        }
        if !self.enforcing() {
            return self.note_overdue();
        }
        if self.waits_for_sender() {
            return;
        }
        self.timers.backoff = self.timers.backoff.saturating_add(1);
        self.timers.unanswered += 1;
        if self.timers.unanswered > TIMEOUTS_MAX + self.short_timeouts() {
            // Its ends have found each other another way, or are gone. What is repaired from here on
            // the sender repairs.
            ctx.counters.pass(PassReason::TimedOut);
            return self.release_all(ctx, PassReason::TimedOut);
        }
        self.timers.rto_at = Maybe::some(ctx.now + self.rto());
        if self.hands.are_senders() {
            return;
        }
        ctx.counters.timeouts += 1;
        self.cold.tally_mut().timeouts += 1;
        self.mark_all_lost(ctx);
        self.board.begin_episode();
        self.host.timed_out(ctx.now, self.board.sent_nxt());
        self.update_pacing();
    }

    /// Takes what is outstanding for lost.
    pub(crate) fn mark_all_lost<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        self.board.end_probe();
        self.board.forget_duplicates();
        if self.board.front().is_some_and(|front| front.sacked) {
            self.board.forget_sacked();
        }
        let mut ack = Ack::default();
        for index in 0..self.board.len() {
            if !self.board.piece(index).sent {
                break;
            }
            self.mark_lost(ctx, index, &mut ack);
        }
        self.board.forget_transmissions();
        self.host.settle(self.board.inflight());
    }
}
