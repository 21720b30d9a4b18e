//! The engine: the flow table, and the way of a packet through it.

mod bypass;
mod export;
mod half_open;
mod introductions;
mod passing;
mod places;
mod policy;
mod shown;
mod sight;
mod strangers;
mod table;

use slab::Slab;
use windlass_wire::{ChecksumState, FlowKey, Segment, Unparsed, parse};

use crate::admission::Admission;
use crate::conn::Conn;
use crate::context::{Context, Held};
use crate::counters::{Counters, PassReason};
use crate::decide::{Decide, Generation};
use crate::decision::{Decision, Fate};
use crate::maybe::Maybe;
use crate::notice::Notices;
use crate::port::is_undamaged;
use crate::tenants::{self, Account, Bounded};
use crate::verdicts::Verdicts;
use crate::wheel::Wheel;
use crate::{Histograms, Limits, Nanos, Notice, Pkt, Pool, Side, Tx};
pub use export::{Carried, StateError};
use half_open::{HalfOpen, KEPT_PLACES};
use places::is_first_syn;
use strangers::Strangers;
use table::Table;

/// Packets whose memory is fetched together.
const BATCH_PACKETS: usize = 16;

/// A packet that has been read, and its connection, if it has one that is more than a handshake.
struct Read {
    pkt: Pkt,
    segment: Result<Segment, Unparsed>,
    index: Option<u32>,
    /// [`Table::moves`] then.
    moves: u64,
}

/// One engine: owned by one worker, sharing nothing with others.
pub struct Engine {
    policy: Box<dyn Decide>,
    verdicts: Verdicts,
    generation: Generation,
    limits: Limits,
    table: Table,
    conns: Slab<Conn>,
    half_open: HalfOpen,
    admission: Admission,
    wheel: Wheel,
    counters: Counters,
    histograms: Box<Histograms>,
    held: Held,
    tenants: Vec<Account>,
    bounded: Bounded,
    told: Told,
    seed: u64,
    /// Connections in mid-flow that are watched; `None`: none is.
    strangers: Option<Box<Strangers>>,
    /// How many connections another box has only told of.
    expected: usize,
    news: News,
    scratch: Scratch,
}

/// What whoever feeds the engine has said.
struct Told {
    bypass: bool,
    memory_full: bool,
    /// By side: packets may come with partial checksums.
    partial: [bool; 2],
}

/// What whoever feeds the engine has not asked for yet.
#[derive(Default)]
struct News {
    /// What has changed in which connections are followed.
    follows: Vec<(FlowKey, Option<u32>)>,
    /// Connections that another box has told of, and that were seen here since.
    adopted: Vec<FlowKey>,
    /// Those that have ended.
    ended: Vec<FlowKey>,
    /// What was decided about the packets of the last call, if somebody wants to know.
    decisions: Option<Vec<Decision>>,
    notices: Notices,
}

/// Memory of one call that the next one uses again.
#[derive(Default)]
struct Scratch {
    batch: Vec<Read>,
    fired: Vec<u32>,
    fresh: Vec<(u64, u64)>,
}

impl Engine {
    /// An engine that starts at `now`. `seed` makes hashing and the algorithms' dice repeatable.
    pub fn new(policy: Box<dyn Decide>, limits: Limits, now: Nanos, seed: u64) -> Self {
        let tenants = policy.tenants();
        let mut news = News::default();
        news.notices.take_up(policy.edition());
        Engine {
            tenants: tenants::open(&tenants, &[]),
            bounded: Bounded::of(&tenants),
            policy,
            verdicts: Verdicts::default(),
            generation: Generation::default(),
            limits,
            table: Table::new(seed),
            conns: Slab::new(),
            half_open: HalfOpen::new(seed),
            admission: Admission::new(seed),
            wheel: Wheel::new(now),
            counters: Counters::default(),
            histograms: Box::default(),
            held: Held::default(),
            told: Told {
                bypass: false,
                memory_full: false,
                partial: [true, true],
            },
            seed,
            strangers: None,
            expected: 0,
            news,
            scratch: Scratch {
                batch: Vec::with_capacity(BATCH_PACKETS),
                ..Scratch::default()
            },
        }
    }

