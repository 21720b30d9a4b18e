//! A connection: its two directions, its timers, its end. `handshake` knows its beginning, `gate` what its
//! ends accept, `refusal` what becomes of the rest, `sight` what is done when packets have gone by unseen.

mod change;
mod checksums;
mod decided;
mod export;
mod folded;
mod gate;
mod handshake;
mod introduction;
mod lifetime;
mod new_syn;
mod refusal;
mod rest;
mod sight;
mod stranger;
mod syn;
mod touch;
mod ungoverned;

use serde::{Deserialize, Serialize};
use windlass_cc::Nanos;
use windlass_wire::{Flags, FlowKey, Segment};

use crate::admission::Bucket;
use crate::context::Context;
use crate::decide::Drawn;
use crate::flow::Flow;
use crate::maybe::Maybe;
use crate::peer::Peer;
use crate::{Fate, FlowInfo, PassReason, Pkt, Pool, Side};

pub(crate) use change::Change;
pub(crate) use export::{Algorithms, Since3, Since4, Since5, Since6};
pub(crate) use folded::Folded;
use gate::Gate;
use introduction::Standby;
pub use introduction::{Introduced, Introduction};
use new_syn::NewSyn;
pub(crate) use sight::Known;
use sight::Sight;
pub(crate) use stranger::{Insight, Stranger};
use syn::Syn;
use ungoverned::Bound;

/// One end of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct End {
    syn: Option<Syn>,
    /// When it sent its SYN, if that was once, and while it is not answered.
    syn_at: Maybe,
    /// How long that took.
    handshake_rtt: Maybe,
    /// The SYN-ACK has no room for the option that would offer SACK in its name.
    no_room: bool,
    fin: bool,
    /// Checksums in a row that were whole, up to a few.
    #[serde(skip)]
    whole_checksums: u8,
    /// What its data have drawn.
    drawn: Option<Drawn>,
}

/// A packet to be sent again shortly.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct SynCopy {
    pkt: Pkt,
    to: Side,
    at: Nanos,
    partial_at: u16,
}

/// Where the engine counts it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Books {
    /// With those of its prefix.
    pub bucket: Bucket,
    /// Among the handshakes under way.
    pub half_open: bool,
    /// Whoever feeds the engine has been told that its packets are wanted.
    pub followed: bool,
}

/// A connection in the table.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Conn {
    /// Canonical name.
    pub key: FlowKey,
    /// Where the end is that the name mentions first.
    first_end: Side,
    ends: [End; 2],
    /// What both ends accept, once both SYNs are known.
    gate: Option<Box<Gate>>,
    /// By the side of the sender.
    flows: [Option<Box<Flow>>; 2],
    pass: Option<PassReason>,
    /// What policy says of its packets if they cannot be governed, by end; `None`: it has not been asked.
    bound: Option<[Bound; 2]>,
    closed: bool,
    /// Packets have gone by unseen, and the ends have not been seen to agree since.
    sight: Option<Box<Sight>>,
    /// When both SYNs were known, while nothing has followed them: flows begin with what does, so that a SYN with a
    /// forged source costs none.
    settled_at: Maybe,
    /// A SYN with another sequence number: the connection begins anew if it is answered.
    new_syn: Option<Box<NewSyn>>,
    /// The handshake is complete.
    open: bool,
    syn_copy: Option<Box<SynCopy>>,
    /// The box at the other end, where policy wants to know of one.
    peer: Option<Box<Peer>>,
    pub last_seen: Nanos,
    pub began: Nanos,
    pub books: Books,
    standby: Standby,
    /// When the wheel will call, if it will.
    pub armed_at: Maybe,
    seed: u64,
}

/// What a connection takes, bytes, beside its gate and its flows: a flood makes many of them.
const _: () = assert!(size_of::<Conn>() <= 352);

impl Conn {
    pub(crate) fn new(
        key: FlowKey,
        first_end: Side,
        bucket: Bucket,
        now: Nanos,
        seed: u64,
    ) -> Self {
        Conn {
            key,
            first_end,
            ends: [End::default(); 2],
            gate: None,
            flows: [None, None],
            pass: None,
            bound: None,
            closed: false,
            sight: None,
            settled_at: Maybe::NONE,
            new_syn: None,
            open: false,
            syn_copy: None,
            peer: None,
            last_seen: now,
            began: now,
            books: Books {
                bucket,
                half_open: true,
                followed: false,
            },
            standby: Standby::default(),
            armed_at: Maybe::NONE,
            seed,
        }
    }

