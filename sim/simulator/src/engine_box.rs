//! The engine as a box in the middle.

use std::ops::RangeInclusive;

use windlass_cc::Catalog;
use windlass_engine::{
    Decide, Engine, FlowInfo, Introduction, Limits, Nanos, Pkt, Side, Tx, TxChecksum,
};
use windlass_wire::{FlowKey, complete_checksum};

use crate::stalls::Stalls;
use crate::{HeapPool, Middlebox};

/// The very engine that runs on the wire, between two simulated ends.
pub struct EngineBox {
    engine: Engine,
    pool: HeapPool,
    txs: Vec<Tx>,
    samples: Option<Samples>,
    stalling: Option<Stalling>,
    handing_over: Option<HandingOver>,
}

/// Another engine goes on with the connections now and then, as after an upgrade.
struct HandingOver {
    /// Packets between two of them.
    every: u32,
    packets: u32,
    limits: Limits,
    policies: Box<dyn Fn() -> Box<dyn Decide>>,
    /// Of the state, one after the other.
    formats: RangeInclusive<u16>,
    taken: u64,
}

/// A worker that is kept off its processor now and then.
struct Stalling {
    stalls: Stalls,
    /// When it works again.
    until: Nanos,
    /// What has come meanwhile, and when.
    waiting: Vec<(Side, Pkt)>,
}

/// Samples of the flows, taken as often as asked for.
struct Samples {
    interval: Nanos,
    next: Nanos,
    taken: Vec<(Nanos, FlowInfo)>,
}

impl EngineBox {
    /// A box with this policy and these limits.
    pub fn new(policy: Box<dyn Decide>, limits: Limits, seed: u64) -> Self {
        EngineBox {
            engine: engine(policy, limits, seed),
            pool: HeapPool::new(),
            txs: Vec::new(),
            samples: None,
            stalling: None,
            handing_over: None,
        }
    }

    /// Another engine goes on with the connections every so many packets, under a policy of these.
    pub fn handing_over(
        mut self,
        every: u32,
        limits: Limits,
        policies: Box<dyn Fn() -> Box<dyn Decide>>,
    ) -> Self {
        self.handing_over = Some(HandingOver {
            every,
            packets: 0,
            limits,
            policies,
            formats: Engine::STATE_FORMAT..=Engine::STATE_FORMAT,
            taken: 0,
        });
        self
    }

    /// The state is also written as the release before wrote it, every other time.
    pub fn as_before(mut self) -> Self {
        if let Some(over) = &mut self.handing_over {
            over.formats = Engine::OLDEST_STATE_FORMAT..=Engine::STATE_FORMAT;
        }
        self
    }

    /// How often another engine has gone on.
    pub fn hand_overs(&self) -> u64 {
        self.handing_over.as_ref().map_or(0, |over| over.taken)
    }

    /// It stands still at these times. What comes meanwhile waits, with the time at which it came, as in a ring of a
    /// driver.
    pub fn stalling(mut self, stalls: Stalls) -> Self {
        self.stalling = Some(Stalling {
            stalls,
            until: 0,
            waiting: Vec::new(),
        });
        self
    }

    /// It learns of connections in mid-flow what their SYNs have settled.
    pub fn watching_strangers(mut self) -> Self {
        self.engine.watch_strangers(true);
        self
    }

    /// Keeps a sample of each flow every `interval`.
    pub fn sample_every(mut self, interval: Nanos) -> Self {
        self.samples = Some(Samples {
            interval,
            next: 0,
            taken: Vec::new(),
        });
        self
    }

