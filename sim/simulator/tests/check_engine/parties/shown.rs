//! What an end has been shown so far, in the order in which it left the last box: nothing goes back.

use windlass_wire::{Flags, Segment};

use super::end::{End, after, later_of};

/// Toward one end.
#[derive(Default, Debug)]
pub struct Shown {
    /// Number, acknowledgement and edge of the newest.
    newest: Option<(u32, u32, u32)>,
    tsval: Option<u32>,
}

impl Shown {
    /// A segment leaves for `to`. What its peer has said in these very words is the peer's to answer for,
    /// the rest `must_hold`.
    pub fn note(&mut self, segment: &Segment, to: &End, must_hold: bool) {
        let no_answer = Flags(Flags::SYN.0 | Flags::RST.0);
        if !segment.flags.has(Flags::ACK) || segment.flags.0 & no_answer.0 != 0 {
            return;
        }
        // Its receiver has not taken the TSval of what lies beyond a gap (RFC 7323 §4.3), or drops this as old.
        let overtaken = |(seq, _, _)| after(seq, segment.seq);
        let overtaken = self.newest.is_some_and(overtaken);
        self.note_edge(segment, to.agreed.others_scale, must_hold);
        let Some(stamps) = segment.options.timestamps else {
            return;
        };
        let before = self.tsval.unwrap_or(stamps.val);
        assert!(
            !must_hold || overtaken || segment.seq_len() > 0 || !after(before, stamps.val),
            "TSval after {before}: {segment:?}"
        );
        // What begins where the window ends brings nothing, its TSval neither.
        let probes = segment.seq_len() > 0 && !after(to.rcv_edge, segment.seq);
        if !probes {
            self.tsval = Some(later_of(before, stamps.val));
        }
    }

    /// Nobody takes a window from a segment that is older than one that has been taken.
    fn note_edge(&mut self, segment: &Segment, scale: u8, must_hold: bool) {
        let edge = segment.ack.wrapping_add(u32::from(segment.window) << scale);
        let Some((seq, ack, before)) = self.newest else {
            self.newest = Some((segment.seq, segment.ack, edge));
            return;
        };
        let old = after(ack, segment.ack) || after(seq, segment.seq);
        // A flow that passes shows the receiver's own edge, which may have been rounded up before.
        let least = before.wrapping_sub(1 << scale);
        assert!(
            !must_hold || old || !after(least, edge),
            "edge {edge} after {before}: {segment:?}"
        );
        self.newest = Some((
            later_of(seq, segment.seq),
            later_of(ack, segment.ack),
            later_of(before, edge),
        ));
    }
}
