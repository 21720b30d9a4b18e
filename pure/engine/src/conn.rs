//! A connection: its handshake, its two directions, its end.

use windlass_cc::Nanos;
use windlass_wire::{Flags, FlowKey, Segment, insert_option};

use crate::context::{Context, partial_at};
use crate::decide::{Decide, Verdict};
use crate::flow::{Flow, Latest, Setup};
use crate::{FlowInfo, Mode, PassReason, Pkt, Pool, Side};

/// RFC 9293 §3.7.1: the segment size of a peer that names none.
const DEFAULT_MSS: u16 = 536;
/// Bytes of the timestamps option with its padding (RFC 7323 appendix A).
const TIMESTAMPS_LEN: u32 = 12;
/// RFC 7323 §2.3.
const MAX_WINDOW_SCALE: u8 = 14;
/// The SACK-permitted option (RFC 2018 §2).
const SACK_PERMITTED: [u8; 2] = [4, 2];

/// What a SYN said.
#[derive(Clone, Copy, Debug)]
struct Syn {
    iss: u32,
    window: u16,
    mss: u16,
    scale: Option<u8>,
    sack: bool,
    timestamps: bool,
    mptcp: bool,
    flags: Flags,
    payload: bool,
}

impl Syn {
    fn read(segment: &Segment) -> Syn {
        let options = &segment.options;
        Syn {
            iss: segment.seq,
            window: segment.window,
            mss: options.mss.unwrap_or(DEFAULT_MSS).max(64),
            scale: options.window_scale.map(|s| s.min(MAX_WINDOW_SCALE)),
            sack: options.sack_permitted,
            timestamps: options.timestamps.is_some(),
            mptcp: options.mptcp,
            flags: segment.flags,
            payload: segment.payload_len > 0,
        }
    }
}

/// One end of the connection.
#[derive(Clone, Copy, Debug, Default)]
struct End {
    syn: Option<Syn>,
    fin: bool,
}

/// A packet to be sent again shortly.
#[derive(Clone, Copy, Debug)]
struct SynCopy {
    pkt: Pkt,
    to: Side,
    at: Nanos,
    partial_at: u16,
}

/// A connection in the table.
#[derive(Debug)]
pub(crate) struct Conn {
    /// Canonical name.
    pub key: FlowKey,
    /// Where the end is that the name mentions first.
    first_end: Side,
    ends: [End; 2],
    /// By the side of the sender.
    flows: [Option<Box<Flow>>; 2],
    pass: Option<PassReason>,
    closed: bool,
    /// A SYN with another sequence number: the connection begins anew if it is answered.
    new_syn: Option<(Side, Syn)>,
    /// Something other than a SYN has been said.
    open: bool,
    syn_copy: Option<SynCopy>,
    pub last_seen: Nanos,
    /// When the wheel will call, if it will.
    pub armed_at: Option<Nanos>,
    seed: u64,
}

impl Conn {
    pub(crate) fn new(key: FlowKey, first_end: Side, now: Nanos, seed: u64) -> Self {
        Conn {
            key,
            first_end,
            ends: [End::default(); 2],
            flows: [None, None],
            pass: None,
            closed: false,
            new_syn: None,
            open: false,
            syn_copy: None,
            last_seen: now,
            armed_at: None,
            seed,
        }
    }

