//! A connection, introduced to an engine that has not seen it begin: by another box, which has.
//!
//! It says what the SYNs have settled, how far both ends have got, and what is known of the path. The engine that takes it
//! in follows the connection from where both ends are seen to agree, as after a time out of sight (`sight.rs`). So numbers
//! that are a little old do no harm.

use serde::{Deserialize, Serialize};
use windlass_cc::{Catalog, Nanos, Settings};
use windlass_wire::FlowKey;

use super::gate::Gate;
use super::sight::Known;
use super::sight::Sight;
use super::syn::Syn;
use super::{Books, Conn, End};
use crate::admission::Bucket;
use crate::context::Context;
use crate::decide::Verdict;
use crate::flow::{Flow, FlowIntroduction};
use crate::peer::Peer;
use crate::{Pool, Side};

/// A connection that has been quiet here for so long may have gone on elsewhere.
const QUIET: Nanos = 200_000_000;
/// It is told again no sooner than after this, unless it has gone on by `FAR_BYTES`: who has been told follows it all the
/// same, as long as it has not gone on by 256 MiB ([`Known::after`]).
const TELL_AGAIN: Nanos = 1_000_000_000;
const FAR_BYTES: u32 = 32 << 20;

/// What an engine needs to know of a connection to go on with it. By side: the inside first.
#[derive(Debug, Serialize, Deserialize)]
pub struct Introduction {
    /// Canonical name.
    pub key: FlowKey,
    first_end: Side,
    syns: [Syn; 2],
    no_room: [bool; 2],
    handshake_rtt: [Option<Nanos>; 2],
    known: [Known; 2],
    peer: Option<Box<Peer>>,
    flows: [Option<FlowIntroduction>; 2],
}

/// The same, with its algorithms found in the catalog of this box.
#[derive(Debug)]
pub struct Introduced {
    introduction: Introduction,
    /// `None`: there is none of that name here.
    algorithms: [Option<Settings>; 2],
}

impl Introduced {
    /// Canonical name of the connection.
    pub fn key(&self) -> FlowKey {
        self.introduction.key
    }
}

impl Introduction {
    /// A connection that has been watched from its middle on. `governed`: by side of the sender.
    pub(super) fn learnt(
        key: FlowKey,
        first_end: Side,
        syns: [Syn; 2],
        known: [Known; 2],
        governed: [bool; 2],
    ) -> Introduced {
        let introduction = Introduction {
            key,
            first_end,
            syns,
            no_room: [false; 2],
            handshake_rtt: [None; 2],
            known,
            peer: None,
            flows: governed.map(|governed| governed.then(FlowIntroduction::unknown)),
        };
        Introduced {
            introduction,
            algorithms: [None; 2],
        }
    }

    /// Finds its algorithms. `None`: no box of this version says such a thing.
    pub fn find(self, catalog: &Catalog) -> Option<Introduced> {
        if !self.is_sound() {
            return None;
        }
        let find = |flow: &Option<FlowIntroduction>| flow.as_ref()?.algorithm(catalog);
        Some(Introduced {
            algorithms: self.flows.each_ref().map(find),
            introduction: self,
        })
    }

    fn is_sound(&self) -> bool {
        let paths = self.flows.iter().flatten().all(FlowIntroduction::is_sound);
        self.key == self.key.canonical().0 && self.syns.iter().all(Syn::is_sound) && paths
    }

    /// As bytes, for another process of the same [`crate::Engine::STATE_FORMAT`].
    ///
    /// # Panics
    /// Never: each can be written.
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("plain data")
    }

    /// What [`Introduction::to_bytes`] has written; `None`: something else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Introduction> {
        postcard::from_bytes(bytes).ok()
    }

    /// The SYN of the end at `side`, as if its stream began with what is not acknowledged yet: positions are counted from
    /// there.
    fn syn(&self, side: Side) -> Syn {
        let una = self.known[side.other().index()].acked;
        let known = &self.known[side.index()];
        let window = known.edge.wrapping_sub(known.acked);
        Syn {
            iss: una.wrapping_sub(1),
            window: window.min(u32::from(u16::MAX)) as u16,
            acks: None,
            payload_len: 0,
            ..self.syns[side.index()]
        }
    }
}

