//! What is put on packets for the other box, and taken off those that come from it.

use windlass_wire::{Ecn, Editor, PeerOption, Segment, insert_option, parse, remove_option};

use crate::context::Context;
use crate::{Pkt, Pool};

/// The packet with this option, read again; `None`, with nothing changed, if there is no room.
pub(super) fn with_option<P: Pool>(
    ctx: &mut Context<'_, P>,
    segment: &Segment,
    pkt: Pkt,
    says: PeerOption,
) -> Option<Segment> {
    let (bytes, count) = says.bytes();
    let len = ctx.pool.len(pkt);
    if !ctx.pool.resize(pkt, len + count as u32) {
        return None;
    }
    let head = ctx.pool.head_mut(pkt);
    let longer = insert_option(head, len as usize, segment, &bytes[..count]);
    reread(ctx, segment, pkt, longer.unwrap_or(len as usize)).filter(|_| longer.is_some())
}

/// The packet without the option of a box, if it has one.
pub(super) fn without_option<P: Pool>(
    ctx: &mut Context<'_, P>,
    segment: &Segment,
    pkt: Pkt,
) -> Segment {
    let at = usize::from(segment.at.peer);
    if at == 0 {
        return *segment;
    }
    let len = ctx.pool.len(pkt) as usize;
    let head = ctx.pool.head_mut(pkt);
    let count = head.get(at + 1).map_or(0, |count| usize::from(*count));
    let shorter = remove_option(head, len, segment, at, count);
    shorter
        .and_then(|len| reread(ctx, segment, pkt, len))
        .unwrap_or(*segment)
}

/// Changes the ECN field.
pub(super) fn set_ecn<P: Pool>(
    ctx: &mut Context<'_, P>,
    segment: &mut Segment,
    pkt: Pkt,
    ecn: Ecn,
) {
    Editor::new(ctx.pool.head_mut(pkt), segment).set_ecn(ecn);
    segment.ecn = ecn;
}

/// The packet at its new length. Whether its checksum is partial is known from before.
fn reread<P: Pool>(
    ctx: &mut Context<'_, P>,
    before: &Segment,
    pkt: Pkt,
    len: usize,
) -> Option<Segment> {
    ctx.pool.resize(pkt, len as u32);
    let mut segment = parse(ctx.pool.head(pkt), len as u32).ok()?;
    segment.checksum = before.checksum;
    Some(segment)
}
