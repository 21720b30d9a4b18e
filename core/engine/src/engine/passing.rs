//! What goes on as it is.

use windlass_wire::{Segment, Unparsed, partial_checksum};

use super::Engine;
use crate::decision::{Decision, Fate, Why};
use crate::{Nanos, PassReason, Pkt, Pool, Side, Tx, TxChecksum};

impl Engine {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn pass<P: Pool>(
        &mut self,
        reason: PassReason,
        from: Side,
        segment: &Segment,
        pkt: Pkt,
        pool: &mut P,
        out: &mut Vec<Tx>,
        now: Nanos,
    ) -> Decision {
        let (mut ctx, ..) = self.split(now, pool, out);
        ctx.pass(reason);
        ctx.emit(pkt, from.other(), segment);
        Decision {
            fate: Fate::Passed,
            reason: Some(reason),
            headers: segment.at.payload,
            standing: None,
        }
    }

    pub(super) fn pass_unparsed<P: Pool>(
        &mut self,
        why: Unparsed,
        from: Side,
        pkt: Pkt,
        pool: &mut P,
        out: &mut Vec<Tx>,
    ) -> Decision {
        let reason = match why {
            Unparsed::NotIp => PassReason::NotIp,
            Unparsed::NotTcp => PassReason::NotTcp,
            Unparsed::Fragment => PassReason::Fragment,
            Unparsed::Malformed(_) => PassReason::Malformed,
        };
        self.counters.pass(reason);
        self.forward(from, pkt, pool, out);
        Decision {
            fate: Fate::Passed,
            reason: Some(reason),
            headers: 0,
            standing: None,
        }
    }

    /// Sends a packet on as it is, and does not look at what it says.
    pub fn forward<P: Pool>(&self, from: Side, pkt: Pkt, pool: &P, out: &mut Vec<Tx>) {
        let possible = self.told.partial[from.index()];
        let checksum = match partial_checksum(pool.head(pkt), pool.len(pkt)) {
            Some((start, offset)) if possible => TxChecksum::Partial { start, offset },
            _ => TxChecksum::Done,
        };
        out.push(Tx {
            pkt,
            to: from.other(),
            checksum,
            why: Why::Forwarded,
        });
    }
}
