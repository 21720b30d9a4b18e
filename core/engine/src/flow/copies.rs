//! Redundancy: a second copy of early and of retransmitted segments, a few milliseconds later, in
//! pacing slots that would stay empty (Flach et al. 2013, "Reducing Web Latency: the Virtue of
//! Gentle Aggression").

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use windlass_cc::{ByteRate, MILLISECOND, Nanos, Phase, SECOND};

use super::Flow;
use super::tail::Tail;
use crate::context::Context;
use crate::{Pool, Redundancy, Why};

/// Copies that may wait for their time at once. Further ones are not made.
const PLANNED_COPIES: usize = 4096;
/// On a path that is known to lose segments, so many times as many of the first ones are copied, or as many as so many bandwidth-delay
/// products have: until its window is two of them, a sender stands still at each hole.
const LOSSY_TIMES: u64 = 2;
/// Of what leaves for the first time, as many repairs are copied as one in so many, and so many segments more. Who loses more
/// has overflowed a queue, and copies would fill it again.
const REPAIR_PARTS: u32 = 8;
const REPAIRS_AT_ONCE: u32 = 128;
/// Nor is a repair copied by a flow that has lost more than this part of all that it sent: others may fill the queue with it.
pub(super) const COPIED_LOSS_PARTS: u64 = 12;
/// No early copy leaves where the newest RTT is longer than the least by more than this part. Larger than what an initial window and its
/// copies add at 10 Mbit/s and 300 ms; what six flows that begin at once add at 40 Mbit/s and 60 ms is larger.
pub(super) const QUEUE_RTT_PARTS: Nanos = 12;
/// Copies that a DSACK may be about, the newest ones.
const REMEMBERED_COPIES: usize = 1024;
/// Where a round trip is shorter, an initial window and its copies may be more than the path holds, ns. At 5 Mbit/s, 20
/// segments take half of it; the next flight, which is twice as long, takes the other half.
const ROOMY_RTT_MIN: Nanos = 96 * MILLISECOND;

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
struct Planned {
    start: u64,
    due: Nanos,
    repair: bool,
}

/// What becomes of copies that have left.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sequel {
    /// Of repairs, beyond what has left for the first time, eighths of a segment.
    repairs_ahead: u32,
    /// Until when the bottleneck is busy with what has left, as far as its rate is known.
    busy_until: Nanos,
    /// Begins and ends of segments of which a copy has left, and whose DSACK has not come.
    unanswered: VecDeque<(u64, u64)>,
    /// Written apart: it is not in format 5 of the state.
    #[serde(skip)]
    tail: Tail,
}

/// The copies of one flow.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Copies {
    planned: VecDeque<Planned>,
    /// `Nanos::MAX`: no time brings the next one, but an ACK may.
    not_before: Nanos,
    first_segments_seen: u32,
    early_sent: u64,
    sent: u32,
    /// Written apart: it is not in format 3 of the state.
    #[serde(skip)]
    sequel: Sequel,
}

impl Copies {
    /// When the next copy leaves, of whatever kind.
    pub(crate) fn poll_at(&self) -> Option<Nanos> {
        let both = self
            .planned_at()
            .into_iter()
            .chain(self.sequel.tail.poll_at());
        both.min()
    }

    /// The same without the end of a message.
    pub(crate) fn planned_at(&self) -> Option<Nanos> {
        let at = self.planned.front()?.due.max(self.not_before);
        (at < Nanos::MAX).then_some(at)
    }

    pub(super) fn tail(&self) -> &Tail {
        &self.sequel.tail
    }

    pub(super) fn tail_mut(&mut self) -> &mut Tail {
        &mut self.sequel.tail
    }

    /// Of what was sent last, one more copy may be sent.
    pub(super) fn tail_is_within_budget(&self, policy: &Redundancy) -> bool {
        let seen = self.first_segments_seen;
        self.is_within_budget(policy) && self.sequel.tail.is_within_budget(seen)
    }

