//! What the sender has been shown of its receiver, and what the receiver has said.
//!
//! Nothing that has been shown is taken back: the ACK, the edge and the TSval never decrease.

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};
use windlass_cc::{MILLISECOND, Nanos, Path};
use windlass_wire::Segment;

use crate::{Pkt, seq};

/// A gap in the ACKs that ends an ACK train (Linux HyStart: 2 ms, `tcp_cubic.c` 6.12), ns.
const TRAIN_GAP: Nanos = 2_300_000;
/// Below this RTT there is no need for gaps, and no room, ns.
const GAP_MIN_RTT: Nanos = 8 * MILLISECOND;
/// HyStart ends slow start at the ninth raised sample in a round without any that is not. So many
/// are shown as they come,
const UNTHINNED_RAISED: u32 = 3;
/// and from then on so many per RTT, wherever the sender's rounds begin.
const THINNED_PER_RTT: Nanos = 5;

/// An ACK that waits.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Pending {
    pub pkt: Pkt,
    /// What it acknowledges. Offsets begin at 1.
    pub ack: NonZeroU64,
    pub release_at: Nanos,
}

/// What has been shown, and what waits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SenderView {
    /// Highest ACK shown.
    ack: u64,
    /// Right edge shown.
    edge: u64,
    /// The largest window shown, bytes: the sender takes ACKs that are older by so much (RFC 5961 §5.2).
    max_window: u32,
    /// Highest TSval shown: it may not decrease, or the sender drops the ACK (PAWS).
    tsval: Option<u32>,
    /// The window field the receiver said last, its latest TSecr, and its next sequence number.
    window_said: u16,
    tsecr: u32,
    receiver_next: u32,
    pending: Option<Pending>,
    pace: Pace,
    /// A probe of the sender that was swallowed, to be reported by DSACK.
    absorbed: Option<Box<(u64, u64)>>,
}

/// When ACKs are shown.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Pace {
    shown_at: Nanos,
    gap_until: Nanos,
    next_gap_at: Nanos,
    updated_at: Nanos,
    /// The sender's own round: it ends when this is shown as acknowledged.
    round_end: u64,
    round_began: Nanos,
    /// How long its last round took: its RTT with everything the box adds.
    sender_rtt: Short,
    /// When the newest segment acknowledged came from the sender.
    newest_arrived_at: Nanos,
    /// ACKs shown, since the last one that gave the sender an RTT sample that was not raised.
    raised_run: u32,
}

/// A span of time in four bytes, ns: of 4.29 s at most. It is written as a `u64`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "u64", into = "u64")]
struct Short(u32);

impl Short {
    fn new(span: Nanos) -> Short {
        Short(u32::try_from(span).unwrap_or(u32::MAX))
    }

    fn get(self) -> Nanos {
        self.0.into()
    }
}

impl From<u64> for Short {
    fn from(span: u64) -> Short {
        Short::new(span)
    }
}

impl From<Short> for u64 {
    fn from(span: Short) -> u64 {
        span.get()
    }
}

impl SenderView {
    /// The SYN of the receiver has been shown, with this edge.
    pub(crate) fn new(edge: u64, receiver_next: u32) -> Self {
        SenderView {
            ack: 1,
            edge,
            max_window: 0,
            tsval: None,
            window_said: 0,
            tsecr: 0,
            receiver_next,
            pending: None,
            pace: Pace::default(),
            absorbed: None,
        }
    }

    /// Highest ACK shown.
    #[inline]
    pub(crate) fn ack(&self) -> u64 {
        self.ack
    }

    /// Right edge shown.
    #[inline]
    pub(crate) fn edge(&self) -> u64 {
        self.edge
    }

    /// The largest window shown, bytes.
    pub(crate) fn max_window(&self) -> u32 {
        self.max_window
    }

    /// Highest TSval shown.
    pub(crate) fn tsval(&self) -> Option<u32> {
        self.tsval
    }

    /// The receiver's latest TSecr.
    pub(crate) fn tsecr(&self) -> u32 {
        self.tsecr
    }

    /// The receiver's next sequence number.
    pub(crate) fn receiver_next(&self) -> u32 {
        self.receiver_next
    }

    /// The window field the receiver said last.
    pub(crate) fn window_said(&self) -> u16 {
        self.window_said
    }

    /// Nothing has been shown but the SYN.
    pub(crate) fn is_new(&self) -> bool {
        self.pace.shown_at == 0
    }

