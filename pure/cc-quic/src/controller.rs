//! One connection: the algorithm, and what it is told.

use windlass_cc::{
    AckEvent, ByteRate, Controller, MILLISECOND, Nanos, Path, Phase, RateSample, RateSampler,
    RateSnapshot, SendEvent, Settings, Signal, rate_over,
};

use crate::floor::Floor;
use crate::pacer::{self, Pacer};
use crate::recovery::Recovery;
use crate::report::Report;
use crate::usage::Usage;

/// What a stack keeps with a packet until it is acknowledged or lost.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Rises with every packet; the send time, or more where several left at one time.
    order: u64,
    at: Nanos,
    snapshot: Option<RateSnapshot>,
}

impl Sent {
    /// For stacks that remember of a packet no more than when it left: without a delivery rate.
    pub fn at(at: Nanos) -> Sent {
        Sent {
            order: at,
            at,
            snapshot: None,
        }
    }
}

/// The RTT estimate of the stack (RFC 9002 §5), ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rtt {
    /// `latest_rtt`, the delay of the acknowledgement included.
    pub latest: Nanos,
    /// `smoothed_rtt`.
    pub smoothed: Nanos,
    /// `rttvar`.
    pub variation: Nanos,
    /// `min_rtt`.
    pub min: Nanos,
}

impl Rtt {
    /// `adjusted_rtt`, the newest sample without the delay that the receiver says it added. Stacks
    /// keep it to themselves; it follows from the average before it and the one with it.
    fn adjusted(&self, smoothed_before: Nanos) -> Nanos {
        if smoothed_before == 0 {
            return self.latest;
        }
        let kept = smoothed_before - smoothed_before / 8;
        let share = self.smoothed.saturating_sub(kept);
        share
            .saturating_mul(8)
            .clamp(self.min.min(self.latest), self.latest)
    }
}

/// The losses and marks since the last ACK.
#[derive(Clone, Copy, Debug, Default)]
struct Noticed {
    lost: u64,
    ranges: u32,
    marked: u64,
    /// In flight before the first of them, and when that was noticed.
    first: Option<(Nanos, u64)>,
}

/// An algorithm in charge of one path of a QUIC connection. Times in nanoseconds of any one clock,
/// sizes in bytes of UDP payload.
#[derive(Clone, Debug)]
pub struct QuicController {
    controller: Controller,
    settings: Settings,
    seed: u64,
    path: Path,
    sampler: RateSampler,
    pacer: Pacer,
    usage: Usage,
    recovery: Recovery,
    noticed: Noticed,
    /// The RTT sample of the ACK at hand.
    rtt: Option<Nanos>,
    floor: Floor,
    newest_order: u64,
    last_sent_at: Option<Nanos>,
    timed_out_at: Option<Nanos>,
    delivery_rate: ByteRate,
    marked: u64,
}

impl QuicController {
    /// Starts an algorithm, with defaults or as set, on a path that takes datagrams of
    /// `max_datagram` bytes; `seed` is all its randomness.
    pub fn new(settings: impl Into<Settings>, max_datagram: u16, seed: u64) -> Self {
        let settings = settings.into();
        let path = Path::new(u32::from(max_datagram));
        QuicController {
            controller: Controller::new(settings, &path, seed),
            settings,
            seed,
            path,
            sampler: RateSampler::default(),
            pacer: Pacer::default(),
            usage: Usage::default(),
            recovery: Recovery::default(),
            noticed: Noticed::default(),
            rtt: None,
            floor: Floor::default(),
            newest_order: 0,
            last_sent_at: None,
            timed_out_at: None,
            delivery_rate: 0,
            marked: 0,
        }
    }

    /// A packet leaves. `bytes` is 0 for one that congestion control does not count, as those with
    /// nothing but an ACK; `app_limited` says that nothing is left to send though the window has
    /// room.
    pub fn on_sent(&mut self, now: Nanos, bytes: u64, app_limited: bool) -> Sent {
        if bytes == 0 {
            let snapshot = self.sampler.on_sent(now, false, self.path.inflight);
            return self.next_sent(now, snapshot);
        }
        self.begin_recovery();
        let first = self.path.inflight == 0;
        if first {
            self.restart(now);
        }
        self.path.inflight += bytes;
        let snapshot = self.sampler.on_sent(now, first, self.path.inflight);
        let event = SendEvent {
            now,
            bytes,
            inflight: self.path.inflight,
            retransmission: false,
            app_limited: snapshot.app_limited,
        };
        self.controller.on_sent(&event, &self.path);
        let longest = self.path.srtt.max(MILLISECOND);
        self.pacer.on_sent(now, bytes, self.pacing_rate(), longest);
        self.last_sent_at = Some(now);
        let full = self.is_full();
        self.usage.on_sent(self.path.inflight, full);
        self.pacer.set_waited_for(!full && !app_limited);
        if app_limited {
            self.on_app_limited();
        }
        self.next_sent(now, snapshot)
    }