    /// A DSACK of what lies between the two is about a copy, and not about a needless retransmission. Each copy has one.
    pub(crate) fn explain(&mut self, left: u64, right: u64) -> bool {
        let unanswered = &mut self.sequel.unanswered;
        let found = unanswered
            .iter()
            .position(|(start, end)| *start < right && left < *end);
        found.and_then(|at| unanswered.remove(at)).is_some()
    }

    fn remember(&mut self, start: u64, end: u64) {
        if self.sequel.unanswered.len() >= REMEMBERED_COPIES {
            self.sequel.unanswered.pop_front();
        }
        self.sequel.unanswered.push_back((start, end));
    }

    /// What becomes of those that have left.
    pub(super) fn sequel(&self) -> &Sequel {
        &self.sequel
    }

    /// Puts it back.
    pub(super) fn restore_sequel(&mut self, sequel: Sequel) {
        self.sequel = sequel;
    }

    /// So many segments have been sent before anybody asked for copies.
    pub(super) fn begin_after(&mut self, segments: u64) {
        self.first_segments_seen = u32::try_from(segments).unwrap_or(u32::MAX);
    }

    /// Of copies that are not of repairs, one more may be sent.
    fn is_within_budget(&self, policy: &Redundancy) -> bool {
        self.early_sent * 1000
            <= u64::from(self.first_segments_seen) * u64::from(policy.budget_permille)
    }

    /// Copies sent so far.
    pub(crate) fn sent(&self) -> u32 {
        self.sent
    }

    /// One more segment has been sent for the first time: whether it is one of those that get a copy. `lossy_bdp` is how many a path
    /// holds that is known to lose them.
    fn is_early(&mut self, policy: &Redundancy, lossy_bdp: Option<u64>) -> bool {
        self.first_segments_seen = self.first_segments_seen.saturating_add(1);
        let first = u64::from(policy.first_segments);
        // A policy that wants fewer than usual wants fewer there too.
        let usual = u64::from(Redundancy::EARLY.first_segments);
        let bound = lossy_bdp.map_or(first, |bdp| LOSSY_TIMES * first * bdp.max(usual) / usual);
        u64::from(self.first_segments_seen) <= bound
    }

    /// A repair has left: whether a copy of it may follow.
    fn may_copy_repair(&mut self) -> bool {
        let within = self.sequel.repairs_ahead < REPAIR_PARTS * REPAIRS_AT_ONCE;
        self.sequel.repairs_ahead += if within { REPAIR_PARTS } else { 0 };
        within
    }

    /// A segment has left for the first time: an eighth of a repair more may be copied.
    fn allow_repair(&mut self) {
        self.sequel.repairs_ahead = self.sequel.repairs_ahead.saturating_sub(1);
    }

    /// Copies of repairs go before early ones, which wait until the bottleneck is idle.
    fn plan(&mut self, copy: Planned) {
        if self.planned.len() >= PLANNED_COPIES {
            return;
        }
        let at = match copy.repair {
            true => self.planned.partition_point(|planned| planned.repair),
            false => self.planned.len(),
        };
        self.planned.insert(at, copy);
    }

    /// So many bytes have left for a bottleneck of this rate.
    pub(super) fn note_sent(&mut self, now: Nanos, bytes: u64, bottleneck: ByteRate) {
        let busy = (bytes * SECOND).checked_div(bottleneck).unwrap_or(0);
        self.sequel.busy_until = self.sequel.busy_until.max(now) + busy;
    }

    pub(crate) fn shrink(&mut self) {
        self.planned.clear();
        self.planned.shrink_to_fit();
        self.sequel.unanswered = VecDeque::new();
    }
}

impl Flow {
    /// The piece at `index` has just been sent; a copy of it may follow.
    pub(crate) fn plan_copy(&mut self, now: Nanos, index: usize, repair: bool) {
        let policy = self.verdict.redundancy;
        let wanted = if repair {
            policy.repairs && self.copies.edit().may_copy_repair()
        } else {
            if let Some(copies) = self.copies.edit_known() {
                copies.allow_repair();
            }
            policy.first_segments > 0 && self.is_early(&policy) && self.starts()
        };
        if !wanted {
            return;
        }
        let start = self.board.piece(index).start;
        let due = now + policy.delay;
        self.copies.edit().plan(Planned { start, due, repair });
    }

