//! The model of the path, and the modes that follow from it.

use super::policer::Verdict;
use super::{
    Bbr, CLIMB_GROWTH, CLIMB_INDEX, CYCLE_GAINS, FullPipe, MIN_CWND_SEGMENTS, Mode, Recovery, UNIT,
};
use crate::scale::mul_div;
use crate::window::{initial_window, mss};
use crate::{AckEvent, CongestionEvent, Nanos, Path, RateSample, SECOND};

/// Rounds over which the bandwidth is the maximum.
const BW_FILTER_ROUNDS: u64 = 10;
/// Growth that counts as growth, thousandths.
const FULL_BW_GROWTH: u64 = 1250;
const FULL_BW_ROUNDS: u32 = 3;
/// Start-up has overflowed its queue if more than this part of a flight is lost.
const OVERFLOW_LOSS_PARTS: u64 = 8;
/// So many rounds in which next to nothing was sent say nothing. Where a flow's share is no more than that, more would only keep it
/// from settling.
const ROUNDS_EXCUSED: u8 = 4;

/// The least RTT for a flow that comes from another algorithm. Of the newest one, what is in flight can be the reason for as long as the path
/// needs to carry that. What is beyond is the path's own: it has become longer since its least RTT was measured. Where that is too much,
/// the next shorter RTT puts it right.
pub(super) fn inherited_min_rtt(path: &Path) -> Nanos {
    let own_queue = mul_div(path.inflight, SECOND, path.max_bw.max(1));
    path.min_rtt.max(path.latest_rtt.saturating_sub(own_queue))
}

impl Bbr {
    pub(super) fn update_bandwidth(&mut self, event: &AckEvent, path: &Path) {
        let Some(sample) = event.rate else {
            self.rounds.on_no_sample();
            return;
        };
        if self
            .rounds
            .on_sample(sample.prior_delivered, path.delivered)
        {
            self.packet_conservation = false;
        }
        let app_limited = sample.app_limited || sample.prior_delivered < self.app_limited_until;
        self.sample_policer(event.now, event.lost > 0, app_limited, path);
        // An application-limited sample is a lower bound: good only if it raises the maximum.
        if !app_limited || sample.rate >= self.max_bw.get() {
            self.max_bw
                .update(BW_FILTER_ROUNDS, self.rounds.count, sample.rate);
        }
    }

    pub(super) fn sample_policer(
        &mut self,
        now: Nanos,
        lossy: bool,
        app_limited: bool,
        path: &Path,
    ) {
        if !self.parameters.policer {
            return;
        }
        let probing = self.mode == Mode::ProbeBw;
        let verdict =
            self.policer
                .on_ack(now, path, self.rounds.start, lossy, app_limited, probing);
        if verdict == Verdict::ProbeAgain {
            self.enter_probe_bw(now);
        }
        if self.parameters.newcomer && self.policer.is_refuted(path) {
            self.policer.refute();
            self.start_again();
        }
    }

    pub(super) fn update_aggregation(&mut self, event: &AckEvent) {
        if event.rate.is_some() && event.delivered > 0 {
            let bw = self.bw();
            self.aggregation
                .on_ack(event.now, event.delivered, self.rounds.start, bw, self.cwnd);
        }
    }