/// What two boxes know of it of each other.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Standby {
    /// The other box has told of it.
    pub is_introduced: bool,
    /// When the other box was told of it.
    told: Option<Box<Told>>,
}

/// When a connection was told to another box, and how far it was.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Told {
    at: Nanos,
    bytes: u32,
    /// Whom.
    listener: u32,
}

impl Standby {
    /// No other box has told of the connection or was told.
    pub(super) fn is_unused(&self) -> bool {
        !self.is_introduced && self.told.is_none()
    }
}

impl Conn {
    /// How another box would be told of it now; `None`: nothing of it is governed, or it has been told before, and
    /// little has happened since.
    pub(crate) fn introduce(&mut self, now: Nanos, listener: u32) -> Option<Introduction> {
        let gate = self.gate.as_ref()?;
        let [Some(inside), Some(outside)] = [0, 1].map(|side| self.ends[side].syn) else {
            return None;
        };
        let governed = self.flows.iter().flatten().any(|f| f.passing().is_none());
        let lives = self.open && !self.closed && self.pass.is_none() && self.sight.is_none();
        if !lives || !governed || !self.is_news(gate, now, listener) {
            return None;
        }
        let known = [gate.known(Side::Inside), gate.known(Side::Outside)];
        let introduction = Introduction {
            key: self.key,
            first_end: self.first_end,
            syns: [inside, outside],
            no_room: self.ends.map(|end| end.no_room),
            handshake_rtt: self.ends.map(|end| end.handshake_rtt.get()),
            known,
            peer: self.peer.clone(),
            flows: self
                .flows
                .each_ref()
                .map(|flow| flow.as_ref().and_then(|flow| flow.introduce())),
        };
        self.standby.told = Some(Box::new(Told {
            at: now,
            bytes: bytes_of(gate),
            listener,
        }));
        Some(introduction)
    }

    fn is_news(&self, gate: &Gate, now: Nanos, listener: u32) -> bool {
        let told = self.standby.told.as_ref();
        let Some(told) = told.filter(|told| told.listener == listener) else {
            return true;
        };
        let moved = || bytes_of(gate).wrapping_sub(told.bytes);
        self.last_seen > told.at && (now >= told.at + TELL_AGAIN || moved() >= FAR_BYTES)
    }

    /// It goes on from what another box says of it, out of sight until both ends have been seen. `None`: policy leaves
    /// it alone here.
    pub(crate) fn introduced<P: Pool>(
        introduced: &Introduced,
        ctx: &mut Context<'_, P>,
        (bucket, seed): (Bucket, u64),
    ) -> Option<Conn> {
        let introduction = &introduced.introduction;
        let Introduction { key, first_end, .. } = *introduction;
        let mut conn = Conn::new(key, first_end, bucket, ctx.now, seed);
        let syns = [Side::Inside, Side::Outside].map(|side| introduction.syn(side));
        for side in [Side::Inside, Side::Outside].map(Side::index) {
            conn.ends[side] = End {
                syn: Some(syns[side]),
                no_room: introduction.no_room[side],
                handshake_rtt: introduction.handshake_rtt[side].into(),
                ..End::default()
            };
        }
        let mut gate = Gate::new([&syns[0], &syns[1]], ctx.now);
        gate.resume(ctx.now, introduction.known);
        conn.gate = Some(Box::new(gate));
        (conn.open, conn.books.half_open) = (true, false);
        conn.standby.is_introduced = true;
        conn.peer = introduction.peer.clone();
        if let Some(peer) = &mut conn.peer {
            peer.stop();
        }
        for side in [Side::Inside, Side::Outside] {
            conn.flows[side.index()] = conn.go_on(ctx, side, introduced);
        }
        let until = ctx.now + ctx.limits.idle_timeout;
        conn.sight = Some(Box::new(Sight::lost(until)));
        conn.flows.iter().any(Option::is_some).then_some(conn)
    }

