//! Another policy, or another algorithm, for a flow that runs.

use windlass_cc::Settings;

use super::Flow;
use crate::conn::Change;
use crate::maybe::Maybe;
use crate::verdicts::Verdicts;
use crate::{TenantId, Verdict};

impl Flow {
    /// Takes over algorithm, conditions, copies and caps from another verdict. True if the algorithm
    /// is another one, or set otherwise. With conditions, the next ACK shows which one it is to be.
    pub(crate) fn adopt(&mut self, verdict: &Verdict, change: &mut Change<'_>) -> bool {
        self.generation = change.generation;
        (self.pacing.turn, self.pacing.turn_left) = (Maybe::NONE, 0);
        if self.copies.get().is_none() && verdict.redundancy.first_segments > 0 {
            let sent = self.board.sent_nxt() / u64::from(self.host.path().mss.max(1));
            self.copies.edit().begin_after(sent);
        }
        let compared = verdict.arm.is_some();
        let switching = match compared {
            true => self.verdict.switching,
            false => verdict.switching,
        };
        self.verdict = change.verdicts.keep(Verdict {
            redundancy: verdict.redundancy,
            cap: verdict.cap,
            tenant: verdict.tenant,
            priority: verdict.priority,
            rule: verdict.rule,
            switching,
            // Who takes part in a comparison is settled when a flow begins, and its numbers are of the old policy's.
            arm: None,
            drawn: None,
            ..*self.verdict
        });
        if compared {
            return false;
        }
        self.forget_list();
        switching.is_none() && self.switch(verdict.algorithm, change.verdicts)
    }

    /// No rule is for this flow any more: nothing of what numbers say in another policy may meet it.
    pub(crate) fn leave_alone(&mut self, change: &mut Change<'_>) {
        self.generation = change.generation;
        (self.pacing.turn, self.pacing.turn_left) = (Maybe::NONE, 0);
        let renamed = |id: TenantId| *change.tenants.get(usize::from(id.0))?;
        self.verdict = change.verdicts.keep(Verdict {
            tenant: self.verdict.tenant.and_then(renamed),
            rule: None,
            arm: None,
            switching: None,
            drawn: None,
            ..*self.verdict
        });
        self.forget_list();
    }

    /// Puts an algorithm in charge, which starts from what is known of the path
    /// (`Controller::switch`). False if it is the one in charge, set in the same way.
    pub(super) fn switch(&mut self, algorithm: Settings, verdicts: &mut Verdicts) -> bool {
        if self.verdict.algorithm == algorithm {
            return false;
        }
        self.verdict = verdicts.keep(Verdict {
            algorithm,
            ..*self.verdict
        });
        let seed = self.setup.seed ^ self.board.una();
        self.host.switch(algorithm, self.board.inflight(), seed);
        true
    }
}
