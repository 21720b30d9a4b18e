//! An adversary around a box: somebody who forges segments, a link that damages them, packets that
//! take another way, a box that dies.
//!
//! What it adds is what the end that it is for drops (RFC 9293 §3.10.7.4, RFC 5961, RFC 7323), so a run
//! with a box must come out as it does without one.

use std::collections::BTreeSet;

use windlass_cc::{MILLISECOND, Nanos};
use windlass_engine::{FlowInfo, Side};
use windlass_wire::{Flags, FrameSpec, OptionWriter, Segment, Timestamps, parse};

use crate::node::Middlebox;
use crate::rng::Rng;

/// True frames that are remembered, to be repeated later.
const REMEMBERED: usize = 64;
/// The Ethernet header: a bridge would drop what is damaged there.
const ETHERNET_BYTES: u64 = 14;

/// What an adversary does, and how often.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Plan {
    /// Forged segments by somebody who sees nothing but addresses and ports, for each true one.
    pub blind: f64,
    /// Forged segments by somebody who sees every segment and cannot hold it back.
    pub seeing: f64,
    /// Share of true segments that a bit is flipped in, or that are cut or padded.
    pub damage: f64,
    /// True segments that come once more, later, for each true one.
    pub repeats: f64,
    /// From here on, and until then, what the clients send does not come through the box, ns.
    pub diverted: Option<(Nanos, Nanos)>,
    /// The box is killed, and everything is forwarded from then on, ns.
    pub killed_at: Option<Nanos>,
}

/// A box that dies at a given time.
pub trait Mortal: Middlebox {
    /// Whatever it holds is gone; it forwards from here on.
    fn die(&mut self);
}

impl Mortal for crate::Wire {
    fn die(&mut self) {}
}

impl Mortal for crate::EngineBox {
    fn die(&mut self) {
        self.kill();
    }
}

/// A box, and the adversary around it.
pub struct Adversary<M> {
    inner: M,
    plan: Plan,
    rng: Rng,
    /// Frames that no end has sent, or that no box has seen: they must leave as they came.
    added: BTreeSet<Vec<u8>>,
    seen: Vec<(Side, Vec<u8>)>,
    dead: bool,
}

impl<M: Mortal> Adversary<M> {
    /// Around `inner`; `seed` decides about all chance.
    pub fn new(inner: M, plan: Plan, seed: u64) -> Self {
        Adversary {
            inner,
            plan,
            rng: Rng::new(seed, 0xadef),
            added: BTreeSet::new(),
            seen: Vec::new(),
            dead: false,
        }
    }

    /// The box.
    pub fn inner(&self) -> &M {
        &self.inner
    }

    fn put(&mut self, now: Nanos, from: Side, frame: Vec<u8>, out: &mut Vec<(Side, Vec<u8>)>) {
        let diverted = self
            .plan
            .diverted
            .is_some_and(|(from, to)| (from..to).contains(&now));
        if diverted && from == Side::Outside {
            // What a box has not seen it has not shown.
            self.added.insert(frame.clone());
            return out.push((Side::Inside, frame));
        }
        self.inner.on_frame(now, from, frame, out);
    }