    /// The path is known to lose segments, and not only what overflows its queue.
    pub(super) fn path_loses(&self) -> bool {
        let loses = |copies: &Copies| copies.tail().path_loses();
        self.copies.get().is_some_and(loses)
    }

    fn is_early(&mut self, policy: &Redundancy) -> bool {
        let mss = u64::from(self.host.path().mss).max(1);
        let lossy_bdp = self.path_loses().then(|| self.roomy_bdp() / mss);
        self.copies.edit().is_early(policy, lossy_bdp)
    }

    /// Early copies end with start-up.
    fn starts(&self) -> bool {
        matches!(self.host.control().phase, Phase::Startup | Phase::SlowStart)
    }

    /// The newest RTT is longer than the least by more than one of so many parts.
    pub(super) fn queue_shows(&self, parts: Nanos) -> bool {
        let path = self.host.path();
        let least = path.recent_min_rtt();
        path.srtt > 0 && path.latest_rtt > least + least / parts
    }

    /// So many bytes have left.
    pub(super) fn note_at_bottleneck(&mut self, now: Nanos, bytes: u64) {
        if let Some(copies) = self.copies.edit_known()
            && let Some(rate) = self.train.as_ref().and_then(|train| train.perhaps())
        {
            copies.note_sent(now, bytes, rate);
        }
    }