    /// The receiver has said this.
    pub(crate) fn note_receiver(&mut self, segment: &Segment) {
        self.window_said = segment.window;
        let next = segment.seq.wrapping_add(segment.seq_len());
        if seq::later(next, self.receiver_next) {
            self.receiver_next = next;
        }
        if let Some(stamps) = segment.options.timestamps
            && (self.tsecr == 0 || seq::later(stamps.ecr, self.tsecr))
        {
            self.tsecr = stamps.ecr;
        }
    }

    /// The receiver's data has been shown with this TSval: no ACK of it may look older. What is shown now.
    pub(crate) fn raise_tsval(&mut self, tsval: u32) -> u32 {
        let newest = match self.tsval {
            Some(shown) if seq::later(shown, tsval) => shown,
            _ => tsval,
        };
        self.tsval = Some(newest);
        newest
    }

    /// An ACK of `ack` is shown with the window field `units`, of this scale. The edge follows.
    pub(crate) fn show_window(&mut self, ack: u64, units: u16, scale: u8) {
        let window = u32::from(units) << scale;
        self.max_window = self.max_window.max(window);
        self.edge = self.edge.max(ack + u64::from(window));
    }

    /// The window field that repeats what has been shown. Rounding may move the edge.
    pub(crate) fn repeat_window(&mut self, scale: u8) -> u16 {
        let room = self.edge.saturating_sub(self.ack).div_ceil(1 << scale);
        let units = room.min(u64::from(u16::MAX));
        self.edge = self.edge.max(self.ack + (units << scale));
        units as u16
    }

    /// The ends have gone on by themselves: the sender has been shown `ack` and `edge`.
    pub(crate) fn resume(&mut self, ack: u64, edge: u64, receiver_next: u32) {
        self.ack = ack;
        self.edge = self.edge.max(edge);
        self.receiver_next = receiver_next;
    }

    /// And the receiver's timestamps are these.
    pub(crate) fn resume_stamps(&mut self, tsval: u32, tsecr: u32) {
        self.raise_tsval(tsval);
        self.tsecr = tsecr;
    }

    /// A retransmission of the sender has been swallowed.
    pub(crate) fn absorb(&mut self, start: u64, end: u64) {
        self.absorbed = Some(Box::new((start, end)));
    }

    /// It has been reported, or is not to be.
    pub(crate) fn forget_absorbed(&mut self) {
        self.absorbed = None;
    }

    /// What has been swallowed and lies below `ack`.
    pub(crate) fn absorbed_below(&self, ack: u64) -> Option<(u64, u64)> {
        self.absorbed
            .as_deref()
            .copied()
            .filter(|(_, end)| *end <= ack)
    }

    /// The ACK that waits.
    #[inline]
    pub(crate) fn pending(&self) -> Option<Pending> {
        self.pending
    }

    /// It does not wait any more.
    pub(crate) fn take_pending(&mut self) -> Option<Pending> {
        self.pending.take()
    }

    /// An ACK waits. None did.
    pub(crate) fn wait(&mut self, pending: Pending) {
        debug_assert!(self.pending.is_none() && pending.ack.get() >= self.ack);
        self.pending = Some(pending);
    }

    /// When the ACK that waits is to be shown.
    pub(crate) fn poll_at(&self) -> Option<Nanos> {
        self.pending.map(|pending| pending.release_at)
    }

    /// The newest segment that the receiver has acknowledged came from the sender at `arrived_at`.
    pub(crate) fn note_acked(&mut self, arrived_at: Nanos) {
        self.pace.newest_arrived_at = arrived_at;
    }

    /// Until when the next ACK should wait; a time in the past: not at all.
    pub(crate) fn hold_until(&self, now: Nanos, path: &Path, headroom: bool) -> Nanos {
        let thin = match self.interval(now, path, headroom) {
            0 => 0,
            interval => self.pace.shown_at + interval,
        };
        thin.max(self.pace.gap_until)
    }

    /// The interval at which ACKs are shown, 0 when they are not thinned.
    fn interval(&self, now: Nanos, path: &Path, headroom: bool) -> Nanos {
        if !headroom || path.srtt == 0 {
            return 0;
        }
        if self.pace.raised_run < UNTHINNED_RAISED || !self.sample_is_raised(now, path) {
            return 0;
        }
        let rtt = path.latest_rtt.max(path.srtt);
        rtt.max(self.pace.sender_rtt.get()) / THINNED_PER_RTT
    }