    /// Whether packets from `side` may come with partial checksums, as from a virtual machine on this
    /// host. From a wire none does: what looks like one there is damaged, one time in 65,536, and
    /// completing it would make it right.
    pub fn set_partial_checksums(&mut self, side: Side, possible: bool) {
        self.told.partial[side.index()] = possible;
    }

    /// From now on [`Engine::decisions`] tells what was decided. There is room for calls with so many packets.
    pub fn tell_decisions(&mut self, packets: usize) {
        self.news.decisions = Some(Vec::with_capacity(packets));
    }

    /// What was decided about each packet of the last call of [`Engine::on_packets`], in their order. None unless
    /// [`Engine::tell_decisions`] has asked for them.
    pub fn decisions(&self) -> &[Decision] {
        self.news.decisions.as_deref().unwrap_or_default()
    }

    /// Takes packets from one side, in their order. What is to be sent is added to `out`.
    ///
    /// With many flows the time goes into waiting for memory, so the packets of a batch are read,
    /// looked up and their flows touched before any is worked on: the waits overlap.
    pub fn on_packets<P: Pool>(
        &mut self,
        now: Nanos,
        from: Side,
        pkts: &[Pkt],
        pool: &mut P,
        out: &mut Vec<Tx>,
    ) {
        let mut batch = std::mem::take(&mut self.scratch.batch);
        if let Some(decisions) = &mut self.news.decisions {
            decisions.clear();
        }
        for chunk in pkts.chunks(BATCH_PACKETS) {
            batch.clear();
            batch.extend(chunk.iter().map(|&pkt| Read {
                pkt,
                segment: parse(pool.head(pkt), pool.len(pkt)),
                index: None,
                moves: self.table.moves(),
            }));
            for read in &mut batch {
                let key = read.segment.as_ref().ok().map(|s| s.key.canonical().0);
                read.index = key.and_then(|key| self.whole(&key));
            }
            self.touch(batch.iter().filter_map(|read| read.index));
            for read in &batch {
                let decision = self.take(now, from, read, pool, out);
                if let (Some(decisions), Some(decision)) = (&mut self.news.decisions, decision) {
                    decisions.push(decision);
                }
            }
        }
        self.scratch.batch = batch;
    }

    /// Reads a word of each cache line that these connections need. The processor fetches many at once, where it would else wait for one
    /// after the other.
    fn touch(&self, indices: impl Iterator<Item = u32> + Clone) {
        let conns = || {
            let known = indices.clone();
            known.filter_map(|index| self.conns.get(index as usize))
        };
        let touched = conns().fold(0, |all, conn| all ^ conn.touch());
        let touched = conns().fold(touched, |all, conn| all ^ conn.touch_flows());
        std::hint::black_box(conns().fold(touched, |all, conn| all ^ conn.touch_holds()));
    }

    /// Takes one packet: [`Engine::on_packets`] for a batch of one.
    pub fn on_packet<P: Pool>(
        &mut self,
        now: Nanos,
        from: Side,
        pkt: Pkt,
        pool: &mut P,
        out: &mut Vec<Tx>,
    ) {
        let read = Read {
            pkt,
            segment: parse(pool.head(pkt), pool.len(pkt)),
            index: None,
            moves: self.table.moves(),
        };
        let _ = self.take(now, from, &read, pool, out);
    }

