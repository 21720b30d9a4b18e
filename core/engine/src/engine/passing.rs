//! What goes on as it is.

use windlass_wire::{Segment, Unparsed, other_packet, partial_checksum};

use super::Engine;
use crate::decision::{Decision, Fate, Why};
use crate::{Nanos, PassReason, Pkt, Pool, Side, Tx, TxChecksum};

impl Engine {
    /// A segment of a connection that is not known here, or that cannot be believed.
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
        ctx.pass_on(reason, from.other(), segment, pkt);
        Decision {
            fate: ctx.fate,
            reason: Some(reason),
            headers: segment.at.payload,
            standing: None,
        }
    }

    /// What is no TCP segment, or cannot be read, goes on, unless it is beyond its tenant's limit.
    pub(super) fn take_unparsed<P: Pool>(
        &mut self,
        now: Nanos,
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
        let readable = matches!(why, Unparsed::NotTcp | Unparsed::Fragment);
        if readable && !self.bounded.is_empty() && !self.fits_without_tcp(now, pkt, pool, out) {
            self.counters.non_tcp_dropped += 1;
            pool.free(pkt);
            return Decision {
                fate: Fate::Ungoverned,
                reason: None,
                headers: 0,
                standing: None,
            };
        }
        self.counters.pass(reason);
        self.forward(from, pkt, pool, out);
        Decision {
            fate: Fate::Passed,
            reason: Some(reason),
            headers: 0,
            standing: None,
        }
    }

    /// Whether a packet that is no TCP segment may go on, by the limit of its tenant, against which it counts then.
    fn fits_without_tcp<P: Pool>(
        &mut self,
        now: Nanos,
        pkt: Pkt,
        pool: &mut P,
        out: &mut Vec<Tx>,
    ) -> bool {
        let packet = other_packet(pool.head(pkt), pool.len(pkt)).filter(|other| !other.is_icmp());
        let Some(packet) = packet.filter(|_| !self.told.bypass) else {
            return true;
        };
        let tenant = self.bounded.tenant_of(packet.src, |bounds| bounds.non_tcp);
        let (mut ctx, ..) = self.split(now, pool, out);
        ctx.fits(tenant, u64::from(packet.len), pkt)
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
