//! Harm that the box itself does to a flow: guesses that held it back and were wrong, packets that left too late, data that it
//! could not hold. Where it is more than chance, the flow goes back to its sender at once, and for good; the kernel forwards
//! it then. Repairs that were not needed are no reason: they come from packets that overtake each other, and hurt a
//! sender's own congestion control more.

use windlass_cc::host::Ack;
use windlass_cc::{ByteRate, MILLISECOND, Nanos, Phase};

use super::info::NANOS_PER_MICRO;
use super::{Flow, LimitedBy};
use crate::context::Context;
use crate::{HandBack, PassReason, Pool};

/// Of the time of a transfer, the box has cost this part at least,
const LOST_PARTS: Nanos = 4;
/// and so many round trips,
const LOST_RTTS: Nanos = 4;
/// and this, ns.
const LOST_MIN: Nanos = 100 * MILLISECOND;
/// That is lost in so many pieces at least.
const LOST_TIMES: Nanos = 3;
/// Lateness up to this costs nothing: pacing makes up for it, ns.
const LATE_MIN: Nanos = MILLISECOND;
/// A flow that is behind sends faster by this part of its rate.
const CATCH_UP_PARTS: ByteRate = 4;
/// It is behind by so many quarters of a round trip at most: a probe of its algorithm may add the last one to what that makes of the queue.
const BEHIND_QUARTERS: Nanos = 3;
/// It no longer does so where the newest round trip is longer than so many of the least: a queue stands.
const QUEUE_RTTS: Nanos = 2;
/// A path that has lost one of so many segments is worth a box that is late.
const LOSSY_ONE_OF: u64 = 1000;
/// Segments in a row that could not be held.
const UNHELD_MAX: u8 = 64;
/// Of all flows for which there is no room, one goes back in this time, ns: what it held may be enough for the others.
const NO_ROOM_INTERVAL: Nanos = 2 * MILLISECOND;