    /// Takes a packet of this connection in.
    pub(crate) fn on_packet<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        policy: &dyn Decide,
        from: Side,
        segment: &Segment,
        pkt: Pkt,
    ) {
        if segment.key != self.key_from(from) {
            // The other end's name, from the wrong side: forged, or a loop in the network.
            ctx.counters.pass(PassReason::OneWay);
            return ctx.emit(pkt, from.other(), segment);
        }
        self.last_seen = ctx.now;
        if let Some(copy) = self.syn_copy.take_if(|copy| copy.to == from) {
            // The SYN-ACK has been answered.
            ctx.pool.free(copy.pkt);
        }
        if segment.flags.has(Flags::SYN) {
            return self.on_syn(ctx, policy, from, segment, pkt);
        }
        if segment.flags.has(Flags::RST) {
            if self.takes_reset(from, segment) {
                self.let_go(ctx, PassReason::Closed);
                self.closed = true;
            }
            return ctx.emit(pkt, from.other(), segment);
        }
        self.open = true;
        if segment.flags.has(Flags::FIN) {
            self.ends[from.index()].fin = true;
            self.closed = self.ends[0].fin && self.ends[1].fin;
        }
        if self.flows[0].is_none() && self.flows[1].is_none() {
            ctx.counters.pass(self.pass.unwrap_or(PassReason::OneWay));
            return ctx.emit(pkt, from.other(), segment);
        }
        if segment.options.md5 || segment.options.ao {
            self.let_go(
                ctx,
                if segment.options.ao {
                    PassReason::Ao
                } else {
                    PassReason::Md5
                },
            );
        }
        self.on_established(ctx, from, segment, pkt);
        self.tell_latest();
    }

    /// The acknowledgement of a packet belongs to the flow toward its source, the data to the other.
    fn on_established<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        from: Side,
        segment: &Segment,
        pkt: Pkt,
    ) {
        let acknowledged = self.flows[from.other().index()].as_ref();
        if acknowledged.is_some_and(|flow| !flow.takes_from_receiver(segment)) {
            return ctx.emit(pkt, from.other(), segment);
        }
        let mut shown_window = segment.window;
        let mut advanced = false;
        if let Some(flow) = self.flows[from.other().index()]
            .as_mut()
            .filter(|_| segment.flags.has(Flags::ACK))
        {
            let ack = flow.on_ack(ctx, segment, pkt);
            if let Some(reason) = flow.passing() {
                ctx.counters.pass(reason);
            }
            match ack {
                Some(ack) if Flow::is_pure_ack(segment) => {
                    flow.show_ack(ctx, segment, pkt, ack);
                    flow.pump(ctx);
                    if let Some(flow) = &mut self.flows[from.index()] {
                        flow.note_latest(segment, segment.window);
                    }
                    return;
                }
                Some(ack) => {
                    advanced = flow.rewrite_ack(ctx, segment, pkt, ack);
                    if flow.enforcing() {
                        shown_window = flow.shown_fields().1;
                    }
                }
                None => {}
            }
        }
        match &mut self.flows[from.index()] {
            Some(flow) => {
                flow.note_latest(segment, shown_window);
                flow.on_data(ctx, segment, pkt);
            }
            None => ctx.emit(pkt, from.other(), segment),
        }
        let waits = advanced
            && self.flows[from.index()]
                .as_ref()
                .is_some_and(|f| f.queued());
        // Only now: what the box has to say of its own comes after the packet.
        if let Some(flow) = &mut self.flows[from.other().index()] {
            if waits {
                flow.repeat_ack(ctx);
            }
            flow.pump(ctx);
        }
    }

    /// Where both directions are enforced, held packets repeat what the other flow has shown.
    fn tell_latest(&mut self) {
        if self.flows.iter().any(Option::is_none) {
            return;
        }
        for side in [Side::Inside, Side::Outside] {
            let other = self.flows[side.other().index()].as_mut();
            let shown = other.filter(|f| f.enforcing()).map(|f| f.shown_fields());
            if let (Some((ack, window)), Some(flow)) = (shown, &mut self.flows[side.index()]) {
                flow.latest = Latest {
                    ack,
                    window,
                    ..flow.latest
                };
            }
        }
    }

    fn on_syn<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        policy: &dyn Decide,
        from: Side,
        segment: &Segment,
        pkt: Pkt,
    ) {
        let syn = Syn::read(segment);
        let known = self.ends[from.index()].syn;
        // With Fast Open the answer may acknowledge data as well.
        let answers = |to: &Syn| {
            segment.flags.has(Flags::ACK) && (to.payload || segment.ack == to.iss.wrapping_add(1))
        };
        if let Some((side, new)) = self
            .new_syn
            .filter(|(side, new)| *side == from.other() && answers(new))
        {
            self.let_go(ctx, PassReason::Closed);
            *self = Conn {
                armed_at: self.armed_at,
                ..Conn::new(self.key, self.first_end, ctx.now, self.seed.wrapping_add(1))
            };
            self.ends[side.index()].syn = Some(new);
        } else if known.is_some_and(|k| k.iss != syn.iss) {
            if self.closed {
                self.let_go(ctx, PassReason::Closed);
                *self = Conn {
                    armed_at: self.armed_at,
                    ..Conn::new(self.key, self.first_end, ctx.now, self.seed.wrapping_add(1))
                };
            } else {
                self.new_syn = Some((from, syn));
                return ctx.emit(pkt, from.other(), segment);
            }
        }
        if segment.options.md5 || segment.options.ao {
            self.pass = Some(if segment.options.ao {
                PassReason::Ao
            } else {
                PassReason::Md5
            });
        }
        self.ends[from.index()].syn = Some(syn);
        if self.flows[0].is_none() && self.flows[1].is_none() && self.pass.is_none() {
            self.establish(ctx, policy);
        }
        let inserted = self.insert_sack(ctx, from, segment, pkt);
        self.plan_syn_copy(ctx, from, &inserted, pkt);
        if let Some(reason) = self.pass {
            ctx.counters.pass(reason);
        }
        ctx.emit(pkt, from.other(), &inserted);
    }

    /// Both SYNs have been seen: policy decides on each direction.
    fn establish<P: Pool>(&mut self, ctx: &mut Context<'_, P>, policy: &dyn Decide) {
        let (Some(inside), Some(outside)) = (self.ends[0].syn, self.ends[1].syn) else {
            return;
        };
        if inside.mptcp && outside.mptcp {
            self.pass = Some(PassReason::Mptcp);
        } else if accurate_ecn(&inside, &outside) {
            self.pass = Some(PassReason::AccEcn);
        }
        if self.pass.is_some() {
            return;
        }
        for side in [Side::Inside, Side::Outside] {
            let key = self.key_from(side);
            let Some(verdict) = policy.decide(&key, side) else {
                continue;
            };
            if self.syn(side).payload {
                ctx.counters.pass(PassReason::FastOpenData);
                continue;
            }
            let setup = self.setup(side, &verdict);
            self.flows[side.index()] = Some(Box::new(Flow::new(setup, verdict)));
            ctx.counters.flows_governed += 1;
        }
        if self.flows[0].is_none() && self.flows[1].is_none() {
            self.pass = Some(PassReason::Policy);
        }
    }

    /// A reset that its receiver would believe.
    fn takes_reset(&self, from: Side, segment: &Segment) -> bool {
        let sender = self.flows[from.index()].as_ref();
        let receiver = self.flows[from.other().index()].as_ref();
        sender.is_none_or(|flow| flow.takes_reset_from_sender(segment))
            && receiver.is_none_or(|flow| flow.takes_reset_from_receiver(segment))
    }

    fn syn(&self, side: Side) -> Syn {
        self.ends[side.index()]
            .syn
            .expect("both SYNs are known when flows are made")
    }

    fn setup(&self, sender: Side, verdict: &Verdict) -> Setup {
        let (mine, peer) = (self.syn(sender), self.syn(sender.other()));
        let timestamps = mine.timestamps && peer.timestamps;
        let scale_agreed = mine.scale.is_some() && peer.scale.is_some();
        let scale = if scale_agreed {
            peer.scale.unwrap_or(0)
        } else {
            0
        };
        let inserted = verdict.mode == Mode::Enforce && verdict.insert_sack;
        Setup {
            sender,
            iss: mine.iss,
            scale,
            receiver_sacks: peer.sack && (mine.sack || inserted),
            sender_sacks: mine.sack && peer.sack,
            sender_scale: if scale_agreed {
                mine.scale.unwrap_or(0)
            } else {
                0
            },
            sender_edge: peer.iss.wrapping_add(1 + u32::from(mine.window)),
            timestamps,
            ecn: classic_ecn(&mine, &peer),
            mss: u32::from(peer.mss) - if timestamps { TIMESTAMPS_LEN } else { 0 },
            // RFC 7323 §2.2: the window of a SYN is not scaled.
            first_edge: 1 + u64::from(peer.window),
            peer_iss: peer.iss,
            seed: self.seed,
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
        let Some(flow) = &mut self.flows[from.index()] else {
            return *segment;
        };
        if !flow.setup.receiver_sacks
            || segment.options.sack_permitted
            || !segment.flags.has(Flags::ACK)
        {
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
            flow.setup.receiver_sacks = false;
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
        let Some(flow) = &self.flows[from.index()] else {
            return;
        };
        let redundancy = flow.verdict.redundancy;
        if redundancy.syn_ack
            && segment.flags.has(Flags::ACK)
            && flow.enforcing()
            && self.syn_copy.is_none()
        {
            let pkt = ctx.pool.share(pkt);
            self.syn_copy = Some(SynCopy {
                pkt,
                to: from.other(),
                at: ctx.now + redundancy.delay,
                partial_at: partial_at(segment),
            });
        }
    }

    /// Time has passed.
    pub(crate) fn on_timer<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        if let Some(copy) = self.syn_copy.filter(|c| c.at <= ctx.now) {
            self.syn_copy = None;
            ctx.counters.copies += 1;
            ctx.emit_partial(copy.pkt, copy.to, copy.partial_at);
        }
        let quiet_for = ctx.now - self.last_seen.min(ctx.now);
        for side in [Side::Inside, Side::Outside] {
            if let Some(flow) = &mut self.flows[side.index()] {
                flow.on_timer(ctx);
                if quiet_for >= ctx.limits.shrink_after {
                    flow.shrink();
                }
            }
            self.tell_latest();
        }
    }

    /// True once the connection may be forgotten.
    pub(crate) fn expired(&self, now: Nanos, limits: &crate::Limits) -> bool {
        now >= self.last_seen + self.lifetime(limits)
    }

    fn lifetime(&self, limits: &crate::Limits) -> Nanos {
        let quiet = self
            .flows
            .iter()
            .flatten()
            .all(|f| f.quiet() || f.passing().is_some());
        if self.closed && quiet {
            limits.closed_linger
        } else if self.open && self.ends.iter().all(|e| e.syn.is_some()) {
            limits.idle_timeout
        } else {
            limits.handshake_timeout
        }
    }

    /// When this connection wants to be called.
    pub(crate) fn poll_at(&self, now: Nanos, limits: &crate::Limits) -> Nanos {
        let mut at = self.last_seen + self.lifetime(limits);
        let shrink_at = self.last_seen + limits.shrink_after;
        if shrink_at > now {
            at = at.min(shrink_at);
        }
        if let Some(copy) = &self.syn_copy {
            at = at.min(copy.at);
        }
        self.flows_poll_at().map_or(at, |flows| at.min(flows))
    }

    /// When its flows want to be called. Enough after a packet, as long as a call is planned that
    /// will look at the rest, and the connection has not come nearer to its end.
    pub(crate) fn flows_poll_at(&self) -> Option<Nanos> {
        self.flows
            .iter()
            .flatten()
            .filter_map(|f| f.poll_at())
            .min()
    }

    /// It has begun, and not ended: how long it is remembered does not change.
    pub(crate) fn steady(&self) -> bool {
        self.open && !self.closed && self.syn_copy.is_none()
    }

    /// Sends what waits, holds nothing more, passes everything from here on.
    pub(crate) fn let_go<P: Pool>(&mut self, ctx: &mut Context<'_, P>, reason: PassReason) {
        if let Some(copy) = self.syn_copy.take() {
            ctx.pool.free(copy.pkt);
        }
        for flow in self.flows.iter_mut().flatten() {
            flow.release_all(ctx, reason);
        }
        self.pass.get_or_insert(reason);
    }

    /// The name of the connection with the end on `side` first.
    fn key_from(&self, side: Side) -> FlowKey {
        if side == self.first_end {
            self.key
        } else {
            self.key.reversed()
        }
    }

    /// Both directions, where governed.
    pub(crate) fn infos(&self) -> impl Iterator<Item = FlowInfo> + '_ {
        self.flows
            .iter()
            .flatten()
            .map(|f| f.info(self.key_from(f.setup.sender)))
    }

    /// Reads a word of each cache line that a packet will need: see [`crate::Engine::on_packets`].
    pub(crate) fn touch(&self) -> u64 {
        self.last_seen ^ u64::from(self.closed) ^ u64::from(self.ends[1].fin)
    }

    /// The same for the flows, once the connection is there.
    pub(crate) fn touch_flows(&self) -> u64 {
        self.flows
            .iter()
            .flatten()
            .map(|f| f.touch())
            .fold(0, u64::wrapping_add)
    }

    /// The same for what the flows point to.
    pub(crate) fn touch_holds(&self) -> u64 {
        self.flows
            .iter()
            .flatten()
            .map(|f| f.touch_hold())
            .fold(0, u64::wrapping_add)
    }

    /// Why the connection passes, if it does.
    pub(crate) fn passing(&self) -> Option<PassReason> {
        self.pass
    }
}

/// RFC 3168 §6.1.1, in either order of opening.
fn classic_ecn(a: &Syn, b: &Syn) -> bool {
    let asks =
        |s: &Syn| s.flags.has(Flags::ECE) && s.flags.has(Flags::CWR) && !s.flags.has(Flags::ACK);
    let agrees =
        |s: &Syn| s.flags.has(Flags::ACK) && s.flags.has(Flags::ECE) && !s.flags.has(Flags::CWR);
    (asks(a) && agrees(b)) || (asks(b) && agrees(a))
}

/// RFC 9768 §3.1.1: asked for with AE, CWR and ECE; any answer but classic ECN or none accepts it.
fn accurate_ecn(a: &Syn, b: &Syn) -> bool {
    let asks = |s: &Syn| {
        s.flags.has(Flags::AE.with(Flags::CWR).with(Flags::ECE)) && !s.flags.has(Flags::ACK)
    };
    let accepts =
        |s: &Syn| s.flags.has(Flags::ACK) && (s.flags.has(Flags::AE) || s.flags.has(Flags::CWR));
    (asks(a) && accepts(b)) || (asks(b) && accepts(a))
}
