//! One box or two, with what they hold and how much work they have.

use windlass_engine::{
    AlgorithmId, Decide, Engine, Feedback, Limits, Mode, PassReason, Redundancy, Side, Tx,
    TxChecksum, Verdict,
};
use windlass_sim::Nanos;
use windlass_wire::{FlowKey, complete_checksum};

use super::action::Setup;
use super::counted::Counted;
use crate::rules::{check_memory, check_nothing_left};

/// Timer calls in a row that bring nothing forth.
const IDLE_CALLS: u32 = 200;

/// Both directions, or the server's alone.
#[derive(Clone, Copy)]
struct Policy {
    verdict: Verdict,
    both: bool,
}

impl Decide for Policy {
    fn classify(&self, _flow: &FlowKey, sender: Side, _: Nanos) -> Option<Verdict> {
        (self.both || sender == Side::Inside).then_some(self.verdict)
    }
}

/// A box.
pub struct Middle {
    engine: Engine,
    pool: Counted,
    txs: Vec<Tx>,
    policy: Policy,
    idle_calls: u32,
    dead: bool,
    limits: Limits,
    /// Frames that have gone through.
    pub frames: u64,
}

impl Middle {
    pub fn new(setup: &Setup, two: bool) -> Middle {
        let policy = policy(setup, two);
        let mut engine = Engine::new(Box::new(policy), limits(setup), 0, 1);
        for side in [Side::Inside, Side::Outside] {
            engine.set_partial_checksums(side, false);
        }
        Middle {
            engine,
            pool: Counted::default(),
            txs: Vec::new(),
            policy,
            idle_calls: 0,
            dead: false,
            limits: limits(setup),
            frames: 0,
        }
    }

    pub fn poll_at(&self) -> Option<Nanos> {
        self.engine.poll_at().filter(|_| !self.dead)
    }

    /// All counters of the engine.
    pub fn counted(&self) -> Vec<(String, u64)> {
        let counters = self.engine.counters().each();
        let named = counters.filter_map(|reading| Some((reading.key(), reading.number?)));
        named.collect()
    }

    pub fn take(&mut self, now: Nanos, from: Side, frame: &[u8]) -> Vec<(Side, Vec<u8>)> {
        if self.dead {
            return vec![(from.other(), frame.to_vec())];
        }
        let pkt = self.pool.pool.insert(frame).expect("no limit");
        self.frames += 1;
        self.idle_calls = 0;
        let (engine, pool, txs) = (&mut self.engine, &mut self.pool, &mut self.txs);
        engine.on_packet(now, from, pkt, pool, txs);
        self.collect()
    }

    pub fn on_timer(&mut self, now: Nanos) -> Vec<(Side, Vec<u8>)> {
        self.engine.on_timer(now, &mut self.pool, &mut self.txs);
        assert!(self.engine.poll_at().is_none_or(|at| at > now), "spins");
        self.idle_calls = match self.txs.is_empty() {
            true => self.idle_calls + 1,
            false => 0,
        };
        assert!(self.idle_calls < IDLE_CALLS, "timers for nothing");
        self.collect()
    }

    /// Another algorithm, other copies and caps, under way.
    pub fn reload(&mut self, now: Nanos, algorithm: u8, features: u8) {
        let setup = Setup {
            algorithm,
            features,
            copies: features,
            mode: 0,
            offers: [0; 2],
            scales: [0; 2],
            numbers: 0,
            delay: 0,
        };
        let verdict = policy(&setup, self.policy.verdict.feedback == Feedback::Boxes).verdict;
        self.policy.verdict = Verdict {
            mode: self.policy.verdict.mode,
            ..verdict
        };
        self.engine.set_policy(Box::new(self.policy), now);
    }

    pub fn kill(&mut self) {
        self.dead = true;
    }

    /// For good: after a bypass a box believes ends that agree, and the stranger, who knows their numbers, can speak for
    /// both. `tests/bypass.rs` and the adversary, who has to guess them, look at bypasses that end.
    pub fn bypass(&mut self, now: Nanos) -> Vec<(Side, Vec<u8>)> {
        if self.dead {
            return Vec::new();
        }
        let (pool, txs) = (&mut self.pool, &mut self.txs);
        self.engine.set_bypass(true, now, pool, txs);
        self.pool.take_counts();
        self.collect()
    }

    /// Lets go of everything.
    pub fn stop(&mut self, now: Nanos) -> Vec<(Side, Vec<u8>)> {
        if self.dead {
            return Vec::new();
        }
        let (pool, txs) = (&mut self.pool, &mut self.txs);
        self.engine.release(now, PassReason::Bypass, pool, txs);
        self.pool.take_counts();
        let out = self.collect();
        check_nothing_left(&self.engine, &self.pool.pool);
        out
    }

    fn collect(&mut self) -> Vec<(Side, Vec<u8>)> {
        let mut out = Vec::new();
        for tx in std::mem::take(&mut self.txs) {
            let mut frame = self.pool.pool.take(tx.pkt);
            if let TxChecksum::Partial { start, offset } = tx.checksum {
                complete_checksum(&mut frame, usize::from(start), usize::from(offset));
            }
            out.push((tx.to, frame));
        }
        self.pool.check_work(out.len() as u64);
        check_memory(&self.engine, self.pool.pool.live());
        assert!(self.engine.held_bytes() <= self.limits.held_bytes_total);
        out
    }
}

fn policy(setup: &Setup, two: bool) -> Policy {
    let algorithms = AlgorithmId::ALL;
    let algorithm = algorithms[usize::from(setup.algorithm) % algorithms.len()];
    let bit = |n: u8| setup.features >> n & 1 != 0;
    let redundancy = [
        Redundancy::OFF,
        Redundancy::REPAIRS,
        Redundancy::EARLY,
        Redundancy::OFF,
    ];
    let mode = match setup.mode % 8 {
        6 => Mode::Observe,
        7 => Mode::Advise,
        _ => Mode::Enforce,
    };
    let verdict = Verdict {
        mode,
        redundancy: redundancy[usize::from(setup.copies & 3)],
        headroom: !bit(1),
        insert_sack: !bit(2),
        police_tolerance: bit(3).then_some(3000),
        cap: bit(5).then_some(500_000),
        feedback: if two { Feedback::Boxes } else { Feedback::Ends },
        ..Verdict::enforce(algorithm)
    };
    Policy {
        verdict,
        both: bit(0),
    }
}

fn limits(setup: &Setup) -> Limits {
    match setup.features >> 4 & 1 {
        0 => Limits::default(),
        _ => Limits {
            held_bytes_total: 20_000,
            held_bytes_per_flow: 12_000,
            segments_per_flow: 24,
            sack_ranges_per_flow: 3,
            ..Limits::default()
        },
    }
}