    /// The samples taken so far.
    pub fn samples(&self) -> &[(Nanos, FlowInfo)] {
        self.samples.as_ref().map_or(&[], |s| &s.taken)
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Puts another policy in charge, of the flows that run too.
    pub fn set_policy(&mut self, policy: Box<dyn Decide>, now: Nanos) {
        self.engine.set_policy(policy, now);
    }

    /// From now on everything passes; or flows are governed again.
    pub fn set_bypass(&mut self, on: bool, now: Nanos, out: &mut Vec<(Side, Vec<u8>)>) {
        self.engine
            .set_bypass(on, now, &mut self.pool, &mut self.txs);
        self.deliver(out);
    }

    /// Comes back after a time in which somebody else has forwarded everything.
    pub fn wake(&mut self, now: Nanos, out: &mut Vec<(Side, Vec<u8>)>) {
        self.engine.lose_sight(now, &mut self.pool, &mut self.txs);
        self.deliver(out);
    }

    /// Tells another box of its connections, as two do that stand by for each other.
    pub fn introduce_to(&mut self, other: &mut EngineBox, now: Nanos) {
        let mut told = Vec::new();
        self.engine.introduce(now, 0, (0, usize::MAX), |each| {
            told.push(each.to_bytes());
        });
        for bytes in told {
            let introduction = Introduction::from_bytes(&bytes).expect("what was just written");
            let introduced = introduction.find(&Catalog::new()).expect("it is sound");
            let (pool, txs) = (&mut other.pool, &mut other.txs);
            other.engine.introduced(now, &introduced, pool, txs);
            // Its place in the path is elsewhere: nobody sees what it says.
            other.deliver(&mut Vec::new());
        }
    }

    /// Dies like a process that is killed: whatever it holds is gone.
    pub fn kill(&mut self) {
        let policy = windlass_engine::Verdict {
            mode: windlass_engine::Mode::Observe,
            ..windlass_engine::Verdict::enforce(windlass_engine::AlgorithmId::ALL[0])
        };
        self.engine = engine(Box::new(policy), Limits::default(), 0);
        self.engine
            .set_bypass(true, 0, &mut self.pool, &mut self.txs);
        self.pool = HeapPool::new();
        self.txs.clear();
    }

    fn deliver(&mut self, out: &mut Vec<(Side, Vec<u8>)>) {
        for tx in self.txs.drain(..) {
            let mut frame = self.pool.take(tx.pkt);
            if let TxChecksum::Partial { start, offset } = tx.checksum {
                complete_checksum(&mut frame, usize::from(start), usize::from(offset));
            }
            out.push((tx.to, frame));
        }
    }

    fn hand_over(&mut self, now: Nanos) {
        let Some(over) = &mut self.handing_over else {
            return;
        };
        over.packets += 1;
        if !over.packets.is_multiple_of(over.every) {
            return;
        }
        over.taken += 1;
        let formats = over.formats.clone();
        let format = formats.start() + (over.taken % formats.len() as u64) as u16;
        let state = self.engine.export_as(format).expect("a format it writes");
        let policy = (over.policies)();
        let next = Engine::import(&state, policy, &Catalog::new(), over.limits, now);
        let (mut engine, carried) = next.expect("what it has just written");
        assert_eq!(carried.begun_anew, 0);
        assert_eq!(carried.connections, self.engine.connections());
        assert_eq!(engine.held().count(), self.engine.held().count());
        for side in [Side::Inside, Side::Outside] {
            engine.set_partial_checksums(side, false);
        }
        self.engine = engine;
    }

    /// True while it stands still.
    fn stands_still(&mut self, now: Nanos) -> bool {
        let Some(stalling) = &mut self.stalling else {
            return false;
        };
        let end = stalling.stalls.end_of(now);
        stalling.until = end.unwrap_or(stalling.until);
        end.is_some()
    }

    /// What has come while it stood still: the servers' packets first, as a worker takes them.
    fn catch_up(&mut self, now: Nanos) {
        let Some(stalling) = &mut self.stalling else {
            return;
        };
        let waiting = std::mem::take(&mut stalling.waiting);
        for side in [Side::Inside, Side::Outside] {
            let of_side = waiting.iter().filter(|(from, _)| *from == side);
            let pkts: Vec<Pkt> = of_side.map(|(_, pkt)| *pkt).collect();
            self.engine
                .on_packets(now, side, &pkts, &mut self.pool, &mut self.txs);
        }
    }

    fn sample(&mut self, now: Nanos) {
        let Some(samples) = self.samples.as_mut().filter(|s| now >= s.next) else {
            return;
        };
        samples.next = now + samples.interval;
        samples
            .taken
            .extend(self.engine.flows().map(|info| (now, info)));
    }
}

/// Between wires: no packet comes with a partial checksum.
fn engine(policy: Box<dyn Decide>, limits: Limits, seed: u64) -> Engine {
    let mut engine = Engine::new(policy, limits, 0, seed);
    for side in [Side::Inside, Side::Outside] {
        engine.set_partial_checksums(side, false);
    }
    engine
}

impl Middlebox for EngineBox {
    fn on_frame(&mut self, now: Nanos, from: Side, frame: Vec<u8>, out: &mut Vec<(Side, Vec<u8>)>) {
        let Some(pkt) = self.pool.insert_of(&frame, now) else {
            return;
        };
        if self.stands_still(now)
            && let Some(stalling) = &mut self.stalling
        {
            return stalling.waiting.push((from, pkt));
        }
        self.catch_up(now);
        self.hand_over(now);
        self.engine
            .on_packet(now, from, pkt, &mut self.pool, &mut self.txs);
        self.deliver(out);
        self.sample(now);
    }

    fn poll_at(&self) -> Option<Nanos> {
        let due = self.engine.poll_at();
        match &self.stalling {
            Some(stalling) if !stalling.waiting.is_empty() => Some(stalling.until),
            Some(stalling) => due.map(|at| at.max(stalling.until)),
            None => due,
        }
    }

    fn on_timer(&mut self, now: Nanos, out: &mut Vec<(Side, Vec<u8>)>) {
        if self.stands_still(now) {
            return;
        }
        self.catch_up(now);
        self.engine.on_timer(now, &mut self.pool, &mut self.txs);
        self.deliver(out);
    }

    fn held_packets(&self) -> usize {
        self.pool.live()
    }

    fn counters(&self) -> Vec<(String, u64)> {
        let counters = self.engine.counters().each();
        let named = counters.filter_map(|reading| Some((reading.key(), reading.number?)));
        named.collect()
    }

    fn flow_infos(&self) -> Vec<FlowInfo> {
        self.engine.flows().collect()
    }

    fn flow_info(&self, key: &FlowKey) -> Option<FlowInfo> {
        self.engine.flow(key)
    }
}
