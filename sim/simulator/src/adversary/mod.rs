//! An adversary around a box: somebody who forges segments, a link that damages them, packets that
//! take another way or do not fit, a box that dies, is replaced, by-passed or given another policy.
//!
//! What it adds is what the end that it is for drops (RFC 9293 §3.10.7, RFC 5961, RFC 7323), so a run
//! with a box must come out as it does without one.

mod forging;
mod handshake;
mod identity;
mod noise;
mod operation;
mod path;
mod plan;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use windlass_cc::Nanos;
use windlass_engine::Side;
use windlass_wire::{Flags, FlowKey, Segment, parse};

pub use noise::Noise;
pub use operation::{Operated, Operation, Station};
pub use path::{Detour, Narrowing};
pub use plan::{KINDS, Plan};

use crate::damage::{ETHERNET_BYTES, flip, is_right};
use crate::node::Middlebox;
use crate::rng::Rng;
use forging::Forger;
pub(crate) use identity::{Identity, identity};

/// True frames that are remembered, to be repeated later.
const REMEMBERED: usize = 64;

/// A box, and the adversary around it.
pub struct Adversary<M> {
    inner: M,
    plan: Plan,
    rng: Rng,
    /// There are two boxes, which talk to each other.
    boxes: bool,
    /// Frames that no end has sent, of all adversaries of the run.
    forged: Rc<RefCell<BTreeSet<Identity>>>,
    /// Frames that the box has not seen, or that come once more: they leave as they came, too.
    passed: BTreeSet<Identity>,
    seen: Vec<(Side, Vec<u8>)>,
    /// Ends that have said more than SYNs, and how far they have got.
    open: BTreeMap<FlowKey, u32>,
    operations: usize,
    restarted: bool,
}

impl<M: Operated> Adversary<M> {
    /// Around `inner`; `seed` decides about all chance.
    pub fn new(inner: M, plan: Plan, seed: u64) -> Self {
        Adversary {
            inner,
            plan,
            rng: Rng::new(seed, 0xadef),
            boxes: false,
            forged: Rc::default(),
            passed: BTreeSet::new(),
            seen: Vec::new(),
            open: BTreeMap::new(),
            operations: 0,
            restarted: false,
        }
    }

    /// One around each of two boxes: the near one, and the one beside the clients.
    pub fn pair([near, far]: [M; 2], plan: Plan, seed: u64) -> [Self; 2] {
        let far_plan = plan.far.as_deref().cloned().unwrap_or_default();
        let near = Adversary {
            boxes: true,
            ..Adversary::new(near, plan, seed)
        };
        let far = Adversary {
            boxes: true,
            forged: near.forged.clone(),
            ..Adversary::new(far, far_plan, !seed)
        };
        [near, far]
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
        let identity = identity(&frame, self.boxes);
        self.forged.borrow_mut().insert(identity);
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
            0 => frame.truncate(self.rng.between(ETHERNET_BYTES as u64, last) as usize),
            1 => frame.resize(frame.len() + self.rng.between(1, 40) as usize, 0),
            _ => flip(&mut frame, &mut self.rng),
        }
        frame
    }

    /// How far an end has got.
    fn note(&mut self, segment: &Segment) {
        if !segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::RST) {
            let end = segment.seq.wrapping_add(segment.seq_len());
            let newest = self.open.entry(segment.key).or_insert(end);
            if (end.wrapping_sub(*newest) as i32) > 0 {
                *newest = end;
            }
        }
    }

    /// Whatever is forged after a true segment, which has just passed.
    fn forge(&mut self, now: Nanos, from: Side, model: &Segment, out: &mut Vec<(Side, Vec<u8>)>) {
        let syn = model.flags.has(Flags::SYN);
        let open = self.open.contains_key(&model.key.reversed());
        let (blind, seeing) = (self.plan.blind, self.plan.seeing);
        if !syn && self.rng.chance(blind) {
            let forged = self.forger(model, open).blindly(model);
            self.add(now, from, forged, out);
        }
        if !syn && self.rng.chance(seeing) {
            let forged = self.forger(model, open).seeing(model);
            self.add(now, from, forged, out);
        }
        if syn || !open {
            let most = self.plan.handshake;
            let count = most as u64 + u64::from(self.rng.chance(most.fract()));
            for _ in 0..count {
                let (back, forged) = self.forger(model, open).in_handshake(model);
                let from = if back { from.other() } else { from };
                self.add(now, from, forged, out);
            }
        }
    }

    fn forger(&mut self, model: &Segment, open: bool) -> Forger<'_> {
        Forger {
            end: self.open.get(&model.key).copied(),
            rng: &mut self.rng,
            boxes: self.boxes,
            open,
            restarted: self.restarted,
        }
    }

    /// What is due befalls the box.
    fn operate(&mut self, now: Nanos, out: &mut Vec<(Side, Vec<u8>)>) {
        while let Some((at, operation)) = self.plan.operations.get(self.operations).copied()
            && now >= at
        {
            self.operations += 1;
            self.restarted |= matches!(operation, Operation::Kill | Operation::Restart);
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
        let segment = parse(&frame, frame.len() as u32).ok();
        let true_one = |frame: &[u8]| !(self.boxes && self.is_forged(frame));
        let Some(segment) = segment.filter(|_| true_one(&frame)) else {
            return self.put(now, from, frame, out);
        };
        let syn = segment.flags.has(Flags::SYN);
        self.note(&segment);
        if self.rng.chance(self.plan.damage) {
            let damaged = self.damaged(frame);
            match is_right(&damaged) {
                // A mark, padding, a field of the IP header: it is still what its end has said.
                true => self.put(now, from, damaged, out),
                false => self.add(now, from, damaged, out),
            }
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
        let forged = self.forged.borrow();
        if forged.is_empty() && self.passed.is_empty() {
            return false;
        }
        let identity = identity(frame, self.boxes);
        forged.contains(&identity) || self.passed.contains(&identity)
    }

    fn is_forged(&self, frame: &[u8]) -> bool {
        let forged = self.forged.borrow();
        !forged.is_empty() && forged.contains(&identity(frame, self.boxes))
    }

    fn around(&self) -> Option<&dyn Middlebox> {
        Some(&self.inner)
    }
}
