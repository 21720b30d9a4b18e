//! Which segments their receiver would take (RFC 9293 §3.10.7.4): only those say anything.

use windlass_wire::Segment;

use super::Flow;
use crate::seq;

impl Flow {
    /// A segment of the receiver of this flow's data, seen by their sender. Beyond its window it
    /// would be ignored whole. (Old ones are taken: what they acknowledge is old as well.)
    pub(crate) fn takes_from_receiver(&self, segment: &Segment) -> bool {
        !seq::later(segment.seq, self.sender_edge)
    }

    /// A reset of the receiver ends the connection only within the sender's window (RFC 5961 §3.2).
    pub(crate) fn takes_reset_from_receiver(&self, segment: &Segment) -> bool {
        self.takes_from_receiver(segment) && !seq::later(self.latest.ack, segment.seq)
    }

    /// A reset of the sender, seen by the receiver.
    pub(crate) fn takes_reset_from_sender(&self, segment: &Segment) -> bool {
        seq::offset(self.setup.iss, segment.seq, self.una)
            .is_some_and(|at| at >= self.una && at <= self.receiver_edge.max(self.nxt))
    }

    /// A segment of the sender that begins far beyond the edge it has been shown is damaged or
    /// forged: the receiver will not take it.
    pub(super) fn far_beyond_edge(&self, start: u64) -> bool {
        start
            > self.feedback.edge.max(self.receiver_edge)
                + BEYOND_SEGMENTS * u64::from(self.path.mss)
    }

    /// A sender that goes on beyond the edge it has been shown here has been shown another, by ACKs
    /// that take another way.
    pub(super) fn goes_beyond_shown_edge(&self, end: u64) -> bool {
        let probe = BEYOND_SEGMENTS * u64::from(self.path.mss);
        self.enforcing() && end > self.feedback.edge + probe
    }

    /// What the sender says of its own window moves the edge up to which it takes segments.
    pub(super) fn note_sender_window(&mut self, segment: &Segment) {
        let edge = segment
            .ack
            .wrapping_add(u32::from(segment.window) << self.setup.sender_scale);
        if seq::later(edge, self.sender_edge) {
            self.sender_edge = edge;
        }
    }
}

/// A window probe may lie just beyond the edge, segments.
const BEYOND_SEGMENTS: u64 = 2;