    fn next_sent(&mut self, now: Nanos, snapshot: RateSnapshot) -> Sent {
        self.newest_order = now.max(self.newest_order + 1);
        Sent {
            order: self.newest_order,
            at: now,
            snapshot: Some(snapshot),
        }
    }

    /// Nothing is left to send though the window has room, until more is sent.
    pub fn on_app_limited(&mut self) {
        self.sampler.mark_app_limited(self.path.inflight);
    }

    /// A sample of the RTT, for stacks that do not show their estimate.
    pub fn on_rtt_sample(&mut self, rtt: Nanos) {
        self.path.on_rtt(rtt.max(1));
        self.rtt = Some(rtt.max(1));
    }

    /// The stack has a new RTT sample, of the ACK that it is taking in.
    pub fn on_rtt(&mut self, rtt: Rtt) {
        let adjusted = rtt.adjusted(self.path.srtt);
        self.path.latest_rtt = adjusted;
        self.path.srtt = rtt.smoothed.max(1);
        self.path.rttvar = rtt.variation;
        self.path.min_rtt = rtt.min;
        self.path.max_rtt = self.path.max_rtt.max(adjusted);
        self.rtt = Some(adjusted);
        if rtt.latest - adjusted > rtt.min && self.is_full() {
            self.floor.raise();
        }
    }

    /// A packet is taken for lost. `burst`: the packet before it was not; `persistent`: the stack
    /// has declared persistent congestion.
    pub fn on_lost(&mut self, now: Nanos, bytes: u64, sent: &Sent, burst: bool, persistent: bool) {
        let before = self.path.inflight;
        self.path.inflight = before.saturating_sub(bytes);
        self.sampler.lost += bytes;
        self.path.lost = self.sampler.lost;
        self.noticed.lost += bytes;
        self.noticed.ranges += u32::from(burst);
        self.noticed.first.get_or_insert((now, before));
        if persistent {
            self.time_out(now);
        } else {
            self.recovery
                .on_congestion(now, Signal::Loss, sent.order, before, bytes);
        }
    }

    /// The receiver reports so many more packets as CE-marked, with the ACK that follows.
    pub fn on_marked(&mut self, packets: u64) {
        let bytes = packets.saturating_mul(u64::from(self.path.mss));
        self.noticed.marked = self.noticed.marked.saturating_add(bytes);
        self.marked = self.marked.saturating_add(bytes);
    }

    /// An ACK delivers `bytes` that were in flight; `newest` is the last sent of their packets.
    pub fn on_acked(&mut self, now: Nanos, bytes: u64, newest: &Sent) {
        let noticed = core::mem::take(&mut self.noticed);
        let inflight = self.path.inflight;
        let before = match noticed.first {
            Some((at, before)) if at == now => before,
            _ => inflight,
        };
        self.usage.on_acked(
            newest.order,
            self.newest_order + 1,
            inflight,
            self.is_full(),
        );
        self.path.inflight = inflight.saturating_sub(bytes);
        let rate = self.sample_rate(now, bytes, newest);
        self.path.delivered = self.sampler.delivered;
        if noticed.marked > 0 {
            self.recovery
                .on_congestion(now, Signal::Ecn, newest.order, before, 0);
        }
        self.begin_recovery();
        let event = AckEvent {
            now,
            acked: bytes,
            delivered: bytes,
            lost: noticed.lost,
            inflight_before: before,
            inflight: self.path.inflight,
            rtt: self.rtt.take(),
            rate,
            ce_bytes: noticed.marked.min(bytes),
            cwnd_limited: self.cwnd_limited(),
            in_recovery: self.recovery.is_open(),
            lost_ranges: noticed.ranges,
        };
        self.controller.on_ack(&event, &self.path);
        if self.recovery.end(newest.order) {
            self.controller.on_recovery_exit(now, &self.path);
        }
    }

    /// Bytes leave the flight of which nobody will hear: their packet number space was discarded,
    /// or they were a probe for a larger MTU.
    pub fn on_discarded(&mut self, bytes: u64) {
        self.path.inflight = self.path.inflight.saturating_sub(bytes);
    }

    /// What the stack says is in flight, where it does not count as `on_sent` was told.
    pub fn set_inflight(&mut self, bytes: u64) {
        self.path.inflight = bytes;
    }

