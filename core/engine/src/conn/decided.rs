//! A packet for a connection, and what was decided about it.

use windlass_wire::Segment;

use super::Conn;
use crate::context::Context;
use crate::{Decision, Pkt, Pool, Side, Standing};

impl Conn {
    /// Takes a packet in, and says what was decided about it if somebody wants to know.
    pub(crate) fn decide_on<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        tells: bool,
        (from, segment, pkt): (Side, &Segment, Pkt),
    ) -> Option<Decision> {
        self.on_packet(ctx, from, segment, pkt);
        ctx.notices.name(self);
        tells.then(|| Decision {
            fate: ctx.fate,
            reason: ctx.passed,
            headers: segment.at.payload,
            standing: self.standing(from),
        })
    }

    /// How the flow stands that a packet from `from` acknowledges.
    fn standing(&self, from: Side) -> Option<Standing> {
        let flow = self.flows[from.other().index()].as_deref()?;
        flow.passing().is_none().then(|| flow.standing())
    }
}