    /// Takes a packet of this connection in.
    pub(crate) fn on_packet<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        from: Side,
        segment: &Segment,
        pkt: Pkt,
    ) {
        if !self.is_sent_from(from, &segment.key) && !self.turns(ctx, from, segment) {
            // The other end's name: forged, or a loop in the network.
            return ctx.pass_on(PassReason::WrongSide, from.other(), segment, pkt);
        }
        if self.sight.is_some() && !self.look(ctx, from, segment) {
            return self.pass_out_of_sight(ctx, from, segment, pkt);
        }
        if let Err(refusal) = self.judge(ctx.now, from, segment) {
            return self.refuse(ctx, from, segment, pkt, refusal);
        }
        self.last_seen = ctx.now;
        if is_syn(segment) {
            self.look_for_peer(ctx, segment);
        }
        let Some(peer) = &mut self.peer else {
            return self.on_ends_packet(ctx, from, segment, pkt);
        };
        if from == Side::Inside {
            let other = self.flows[Side::Outside.index()].as_mut();
            let shown = other.filter(|flow| flow.enforcing());
            let window = shown.map_or(segment.window, |flow| flow.shown_fields().1);
            let overtaken = self
                .gate
                .as_deref()
                .is_some_and(|gate| gate.is_overtaken(from, segment));
            let segment = peer.leaves(ctx, segment, pkt, (!overtaken).then_some(window));
            return self.on_ends_packet(ctx, from, &segment, pkt);
        }
        let taken = peer.arrives(ctx, segment, pkt);
        let there = peer.is_there();
        if let Some(flow) = &mut self.flows[Side::Inside.index()] {
            flow.hear_marks(there.then_some(taken.marked));
        }
        ctx.counters.marked_bytes_heard += taken.marked;
        match taken.segment {
            Some(segment) => self.on_ends_packet(ctx, from, &segment, pkt),
            None => ctx.swallow(pkt, Fate::Report),
        }
    }

    /// Takes a packet in as the end sent it.
    fn on_ends_packet<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        from: Side,
        segment: &Segment,
        pkt: Pkt,
    ) {
        if let Some(copy) = self.syn_copy.take_if(|copy| copy.to == from) {
            // The SYN-ACK has been answered.
            ctx.pool.free(copy.pkt);
        }
        if is_syn(segment) {
            return self.on_syn(ctx, from, segment, pkt);
        }
        if segment.flags.has(Flags::RST) {
            self.on_reset(ctx, from);
            return ctx.emit(pkt, from.other(), segment);
        }
        let gate = self.gate.as_deref();
        let another_way = gate.is_some_and(|gate| gate.shows_another_way(from, segment));
        if self.is_resumed() && (another_way || self.acks_what_is_unseen(from, segment)) {
            self.lose_sight(ctx);
            return self.pass_out_of_sight(ctx, from, segment, pkt);
        }
        if another_way {
            self.let_go(ctx, PassReason::UnseenData);
        }
        if let Some(gate) = &mut self.gate {
            gate.note(ctx.now, from, segment);
            let opens = gate.is_open() && !self.open;
            self.open = gate.is_open();
            if opens {
                self.measure_handshake(ctx.now, from, segment);
            }
        }
        if self.pass.is_none()
            && let Some(settled_at) = self.settled_at.take()
        {
            self.govern(ctx, settled_at);
        }
        if segment.flags.has(Flags::FIN) {
            self.ends[from.index()].fin = true;
            self.closed = self.ends[0].fin && self.ends[1].fin;
        }
        if self.flows[0].is_none() && self.flows[1].is_none() {
            let reason = self.pass.unwrap_or(PassReason::OneWay);
            return self.pass_on(ctx, from, segment, pkt, reason);
        }
        self.on_established(ctx, from, segment, pkt);
        self.leave_another_way(ctx);
        self.tell_latest();
        self.tell_shown_edges();
    }

    /// Where the data of one direction takes another way, so do the acknowledgements of the other. A flow that the box
    /// has harmed is no business of the box any more: the kernel forwards its connection.
    fn leave_another_way<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        if self.pass.is_some() {
            return;
        }
        let mut reasons = self.flows.iter().flatten().filter_map(|f| f.passing());
        let other_way = |reason: &_| {
            use PassReason::{FrameLimit, LateWorker, OneWay, TimedOut, UnseenData, WrongGuess};
            matches!(
                reason,
                OneWay | UnseenData | TimedOut | FrameLimit | LateWorker | WrongGuess
            )
        };
        if let Some(reason) = reasons.find(other_way) {
            self.let_go(ctx, reason);
        }
    }

    /// The acknowledgement of a packet belongs to the flow toward its source, the data to the other.
    fn on_established<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        from: Side,
        segment: &Segment,
        pkt: Pkt,
    ) {
        let mut shown_window = segment.window;
        let mut advanced = false;
        if segment.flags.has(Flags::ACK)
            && let Some(ack) = self.take_ack(ctx, from, segment, pkt)
            && let Some(flow) = &mut self.flows[from.other().index()]
        {
            if Flow::is_pure_ack(segment) {
                flow.show_ack(ctx, segment, pkt, ack);
                flow.pump(ctx);
                if let Some(flow) = &mut self.flows[from.index()] {
                    flow.note_latest(segment, segment.window);
                }
                return;
            }
            advanced = flow.rewrite_ack(ctx, segment, pkt, ack);
            if flow.enforcing() {
                shown_window = flow.shown_fields().1;
            }
        }
        match &mut self.flows[from.index()] {
            Some(flow) => match flow.passing() {
                Some(reason) if !ctx.fits_unknown(reason, from, segment, pkt) => {
                    self.drop_ungoverned(ctx, segment, pkt);
                }
                _ => {
                    flow.note_latest(segment, shown_window);
                    flow.on_data(ctx, segment, pkt);
                }
            },
            None => {
                let early = self.ends[from.index()]
                    .syn
                    .is_some_and(|syn| syn.payload_len > 0);
                match early && !self.may_pass(ctx, from, segment, pkt, PassReason::FastOpenData) {
                    true => self.drop_ungoverned(ctx, segment, pkt),
                    false => ctx.emit(pkt, from.other(), segment),
                }
            }
        }
        let waits = advanced
            && self.flows[from.index()]
                .as_ref()
                .is_some_and(|f| f.queued());
        // The packet may have made the box say more, and what is sent now repeats it.
        self.tell_latest();
        // Only now: what the box has to say of its own comes after the packet.
        if let Some(flow) = &mut self.flows[from.other().index()] {
            if waits {
                flow.repeat_ack(ctx);
            }
            flow.pump(ctx);
        }
    }

    /// Takes in what `segment` acknowledges: the offset, if that means anything to the flow toward its source.
    fn take_ack<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        from: Side,
        segment: &Segment,
        pkt: Pkt,
    ) -> Option<u64> {
        let flow = self.flows[from.other().index()].as_mut()?;
        let ack = flow.on_ack(ctx, segment, pkt);
        if let Some(reason) = flow.passing() {
            ctx.counters.pass(reason);
        }
        let last = self.ends[from.other().index()].fin;
        if last {
            flow.end_transfer();
        }
        if let Some((verdict, transfer)) = flow.take_transfer(ctx) {
            let key = &segment.key.reversed();
            ctx.policy.learn(&verdict, key, &transfer, ctx.now);
        }
        ack
    }

    /// Where both directions are enforced, held packets repeat what the other flow has shown, and
    /// its ACKs are no older than what they were sent with.
    fn tell_latest(&mut self) {
        if self.flows.iter().any(Option::is_none) {
            return;
        }
        for side in [Side::Inside, Side::Outside] {
            let other = self.flows[side.other().index()].as_mut();
            let shown = other.filter(|f| f.enforcing()).map(|f| f.shown_fields());
            if let (Some((ack, window)), Some(flow)) = (shown, &mut self.flows[side.index()]) {
                flow.set_latest(ack, window);
                let floor = flow.tsval_floor();
                if let (Some(floor), Some(other)) = (floor, &mut self.flows[side.other().index()]) {
                    other.raise_shown_tsval(floor);
                }
            }
        }
    }

    /// The end at `from` has given the connection up: what waits for it is not sent any more.
    fn on_reset<P: Pool>(&mut self, ctx: &mut Context<'_, P>, from: Side) {
        if let Some(flow) = &mut self.flows[from.other().index()] {
            flow.discard_unsent(ctx);
        }
        self.let_go(ctx, PassReason::Closed);
        self.closed = true;
    }

    /// Senders may go as far as the box has shown them.
    fn tell_shown_edges(&mut self) {
        let Some(gate) = &mut self.gate else { return };
        for side in [Side::Inside, Side::Outside] {
            if let Some(flow) = self.flows[side.index()].as_ref().filter(|f| f.enforcing()) {
                let max_window = flow.max_window_shown();
                gate.note_shown_edge(side, flow.edge_numbers(), max_window);
            }
        }
    }

    /// Sends what waits, holds nothing more, passes everything from here on.
    pub(crate) fn let_go<P: Pool>(&mut self, ctx: &mut Context<'_, P>, reason: PassReason) {
        self.break_off_transfers(ctx, reason);
        if let Some(copy) = self.syn_copy.take() {
            ctx.pool.free(copy.pkt);
        }
        for flow in self.flows.iter_mut().flatten() {
            flow.release_all(ctx, reason);
        }
        if let Some(peer) = &mut self.peer {
            peer.stop();
        }
        self.pass.get_or_insert(reason);
    }

    fn break_off_transfers<P: Pool>(&mut self, ctx: &mut Context<'_, P>, reason: PassReason) {
        for side in [Side::Inside, Side::Outside] {
            let key = self.key_from(side);
            let Some(flow) = &mut self.flows[side.index()] else {
                continue;
            };
            flow.end_transfer();
            flow.break_off_transfer(match reason {
                PassReason::Closed => ctx.now,
                _ => flow.acked_at(),
            });
            if let Some((verdict, transfer)) = flow.take_transfer(ctx) {
                ctx.policy.learn(&verdict, &key, &transfer, ctx.now);
            }
        }
    }

    /// True once, when its handshake is not under way any more, or does not matter.
    pub(crate) fn end_half_open(&mut self) -> bool {
        let over = self.open || self.closed || self.pass.is_some();
        over && std::mem::take(&mut self.books.half_open)
    }

    /// The name of the connection with the end on `side` first.
    pub(crate) fn key_from(&self, side: Side) -> FlowKey {
        match side == self.first_end {
            true => self.key,
            false => self.key.reversed(),
        }
    }

    /// Whether a packet of this connection, whose name is known to be it, has the end on `side` as its source.
    fn is_sent_from(&self, side: Side, key: &FlowKey) -> bool {
        debug_assert_eq!(key.canonical().0, self.key);
        let end = match side == self.first_end {
            true => (self.key.src, self.key.src_port),
            false => (self.key.dst, self.key.dst_port),
        };
        (key.src, key.src_port) == end
    }

    /// The rule that governs the data of the end on this side.
    pub(crate) fn rule_of(&self, sender: Side) -> Option<u16> {
        self.flows[sender.index()].as_ref()?.verdict.rule
    }

    /// Both directions, where governed.
    pub(crate) fn infos(&self) -> impl Iterator<Item = FlowInfo> + '_ {
        let unseen = self.sight.as_ref().map(|_| PassReason::OutOfSight);
        self.flows.iter().flatten().map(move |flow| {
            let info = flow.info(self.key_from(flow.setup.sender));
            FlowInfo {
                pass: info.pass.or(unseen),
                ..info
            }
        })
    }

    /// It passes, whatever comes, until it begins anew; the answer to a SYN would tell of that.
    pub(crate) fn passes_for_good(&self) -> bool {
        let for_a_while = |reason| matches!(reason, PassReason::Closed | PassReason::Bypass);
        let passes = self.pass.is_some_and(|reason| !for_a_while(reason));
        let boxed = || self.peer.as_ref().is_some_and(|peer| peer.was_there());
        passes && self.new_syn.is_none() && !self.is_bound() && !boxed()
    }

    /// Whoever feeds the engine, or another box, is to be told something of it.
    pub(crate) fn has_news(&self) -> bool {
        self.passes_for_good() == self.books.followed || self.is_news_for_another()
    }
}

/// A SYN or SYN-ACK. One that resets as well is a reset: that comes first (RFC 9293 §3.10.7).
fn is_syn(segment: &Segment) -> bool {
    segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::RST)
}
