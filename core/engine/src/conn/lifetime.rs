//! Timers of a connection, and how long it is kept.

use windlass_cc::Nanos;

use super::Conn;
use crate::context::Context;
use crate::{Pool, Side, Why};

impl Conn {
    /// Time has passed.
    pub(crate) fn on_timer<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        if let Some(copy) = self.syn_copy.take_if(|copy| copy.at <= ctx.now) {
            ctx.counters.copies += 1;
            ctx.emit_partial(copy.pkt, copy.to, copy.partial_at, Why::Copy);
        }
        let quiet_for = ctx.now - self.last_seen.min(ctx.now);
        for side in [Side::Inside, Side::Outside] {
            if let Some(flow) = &mut self.flows[side.index()] {
                flow.on_timer(ctx);
                if quiet_for >= ctx.limits.shrink_after {
                    flow.shrink();
                }
            }
            self.tell_latest();
        }
        self.tell_shown_edges();
        self.give_up_what_is_not_seen(ctx);
    }

    /// Its ends have closed it.
    pub(crate) fn closed(&self) -> bool {
        self.closed
    }

    /// Both ends have said so, or nothing has come for as long as a connection may be silent. One that is out of sight, or
    /// only passes here, may go on.
    pub(crate) fn has_ended(&self) -> bool {
        self.closed || (self.sight.is_none() && self.pass.is_none())
    }

    /// True once the connection may be forgotten.
    pub(crate) fn expired(&self, now: Nanos, limits: &crate::Limits) -> bool {
        now >= self.ends_at(limits)
    }

    fn ends_at(&self, limits: &crate::Limits) -> Nanos {
        match &self.sight {
            Some(sight) => sight.until,
            None => self.last_seen + self.lifetime(limits),
        }
    }

    fn lifetime(&self, limits: &crate::Limits) -> Nanos {
        let quiet = self
            .flows
            .iter()
            .flatten()
            .all(|f| f.quiet() || f.passing().is_some());
        if self.closed && quiet {
            limits.closed_linger
        } else if self.passes_for_good() {
            limits.handshake_timeout
        } else if self.open && self.ends.iter().all(|e| e.syn.is_some()) {
            limits.idle_timeout
        } else {
            limits.handshake_timeout
        }
    }

    /// When this connection wants to be called.
    pub(crate) fn poll_at(&self, now: Nanos, limits: &crate::Limits) -> Nanos {
        let mut at = self.ends_at(limits);
        let shrink_at = self.last_seen + limits.shrink_after;
        if shrink_at > now {
            at = at.min(shrink_at);
        }
        if let Some(copy) = &self.syn_copy {
            at = at.min(copy.at);
        }
        self.flows_poll_at().map_or(at, |flows| at.min(flows))
    }

    /// When its flows want to be called. Enough after a packet, as long as a call is planned that
    /// will look at the rest, and the connection has not come nearer to its end.
    pub(crate) fn flows_poll_at(&self) -> Option<Nanos> {
        self.flows
            .iter()
            .flatten()
            .filter_map(|f| f.poll_at())
            .min()
    }

    /// Its round trip is not much longer than a tick of the wheel.
    pub(crate) fn is_short(&self) -> bool {
        self.flows.iter().flatten().any(|flow| flow.is_short())
    }

    /// It has begun, and not ended: how long it is remembered does not change.
    pub(crate) fn steady(&self) -> bool {
        self.open && !self.closed && self.syn_copy.is_none() && self.sight.is_none()
    }
}
