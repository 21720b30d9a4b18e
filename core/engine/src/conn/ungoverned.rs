//! Connections that policy wants governed, and that cannot be. A guest chooses the options of its connections; policy says whether
//! it leaves enforcement that way.

use serde::{Deserialize, Serialize};
use windlass_wire::{Flags, Segment};

use super::Conn;
use super::handshake::signature;
use crate::context::Context;
use crate::{Mode, PassReason, Pkt, Pool, Side, TenantId, Ungoverned};

/// What policy says of the packets of one end, where they cannot be governed.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Bound {
    ungoverned: Ungoverned,
    tenant: Option<TenantId>,
}

impl Conn {
    /// A packet to which nothing is done goes on, unless policy says otherwise.
    pub(super) fn pass_on<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        from: Side,
        segment: &Segment,
        pkt: Pkt,
        reason: PassReason,
    ) {
        if !self.may_pass(ctx, from, segment, pkt, reason) {
            return self.drop_ungoverned(ctx, segment, pkt);
        }
        ctx.pass(reason);
        ctx.emit(pkt, from.other(), segment);
    }

    /// Policy does not want this packet, and a handshake that it belongs to is none.
    pub(super) fn drop_ungoverned<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        segment: &Segment,
        pkt: Pkt,
    ) {
        ctx.swallow_ungoverned(pkt);
        if segment.flags.has(Flags::SYN) {
            // The ends have agreed on nothing yet. Their next SYN may come without the option (RFC 8684 §3.1, RFC 9768
            // §3.1.4), and is then the first one that counts.
            self.begin_anew(ctx);
        }
    }

    /// Whether it may go on. Only what is dropped or counted at a cap is changed by this.
    pub(super) fn may_pass<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        from: Side,
        segment: &Segment,
        pkt: Pkt,
        reason: PassReason,
    ) -> bool {
        if !PassReason::CHOSEN.contains(&reason) {
            return ctx.fits_unknown(reason, from, segment, pkt);
        }
        let bound = self.bound(ctx);
        let own = bound[from.index()];
        // A handshake that one end may not use is no handshake.
        let handshake = segment.flags.has(Flags::SYN);
        let forbids = |end: Bound| end.ungoverned == Ungoverned::Drop;
        if forbids(own) || handshake && forbids(bound[from.other().index()]) {
            return false;
        }
        if own.ungoverned != Ungoverned::Limit {
            return true;
        }
        let bytes = u64::from(segment.payload_len);
        bytes == 0 || ctx.fits(own.tenant, bytes, pkt)
    }

    /// A SYN-ACK that does not answer the SYN which is known here, where policy lets nobody leave enforcement: that SYN was dropped, or
    /// forgotten for another, or does not offer what the answer takes. What its ends agree on is not known. They send their SYNs again.
    pub(super) fn forbids_answer<P: Pool>(&self, ctx: &Context<'_, P>, segment: &Segment) -> bool {
        let answers = segment.flags.has(Flags::SYN.with(Flags::ACK));
        let forbids = |end: Bound| end.ungoverned == Ungoverned::Drop;
        // A handshake that has asked is kept whole, so this one does not note it.
        let bound = || self.bound.unwrap_or_else(|| self.find_bound(ctx));
        answers && self.gate.is_none() && bound().into_iter().any(forbids)
    }

    /// A SYN by which its sender would leave enforcement: it is signed or has data. It goes nowhere and changes nothing, or whoever
    /// sends it could make Windlass forget the one before. Linux sends a SYN with data again without them (RFC 7413 §4.1.3).
    pub(super) fn forbids_syn<P: Pool>(
        &mut self,
        ctx: &Context<'_, P>,
        from: Side,
        segment: &Segment,
    ) -> bool {
        let (signed, early) = (signature(segment).is_some(), segment.payload_len > 0);
        if !signed && !early {
            return false;
        }
        let bound = self.bound(ctx);
        let forbids = |side: Side| bound[side.index()].ungoverned == Ungoverned::Drop;
        forbids(from) || signed && forbids(from.other())
    }

    /// What policy says of both ends. Asked once, and again of another policy.
    fn bound<P: Pool>(&mut self, ctx: &Context<'_, P>) -> [Bound; 2] {
        let bound = self.bound.unwrap_or_else(|| self.find_bound(ctx));
        self.bound = Some(bound);
        bound
    }

    fn find_bound<P: Pool>(&self, ctx: &Context<'_, P>) -> [Bound; 2] {
        let of = |side| {
            let verdict = ctx.policy.classify(&self.key_from(side), side, ctx.now);
            let verdict = verdict.filter(|verdict| verdict.mode == Mode::Enforce);
            verdict.map_or(Bound::default(), |verdict| Bound {
                ungoverned: verdict.ungoverned,
                tenant: verdict.tenant,
            })
        };
        [Side::Inside, Side::Outside].map(of)
    }

    /// Its packets are wanted here although nothing is done to them.
    pub(super) fn is_bound(&self) -> bool {
        let binds = |bound: &Bound| bound.ungoverned != Ungoverned::Pass;
        self.bound.is_some_and(|bound| bound.iter().any(binds))
    }
}
