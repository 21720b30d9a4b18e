//! The window edge that the sender is shown: it never moves left.

use serde::{Deserialize, Serialize};
use windlass_cc::{MILLISECOND, Nanos, Phase, bytes_over};

use windlass_wire::{AckRewrite, Segment};

use super::Flow;
use super::scale::scaled;
use crate::context::Context;
use crate::{Pkt, Pool, seq};

/// What the sender may be ahead of the network, ns at the pacing rate: its answer to a window update
/// takes a moment. On short paths it is an eighth of the round trip.
const QUEUE_TIME: Nanos = 4 * MILLISECOND;
const QUEUE_SIXTEENTHS: Nanos = 2;
/// The answer of a sender that is farther from the box than this comes as much later, ns.
const NEAR_RTT_MIN: Nanos = MILLISECOND;
/// Up to this, ns: who answers a SYN later was busy.
const NEAR_RTT_MAX: Nanos = 500 * MILLISECOND;
/// After so many round trips without growth, it does not double any more.
const FLAT_ROUNDS: u8 = 2;
/// On top of it, what a sender saves up before it sends at all: Linux waits for room for one
/// segmentation-offload burst (`tcp_tso_should_defer`, `tcp_output.c` 6.12), a millisecond at its
/// own pacing rate. That is up to twice its window per RTT, and its window several BDP. On short paths
/// it waits for a third of its window at most: a sixteenth of the round trip and the queue above make up
/// for that.
const BURST_TIME: Nanos = 8 * MILLISECOND;
const BURST_SIXTEENTHS: Nanos = 1;
/// No such burst is longer, bytes.
const BURST_BYTES: u64 = 65_536;
/// The least the sender may be ahead, segments: one for so much of the round trip, ns.
const QUEUE_SEGMENTS: u64 = 10;
const QUEUE_SEGMENTS_MIN: u64 = 2;
const QUEUE_SEGMENT_RTT: Nanos = MILLISECOND / 8;
/// How far an edge is moved to the right at most so that it falls between two segments: ns at the
/// pacing rate, and segments. A scale of 9 can express one edge in 64 segments of 1,448 bytes.
const ALIGN_TIME: Nanos = 16 * MILLISECOND;
const ALIGN_SIXTEENTHS: Nanos = 1;
const ALIGN_SEGMENTS: u64 = 64;
/// A window probe may lie just beyond the edge, segments.
const PROBE_SEGMENTS: u64 = 2;

/// Whether what the path carries still grows, judged once in a round trip between the ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Growth {
    judged_at: Nanos,
    carried: u64,
    flat_rounds: u8,
}

/// Where the edge should be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aim {
    /// As an offset in the stream.
    edge: u64,
    /// How much may wait in the box or be on its way there, bytes ([`Flow::queue_allowance`]).
    queue: u64,
}

impl Growth {
    fn goes_on(&self) -> bool {
        self.flat_rounds < FLAT_ROUNDS
    }

    /// The path has carried `rate` at `now`. Growth by less than a quarter is none (BBR's `bbr_full_bw_thresh`, `tcp_bbr.c` 6.12).
    fn note(&mut self, now: Nanos, rate: u64, round_trip: Nanos) {
        if now - self.judged_at < round_trip {
            return;
        }
        self.judged_at = now;
        if rate >= self.carried + self.carried / 4 {
            (self.carried, self.flat_rounds) = (rate, 0);
        } else {
            self.flat_rounds = self.flat_rounds.saturating_add(1);
        }
    }
}

impl Flow {
    /// An ACK has come: whether a sender that is far from the box may still double what it sends.
    pub(super) fn note_growth(&mut self, now: Nanos) {
        let near = self.near_rtt();
        if near > NEAR_RTT_MIN {
            let path = self.host.path();
            let growth = &mut self.cold.rare.edit().growth;
            growth.note(now, path.max_bw, path.srtt + near);
        }
    }