    /// The flow of the data that come from `side`, if this policy governs it and the other box did. Who takes part in a
    /// comparison was settled there, and its numbers mean nothing here.
    fn go_on<P: Pool>(
        &self,
        ctx: &mut Context<'_, P>,
        side: Side,
        introduced: &Introduced,
    ) -> Option<Box<Flow>> {
        let told = introduced.introduction.flows[side.index()].as_ref()?;
        let key = self.key_from(side);
        let verdict = ctx.policy.classify(&key, side, ctx.now)?;
        let drawn = ctx.policy.hold_out(&verdict, &key);
        let verdict = match drawn {
            Some(drawn) if drawn.held_out => verdict.held_out(),
            _ => verdict,
        };
        let mut verdict = Verdict {
            arm: None,
            drawn: None,
            ..verdict
        };
        verdict.algorithm = introduced.algorithms[side.index()].unwrap_or(verdict.algorithm);
        let setup = self.setup(side, &verdict);
        let mut flow = Box::new(Flow::new(setup, verdict, ctx, ctx.now, None));
        flow.begin_on(told, ctx.now);
        if let Some(rtt) = self.ends[side.index()].handshake_rtt.get() {
            flow.recall_handshake_rtt(rtt);
        }
        if let Some(rtt) = self.ends[side.other().index()].handshake_rtt.get() {
            flow.set_near_rtt(rtt);
        }
        Some(flow)
    }

    /// The same connection, as another box tells of it later.
    pub(crate) fn replace(&mut self, newer: Conn) {
        *self = Conn {
            books: Books {
                bucket: self.books.bucket,
                followed: self.books.followed,
                ..newer.books
            },
            armed_at: self.armed_at,
            ..newer
        };
    }

    /// Nothing has been seen of it here yet: another box knows it better.
    pub(crate) fn is_only_introduced(&self) -> bool {
        self.standby.is_introduced && self.sight.is_some()
    }

    /// True once, after it was adopted.
    pub(crate) fn take_adopted(&mut self) -> bool {
        let adopted = self.standby.is_introduced && self.sight.is_none();
        self.standby.is_introduced &= !adopted;
        adopted
    }

    /// It may have been adopted or closed: [`Conn::take_adopted`] and [`Conn::take_closed`] know.
    pub(super) fn is_news_for_another(&self) -> bool {
        self.standby.is_introduced || self.closed
    }

    /// True once, when it has been closed after another box was told of it.
    pub(crate) fn take_closed(&mut self) -> bool {
        self.closed && self.standby.told.take().is_some()
    }

    /// It may have gone on elsewhere: another box says so, and here nothing has come for a while.
    pub(crate) fn may_be_elsewhere(&self, now: Nanos) -> bool {
        now >= self.last_seen + QUIET
    }

    /// Another box has seen more of it than this one, if what it says goes on from what is known here.
    pub(crate) fn catch_up<P: Pool>(&mut self, ctx: &mut Context<'_, P>, introduced: &Introduced) {
        let told = &introduced.introduction.known;
        let goes_on = self.gate.as_ref().is_some_and(|gate| {
            let sides = [Side::Inside, Side::Outside];
            sides.iter().all(|side| {
                let after = told[side.index()].after(&gate.known(*side));
                after.is_some_and(|after| after.nxt == told[side.index()].nxt)
            })
        });
        if !goes_on || !self.wait_elsewhere(ctx) {
            return;
        }
        if let Some(gate) = &mut self.gate {
            gate.resume(ctx.now, *told);
        }
    }

    /// It goes on where this box does not see it, or has ended there: what is held for it is of no use any more. False: it
    /// is not one that could come back.
    pub(crate) fn wait_elsewhere<P: Pool>(&mut self, ctx: &mut Context<'_, P>) -> bool {
        self.lose_sight(ctx);
        let Some(sight) = &mut self.sight else {
            return false;
        };
        sight.until = ctx.now + ctx.limits.idle_timeout;
        true
    }
}

/// How far both ends have got.
fn bytes_of(gate: &Gate) -> u32 {
    let nxt = |side| gate.known(side).nxt;
    nxt(Side::Inside).wrapping_add(nxt(Side::Outside))
}