    pub(super) fn update_cycle(&mut self, event: &AckEvent, path: &Path) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let lasted = event.now.saturating_sub(self.cycle.stamp) > self.least.rtt;
        let gain = self.gains().0;
        let over = match gain {
            UNIT => lasted,
            // Probing lasts until the gain has had its effect on the queue, or on the loss.
            _ if gain > UNIT => {
                let bw = self.max_bw.get();
                lasted && (event.lost > 0 || event.inflight_before >= self.inflight(bw, gain, path))
            }
            _ => lasted || event.inflight_before <= self.inflight(self.max_bw.get(), UNIT, path),
        };
        if over {
            self.begin_phase(self.next_phase(path), event.now);
        }
    }

    /// Where the last probe has found more, the next one does not wait for the rest of the cycle.
    pub(super) fn next_phase(&self, path: &Path) -> usize {
        match (self.cycle.index + 1) % CYCLE_GAINS.len() {
            CLIMB_INDEX if self.has_climbed(path) => 0,
            next => next,
        }
    }

    /// There is more, and it is what others leave free: no queue stands.
    fn has_climbed(&self, path: &Path) -> bool {
        let enough = mul_div(self.full.bw, CLIMB_GROWTH, UNIT);
        let more = self.full.bw > 0 && self.max_bw.get() >= enough;
        self.parameters.climb && more && path.latest_rtt / 9 * 8 <= self.least.rtt
    }

    pub(super) fn check_full_bandwidth(&mut self, event: &AckEvent, path: &Path) {
        let Some(sample) = event.rate else { return };
        if self.full.reached || !self.rounds.start {
            return;
        }
        let grows = self.max_bw.get() >= mul_div(self.full.bw, FULL_BW_GROWTH, UNIT);
        // Whoever was the limit, that is too much.
        let overflows = self.has_overflowed(&sample, path);
        let app_limited = sample.app_limited || sample.prior_delivered < self.app_limited_until;
        if app_limited && !overflows {
            return;
        }
        if self.full.excused < ROUNDS_EXCUSED && self.is_barely_sending(path) {
            self.full.excused += 1;
            return;
        }
        if grows {
            self.full.bw = self.max_bw.get();
            self.full.count = 0;
            return;
        }
        self.full.count += 1;
        self.full.reached = overflows || self.full.count >= FULL_BW_ROUNDS;
    }

    /// Start-up has filled the queue, which drops what is sent: two more rounds would only overflow it twice more. Where the queue of
    /// others stands, the round trip has not grown.
    fn has_overflowed(&self, sample: &RateSample, path: &Path) -> bool {
        self.parameters.newcomer
            && self.is_round_trip_raised(path)
            && sample.lost > sample.tx_in_flight / OVERFLOW_LOSS_PARTS
    }

    /// The flight that is lost in part is more than path and queue hold, whoever is the limit now: repairs must not overflow it again.
    pub(super) fn is_overflowing(&self, event: &CongestionEvent, path: &Path) -> bool {
        let flight = path.inflight.saturating_add(event.lost);
        self.is_round_trip_raised(path) && flight / 5 * 2 > path.bdp()
    }

    /// By a quarter of the least.
    fn is_round_trip_raised(&self, path: &Path) -> bool {
        path.latest_rtt / 5 * 4 > self.least.rtt
    }

    /// A recovery has left less than a window to begin with: that no more is delivered says nothing of the pipe. Linux takes
    /// that for a full one, and a newcomer that loses most of its first flights has to double its rate in steps of a quarter.
    fn is_barely_sending(&self, path: &Path) -> bool {
        self.parameters.newcomer
            && self.recovery != Recovery::Open
            && self.cwnd < self.prior_cwnd.min(initial_window(path))
    }

    /// What the pipe holds is not known after all.
    fn start_again(&mut self) {
        self.full = FullPipe {
            excused: self.full.excused,
            ..FullPipe::default()
        };
        self.mode = Mode::Startup;
    }

    pub(super) fn check_drain(&mut self, event: &AckEvent, path: &Path) {
        if self.mode == Mode::Startup && self.full.reached {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain
            && event.inflight <= self.inflight(self.max_bw.get(), UNIT, path)
        {
            self.enter_probe_bw(event.now);
        }
    }

    pub(super) fn update_min_rtt(&mut self, event: &AckEvent, path: &Path) {
        let now = event.now;
        let stamp = self.least.stamp.unwrap_or(now);
        let expired = now > stamp.saturating_add(self.parameters.min_rtt_filter_ms.nanos());
        if let Some(rtt) = event.rtt
            && (rtt < self.least.rtt || expired)
        {
            self.least.rtt = match self.least.rtt {
                // Linux `bbr_init`: the handshake's, while that is of late.
                Nanos::MAX => rtt.min(path.recent_min_rtt()),
                _ => rtt,
            };
            self.least.stamp = Some(now);
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.save_cwnd();
            self.mode = Mode::ProbeRtt;
            self.least.probe_done = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.run_probe_rtt(event, path);
        }
        if event.delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn run_probe_rtt(&mut self, event: &AckEvent, path: &Path) {
        // The small window, not the path, bounds what is delivered now.
        self.app_limited_until = path
            .delivered
            .saturating_add(event.inflight)
            .saturating_add(1);
        if self.least.probe_done.is_some() {
            self.least.probe_round_done |= self.rounds.start;
            if self.least.probe_round_done {
                self.check_probe_rtt_done(event.now, path);
            }
        } else if event.inflight <= MIN_CWND_SEGMENTS * mss(path) {
            self.least.probe_done = Some(
                event
                    .now
                    .saturating_add(self.parameters.probe_rtt_ms.nanos()),
            );
            self.least.probe_round_done = false;
            self.rounds.restart(path.delivered);
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self, now: Nanos, path: &Path) {
        if self.least.probe_done.is_some_and(|done| now > done) {
            self.least.stamp = Some(now);
            self.leave_probe_rtt(now);
            self.restore_cwnd(path);
        }
    }

    /// In the phase of PROBE_BW that pushes.
    pub(super) fn is_pushing(&self) -> bool {
        self.mode == Mode::ProbeBw && CYCLE_GAINS[self.cycle.index] > UNIT
    }
}
