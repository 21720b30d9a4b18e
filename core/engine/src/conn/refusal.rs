//! What becomes of a segment that its receiver would not accept.

use windlass_cc::Nanos;
use windlass_wire::Segment;

use super::{Conn, is_syn};
use crate::context::Context;
use crate::flow::AHEAD_MAX;
use crate::{Fate, PassReason, Pkt, Pool, Side};

/// Why a segment is not believed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refusal {
    /// Everything in it has been acknowledged: its receiver only repeats its acknowledgement.
    Known,
    /// Data beyond the edge that the sender has been shown here, right otherwise.
    BeyondEdge,
    /// The same where its sender goes on in order: it may ask whether there is room.
    Probe,
    /// Another has overtaken it, so that its timestamp is too old for its receiver (RFC 7323 §5.3). A
    /// receiver that the box has not shown the newer one yet must not take it either.
    Overtaken,
    /// An acknowledgement behind a FIN or a probe that lies beyond the edge which is known here, and may
    /// not have come yet. Its receiver takes it if it has taken that. It shows what the box hides, so it
    /// must wait for another.
    BehindProbe,
    /// A reset behind all that its sender has sent: its receiver takes it if it has all of that, else
    /// it asks, and its sender answers (RFC 5961 §3.2). The box must not stand in between.
    EarlyReset,
    /// Something else that its receiver would drop.
    Unacceptable(PassReason),
}

impl Conn {
    /// Whether the end that a packet is for would accept it.
    pub(super) fn judge(
        &mut self,
        now: Nanos,
        from: Side,
        segment: &Segment,
    ) -> Result<(), Refusal> {
        match &mut self.gate {
            Some(gate) if !is_syn(segment) => gate.judge(now, from, segment),
            _ => {
                let judged = self.judge_handshake(from, segment);
                judged.map_err(Refusal::Unacceptable)
            }
        }
    }

    /// A packet that its receiver would drop goes on unchanged, but for what two boxes say to each
    /// other.
    pub(super) fn refuse<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        from: Side,
        segment: &Segment,
        pkt: Pkt,
        refusal: Refusal,
    ) {
        let unseen = refusal == Refusal::Unacceptable(PassReason::UnacceptableAck)
            && self.acks_what_went_by(from, segment);
        if unseen || self.doubts_sight(from) {
            self.lose_sight(ctx);
            return self.pass_out_of_sight(ctx, from, segment, pkt);
        }
        if self.forbids_answer(ctx, segment) {
            return ctx.swallow_ungoverned(pkt);
        }
        let mut segment = *segment;
        if let Some(peer) = &mut self.peer {
            let known = refusal == Refusal::Known;
            match peer.cleanses(ctx, from, &segment, pkt, known) {
                Some(clean) => segment = clean,
                None => return ctx.swallow(pkt, Fate::Report),
            }
        }
        if refusal == Refusal::EarlyReset {
            self.let_go(ctx, PassReason::Closed);
        }
        if self.is_for_its_flow(ctx, from, &segment, pkt, refusal) {
            return;
        }
        let gate = self.gate.as_deref();
        if refusal == Refusal::BehindProbe
            && gate.is_some_and(|gate| gate.is_awaited(from, &segment))
        {
            // A probe has gone on, its receiver had more room than the box knew of, and nobody sends it again.
            self.let_go(ctx, PassReason::UnseenData);
        }
        let acknowledged = self.flows[from.other().index()].as_ref();
        let hidden = matches!(refusal, Refusal::Overtaken | Refusal::BehindProbe);
        if hidden && acknowledged.is_some_and(|flow| flow.enforcing()) {
            ctx.counters.overtaken_dropped += 1;
            return ctx.swallow(pkt, Fate::Overtaken);
        }
        if let Some(flow) = acknowledged.filter(|_| refusal == Refusal::Probe) {
            flow.hide_window(ctx, &segment, pkt);
        }
        let passing = self.pass.filter(|_| refusal != Refusal::EarlyReset);
        let reason = match (passing, refusal) {
            (Some(passing), _) => passing,
            (None, Refusal::Unacceptable(reason)) => reason,
            (None, Refusal::Overtaken) => PassReason::Paws,
            (None, _) => PassReason::OutOfWindow,
        };
        ctx.pass_on(reason, from.other(), &segment, pkt);
    }

    /// A refused segment that the flow of its data has an answer to. True if the packet is the flow's now.
    fn is_for_its_flow<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        from: Side,
        segment: &Segment,
        pkt: Pkt,
        refusal: Refusal,
    ) -> bool {
        let flow = self.flows[from.index()].as_mut();
        let Some(flow) = flow.filter(|flow| flow.passing().is_none()) else {
            if self.is_shown_another_edge(from, segment, refusal) {
                self.let_go(ctx, PassReason::OneWay);
            }
            return false;
        };
        match refusal {
            // Its receiver repeats its acknowledgement, and so does the box in its place.
            Refusal::Known => {
                ctx.counters.known_data += 1;
                flow.on_data(ctx, segment, pkt);
                return true;
            }
            Refusal::BeyondEdge | Refusal::Probe if flow.police_refused(ctx, segment, pkt) => {
                return true;
            }
            // It shows the other end a window that the box has not: from here on the box shows none.
            Refusal::BeyondEdge | Refusal::Probe if flow.has_another_edge(segment) => {
                self.let_go(ctx, PassReason::OneWay);
            }
            Refusal::BeyondEdge
            | Refusal::Probe
            | Refusal::EarlyReset
            | Refusal::Overtaken
            | Refusal::BehindProbe
            | Refusal::Unacceptable(_) => {}
        }
        false
    }

    /// Data of an end that nobody governs go beyond the edge of the other end, by more than a question for room would: that end says
    /// where there is room by packets that do not come through here.
    fn is_shown_another_edge(&self, from: Side, segment: &Segment, refusal: Refusal) -> bool {
        let shown = self.flows[from.other().index()].as_ref();
        let Some(gate) = self
            .gate
            .as_ref()
            .filter(|_| shown.is_some_and(|flow| flow.enforcing()))
        else {
            return false;
        };
        let ahead = segment.seq.wrapping_sub(gate.known(from).nxt);
        let asks = refusal == Refusal::Probe && segment.payload_len <= 1;
        matches!(refusal, Refusal::Probe | Refusal::BeyondEdge)
            && !asks
            && u64::from(ahead) <= AHEAD_MAX
    }

    /// An end whose every segment is refused, while the box's own time-outs pass without an answer:
    /// it is accepted elsewhere, by numbers that the box has not seen.
    pub(super) fn give_up_what_is_not_seen<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        let Some(gate) = &self.gate else { return };
        for side in [Side::Inside, Side::Outside] {
            let at_odds = gate.is_at_odds(side.other());
            if let Some(flow) = &mut self.flows[side.index()]
                && at_odds
                && flow.is_timed_out()
            {
                flow.release_all(ctx, PassReason::UnseenData);
                ctx.counters.pass(PassReason::UnseenData);
            }
        }
    }
}
