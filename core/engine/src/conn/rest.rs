//! A connection that was governed when a bypass began. It is out of sight (`sight.rs`) until the bypass has ended, which
//! may be hours later. So its ends may have gone on by any number of bytes, and what they have said before says nothing.

use super::Conn;
use super::sight::Sight;
use crate::context::Context;
use crate::{PassReason, Pool};

impl Conn {
    /// Bypass is on: what waits is sent, and from here on everything passes. What was governed is kept for later.
    pub(crate) fn rest<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        // What is only introduced is out of sight already, and holds nothing.
        if self.is_only_introduced() {
            return;
        }
        let governed = self.flows.iter().flatten().any(|f| f.passing().is_none());
        let over = self.pass.is_some() && !self.is_resting();
        if !governed || !self.open || self.closed || over {
            return self.let_go(ctx, PassReason::Bypass);
        }
        self.break_off_transfers(ctx, PassReason::Bypass);
        for flow in self.flows.iter_mut().flatten() {
            flow.send_what_waits(ctx);
        }
        self.lose_sight(ctx);
        if let Some(copy) = self.syn_copy.take() {
            ctx.pool.free(copy.pkt);
        }
        let until = ctx.now + ctx.limits.idle_timeout;
        self.sight = Some(Box::new(Sight::lost(until)));
        self.pass = Some(PassReason::Bypass);
    }

    /// It was governed when a bypass began, and its ends have not been seen to agree since.
    pub(crate) fn is_resting(&self) -> bool {
        self.sight.is_some() && self.pass == Some(PassReason::Bypass)
    }
}
