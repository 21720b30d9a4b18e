//! Redundancy: a second copy of early and of retransmitted segments, a few milliseconds later, in
//! pacing slots that would stay empty (Flach et al. 2013, "Reducing Web Latency: the Virtue of
//! Gentle Aggression").

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use windlass_cc::{Nanos, Phase};

use super::Flow;
use crate::context::Context;
use crate::{Pool, Why};

/// Copies that may wait for their time at once. Further ones are not made.
const PLANNED_COPIES: usize = 4096;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Planned {
    start: u64,
    due: Nanos,
    repair: bool,
}

/// The copies of one flow.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Copies {
    planned: VecDeque<Planned>,
    not_before: Nanos,
    first_segments_seen: u32,
    early_sent: u64,
    sent: u32,
}

impl Copies {
    pub(crate) fn poll_at(&self) -> Option<Nanos> {
        self.planned.front().map(|p| p.due.max(self.not_before))
    }

    /// A DSACK may be about a copy rather than about a needless retransmission.
    pub(crate) fn any_sent(&self) -> bool {
        self.sent > 0
    }

    /// Copies sent so far.
    pub(crate) fn sent(&self) -> u32 {
        self.sent
    }

    pub(crate) fn shrink(&mut self) {
        self.planned.clear();
        self.planned.shrink_to_fit();
    }
}

impl Flow {
    /// The piece at `index` has just been sent; a copy of it may follow.
    pub(crate) fn plan_copy(&mut self, now: Nanos, index: usize, repair: bool) {
        let policy = self.verdict.redundancy;
        let wanted = if repair {
            policy.repairs
        } else {
            self.copies.first_segments_seen = self.copies.first_segments_seen.saturating_add(1);
            self.copies.first_segments_seen <= policy.first_segments && self.early()
        };
        if wanted && self.copies.planned.len() < PLANNED_COPIES {
            let start = self.board.piece(index).start;
            self.copies.planned.push_back(Planned {
                start,
                due: now + policy.delay,
                repair,
            });
        }
    }

    /// Early copies end with start-up, and as soon as a queue shows.
    fn early(&self) -> bool {
        let starting = matches!(self.host.control().phase, Phase::Startup | Phase::SlowStart);
        let path = self.host.path();
        let flat = path.srtt == 0 || path.latest_rtt <= path.min_rtt + path.min_rtt / 8;
        starting && flat
    }

    /// Sends the copies whose time has come, while there is nothing better to send.
    pub(crate) fn send_copies<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        while let Some(next) = self
            .copies
            .planned
            .front()
            .copied()
            .filter(|p| p.due <= ctx.now)
        {
            if !self.pacing.pacer.may_send(ctx.now) {
                self.copies.not_before = self.pacing.pacer.next;
                return;
            }
            self.copies.planned.pop_front();
            if self.may_copy(next) {
                self.send_copy(ctx, next);
            }
        }
    }

    fn may_copy(&self, next: Planned) -> bool {
        let Some(index) = self.board.index_of(next.start) else {
            return false;
        };
        let piece = self.board.piece(index);
        let policy = self.verdict.redundancy;
        let within_budget = next.repair
            || self.copies.early_sent * 1000
                <= u64::from(self.copies.first_segments_seen) * u64::from(policy.budget_permille);
        piece.in_flight()
            && piece.pkt.is_some()
            && self.in_charge()
            && within_budget
            && (next.repair || self.early())
            && (!next.repair || self.board.inflight() + piece.len() <= self.host.control().cwnd)
    }

    /// The copy takes the place of the packet in RACK's order: until it has had its time, the
    /// segment is not lost. All samples are of the packet itself, which is the one that arrives
    /// first unless it was lost.
    fn send_copy<P: Pool>(&mut self, ctx: &mut Context<'_, P>, next: Planned) {
        let Some(index) = self.board.index_of(next.start) else {
            return;
        };
        self.refresh(ctx, index, true);
        let piece = self.board.piece(index);
        let Some(pkt) = piece.pkt else { return };
        let (len, partial_at) = (piece.len(), piece.partial_at);
        self.board
            .send_copy(index, ctx.now, self.setup.receiver_sacks);
        let pkt = ctx.pool.share(pkt);
        ctx.emit_partial(pkt, self.setup.sender.other(), partial_at, Why::Copy);
        let rate = self.pacing.rate.get();
        let patience = self.patience(len);
        self.pacing.pacer.on_sent(ctx.now, len, rate, patience);
        self.copies.sent = self.copies.sent.saturating_add(1);
        self.copies.early_sent += u64::from(!next.repair);
        self.cold.tally.copies += 1;
        self.cold.tally.copied_bytes += len;
        ctx.counters.copies += 1;
        ctx.counters.bytes_resent += len;
    }
}