    fn add(&mut self, now: Nanos, from: Side, frame: Vec<u8>, out: &mut Vec<(Side, Vec<u8>)>) {
        self.added.insert(frame.clone());
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

    /// A segment that has nothing right but its addresses.
    fn forged_blindly(&mut self, model: &Segment) -> Vec<u8> {
        let (seq, ack) = (self.far(model.seq), self.rng.bits() as u32);
        let flags = [
            Flags::ACK,
            Flags::ACK,
            Flags::ACK.with(Flags::FIN),
            Flags::ACK.with(Flags::ECE),
            Flags::ACK.with(Flags::URG),
            Flags::RST,
            Flags::RST.with(Flags::ACK),
            Flags(0),
        ];
        let flags = flags[self.rng.between(0, 7) as usize];
        self.forge(model, (seq, ack), flags)
    }

    /// A segment by somebody who has seen the true one, wrong in a single thing.
    fn forged_seeing(&mut self, model: &Segment) -> Vec<u8> {
        let ack = model.ack;
        let far = self.far(model.seq);
        match self.rng.between(0, 6) {
            0 => self.forge(model, (far, ack.wrapping_add(20_000)), Flags::ACK),
            1 => self.forge(model, (far, ack), Flags::ACK.with(Flags::ECE)),
            2 => self.forge(model, (model.seq, ack), Flags(0)),
            3 => self.forge(model, (model.seq, ack.wrapping_add(1 << 30)), Flags::ACK),
            4 => self.forge(model, (far, ack), Flags::RST),
            5 => self.forge(model, (far, ack), Flags::ACK.with(Flags::FIN)),
            _ => {
                let mut frame = self.forge(model, (model.seq, ack.wrapping_add(5000)), Flags::ACK);
                // A checksum that is wrong by one bit.
                frame[usize::from(model.at.tcp) + 17] ^= 1;
                frame
            }
        }
    }

    /// A number outside of every window.
    fn far(&mut self, seq: u32) -> u32 {
        let away = self.rng.between(1 << 30, (1 << 31) - (1 << 30) / 2) as u32;
        match self.rng.chance(0.5) {
            true => seq.wrapping_sub(away),
            false => seq.wrapping_add(away),
        }
    }

    fn forge(&mut self, model: &Segment, (seq, ack): (u32, u32), flags: Flags) -> Vec<u8> {
        let mut options = OptionWriter::new();
        if let Some(true_stamps) = model.options.timestamps {
            // On its fast path Linux keeps the timestamp of segments that it drops for their ACK number.
            let ahead = match seq == model.seq {
                true => 0,
                false => [0, 0, 1000, 1 << 30][self.rng.between(0, 3) as usize],
            };
            options = options.nop().nop().timestamps(Timestamps {
                val: true_stamps.val.wrapping_add(ahead),
                ..true_stamps
            });
        }
        if self.rng.chance(0.3) {
            let left = ack.wrapping_add(self.rng.between(1, 100_000) as u32);
            let right = left.wrapping_add(self.rng.between(1, 100_000) as u32);
            options = options.nop().nop().sack(&[(left, right)]);
        }
        let len = [0, 0, 1, 100, 1400][self.rng.between(0, 4) as usize];
        let window = [0, 1, model.window, u16::MAX][self.rng.between(0, 3) as usize];
        FrameSpec {
            key: model.key,
            seq,
            ack,
            flags,
            window,
            options: options.into(),
            payload: vec![0xbd; len],
            ..FrameSpec::default()
        }
        .build()
    }
}

impl<M: Mortal> Middlebox for Adversary<M> {
    fn on_frame(&mut self, now: Nanos, from: Side, frame: Vec<u8>, out: &mut Vec<(Side, Vec<u8>)>) {
        if !self.dead && self.plan.killed_at.is_some_and(|at| now >= at) {
            self.dead = true;
            self.inner.die();
        }
        let Ok(segment) = parse(&frame, frame.len() as u32) else {
            return self.put(now, from, frame, out);
        };
        // SYNs that are forged are answered by any end that listens, box or not.
        let syn = segment.flags.has(Flags::SYN);
        if self.rng.chance(self.plan.damage) {
            let damaged = self.damaged(frame.clone());
            self.add(now, from, damaged, out);
        } else {
            if !syn {
                self.remember(from, &frame);
            }
            self.put(now, from, frame, out);
        }
        if !syn && self.rng.chance(self.plan.blind) {
            let forged = self.forged_blindly(&segment);
            self.add(now, from, forged, out);
        }
        if !syn && self.rng.chance(self.plan.seeing) {
            let forged = self.forged_seeing(&segment);
            self.add(now, from, forged, out);
        }
        if self.rng.chance(self.plan.repeats) && !self.seen.is_empty() {
            let place = self.rng.between(0, self.seen.len() as u64 - 1) as usize;
            let (from, frame) = self.seen[place].clone();
            self.add(now, from, frame, out);
        }
    }

    fn poll_at(&self) -> Option<Nanos> {
        let dies_at = self.plan.killed_at.filter(|_| !self.dead);
        [self.inner.poll_at(), dies_at].into_iter().flatten().min()
    }

    fn on_timer(&mut self, now: Nanos, out: &mut Vec<(Side, Vec<u8>)>) {
        if !self.dead && self.plan.killed_at.is_some_and(|at| now >= at) {
            self.dead = true;
            self.inner.die();
        }
        self.inner.on_timer(now, out);
    }

    fn is_added(&self, frame: &[u8]) -> bool {
        self.added.contains(frame)
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

impl Plan {
    /// The plan number `seed`: each kind of trouble alone, or all at once, from the first second on.
    pub fn of_seed(seed: u64) -> Plan {
        let mut rng = Rng::new(seed, 0xad1e);
        let mut some = |most: f64| rng.log_between(most / 30.0, most);
        let (blind, seeing, repeats) = (some(0.3), some(0.3), some(0.2));
        let damage = some(0.01);
        let when = |rng: &mut Rng| rng.log_between(50.0, 5000.0) as Nanos * MILLISECOND;
        let (from, lasts) = (when(&mut rng), when(&mut rng));
        let none = Plan::default();
        match seed % 7 {
            0 => Plan { blind, ..none },
            1 => Plan { seeing, ..none },
            2 => Plan { damage, ..none },
            3 => Plan { repeats, ..none },
            4 => Plan {
                diverted: Some((from, from + lasts)),
                ..none
            },
            5 => Plan {
                blind,
                seeing,
                damage,
                repeats,
                killed_at: Some(from),
                diverted: None,
            },
            _ => Plan {
                blind,
                seeing,
                damage,
                repeats,
                ..none
            },
        }
    }
}
