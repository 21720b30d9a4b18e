//! Which checksums are whole, where the file has only headers.

use windlass_engine::Side;
use windlass_wire::{ChecksumState, FlowKey, Segment};

/// So many whole checksums show that their sender completes them.
const MANY: u64 = 64;
/// One whole checksum in 65,536 looks partial by chance. So many may look so before the sender is believed to leave them partial.
const BY_CHANCE: (u64, u64) = (1, 8_192);

/// Takes checksums for whole that look partial by chance. An end leaves all of them partial or none, on each interface where they are
/// seen.
pub(super) fn settle<'s>(segments: impl Iterator<Item = (&'s mut Segment, Side)>) {
    let mut segments: Vec<_> = segments.collect();
    segments.sort_by_key(|(segment, side)| sender(segment, *side));
    for of_one in segments.chunk_by_mut(|a, b| sender(a.0, a.1) == sender(b.0, b.1)) {
        let partial = |segment: &Segment| segment.checksum == ChecksumState::Partial;
        let partials = of_one
            .iter()
            .filter(|(segment, _)| partial(segment))
            .count() as u64;
        let whole = of_one.len() as u64 - partials;
        if whole >= MANY && partials <= BY_CHANCE.0 + whole / BY_CHANCE.1 {
            for (segment, _) in of_one {
                segment.checksum = ChecksumState::Full;
            }
        }
    }
}

/// Who has sent it, and where it was seen.
fn sender(segment: &Segment, side: Side) -> (FlowKey, usize) {
    (segment.key, side.index())
}