    /// How much may wait in the box or be on its way there, bytes: enough to keep sending until the sender has answered
    /// a window update. More would only raise the RTT that it sees.
    pub(crate) fn queue_allowance(&self) -> u64 {
        let mut rate = self.pacing.rate.get().unwrap_or(0);
        let away = self.near_rtt().clamp(NEAR_RTT_MIN, NEAR_RTT_MAX) - NEAR_RTT_MIN;
        let carried = self.host.path().max_bw;
        if away > 0 && carried > 0 {
            // It waits in a queue on its way: no more than the path has carried, and what it may carry next.
            let starts = matches!(self.host.control().phase, Phase::Startup | Phase::SlowStart);
            let next = match starts {
                true if self.cold.rare.read().growth.goes_on() => 2 * carried,
                true => carried + carried / 4,
                false => carried,
            };
            rate = rate.min(next);
        }
        let round_trip = self.round_trip();
        let burst_time = scaled(BURST_TIME, round_trip, BURST_SIXTEENTHS);
        let burst = bytes_over(rate, burst_time).min(BURST_BYTES);
        let answer = scaled(QUEUE_TIME, round_trip, QUEUE_SIXTEENTHS) + away;
        let segments = (round_trip / QUEUE_SEGMENT_RTT).clamp(QUEUE_SEGMENTS_MIN, QUEUE_SEGMENTS);
        let (ahead, mss) = (
            bytes_over(rate, answer) + burst,
            u64::from(self.host.path().mss),
        );
        if self.has_few_segments() {
            return (mss * 3 / 4 + ahead).max(mss + mss / 2);
        }
        // Half of a large segment is a part of what the sender saves up.
        let within = match self.host.path().has_large_segments() && self.has_short_queue() {
            true => mss / 2,
            false => 0,
        };
        segments * mss + ahead.saturating_sub(within)
    }

    /// Where the edge should be now.
    pub(crate) fn aim(&self, held_limit: u64) -> Aim {
        match self.in_charge() {
            true => self.aim_ahead(held_limit, self.queue_allowance()),
            false => Aim {
                edge: self.receiver_edge,
                queue: 0,
            },
        }
    }

    /// The same for a sender that may be ahead by `queue`, which is [`Flow::queue_allowance`]. What the receiver holds out of order
    /// and what is lost does not count against the window: the sender is kept busy while holes are repaired.
    pub(super) fn aim_ahead(&self, held_limit: u64, queue: u64) -> Aim {
        let by_window = self.board.una()
            + self.host.control().cwnd
            + self.board.sacked_bytes()
            + self.board.lost_bytes()
            + queue;
        let by_queue = self.board.sent_nxt() + queue;
        let edge = by_window
            .min(by_queue)
            .min(self.board.una() + held_limit)
            .min(self.receiver_edge);
        Aim { edge, queue }
    }

    /// The window field for an ACK of `ack` that moves the edge toward `aim`. One that is older than
    /// what has been shown moves nothing: else each repetition would round the edge up once more.
    pub(crate) fn show_edge(&mut self, ack: u64, aim: Aim) -> u16 {
        if ack < self.view.ack() {
            // The sender takes no window from it either (RFC 9293 §3.10.7.4).
            let units = (self.view.edge() - ack) >> self.setup.scale;
            return units.min(u64::from(u16::MAX)) as u16;
        }
        let units = self.window_units(ack, aim);
        self.view.show_window(ack, units, self.setup.scale);
        units
    }

    /// A probe of the receiver that goes on though it lies beyond what is known here must not show the
    /// sender more room than it has been shown.
    pub(crate) fn hide_window<P: Pool>(
        &self,
        ctx: &mut Context<'_, P>,
        segment: &Segment,
        pkt: Pkt,
    ) {
        let ack = seq::offset(self.setup.iss, segment.ack, self.board.una());
        let Some(ack) = ack.filter(|_| self.enforcing()) else {
            return;
        };
        let room = self.view.edge().saturating_sub(ack);
        let units = room.div_ceil(1 << self.setup.scale);
        if units < u64::from(segment.window) {
            AckRewrite::window(units as u16).apply(ctx.pool.head_mut(pkt), segment);
        }
    }