    /// What was decided, if somebody wants to know; of what passes, in any case.
    fn take<P: Pool>(
        &mut self,
        now: Nanos,
        from: Side,
        read: &Read,
        pool: &mut P,
        out: &mut Vec<Tx>,
    ) -> Option<Decision> {
        self.counters.packets += 1;
        let pkt = read.pkt;
        let partial = self.told.partial[from.index()];
        let by_interface;
        let segment = match &read.segment {
            Ok(segment) if partial || segment.checksum == ChecksumState::Full => segment,
            Ok(segment) => {
                by_interface = on_wire(segment);
                &by_interface
            }
            Err(why) => return Some(self.take_unparsed(now, *why, from, pkt, pool, out)),
        };
        if self.told.bypass {
            self.mind_bypassed(segment, pkt, pool);
            let reason = PassReason::Bypass;
            return Some(self.pass(reason, from, segment, pkt, pool, out, now));
        }
        let found = read.index.filter(|_| read.moves == self.table.moves());
        let whole = found.or_else(|| self.whole(&segment.key.canonical().0));
        let half_open = match whole {
            Some(_) => None,
            None => self.half_open.find(&segment.key.canonical().0),
        };
        let doubts = |index: u32| self.conns[index as usize].doubts_checksum(from, segment);
        let doubted = whole.is_some_and(doubts).then(|| on_wire(segment));
        let segment = doubted.as_ref().unwrap_or(segment);
        let is_known = whole.is_some() || half_open.is_some();
        let watched = !is_known && self.strangers.is_some();
        let wanted = is_known || watched || is_first_syn(segment);
        if wanted && !is_undamaged(pool, pkt, segment) {
            let reason = PassReason::BadChecksum;
            return Some(self.pass(reason, from, segment, pkt, pool, out, now));
        }
        let packet = (from, segment, pkt);
        if let Some(index) = whole {
            return self.hand_over(now, index, packet, pool, out);
        }
        let (key, swapped) = segment.key.canonical();
        if watched && !is_first_syn(segment) {
            self.watch_stranger(now, (key, swapped), from, segment, pool, out);
        }
        let admitted = match half_open {
            Some(index) => Ok(index),
            None => self.admit(now, key, swapped, from, segment, pool, out),
        };
        match admitted {
            Ok(index) => self.hand_to_half_open(now, index, packet, pool, out),
            Err(reason) => Some(self.pass(reason, from, segment, pkt, pool, out, now)),
        }
    }

    /// Where the connection with this name is, if it is more than a handshake.
    #[inline]
    fn whole(&self, key: &FlowKey) -> Option<u32> {
        let conn = |index: u32| self.conns.get(index as usize);
        let has_name = |index| conn(index).is_some_and(|conn| conn.key == *key);
        self.table.get(key, has_name)
    }

    /// Gives a packet to its connection.
    fn hand_over<P: Pool>(
        &mut self,
        now: Nanos,
        index: u32,
        packet: (Side, &Segment, Pkt),
        pool: &mut P,
        out: &mut Vec<Tx>,
    ) -> Option<Decision> {
        let tells = self.news.decisions.is_some();
        let (mut ctx, conns, wheel) = self.split(now, pool, out);
        let conn = &mut conns[index as usize];
        let decision = conn.decide_on(&mut ctx, tells, packet);
        Self::arm(wheel, conn, index, now, ctx.limits);
        let (bucket, opened) = (conn.books.bucket, conn.end_half_open());
        let has_news = conn.has_news();
        if opened {
            self.admission.end_handshake(bucket);
        }
        if has_news {
            self.follow(index);
        }
        decision
    }

    /// When [`Engine::on_timer`] should be called next.
    pub fn poll_at(&self) -> Option<Nanos> {
        Maybe::least([self.wheel.poll_at().into(), self.half_open_until()]).get()
    }

    /// Does what has come due by `now`.
    pub fn on_timer<P: Pool>(&mut self, now: Nanos, pool: &mut P, out: &mut Vec<Tx>) {
        let mut fired = std::mem::take(&mut self.scratch.fired);
        fired.clear();
        self.wheel.advance(now, &mut fired);
        for chunk in fired.chunks(BATCH_PACKETS) {
            self.touch(chunk.iter().copied());
            for &index in chunk {
                self.call(now, index, pool, out);
            }
        }
        self.scratch.fired = fired;
        self.expire_half_open(now);
        self.forget_strangers(now);
        if self.is_pressed() {
            self.evict_slow(now, pool, out);
        }
    }

    /// The time has come that a connection has asked for.
    fn call<P: Pool>(&mut self, now: Nanos, index: u32, pool: &mut P, out: &mut Vec<Tx>) {
        let (mut ctx, conns, wheel) = self.split(now, pool, out);
        let Some(conn) = conns.get_mut(index as usize) else {
            return;
        };
        conn.armed_at = Maybe::NONE;
        if conn.expired(now, ctx.limits) {
            ctx.counters.idle_expired += u64::from(!conn.closed());
            let ends = conn.has_ended();
            conn.let_go(&mut ctx, PassReason::Closed);
            ctx.notices.name(conn);
            if ends {
                let key = conn.key;
                self.note_ended(key);
            }
            return self.forget(index);
        }
        conn.on_timer(&mut ctx);
        ctx.notices.name(conn);
        Self::arm(wheel, conn, index, now, ctx.limits);
        self.follow(index);
        self.fold_again(index);
    }

