//! The handshake: what the SYNs settle, and which directions policy wants governed.

use windlass_cc::Nanos;
use windlass_wire::{Flags, Segment, insert_option};

use super::gate::Gate;
use super::syn::{Syn, accurate_ecn, classic_ecn};
use super::{Conn, SynCopy};
use crate::context::{Context, partial_at};
use crate::decide::Verdict;
use crate::flow::{Flow, Setup};
use crate::maybe::Maybe;
use crate::peer::Peer;
use crate::{Feedback, Mode, PassReason, Pkt, Pool, Room, Side, seq};

/// Bytes of the timestamps option with its padding (RFC 7323 appendix A).
const TIMESTAMPS_LEN: u32 = 12;
/// The SACK-permitted option (RFC 2018 §2).
const SACK_PERMITTED: [u8; 2] = [4, 2];

impl Conn {
    pub(super) fn on_syn<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        from: Side,
        segment: &Segment,
        pkt: Pkt,
    ) {
        let known = self.ends[from.index()].syn;
        if self.gate.is_none() && self.forbids_syn(ctx, from, segment) {
            return ctx.swallow_ungoverned(pkt);
        }
        let (syn, ambiguous) = self.read_syn(segment, known);
        let either = self.answers_one_of_two(from, segment);
        let first = self.gate.is_none() && known.is_none() && syn.acks.is_none();
        if first && self.pass.is_some() {
            // What the other side has said without an answer is no reason to leave this one alone.
            self.begin_anew(ctx);
        }
        if let Some(new) = self.answered_new_syn(from, segment) {
            self.begin_anew(ctx);
            self.ends[new.from.index()].syn = Some(new.syn);
        } else if known.is_some_and(|k| k.iss != syn.iss) && !self.is_first_answer(&syn) {
            let peer = self.peer.take();
            self.begin_anew(ctx);
            self.peer = peer;
        }
        if let Some(reason) = signature(segment) {
            self.pass = Some(reason);
        }
        if ambiguous || either {
            self.let_go(ctx, PassReason::AmbiguousSyn);
        }
        // The timestamp tells which of them is answered (RFC 7323 §4); without it nobody knows.
        let indistinct = known.is_some_and(|k| k.iss == syn.iss && k.tsval == syn.tsval);
        self.ends[from.index()].syn_at = (!indistinct).then_some(ctx.now).into();
        self.ends[from.index()].syn = Some(syn);
        // Two SYNs of which neither answers the other: one of them may be nobody's.
        if let [Some(inside), Some(outside)] = [0, 1].map(|side| self.ends[side].syn)
            && (inside.acks.is_some() || outside.acks.is_some())
        {
            self.gate = Some(Box::new(Gate::new([&inside, &outside], ctx.now)));
        }
        let governed = self.flows.iter().any(Option::is_some);
        if self.gate.is_some() && self.pass.is_none() && !governed && !self.settled_at.is_some() {
            self.settle(ctx);
        }
        if segment.flags.has(Flags::ACK) {
            self.measure_handshake(ctx.now, from, segment);
        }
        let inserted = self.insert_sack(ctx, from, segment, pkt);
        self.plan_syn_copy(ctx, from, &inserted, pkt);
        match self.pass {
            Some(reason) => self.pass_on(ctx, from, &inserted, pkt, reason),
            None => ctx.emit(pkt, from.other(), &inserted),
        }
    }

    /// What a SYN says of an end of which this one is `known`; and whether the two contradict each other.
    fn read_syn(&self, segment: &Segment, known: Option<Syn>) -> (Syn, bool) {
        let mut syn = Syn::read(segment);
        let Some(known) = known.filter(|known| known.iss == syn.iss) else {
            return (syn, false);
        };
        let ambiguous = !known.offers_the_same(&syn);
        (syn.first_tsval, syn.listened) = (known.first_tsval, known.listened);
        if self.gate.is_some() {
            // Its receiver has taken the first, and takes no more of this than its timestamp.
            let tsval = syn.tsval;
            syn = Syn { tsval, ..known };
        }
        (syn, ambiguous)
    }

    /// The end at `from` has answered the SYN of the other one.
    pub(super) fn measure_handshake(&mut self, now: Nanos, from: Side, answer: &Segment) {
        let sender = from.other().index();
        let Some(sent_at) = self.ends[sender].syn_at.take() else {
            return;
        };
        let echoed = answer.options.timestamps.map(|stamps| stamps.ecr);
        if (self.ends[sender].syn).is_some_and(|syn| !syn.is_the_one_echoed(echoed)) {
            return;
        }
        self.ends[sender].handshake_rtt = Maybe::some(now - sent_at);
        if let Some(flow) = &mut self.flows[sender] {
            flow.set_handshake_rtt(now - sent_at, now);
        }
        if let Some(flow) = &mut self.flows[from.index()] {
            flow.set_near_rtt(now - sent_at);
        }
    }

    /// What a segment may say while the handshake is under way, and what a SYN may say after it (RFC
    /// 9293 §3.10.7.2 to §3.10.7.4, RFC 5961 §4).
    pub(super) fn judge_handshake(
        &mut self,
        from: Side,
        segment: &Segment,
    ) -> Result<(), PassReason> {
        let [sender, receiver] = [from, from.other()].map(|side| self.ends[side.index()].syn);
        let answers = segment.flags.has(Flags::ACK);
        let signed = segment.options.ao || segment.options.md5;
        if receiver.is_some_and(|syn| signed && !syn.signed) {
            return Err(PassReason::UnexpectedSignature);
        }
        if segment.flags.has(Flags::RST) {
            let exact = match sender {
                Some(syn) => segment.seq == syn.iss.wrapping_add(1),
                None => answers && receiver.is_some_and(|syn| syn.is_answered_by(segment).is_ok()),
            };
            return exact.then_some(()).ok_or(PassReason::OutOfWindow);
        }
        if !segment.flags.has(Flags::SYN) {
            if answers && receiver.is_none() && sender.is_some_and(|syn| syn.goes_on_with(segment))
            {
                // It answers a SYN-ACK that took another way, and shows a window by itself.
                self.pass.get_or_insert(PassReason::OneWay);
            }
            return Err(PassReason::OneWay);
        }
        if answers {
            if self.answered_new_syn(from, segment).is_some() {
                return Ok(());
            }
            let known = sender.filter(|_| self.gate.is_some());
            let other = known.is_some_and(|syn| syn.iss != segment.seq);
            return match receiver {
                _ if self.open || other => Err(PassReason::UnexpectedSyn),
                Some(syn) if syn.listened => Err(PassReason::UnexpectedSyn),
                Some(syn) => syn.is_answered_by(segment),
                None => Err(PassReason::UnacceptableAck),
            };
        }
        let again = sender.is_none_or(|syn| syn.iss == segment.seq);
        let stamps = sender.and_then(|syn| syn.tsval.zip(segment.options.timestamps));
        if again && stamps.is_some_and(|(newest, stamps)| seq::later(newest, stamps.val)) {
            return Err(PassReason::Paws);
        }
        // Once the connection has been open, its SYN says nothing any more, and another begins one only
        // when it is answered, even if both ends have said their last.
        if !self.open && (again || self.closed) {
            return Ok(());
        }
        // Its receiver answers with an acknowledgement, unless it has forgotten the connection and
        // takes it for the beginning of another: then the box hears of it.
        if !again {
            self.note_new_syn(from, segment, false);
        }
        Err(PassReason::UnexpectedSyn)
    }

    /// Until a SYN has been answered, those of the side that answers may have been anybody's.
    fn is_first_answer(&self, syn: &Syn) -> bool {
        self.gate.is_none() && syn.acks.is_some()
    }

    /// The old connection has ended, and another one has its name. What another box puts on its packets is still taken
    /// out.
    pub(super) fn begin_anew<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        self.let_go(ctx, PassReason::Closed);
        *self = Conn {
            armed_at: self.armed_at,
            began: self.began,
            books: self.books,
            peer: self.peer.take(),
            ..Conn::new(
                self.key,
                self.first_end,
                self.books.bucket,
                ctx.now,
                self.seed.wrapping_add(1),
            )
        };
    }

    /// Both SYNs have been seen: whether anything of this connection will be governed.
    fn settle<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        let (Some(inside), Some(outside)) = (self.ends[0].syn, self.ends[1].syn) else {
            return;
        };
        if inside.mptcp && outside.mptcp {
            self.pass = Some(PassReason::Mptcp);
        } else if accurate_ecn(&inside, &outside) {
            self.pass = Some(PassReason::AccEcn);
        }
        if let Some(peer) = &mut self.peer {
            if self.pass.is_some() {
                peer.stop();
            }
            let mss = inside.mss.min(outside.mss);
            let numbers = (inside.iss, outside.iss);
            peer.settle(classic_ecn(&inside, &outside), mss, numbers);
        }
        if self.pass.is_some() {
            return;
        }
        let first = !self.settled_at.is_some();
        self.settled_at = Maybe::some(ctx.now);
        let mut wanted = false;
        for side in [Side::Inside, Side::Outside] {
            let verdict = self.verdict(ctx, side);
            wanted |= verdict.is_some();
            if let Some(verdict) = verdict.filter(|_| first) {
                let key = self.key_from(side);
                self.ends[side.index()].drawn = ctx.policy.hold_out(&verdict, &key);
            }
        }
        if !wanted {
            self.pass = Some(PassReason::Policy);
        }
    }

    /// What policy wants for the data of `sender`, once both SYNs are known.
    fn verdict<P: Pool>(&self, ctx: &Context<'_, P>, sender: Side) -> Option<Verdict> {
        match (&self.flows[sender.index()], self.settled_at.get()) {
            (Some(flow), _) => Some(*flow.verdict),
            (None, Some(at)) => self.verdict_at(ctx, sender, at),
            (None, None) => None,
        }
    }

    /// The same, with what has been drawn.
    fn verdict_at<P: Pool>(
        &self,
        ctx: &Context<'_, P>,
        sender: Side,
        at: Nanos,
    ) -> Option<Verdict> {
        let verdict = ctx.policy.classify(&self.key_from(sender), sender, at)?;
        let drawn = self.ends[sender.index()].drawn;
        let verdict = Verdict { drawn, ..verdict };
        Some(match drawn {
            Some(drawn) if drawn.held_out => verdict.held_out(),
            _ => verdict,
        })
    }

    /// Something has followed the SYNs, which were settled then: the flows begin.
    pub(super) fn govern<P: Pool>(&mut self, ctx: &mut Context<'_, P>, settled_at: Nanos) {
        if ctx.pool.room() != Room::Enough {
            return self.let_go(ctx, PassReason::FrameLimit);
        }
        let mut early = false;
        for side in [Side::Inside, Side::Outside] {
            let key = self.key_from(side);
            let Some(mut verdict) = self.verdict_at(ctx, side, settled_at) else {
                continue;
            };
            if self.syn(side).payload_len > 0 {
                ctx.counters.pass(PassReason::FastOpenData);
                early = true;
                continue;
            }
            if verdict.arm.is_some() {
                verdict = ctx.policy.draw(verdict, &key, settled_at);
            }
            let setup = self.setup(side, &verdict);
            let handshake_rtt = self.ends[side.index()].handshake_rtt.get();
            let flow = Flow::new(setup, verdict, ctx, settled_at, handshake_rtt);
            let mut flow = Box::new(flow);
            if let Some(rtt) = self.ends[side.other().index()].handshake_rtt.get() {
                flow.set_near_rtt(rtt);
            }
            self.flows[side.index()] = Some(flow);
            ctx.counters.flows_governed += 1;
            if verdict.arm.is_some() || verdict.drawn.is_some() {
                ctx.policy.begin(&verdict, &key, settled_at);
            }
        }
        if self.flows.iter().all(Option::is_none) {
            self.pass = Some(match early {
                true => PassReason::FastOpenData,
                false => PassReason::Policy,
            });
        }
    }

    /// Another box is looked for where the guest inside is to be governed by what it reports.
    pub(super) fn look_for_peer<P: Pool>(&mut self, ctx: &Context<'_, P>, segment: &Segment) {
        let first = self.ends.iter().all(|end| end.syn.is_none());
        let again = self.closed && !segment.flags.has(Flags::ACK);
        if !first && !again {
            return;
        }
        let key = self.key_from(Side::Inside);
        let verdict = ctx.policy.classify(&key, Side::Inside, ctx.now);
        let wanted =
            verdict.is_some_and(|v| v.mode == Mode::Enforce && v.feedback == Feedback::Boxes);
        self.peer = wanted.then(|| Box::new(Peer::new()));
    }

    fn syn(&self, side: Side) -> Syn {
        self.ends[side.index()]
            .syn
            .expect("both SYNs are known when flows are made")
    }

    pub(super) fn setup(&self, sender: Side, verdict: &Verdict) -> Setup {
        let (mine, receiver) = (self.syn(sender), self.syn(sender.other()));
        let timestamps = mine.tsval.is_some() && receiver.tsval.is_some();
        let scale_agreed = mine.scale.is_some() && receiver.scale.is_some();
        let scale = if scale_agreed {
            receiver.scale.unwrap_or(0)
        } else {
            0
        };
        let inserted = offers_sack(verdict) && !self.ends[sender.index()].no_room;
        Setup {
            sender,
            iss: mine.iss,
            scale,
            receiver_sacks: receiver.sack && (mine.sack || inserted),
            sender_sacks: mine.sack && receiver.sack,
            timestamps,
            ecn: classic_ecn(&mine, &receiver),
            mss: u32::from(receiver.mss) - if timestamps { TIMESTAMPS_LEN } else { 0 },
            // RFC 7323 §2.2: the window of a SYN is not scaled.
            first_edge: 1 + u64::from(receiver.window),
            receiver_iss: receiver.iss,
            near_us: 0,
            seed: self.seed,
            prefix: self.books.bucket,
        }
    }

    /// Offers SACK to the receiver on behalf of a sender that does not do it: between receiver and
    /// box it works all the same.
    fn insert_sack<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        from: Side,
        segment: &Segment,
        pkt: Pkt,
    ) -> Segment {
        let receiver = self.ends[from.other().index()].syn;
        let wanted = segment.flags.has(Flags::ACK)
            && !segment.options.sack_permitted
            && receiver.is_some_and(|syn| syn.sack)
            && !self.ends[from.index()].no_room
            && self.verdict(ctx, from).is_some_and(|v| offers_sack(&v));
        if !wanted {
            return *segment;
        }
        let len = ctx.pool.len(pkt);
        let grown = ctx.pool.resize(pkt, len + 4);
        let new_len = grown
            .then(|| {
                insert_option(
                    ctx.pool.head_mut(pkt),
                    len as usize,
                    segment,
                    &SACK_PERMITTED,
                )
            })
            .flatten();
        let Some(new_len) = new_len else {
            ctx.pool.resize(pkt, len);
            self.ends[from.index()].no_room = true;
            if let Some(flow) = &mut self.flows[from.index()] {
                flow.setup.receiver_sacks = false;
            }
            return *segment;
        };
        ctx.pool.resize(pkt, new_len as u32);
        ctx.counters.sack_inserted += 1;
        windlass_wire::parse(ctx.pool.head(pkt), new_len as u32).unwrap_or(*segment)
    }

    fn plan_syn_copy<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        from: Side,
        segment: &Segment,
        pkt: Pkt,
    ) {
        if !segment.flags.has(Flags::ACK) || self.syn_copy.is_some() {
            return;
        }
        let verdict = self.verdict(ctx, from);
        let Some(verdict) = verdict.filter(|v| v.mode == Mode::Enforce) else {
            return;
        };
        let redundancy = verdict.redundancy;
        if redundancy.syn_ack {
            let pkt = ctx.pool.share(pkt);
            self.syn_copy = Some(Box::new(SynCopy {
                pkt,
                to: from.other(),
                at: ctx.now + redundancy.delay,
                partial_at: partial_at(segment),
            }));
        }
    }
}

/// SACK is offered in the name of a sender that does not do it.
fn offers_sack(verdict: &Verdict) -> bool {
    verdict.mode == Mode::Enforce && verdict.insert_sack
}

/// A segment that is signed must not be changed: by AO (RFC 5925) or by MD5 (RFC 2385).
pub(super) fn signature(segment: &Segment) -> Option<PassReason> {
    let ao = segment.options.ao.then_some(PassReason::Ao);
    ao.or(segment.options.md5.then_some(PassReason::Md5))
}
