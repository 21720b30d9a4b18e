//! One connection: the algorithm, and what it is told.

use windlass_cc::host::{Ack, Delivery, Departure, Host, Standing, rate_by_window};
use windlass_cc::{
    ByteRate, Controller, MILLISECOND, Nanos, Path, Phase, RateSnapshot, Settings, Signal,
};

use crate::floor::Floor;
use crate::pacer::{self, Pacer};
use crate::recovery::Recovery;
use crate::report::Report;

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
    host: Host,
    settings: Settings,
    seed: u64,
    inflight: u64,
    pacer: Pacer,
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
            host: Host::new(settings, path, seed),
            settings,
            seed,
            inflight: 0,
            pacer: Pacer::default(),
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
            let snapshot = self.host.sent_uncounted(now);
            return self.next_sent(now, snapshot);
        }
        self.begin_recovery();
        let first = self.inflight == 0;
        if first {
            self.restart(now);
        }
        self.inflight += bytes;
        let snapshot = self.host.sent(&Departure {
            now,
            bytes,
            inflight: self.inflight,
            sampled_inflight: self.inflight,
            first,
            retransmission: false,
        });
        let longest = self.host.path().srtt.max(MILLISECOND);
        self.pacer.on_sent(now, bytes, self.pacing_rate(), longest);
        self.last_sent_at = Some(now);
        let full = self.is_full();
        self.host.usage_mut().note(full, self.inflight);
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
        self.host.app_limited(self.inflight);
    }

    /// A sample of the RTT, for stacks that do not show their estimate.
    pub fn on_rtt_sample(&mut self, rtt: Nanos) {
        self.host.path_mut().on_rtt(rtt.max(1));
        self.rtt = Some(rtt.max(1));
    }

    /// The stack has a new RTT sample, of the ACK that it is taking in.
    pub fn on_rtt(&mut self, rtt: Rtt) {
        let path = self.host.path_mut();
        let adjusted = rtt.adjusted(path.srtt);
        path.latest_rtt = adjusted;
        path.srtt = rtt.smoothed.max(1);
        path.rttvar = rtt.variation;
        path.min_rtt = rtt.min;
        path.max_rtt = path.max_rtt.max(adjusted);
        self.rtt = Some(adjusted);
        if rtt.latest - adjusted > rtt.min && self.is_full() {
            self.floor.raise();
        }
    }

    /// A packet is taken for lost. `burst`: the packet before it was not; `persistent`: the stack
    /// has declared persistent congestion.
    pub fn on_lost(&mut self, now: Nanos, bytes: u64, sent: &Sent, burst: bool, persistent: bool) {
        let before = self.inflight;
        self.inflight = before.saturating_sub(bytes);
        self.host.lost(&mut Ack::default(), bytes, burst);
        self.host.settle(self.inflight);
        self.noticed.lost += bytes;
        self.noticed.ranges += u32::from(burst);
        self.noticed.first.get_or_insert((now, before));
        if persistent {
            self.time_out(now);
        } else {
            let open = self.host.episode();
            self.recovery
                .on_congestion(now, Signal::Loss, open, sent.order, before, bytes);
        }
    }

    /// The receiver reports so many more packets as CE-marked, with the ACK that follows.
    pub fn on_marked(&mut self, packets: u64) {
        let bytes = packets.saturating_mul(u64::from(self.host.path().mss));
        self.noticed.marked = self.noticed.marked.saturating_add(bytes);
        self.marked = self.marked.saturating_add(bytes);
    }

    /// An ACK delivers `bytes` that were in flight; `newest` is the last sent of their packets.
    pub fn on_acked(&mut self, now: Nanos, bytes: u64, newest: &Sent) {
        let noticed = core::mem::take(&mut self.noticed);
        let inflight = self.inflight;
        let before = match noticed.first {
            Some((at, before)) if at == now => before,
            _ => inflight,
        };
        let mut ack = Ack::new(now, before);
        self.use_of_window(newest.order);
        self.inflight = inflight.saturating_sub(bytes);
        self.sample(&mut ack, bytes, newest);
        self.host.settle(self.inflight);
        if noticed.marked > 0 {
            let open = self.host.episode();
            self.recovery
                .on_congestion(now, Signal::Ecn, open, newest.order, before, 0);
        }
        self.begin_recovery();
        ack.set_acked(bytes);
        ack.set_marked(noticed.marked.min(bytes));
        ack.add_noticed(noticed.lost, noticed.ranges);
        if let Some(rtt) = self.rtt.take() {
            self.host.path_mut().recent.on_rtt(rtt, now);
            ack.set_rtt(Some(rtt));
        }
        let standing = Standing {
            inflight: self.inflight,
            cwnd_limited: self.host.usage().limited(&self.host.control()),
            in_recovery: self.host.episode().is_some(),
        };
        self.host.finish_ack(now, &ack, &standing);
        if self.host.is_recovered(newest.order) {
            self.host.recovered(now);
        }
    }

    /// The packet `order` is acknowledged: its round may end with it.
    fn use_of_window(&mut self, order: u64) {
        let (full, inflight) = (self.is_full(), self.inflight);
        let next = self.newest_order + 1;
        let usage = self.host.usage_mut();
        match usage.is_over(order) {
            true => usage.begin(next, full, inflight),
            false => usage.note(full, inflight),
        }
    }

    /// Bytes leave the flight of which nobody will hear: their packet number space was discarded,
    /// or they were a probe for a larger MTU.
    pub fn on_discarded(&mut self, bytes: u64) {
        self.inflight = self.inflight.saturating_sub(bytes);
        self.host.settle(self.inflight);
    }

    /// What the stack says is in flight, where it does not count as `on_sent` was told.
    pub fn set_inflight(&mut self, bytes: u64) {
        self.inflight = bytes;
        self.host.settle(bytes);
    }

    /// The path takes datagrams of another size. The window keeps its bytes (RFC 8899 §3), but for
    /// one that has not been used yet (RFC 9002 §7.2).
    pub fn on_mtu(&mut self, max_datagram: u16) {
        self.host.path_mut().mss = u32::from(max_datagram);
        if self.host.counts().0 == 0 {
            self.host.restart(self.settings, self.seed);
        }
    }

    /// Bytes that may be in flight.
    pub fn window(&self) -> u64 {
        let mss = u64::from(self.host.path().mss);
        let window = if self.recovery.is_pending() {
            self.inflight + mss
        } else {
            self.host.control().cwnd
        };
        window.max(self.floor.datagrams() * mss)
    }

    /// Bytes in flight.
    pub fn inflight(&self) -> u64 {
        self.inflight
    }

    /// One more full datagram would exceed the window.
    pub fn is_full(&self) -> bool {
        self.window() < self.inflight + u64::from(self.host.path().mss)
    }

    /// When the next packet may leave; `None`: now.
    pub fn departure(&self) -> Option<Nanos> {
        self.pacing_rate().map(|_| self.pacer.next())
    }

    /// Bytes to hand to the network in one piece; `None`: as many as there are.
    pub fn quantum(&self) -> Option<u64> {
        let mss = u64::from(self.host.path().mss);
        self.pacing_rate().map(|rate| pacer::quantum(rate, mss))
    }

    /// Bytes per second at which packets leave: what the algorithm asks for, or 5/4 of a window per
    /// smoothed RTT (RFC 9002 §7.7), in slow start two windows.
    pub fn pacing_rate(&self) -> Option<ByteRate> {
        let srtt = self.host.path().srtt;
        if srtt == 0 {
            return None;
        }
        let control = self.host.control();
        let by_window = |percent| rate_by_window(control.cwnd, percent, srtt);
        let wanted = control.pacing_rate.unwrap_or_else(|| match control.phase {
            Phase::SlowStart | Phase::ConservativeSlowStart => by_window(200),
            _ => by_window(125),
        });
        Pacer::rate(wanted, srtt)
    }

    /// The algorithm, to show its state.
    pub fn controller(&self) -> &Controller {
        self.host.controller()
    }

    /// What is known of the path.
    pub fn path(&self) -> &Path {
        self.host.path()
    }

    /// All that is worth showing.
    pub fn report(&self, now: Nanos) -> Report {
        let control = self.host.control();
        let path = self.host.path();
        let (delivered, lost) = self.host.counts();
        Report {
            at: now,
            window: self.window(),
            ssthresh: control.ssthresh,
            inflight: self.inflight,
            pacing_rate: self.pacing_rate(),
            srtt: path.srtt,
            latest_rtt: path.latest_rtt,
            min_rtt: path.min_rtt,
            delivery_rate: self.delivery_rate,
            delivered,
            lost,
            marked: self.marked,
            phase: control.phase,
            in_recovery: self.host.episode().is_some(),
        }
    }

    fn sample(&mut self, ack: &mut Ack, bytes: u64, newest: &Sent) {
        let delivery = Delivery {
            bytes,
            sent_at: newest.at,
            position: newest.order,
            snapshot: newest.snapshot,
        };
        self.host.delivered(ack, &delivery);
        if newest.snapshot.is_some() {
            self.host.measure_rate(ack, ack.at());
        }
        if let Some(rate) = ack.delivery_rate() {
            self.delivery_rate = rate;
        }
    }

    fn begin_recovery(&mut self) {
        if let Some(event) = self.recovery.begin() {
            if self.host.episode().is_some() {
                self.host.recovered(event.now);
            }
            let (point, before) = (self.newest_order + 1, event.inflight_before);
            self.host
                .congested(event.now, event.signal, point, before, event.lost);
        }
    }

    /// Persistent congestion: the stack says so of each packet of the batch.
    fn time_out(&mut self, now: Nanos) {
        if self.timed_out_at == Some(now) {
            return;
        }
        self.timed_out_at = Some(now);
        self.recovery.forget();
        self.host.timed_out(now, self.newest_order + 1);
    }

    /// Something is sent again after all had been acknowledged.
    fn restart(&mut self, now: Nanos) {
        let Some(last) = self.last_sent_at else {
            return;
        };
        // What was not sent while there was room says nothing about the path.
        self.host.app_limited(0);
        let idle = now.saturating_sub(last);
        let path = self.host.path();
        let variation = path.rttvar.saturating_mul(4).max(MILLISECOND);
        if idle > path.srtt.saturating_add(variation) {
            self.host.idle_restart(now, idle);
        }
    }
}

#[cfg(test)]
mod tests;