    /// The path takes datagrams of another size. The window keeps its bytes (RFC 8899 §3), but for
    /// one that has not been used yet (RFC 9002 §7.2).
    pub fn on_mtu(&mut self, max_datagram: u16) {
        self.path.mss = u32::from(max_datagram);
        if self.sampler.delivered == 0 {
            self.controller = Controller::new(self.settings, &self.path, self.seed);
        }
    }

    /// Bytes that may be in flight.
    pub fn window(&self) -> u64 {
        let mss = u64::from(self.path.mss);
        let window = if self.recovery.is_pending() {
            self.path.inflight + mss
        } else {
            self.controller.control().cwnd
        };
        window.max(self.floor.datagrams() * mss)
    }

    /// Bytes in flight.
    pub fn inflight(&self) -> u64 {
        self.path.inflight
    }

    /// One more full datagram would exceed the window.
    pub fn is_full(&self) -> bool {
        self.window() < self.path.inflight + u64::from(self.path.mss)
    }

    /// When the next packet may leave; `None`: now.
    pub fn departure(&self) -> Option<Nanos> {
        self.pacing_rate().map(|_| self.pacer.next())
    }

    /// Bytes to hand to the network in one piece; `None`: as many as there are.
    pub fn quantum(&self) -> Option<u64> {
        let mss = u64::from(self.path.mss);
        self.pacing_rate().map(|rate| pacer::quantum(rate, mss))
    }

    /// Bytes per second at which packets leave: what the algorithm asks for, or 5/4 of a window per
    /// smoothed RTT (RFC 9002 §7.7), in slow start two windows.
    pub fn pacing_rate(&self) -> Option<ByteRate> {
        if self.path.srtt == 0 {
            return None;
        }
        let control = self.controller.control();
        let by_window = |quarters: u64| rate_over(control.cwnd / 4 * quarters, self.path.srtt);
        let wanted = control.pacing_rate.unwrap_or_else(|| match control.phase {
            Phase::SlowStart | Phase::ConservativeSlowStart => by_window(8),
            _ => by_window(5),
        });
        Pacer::rate(wanted, self.path.srtt)
    }

    /// The algorithm, to show its state.
    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    /// What is known of the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All that is worth showing.
    pub fn report(&self, now: Nanos) -> Report {
        let control = self.controller.control();
        Report {
            at: now,
            window: self.window(),
            ssthresh: control.ssthresh,
            inflight: self.path.inflight,
            pacing_rate: self.pacing_rate(),
            srtt: self.path.srtt,
            latest_rtt: self.path.latest_rtt,
            min_rtt: self.path.min_rtt,
            delivery_rate: self.delivery_rate,
            delivered: self.sampler.delivered,
            lost: self.sampler.lost,
            marked: self.marked,
            phase: control.phase,
            in_recovery: self.recovery.is_open(),
        }
    }

    fn sample_rate(&mut self, now: Nanos, bytes: u64, newest: &Sent) -> Option<RateSample> {
        let Some(snapshot) = &newest.snapshot else {
            self.sampler.delivered += bytes;
            return None;
        };
        self.sampler
            .on_delivered(bytes, newest.at, newest.order, snapshot);
        let sample = self.sampler.take(now, self.path.min_rtt)?;
        self.delivery_rate = sample.rate;
        self.path.on_rate(&sample, now);
        Some(sample)
    }

    fn cwnd_limited(&self) -> bool {
        let control = self.controller.control();
        let slow_start = matches!(
            control.phase,
            Phase::SlowStart | Phase::ConservativeSlowStart
        );
        self.usage.limited(control.cwnd, slow_start)
    }

    fn begin_recovery(&mut self) {
        if let Some((event, ended)) = self.recovery.begin(self.newest_order + 1) {
            if ended {
                self.controller.on_recovery_exit(event.now, &self.path);
            }
            self.controller.on_congestion(&event, &self.path);
        }
    }

    /// Persistent congestion: the stack says so of each packet of the batch.
    fn time_out(&mut self, now: Nanos) {
        if self.timed_out_at == Some(now) {
            return;
        }
        self.timed_out_at = Some(now);
        self.recovery.begin_after_timeout(self.newest_order + 1);
        self.controller.on_rto(now, &self.path);
    }

    /// Something is sent again after all had been acknowledged.
    fn restart(&mut self, now: Nanos) {
        let Some(last) = self.last_sent_at else {
            return;
        };
        // What was not sent while there was room says nothing about the path.
        self.sampler.mark_app_limited(0);
        let idle = now.saturating_sub(last);
        let variation = self.path.rttvar.saturating_mul(4).max(MILLISECOND);
        if idle > self.path.srtt.saturating_add(variation) {
            self.controller.on_idle_restart(now, idle, &self.path);
        }
    }
}

#[cfg(test)]
#[path = "controller_tests.rs"]
mod tests;