impl Flow {
    /// Packets wait for pacing. Whoever was to let them go at its time comes only now.
    pub(super) fn note_lateness<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        if self.pacing.limited_by != LimitedBy::Pacing {
            return;
        }
        let late = ctx.now.saturating_sub(self.pacing.pacer.next);
        if late > LATE_MIN {
            if let Some(train) = &mut self.train {
                train.sends_late(ctx.now, late, self.host.path());
            }
            self.fall_behind(self.missed(late - LATE_MIN));
            self.note_lost_time(ctx, self.missed(late), PassReason::LateWorker);
        }
    }

    /// Packets leave `late` after their time. For so much of that, the path has had nothing to carry: it carries the queue before its
    /// bottleneck first, ns.
    fn missed(&self, late: Nanos) -> Nanos {
        let path = self.host.path();
        let least = path.recent_min_rtt();
        if least == Nanos::MAX {
            return 0;
        }
        late.saturating_sub(path.latest_rtt.saturating_sub(least))
    }

    /// The path has missed so much, ns.
    fn fall_behind(&mut self, missed: Nanos) {
        let least = self.host.path().recent_min_rtt();
        if least == Nanos::MAX {
            return;
        }
        let behind = Nanos::from(self.pacing.behind_us) * NANOS_PER_MICRO + missed;
        let behind_us = behind.min(least / 4 * BEHIND_QUARTERS) / NANOS_PER_MICRO;
        self.pacing.behind_us = u32::try_from(behind_us).unwrap_or(u32::MAX);
    }

    /// Bytes per second at which `bytes` leave, where `paced` is their rate. What the path has missed because the box was late becomes a queue
    /// before its bottleneck, and the path has that to carry the next time. It grows no faster than by a probe of BBR, and to less than one round trip. Start-up is faster than the path anyway, and a cap is a cap.
    pub(super) fn rate_to_catch_up(
        &mut self,
        bytes: u64,
        paced: Option<ByteRate>,
    ) -> Option<ByteRate> {
        let paced = paced?;
        let starts_up = self.host.control().phase == Phase::Startup;
        if self.pacing.behind_us == 0 || paced == 0 || starts_up || self.verdict.cap.is_some() {
            return Some(paced);
        }
        let path = self.host.path();
        if path.latest_rtt > path.recent_min_rtt().saturating_mul(QUEUE_RTTS) {
            self.pacing.behind_us = 0;
            return Some(paced);
        }
        let probe = path.max_bw + path.max_bw / CATCH_UP_PARTS;
        let faster = (paced + paced / CATCH_UP_PARTS).min(probe).max(paced);
        let saved_us = bytes * 1_000_000 / paced - bytes * 1_000_000 / faster;
        let saved_us = u32::try_from(saved_us).unwrap_or(u32::MAX);
        self.pacing.behind_us = self.pacing.behind_us.saturating_sub(saved_us);
        Some(faster)
    }

    /// An ACK that delivers something, and waited until now, opens a window that was the limit. What leaves by it is sent next, so the others
    /// that have waited with it count from then on.
    pub(super) fn note_late_ack<P: Pool>(&mut self, ctx: &mut Context<'_, P>, ack: &Ack) {
        let mss = u64::from(self.host.path().mss);
        let opens = self.board.pipe() + mss <= self.window_in_flight();
        let limited = self.pacing.limited_by == LimitedBy::Cwnd;
        if !limited || !opens || ack.delivered() + ack.acked() == 0 {
            return;
        }
        let since = ack.at().max(self.pacing.last_sent_at);
        let late = ctx.now.saturating_sub(since);
        if late > LATE_MIN {
            self.note_lost_time(ctx, self.missed(late), PassReason::LateWorker);
        }
    }

    /// So much of the flow's time was lost in the box.
    pub(super) fn note_lost_time<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        lost: Nanos,
        reason: PassReason,
    ) {
        if lost == 0 {
            return;
        }
        let begun = self.cold.transfers.latest();
        let begun = begun.map_or(self.cold.began, |(at, _)| at);
        let least = (LOST_RTTS * self.host.path().srtt).max(LOST_MIN);
        let much = least.max((ctx.now - begun) / LOST_PARTS);
        // A machine that stood still once may not do so again.
        let lost = lost.min(much / LOST_TIMES);
        let lost_ms = u16::try_from(lost / MILLISECOND).unwrap_or(u16::MAX);
        let trouble = self.hands.trouble.edit();
        trouble.lost_ms = trouble.lost_ms.saturating_add(lost_ms);
        let lost = Nanos::from(trouble.lost_ms) * MILLISECOND;
        let lossy = self.cold.tally().lost * LOSSY_ONE_OF * u64::from(self.host.path().mss);
        if lost >= much && lossy <= self.board.una() {
            self.leave(ctx, reason);
        }
    }

    /// There was no room to hold what came.
    pub(super) fn note_unheld<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        let trouble = self.hands.trouble.edit();
        trouble.unheld = trouble.unheld.saturating_add(1);
        if trouble.unheld >= UNHELD_MAX {
            self.leave(ctx, PassReason::FrameLimit);
        }
    }

    /// Its sender has the flow from now on. What it repairs is repaired first; then the flow is let go of
    /// ([`Flow::consider_take_over`]). Flows that must be governed whatever it costs them stay.
    fn leave<P: Pool>(&mut self, ctx: &mut Context<'_, P>, reason: PassReason) {
        let bound = self.verdict.cap.is_some() || self.polices() || self.verdict.tenant.is_some();
        if !self.enforcing() || bound || self.hands.trouble.read().leaving.is_some() {
            return;
        }
        if reason == PassReason::FrameLimit {
            if ctx.now < ctx.held.no_room_until {
                return;
            }
            ctx.held.no_room_until = ctx.now + NO_ROOM_INTERVAL;
        }
        self.hands.trouble.edit().leaving = Some(reason);
        let counters = &mut *ctx.counters;
        let (count, why) = match reason {
            PassReason::WrongGuess => (&mut counters.harmed_by_guess, HandBack::WrongGuess),
            PassReason::LateWorker => (&mut counters.harmed_by_lateness, HandBack::LateWorker),
            _ => (&mut counters.harmed_by_lack_of_room, HandBack::NoRoom),
        };
        *count += 1;
        self.hand_back(ctx, why);
    }
}