    /// So many handshakes are under way that somebody floods: whoever feeds the engine may keep most SYNs from it.
    pub fn is_pressed(&mut self) -> bool {
        self.admission.is_pressed(&self.limits)
    }

    /// While the process has as much memory as it may have, new connections pass
    /// ([`PassReason::MemoryLimit`]).
    pub fn set_memory_full(&mut self, full: bool) {
        self.told.memory_full = full;
    }

    /// Tells `each` what has happened to flows since the last call, and returns how much more there was than the list
    /// holds.
    pub fn take_notices(&mut self, each: impl FnMut(Notice)) -> u64 {
        self.news.notices.take(each)
    }

    /// Tells `each` of the connections whose packets are wanted from now on, with the number by which
    /// [`Engine::lose_sight_of`] knows them, or not any more (`None`): since the last call, in order. Few connections have the
    /// number of another one. Whoever feeds the engine may keep the packets of all others from it, except SYNs.
    pub fn take_follows(&mut self, mut each: impl FnMut(FlowKey, Option<u32>)) {
        for (key, number) in self.news.follows.drain(..) {
            each(key, number);
        }
        // A flood that ends has many.
        self.news.follows.shrink_to(KEPT_PLACES);
    }

    /// Notes whether the packets of a connection are wanted, if that has changed.
    fn follow(&mut self, index: u32) {
        let conn = &mut self.conns[index as usize];
        let wanted = !conn.passes_for_good();
        // The number of another engine may be known by its name.
        let adopted = conn.take_adopted();
        let closed = conn.take_closed().then_some(conn.key);
        if adopted {
            self.expected = self.expected.saturating_sub(1);
        }
        if wanted != conn.books.followed || adopted {
            conn.books.followed = wanted;
            let key = conn.key;
            let number = self.table.number(&key);
            self.news.follows.push((key, wanted.then_some(number)));
            if adopted {
                self.note_adopted(key);
            }
        }
        if let Some(key) = closed {
            self.note_ended(key);
        }
    }

    fn split<'a, P: Pool>(
        &'a mut self,
        now: Nanos,
        pool: &'a mut P,
        out: &'a mut Vec<Tx>,
    ) -> (Context<'a, P>, &'a mut Slab<Conn>, &'a mut Wheel) {
        let context = Context {
            now,
            pool,
            out,
            counters: &mut self.counters,
            histograms: &mut self.histograms,
            limits: &self.limits,
            held: &mut self.held,
            tenants: &mut self.tenants,
            bounded: &self.bounded,
            policy: &*self.policy,
            verdicts: &mut self.verdicts,
            generation: self.generation,
            fresh: &mut self.scratch.fresh,
            fate: Fate::Sent,
            passed: None,
            notices: &mut self.news.notices,
        };
        (context, &mut self.conns, &mut self.wheel)
    }

    /// The wheel calls at the earliest time that is wanted. A call that has become too early is
    /// left as it is: it finds nothing to do and sets the next.
    fn arm(wheel: &mut Wheel, conn: &mut Conn, index: u32, now: Nanos, limits: &Limits) {
        let at = if conn.armed_at.is_some() && conn.steady() {
            let Some(at) = conn.flows_poll_at() else {
                return;
            };
            at
        } else {
            conn.poll_at(now, limits)
        };
        if conn.armed_at.get().is_none_or(|armed| at < armed) {
            Self::arm_at(wheel, conn, index, at, now);
        }
    }

    fn arm_at(wheel: &mut Wheel, conn: &mut Conn, index: u32, at: Nanos, now: Nanos) {
        conn.armed_at = Maybe::some(at);
        match conn.is_short() {
            true => wheel.set_fine(index, at, now),
            false => wheel.set(index, at),
        }
    }
}

/// The segment as it is if its checksum is whole, whatever it looks like.
fn on_wire(segment: &Segment) -> Segment {
    Segment {
        checksum: ChecksumState::Full,
        ..*segment
    }
}