    /// The RTT that the sender would measure if it were shown the newest ACK now, queue in the box
    /// included, is on its way to HyStart's threshold (`tcp_cubic.c` 6.12: an eighth of the
    /// minimum, between 4 and 16 ms).
    fn sample_is_raised(&self, now: Nanos, path: &Path) -> bool {
        let sample = now - self.pace.newest_arrived_at;
        let threshold = (path.min_rtt / 8).clamp(4 * MILLISECOND, 16 * MILLISECOND);
        sample > path.min_rtt.saturating_add(threshold / 2)
    }

    /// `ack` is shown now, of a sender that has sent up to `nxt`.
    pub(crate) fn shown(&mut self, now: Nanos, ack: u64, nxt: u64, path: &Path, headroom: bool) {
        let news = ack > self.ack;
        self.ack = self.ack.max(ack);
        let raised = self.sample_is_raised(now, path);
        let pace = &mut self.pace;
        pace.shown_at = now;
        if ack >= pace.round_end {
            if pace.round_began > 0 {
                pace.sender_rtt = Short::new(now - pace.round_began);
            }
            pace.round_end = nxt.max(ack + 1);
            pace.round_began = now;
        }
        if news {
            pace.raised_run = if raised {
                pace.raised_run.saturating_add(1)
            } else {
                0
            };
        }
        let long = path.min_rtt != Nanos::MAX && path.min_rtt >= GAP_MIN_RTT;
        if headroom && long && now >= pace.next_gap_at {
            pace.gap_until = now + TRAIN_GAP;
            pace.next_gap_at = now + path.srtt.max(path.min_rtt) / 3;
        }
    }

    /// The sender was idle: the time since its last round began is no RTT.
    pub(crate) fn restart_rounds(&mut self) {
        self.pace.round_began = 0;
        self.pace.round_end = 0;
    }

    /// Since the last window update of the box's own, ns.
    pub(crate) fn since_update(&self, now: Nanos) -> Nanos {
        now.saturating_sub(self.pace.updated_at)
    }

    /// Such an update leaves now.
    pub(crate) fn note_update(&mut self, now: Nanos) {
        self.pace.updated_at = now;
    }

    /// Words that a packet will need, read ahead.
    pub(crate) fn touch(&self) -> u64 {
        self.ack.wrapping_add(self.edge)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_was_shown_is_taken_back() {
        let mut view = SenderView::new(10_001, 7);
        view.show_window(1, 5, 7);
        assert_eq!((view.edge(), view.max_window()), (10_001, 640));
        view.show_window(1, 100, 7);
        assert_eq!(view.edge(), 12_801);
        view.shown(5, 501, 900, &Path::new(1000), false);
        view.shown(6, 301, 900, &Path::new(1000), false);
        assert_eq!(view.ack(), 501);
        assert_eq!(view.repeat_window(7), 97, "12,300 bytes, rounded up");
        assert_eq!(view.edge(), 501 + (97 << 7));
        assert_eq!(view.raise_tsval(9), 9);
        assert_eq!(view.raise_tsval(3), 9);
        view.resume(700, 9_000, 8);
        assert_eq!((view.ack(), view.edge()), (700, 501 + (97 << 7)));
    }

    #[test]
    fn a_short_span_is_written_as_a_long_number() {
        for span in [0, 1, 4_294_967_295] {
            let written = postcard::to_allocvec(&Short::new(span));
            assert_eq!(written, postcard::to_allocvec(&span));
            assert_eq!(
                postcard::from_bytes(&written.expect("plain data")),
                Ok(Short::new(span))
            );
        }
        assert_eq!(Short::new(5 * 1_000 * MILLISECOND).get(), 4_294_967_295);
    }

    /// A round trip of 100 ms: acknowledgements that show a queue of 20 ms are thinned from the fourth on.
    #[test]
    fn raised_samples_are_thinned() {
        let mut path = Path::new(1000);
        path.on_rtt(100 * MILLISECOND);
        let mut view = SenderView::new(10_000, 0);
        for number in 1..=4u64 {
            let now = (120 + number) * MILLISECOND;
            let waits = view.hold_until(now, &path, true) > now;
            assert_eq!(waits, number == 4, "{number}");
            view.note_acked(number * MILLISECOND);
            view.shown(now, number * 1000, 50_000, &path, false);
        }
        assert_eq!(view.hold_until(MILLISECOND, &path, false), 0);
    }
}
