//! How an end leaves its checksums: whole, or for the interface to complete.

use windlass_wire::{ChecksumState, Segment};

use super::Conn;
use crate::Side;

/// After so many whole checksums one that looks partial is doubted.
const MANY: u8 = 8;

impl Conn {
    /// Whether the checksum of a segment that comes from `from` looks partial and most likely is not. An end leaves all of them partial or
    /// none, and one of 65,536 damaged segments looks partial by chance: whoever completes its checksum makes wrong bytes look right. The
    /// next one that looks so is believed: the end has changed its ways.
    pub(crate) fn doubts_checksum(&mut self, from: Side, segment: &Segment) -> bool {
        let whole = &mut self.ends[from.index()].whole_checksums;
        match segment.checksum {
            ChecksumState::Full if *whole < MANY => *whole += 1,
            ChecksumState::Full => {}
            ChecksumState::Partial => return core::mem::take(whole) == MANY,
        }
        false
    }
}
