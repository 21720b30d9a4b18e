//! What becomes of a connection when another policy takes charge.

use windlass_cc::Nanos;

use super::Conn;
use crate::counters::Counters;
use crate::decide::{Decide, Generation};
use crate::verdicts::Verdicts;
use crate::{Side, TenantId};

/// Another policy takes charge.
pub(crate) struct Change<'a> {
    pub policy: &'a dyn Decide,
    pub generation: Generation,
    /// The new number of each tenant.
    pub tenants: &'a [Option<TenantId>],
    pub now: Nanos,
    pub verdicts: &'a mut Verdicts,
    pub counters: &'a mut Counters,
}

impl Conn {
    /// What another policy says of the directions that are governed.
    pub(crate) fn adopt(&mut self, change: &mut Change<'_>) {
        self.bound = None;
        for side in [Side::Inside, Side::Outside] {
            // The number of a rule is of the old policy's.
            self.ends[side.index()].drawn = None;
            let verdict = change
                .policy
                .classify(&self.key_from(side), side, change.now);
            let Some(flow) = &mut self.flows[side.index()] else {
                continue;
            };
            match verdict {
                Some(verdict) => {
                    change.counters.flows_switched += u64::from(flow.adopt(&verdict, change))
                }
                None => flow.leave_alone(change),
            }
        }
    }
}
