//! What links have damaged: no end believes it, so no box may, and it leaves a box as it came.

use std::collections::BTreeSet;

use crate::adversary::{Identity, identity};
use crate::damage::is_right;

/// Frames that are no longer what an end has sent.
#[derive(Default)]
pub(super) struct Damaged {
    /// Of those that went into a box.
    frames: BTreeSet<Identity>,
    /// There are two boxes.
    boxes: bool,
    count: u64,
}

impl Damaged {
    /// A link has damaged `frame`.
    pub fn note(&mut self, frame: &[u8], to_box: bool, boxes: bool) {
        self.count += 1;
        self.boxes = boxes;
        if to_box && !is_right(frame) {
            self.frames.insert(identity(frame, boxes));
        }
    }

    /// Whether a link has damaged this very frame before a box.
    pub fn has(&self, frame: &[u8]) -> bool {
        !self.frames.is_empty() && self.frames.contains(&identity(frame, self.boxes))
    }

    /// Frames noted.
    pub fn count(&self) -> u64 {
        self.count
    }
}
