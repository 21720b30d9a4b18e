//! An adversary around a box: somebody who forges segments, a link that damages them, packets that
//! take another way or do not fit, a box that dies, is replaced, by-passed or given another policy.
//!
//! What it adds is what the end that it is for drops (RFC 9293 §3.10.7, RFC 5961, RFC 7323), so a run
//! with a box must come out as it does without one.

mod forging;
mod handshake;
mod identity;
mod operation;
mod path;
mod plan;

use std::collections::BTreeSet;

use windlass_cc::Nanos;
use windlass_engine::{FlowInfo, Side};
use windlass_wire::{Flags, FlowKey, Segment, parse};

pub use operation::{Operated, Operation, Station};
pub use path::{Detour, Narrowing};
pub use plan::{KINDS, Plan};

use crate::node::Middlebox;
use crate::rng::Rng;
use forging::Forger;
use identity::{Identity, identity};

/// True frames that are remembered, to be repeated later.
const REMEMBERED: usize = 64;
/// The Ethernet header: a bridge would drop what is damaged there.
const ETHERNET_BYTES: u64 = 14;

/// A box, and the adversary around it.
pub struct Adversary<M> {
    inner: M,
    plan: Plan,
    rng: Rng,
    /// There are two boxes, which talk to each other.
    boxes: bool,
    /// Frames that no end has sent.
    forged: BTreeSet<Identity>,
    /// Frames that the box has not seen, or that come once more: they leave as they came, too.
    passed: BTreeSet<Identity>,
    seen: Vec<(Side, Vec<u8>)>,
    /// Ends that have said more than SYNs.
    open: BTreeSet<FlowKey>,
    operations: usize,
}

impl<M: Operated> Adversary<M> {
    /// Around `inner`; `seed` decides about all chance. `boxes`: there is another one.
    pub fn new(inner: M, plan: Plan, seed: u64, boxes: bool) -> Self {
        Adversary {
            inner,
            plan,
            rng: Rng::new(seed, 0xadef),
            boxes,
            forged: BTreeSet::new(),
            passed: BTreeSet::new(),
            seen: Vec::new(),
            open: BTreeSet::new(),
            operations: 0,
        }
    }

    /// The box.
    pub fn inner(&self) -> &M {
        &self.inner
    }

    /// To the box, or around it.
    fn put(&mut self, now: Nanos, from: Side, frame: Vec<u8>, out: &mut Vec<(Side, Vec<u8>)>) {
        if self.plan.detours.iter().any(|d| d.takes(now, from)) {
            // What a box has not seen it has not shown.
            self.passed.insert(identity(&frame, self.boxes));
            return out.push((from.other(), frame));
        }
        self.inner.on_frame(now, from, frame, out);
    }

    /// A frame that no end has sent.
    fn add(&mut self, now: Nanos, from: Side, frame: Vec<u8>, out: &mut Vec<(Side, Vec<u8>)>) {
        self.forged.insert(identity(&frame, self.boxes));
        self.put(now, from, frame, out);
    }

    fn remember(&mut self, from: Side, frame: &[u8]) {
        match self.seen.len() < REMEMBERED {
            true => self.seen.push((from, frame.to_vec())),
            false => {
                let place = self.rng.between(0, REMEMBERED as u64 - 1) as usize;
                self.seen[place] = (from, frame.to_vec());
            }
        }
    }

    /// What was seen before comes again.
    fn repeat(&mut self, now: Nanos, out: &mut Vec<(Side, Vec<u8>)>) {
        let place = self.rng.between(0, self.seen.len() as u64 - 1) as usize;
        let (from, frame) = self.seen[place].clone();
        self.passed.insert(identity(&frame, self.boxes));
        self.put(now, from, frame, out);
    }

    /// A true frame, damaged under way.
    fn damaged(&mut self, mut frame: Vec<u8>) -> Vec<u8> {
        let last = frame.len() as u64 - 1;
        match self.rng.between(0, 9) {
            0 => frame.truncate(self.rng.between(ETHERNET_BYTES, last) as usize),
            1 => frame.resize(frame.len() + self.rng.between(1, 40) as usize, 0),
            _ => {
                let at = self.rng.between(ETHERNET_BYTES, last) as usize;
                frame[at] ^= 1 << self.rng.between(0, 7);
            }
        }
        frame
    }