    /// By how much such an ACK would move the edge, bytes. None must be sent for 0 alone: a sender
    /// without SACK would count it as a duplicate (RFC 5681 §2, condition e).
    pub(crate) fn edge_gain(&self, ack: u64, aim: Aim) -> u64 {
        let units = self.window_units(ack, aim);
        let edge = ack + (u64::from(units) << self.setup.scale);
        // What only rounding would add is worth no packet.
        edge.min(aim.edge).saturating_sub(self.view.edge())
    }

    /// Rounded up to the scale's unit, yet not beyond the receiver's own edge unless that was shown
    /// before.
    fn window_units(&self, ack: u64, aim: Aim) -> u16 {
        let scale = self.setup.scale;
        let target = self.align(ack, aim).max(self.view.edge());
        let mut units = target.saturating_sub(ack).div_ceil(1 << scale);
        if ack + (units << scale) > self.receiver_edge {
            let floor = self.receiver_edge.saturating_sub(ack) >> scale;
            if ack + (floor << scale) >= self.view.edge() {
                units = floor;
            }
        }
        units.min(u64::from(u16::MAX)) as u16
    }

    /// An edge near the one aimed at that lies a whole number of segments beyond what the sender has sent,
    /// and that the scale can express. Anything else makes Linux send a short segment to fill the
    /// window, and then hold the tail of the transfer until that is acknowledged (Minshall's form
    /// of Nagle's algorithm, `tcp_minshall_check`).
    fn align(&self, ack: u64, aim: Aim) -> u64 {
        let target = aim.edge;
        let mss = u64::from(self.host.path().mss);
        let base = self.board.nxt().max(ack);
        let lowest = self.view.edge().max(base + 1);
        if target <= base || !self.in_charge() {
            return target;
        }
        let unit_mask = (1u64 << self.setup.scale) - 1;
        let exact = |segments: u64| {
            let edge = base + segments * mss;
            let fits =
                (edge - ack) & unit_mask == 0 && edge >= lowest && edge <= self.receiver_edge;
            fits.then_some(edge)
        };
        let down = aim.queue / 4 / mss;
        let time = scaled(ALIGN_TIME, self.round_trip(), ALIGN_SIXTEENTHS);
        let up = bytes_over(self.pacing.rate.get().unwrap_or(0), time) / mss;
        let whole = (target.max(lowest) - base) / mss;
        let below = (whole.saturating_sub(down.min(ALIGN_SEGMENTS))..=whole)
            .rev()
            .find_map(exact);
        let above = || (whole + 1..=whole + up.min(ALIGN_SEGMENTS)).find_map(exact);
        below.or_else(above).unwrap_or(target)
    }

    /// How far the sender may go: to the edge that it has been shown, and as far beyond as a window
    /// probe.
    pub(crate) fn allowed_edge(&self) -> u64 {
        let tolerance = u64::from(self.verdict.police_tolerance.unwrap_or(0));
        let probe = PROBE_SEGMENTS * u64::from(self.host.path().mss);
        self.view.edge() + probe.max(tolerance)
    }

    /// The edge shown and the edge allowed, as sequence numbers.
    pub(crate) fn edge_numbers(&self) -> (u32, u32) {
        let edges = (self.view.edge(), self.allowed_edge());
        let number = |edge| seq::number(self.setup.iss, edge);
        (number(edges.0), number(edges.1))
    }

    /// The sender has used up the edge it was shown.
    pub(crate) fn at_edge(&self) -> bool {
        self.board.nxt() + u64::from(self.host.path().mss) > self.view.edge()
    }
}
