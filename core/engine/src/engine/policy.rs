//! Another policy takes charge.

use super::Engine;
use crate::Nanos;
use crate::conn::{Change, Folded};
use crate::decide::{Decide, Generation};
use crate::tenants::{self, Bounded, Bounds, Senders};

impl Engine {
    /// Puts another policy in charge: of new connections altogether, of those that run in what can
    /// change under way, which is algorithm, conditions, copies and caps. Mode and head-room stay as they began. A flow
    /// that the new policy leaves alone keeps its algorithm, and its tenant if there is still one of that name; the
    /// conditions and comparisons of the old policy have gone with it.
    pub fn set_policy(&mut self, policy: Box<dyn Decide>, now: Nanos) {
        self.policy = policy;
        self.take_up_policy(now);
    }

    /// The policy is another one than that of which tenants and flows have their numbers.
    pub(super) fn take_up_policy(&mut self, now: Nanos) {
        let policy = &*self.policy;
        let told = policy.tenants();
        let tenants = tenants::open(&told, &self.tenants);
        let renamed = tenants::renamed(&self.tenants, &tenants);
        let generation = Generation(self.generation.0.wrapping_add(1));
        self.generation = generation;
        let mut change = Change {
            policy,
            generation,
            tenants: &renamed,
            now,
            verdicts: &mut self.verdicts,
            counters: &mut self.counters,
        };
        for (_, conn) in self.conns.iter_mut() {
            conn.adopt(&mut change);
        }
        self.half_open.iter_mut().for_each(Folded::forget_drawn);
        self.tenants = tenants;
        self.bounded = Bounded::of(&told);
        self.news.notices.take_up(self.policy.edition());
    }

    /// Whose packets are to come here although they belong to no flow, since policy bounds them.
    pub fn bounded_senders(&self) -> impl Iterator<Item = (Senders, Bounds)> {
        self.bounded.senders()
    }
}