    /// Whatever is forged after a true segment, which has just passed.
    fn forge(&mut self, now: Nanos, from: Side, model: &Segment, out: &mut Vec<(Side, Vec<u8>)>) {
        let syn = model.flags.has(Flags::SYN);
        let open = self.open.contains(&model.key.reversed());
        let (blind, seeing) = (self.plan.blind, self.plan.seeing);
        if !syn && self.rng.chance(blind) {
            let forged = self.forger(open).blindly(model);
            self.add(now, from, forged, out);
        }
        if !syn && self.rng.chance(seeing) {
            let forged = self.forger(open).seeing(model);
            self.add(now, from, forged, out);
        }
        if syn || !open {
            let most = self.plan.handshake;
            let count = most as u64 + u64::from(self.rng.chance(most.fract()));
            for _ in 0..count {
                let (back, forged) = self.forger(open).in_handshake(model);
                let from = if back { from.other() } else { from };
                self.add(now, from, forged, out);
            }
        }
    }

    fn forger(&mut self, open: bool) -> Forger<'_> {
        Forger {
            rng: &mut self.rng,
            boxes: self.boxes,
            open,
        }
    }

    /// What is due befalls the box.
    fn operate(&mut self, now: Nanos, out: &mut Vec<(Side, Vec<u8>)>) {
        while let Some((at, operation)) = self.plan.operations.get(self.operations).copied()
            && now >= at
        {
            self.operations += 1;
            self.inner.operate(now, operation, out);
        }
    }

    /// What is too long vanishes, and its sender hears of it, or not.
    fn narrow(&mut self, now: Nanos, first: usize, out: &mut Vec<(Side, Vec<u8>)>) {
        let Some(narrowing) = self.plan.narrowing else {
            return;
        };
        let stops = |(to, frame): &mut (Side, Vec<u8>)| narrowing.stops(now, *to, frame);
        let stopped: Vec<_> = out.extract_if(first.., stops).collect();
        for (to, frame) in stopped {
            if let Some(message) = narrowing.message(&frame) {
                self.inner.on_frame(now, to, message, out);
            }
        }
    }

    fn take(&mut self, now: Nanos, from: Side, frame: Vec<u8>, out: &mut Vec<(Side, Vec<u8>)>) {
        let Ok(segment) = parse(&frame, frame.len() as u32) else {
            return self.put(now, from, frame, out);
        };
        let syn = segment.flags.has(Flags::SYN);
        if !syn && !segment.flags.has(Flags::RST) {
            self.open.insert(segment.key);
        }
        if self.rng.chance(self.plan.damage) {
            let damaged = self.damaged(frame);
            self.add(now, from, damaged, out);
        } else {
            if !syn || self.plan.handshake > 0.0 {
                self.remember(from, &frame);
            }
            self.put(now, from, frame, out);
        }
        self.forge(now, from, &segment, out);
        if self.rng.chance(self.plan.repeats) && !self.seen.is_empty() {
            self.repeat(now, out);
        }
    }
}

impl<M: Operated> Middlebox for Adversary<M> {
    fn on_frame(&mut self, now: Nanos, from: Side, frame: Vec<u8>, out: &mut Vec<(Side, Vec<u8>)>) {
        let first = out.len();
        self.operate(now, out);
        self.take(now, from, frame, out);
        self.narrow(now, first, out);
    }

    fn poll_at(&self) -> Option<Nanos> {
        let operation = self.plan.operations.get(self.operations);
        let at = operation.map(|(at, _)| *at);
        [self.inner.poll_at(), at].into_iter().flatten().min()
    }

    fn on_timer(&mut self, now: Nanos, out: &mut Vec<(Side, Vec<u8>)>) {
        let first = out.len();
        self.operate(now, out);
        self.inner.on_timer(now, out);
        self.narrow(now, first, out);
    }

    fn is_added(&self, frame: &[u8]) -> bool {
        let identity = identity(frame, self.boxes);
        self.forged.contains(&identity) || self.passed.contains(&identity)
    }

    fn is_forged(&self, frame: &[u8]) -> bool {
        self.forged.contains(&identity(frame, self.boxes))
    }

    fn held_packets(&self) -> usize {
        self.inner.held_packets()
    }

    fn counters(&self) -> Vec<(String, u64)> {
        self.inner.counters()
    }

    fn flow_infos(&self) -> Vec<FlowInfo> {
        self.inner.flow_infos()
    }
}
