//! What befalls a box: it is killed, started again, by-passed, or given another policy.

use windlass_cc::{MILLISECOND, Nanos};
use windlass_engine::{Decide, Limits, Side};

use super::plan::when;
use crate::node::Middlebox;
use crate::rng::Rng;
use crate::{EngineBox, NoBox};

/// Policies that a box may be given, its first included.
const POLICIES: u64 = 4;

/// Something that is done to a box.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// It dies like a process that is killed, and everything is forwarded from then on.
    Kill,
    /// The same, and another takes its place at once, which knows nothing.
    Restart,
    /// Enforcement is turned off, or on again.
    Bypass(bool),
    /// The policy of this number is put in charge.
    Reload(u64),
}

/// A box that things befall.
pub trait Operated: Middlebox {
    /// It happens now. What leaves at once is appended to `out`.
    fn operate(&mut self, now: Nanos, operation: Operation, out: &mut Vec<(Side, Vec<u8>)>);
}

impl<M: Operated + ?Sized> Operated for Box<M> {
    fn operate(&mut self, now: Nanos, operation: Operation, out: &mut Vec<(Side, Vec<u8>)>) {
        (**self).operate(now, operation, out);
    }
}

impl Operated for NoBox {
    fn operate(&mut self, _: Nanos, _: Operation, _: &mut Vec<(Side, Vec<u8>)>) {}
}

/// The engine, as it is operated: with a policy for each number, and another engine after a restart.
pub struct Station {
    running: EngineBox,
    policies: Box<dyn Fn(u64) -> Box<dyn Decide>>,
    policy: u64,
    seed: u64,
}

impl Station {
    /// A box under policy number 0.
    pub fn new(policies: Box<dyn Fn(u64) -> Box<dyn Decide>>, seed: u64) -> Self {
        Station {
            running: EngineBox::new(policies(0), Limits::default(), seed),
            policies,
            policy: 0,
            seed,
        }
    }

    /// What runs now.
    pub fn running(&self) -> &EngineBox {
        &self.running
    }
}

impl Operated for Station {
    fn operate(&mut self, now: Nanos, operation: Operation, out: &mut Vec<(Side, Vec<u8>)>) {
        match operation {
            Operation::Kill => self.running.kill(),
            Operation::Restart => {
                let policy = (self.policies)(self.policy);
                self.seed = self.seed.wrapping_add(1);
                self.running = EngineBox::new(policy, Limits::default(), self.seed);
            }
            Operation::Bypass(on) => self.running.set_bypass(on, now, out),
            Operation::Reload(number) => {
                self.policy = number;
                self.running.set_policy((self.policies)(number), now);
            }
        }
    }
}

impl Middlebox for Station {
    fn on_frame(&mut self, now: Nanos, from: Side, frame: Vec<u8>, out: &mut Vec<(Side, Vec<u8>)>) {
        self.running.on_frame(now, from, frame, out);
    }

    fn poll_at(&self) -> Option<Nanos> {
        self.running.poll_at()
    }

    fn on_timer(&mut self, now: Nanos, out: &mut Vec<(Side, Vec<u8>)>) {
        self.running.on_timer(now, out);
    }

    fn around(&self) -> Option<&dyn Middlebox> {
        Some(&self.running)
    }
}

impl Operation {
    /// Other policies, and the first again.
    pub(super) fn reloads(rng: &mut Rng) -> Vec<(Nanos, Operation)> {
        repeated(rng, |rng, _| {
            Operation::Reload(rng.between(0, POLICIES - 1))
        })
    }

    /// Off and on, or off for good.
    pub(super) fn bypasses(rng: &mut Rng) -> Vec<(Nanos, Operation)> {
        repeated(rng, |_, index| Operation::Bypass(index % 2 == 0))
    }

    /// One or several.
    pub(super) fn restarts(rng: &mut Rng) -> Vec<(Nanos, Operation)> {
        repeated(rng, |_, _| Operation::Restart)
    }

    /// Whatever may befall a box in its life, or nothing.
    pub(super) fn random(rng: &mut Rng) -> Vec<(Nanos, Operation)> {
        if rng.chance(0.3) {
            return Vec::new();
        }
        repeated(rng, |rng, _| match rng.between(0, 9) {
            0 => Operation::Kill,
            1 | 2 => Operation::Restart,
            3 => Operation::Bypass(true),
            4 | 5 => Operation::Bypass(false),
            _ => Operation::Reload(rng.between(0, POLICIES - 1)),
        })
    }
}

/// One to five operations, in order of time.
fn repeated(
    rng: &mut Rng,
    mut each: impl FnMut(&mut Rng, u64) -> Operation,
) -> Vec<(Nanos, Operation)> {
    let count = rng.between(1, 5);
    let mut at = when(rng);
    (0..count)
        .map(|index| {
            let operation = (at, each(rng, index));
            at += rng.log_between(1.0, 3000.0) as Nanos * MILLISECOND;
            operation
        })
        .collect()
}