    /// Sends the copies whose time has come, while there is nothing better to send.
    pub(crate) fn send_copies<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        while let Some(copies) = self.copies.edit_known()
            && let Some(next) = copies.planned.front().copied()
            && next.due <= ctx.now
        {
            if !self.pacing.pacer.may_send(ctx.now) {
                copies.not_before = self.pacing.pacer.next;
                return;
            }
            if !next.repair && self.copies_would_queue(ctx.now) {
                return;
            }
            let copies = self.copies.edit();
            copies.planned.pop_front();
            let within_budget = next.repair || copies.is_within_budget(&self.verdict.redundancy);
            if within_budget && self.may_copy(next) {
                self.send_copy(ctx, next.start, next.repair);
            }
        }
    }

    /// Where the queue at the bottleneck would grow by early copies, they would delay what their sender sends next.
    fn copies_would_queue(&mut self, now: Nanos) -> bool {
        let round_trip = self.far_rtt();
        let known = self.train.as_ref().and_then(|train| train.perhaps());
        let copies = self.copies.edit();
        if known.is_none() && (1..ROOMY_RTT_MIN).contains(&round_trip) {
            copies.not_before = Nanos::MAX;
            return true;
        }
        copies.not_before = copies.sequel.busy_until;
        copies.sequel.busy_until > now
    }

    fn may_copy(&self, next: Planned) -> bool {
        let Some(index) = self.board.index_of(next.start) else {
            return false;
        };
        let piece = self.board.piece(index);
        let has_room = match next.repair {
            true => {
                let fits = self.board.inflight() + piece.len() <= self.host.control().cwnd;
                fits && !self.has_lost(COPIED_LOSS_PARTS)
            }
            false => {
                let has_none = piece.copied_at < piece.sent_at;
                has_none && self.starts() && !self.queue_shows(QUEUE_RTT_PARTS)
            }
        };
        has_room && piece.in_flight() && piece.pkt.is_some() && self.in_charge()
    }

    /// The copy takes the place of the packet in RACK's order: until it has had its time, the
    /// segment is not lost. All samples are of the packet itself, which is the one that arrives
    /// first unless it was lost.
    pub(super) fn send_copy<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        start: u64,
        repair: bool,
    ) {
        let Some(index) = self.board.index_of(start) else {
            return;
        };
        self.refresh(ctx, index, true);
        let piece = self.board.piece(index);
        let Some(pkt) = piece.pkt else { return };
        let (start, end) = (piece.start, piece.end);
        let (len, partial_at) = (piece.len(), piece.partial_at);
        self.board
            .send_copy(index, ctx.now, self.setup.receiver_sacks);
        let pkt = ctx.pool.share(pkt);
        ctx.emit_partial(pkt, self.setup.sender.other(), partial_at, Why::Copy);
        let rate = self.pacing.rate.get();
        let patience = self.patience(len);
        self.pacing.pacer.on_sent(ctx.now, len, rate, patience);
        self.note_at_bottleneck(ctx.now, len);
        let copies = self.copies.edit();
        copies.remember(start, end);
        copies.sent = copies.sent.saturating_add(1);
        copies.early_sent += u64::from(!repair);
        let tally = self.cold.tally_mut();
        tally.copies += 1;
        tally.copied_bytes += len;
        ctx.counters.copies += 1;
        ctx.counters.bytes_resent += len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repairs_go_before_what_waits_for_an_idle_bottleneck() {
        let mut copies = Copies::default();
        for (start, repair) in [(1, false), (2, false), (3, true), (4, false), (5, true)] {
            let due = start;
            copies.plan(Planned { start, due, repair });
        }
        let order: Vec<u64> = copies.planned.iter().map(|planned| planned.start).collect();
        assert_eq!(order, [3, 5, 1, 2, 4]);
    }

    #[test]
    fn a_path_that_loses_and_holds_more_has_more_copied() {
        let early = |lossy_bdp: Option<u64>| {
            let mut copies = Copies::default();
            let copied = (0..10_000).filter(|_| copies.is_early(&Redundancy::EARLY, lossy_bdp));
            copied.count()
        };
        assert_eq!(
            [None, Some(0), Some(900), Some(3450)].map(early),
            [900, 1800, 1800, 6900]
        );
        let few = Redundancy {
            first_segments: 10,
            ..Redundancy::EARLY
        };
        let mut copies = Copies::default();
        let copied = (0..10_000).filter(|_| copies.is_early(&few, Some(1800)));
        assert_eq!(copied.count(), 40);
    }

    #[test]
    fn a_duplicate_is_explained_by_its_copy_and_once() {
        let mut copies = Copies::default();
        copies.remember(1, 1449);
        copies.remember(1449, 2897);
        assert!(!copies.explain(2897, 4345), "no copy of it has left");
        assert!(copies.explain(1449, 2897) && !copies.explain(1449, 2897));
        for start in 0..2 * REMEMBERED_COPIES as u64 {
            copies.remember(start + 10_000, start + 10_001);
        }
        assert_eq!(copies.sequel.unanswered.len(), REMEMBERED_COPIES);
        assert!(!copies.explain(1, 1449), "too long ago");
    }

    #[test]
    fn repairs_of_an_overflow_have_no_copies() {
        let mut copies = Copies::default();
        let mut repairs = |count: u32| {
            let copied = (0..count).filter(|_| copies.may_copy_repair());
            copied.count()
        };
        assert_eq!(repairs(200), 128);
        assert_eq!(repairs(1), 0);
        for _ in 0..16 {
            copies.allow_repair();
        }
        let copied = (0..9).filter(|_| copies.may_copy_repair());
        assert_eq!(copied.count(), 2, "one for eight that have left");
    }

    #[test]
    fn the_budget_of_the_policy_holds_for_ends_of_messages_too() {
        let policy = |budget_permille| Redundancy {
            budget_permille,
            ..Redundancy::EARLY
        };
        let copies = Copies {
            first_segments_seen: 1000,
            early_sent: 51,
            ..Copies::default()
        };
        assert!(!copies.tail_is_within_budget(&policy(50)));
        assert!(copies.tail_is_within_budget(&policy(51)));
    }

    #[test]
    fn the_bottleneck_is_busy_for_as_long_as_it_takes() {
        let mut copies = Copies::default();
        copies.note_sent(1_000, 1_500, 1_500_000);
        copies.note_sent(1_000, 1_500, 1_500_000);
        assert_eq!(copies.sequel.busy_until, 2_001_000);
        copies.note_sent(5_000_000, 1_500, 1_500_000);
        assert_eq!(
            copies.sequel.busy_until, 6_000_000,
            "idle time is not saved up"
        );
    }
}
