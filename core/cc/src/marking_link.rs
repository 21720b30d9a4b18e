//! For tests: one flow over a bottleneck that serves one segment per slot, loses nothing, and marks.
//! Every segment is acknowledged and every mark echoed by itself; a window's first mark opens an
//! episode that ends when something sent later has been delivered (as Linux' CWR does).

use std::collections::VecDeque;

use crate::seeded::Seeded;
use crate::{
    AckEvent, Algorithm, CongestionEvent, Controller, Nanos, Path, SECOND, SendEvent, Settings,
    Signal,
};

pub(crate) const MSS: u64 = 1448;

/// Which segments are marked.
#[derive(Clone, Copy)]
pub(crate) enum Marking {
    /// Those that find so many segments queued.
    Step(u64),
    /// This many in a million, at random.
    Random(u64),
}

pub(crate) struct MarkingLink {
    pub(crate) controller: Controller,
    pub(crate) path: Path,
    /// Time to serve a segment.
    slot: Nanos,
    /// Round trip without a queue, slots.
    delay: u64,
    marking: Marking,
    random: Seeded,
    now: u64,
    free: u64,
    next_send: Nanos,
    sent: u64,
    recover: Option<u64>,
    outstanding: VecDeque<(u64, u64, bool)>,
}

/// Means over a run.
pub(crate) struct Means {
    /// Share of slots in which a segment was delivered.
    pub(crate) utilisation: f64,
    /// Segments waiting.
    pub(crate) queue: f64,
    /// The algorithm's window, segments.
    pub(crate) window: f64,
    /// Share of segments marked.
    pub(crate) marked: f64,
}

impl MarkingLink {
    pub(crate) fn new(settings: Settings, slot: Nanos, delay: u64, marking: Marking) -> Self {
        let path = Path::new(MSS as u32);
        MarkingLink {
            controller: Controller::new(settings, &path, 1),
            path,
            slot,
            delay,
            marking,
            random: Seeded::new(7),
            now: SECOND / slot,
            free: 0,
            next_send: 0,
            sent: 0,
            recover: None,
            outstanding: VecDeque::new(),
        }
    }

    pub(crate) fn algorithm(&self) -> &Algorithm {
        self.controller.algorithm()
    }

    pub(crate) fn run(&mut self, slots: u64) -> Means {
        let (mut queue, mut window, mut marked) = (0u64, 0.0, 0u64);
        let before = self.path.delivered;
        for _ in 0..slots {
            self.now += 1;
            while self.outstanding.front().is_some_and(|p| p.1 <= self.now) {
                marked += u64::from(self.acknowledge());
            }
            self.send();
            queue += self.free.saturating_sub(self.now);
            window += self.algorithm().control().cwnd as f64 / MSS as f64;
        }
        let delivered = ((self.path.delivered - before) / MSS) as f64;
        Means {
            utilisation: delivered / slots as f64,
            queue: queue as f64 / slots as f64,
            window: window / slots as f64,
            marked: marked as f64 / delivered,
        }
    }

    fn send(&mut self) {
        loop {
            let control = self.controller.control();
            let now = self.now * self.slot;
            if self.path.inflight + MSS > control.cwnd || self.next_send > now + self.slot {
                return;
            }
            if let Some(rate) = control.pacing_rate {
                self.next_send = self.next_send.max(now) + MSS * SECOND / rate;
            }
            let waiting = self.free.saturating_sub(self.now);
            let marked = match self.marking {
                Marking::Step(at) => waiting >= at,
                Marking::Random(share) => self.random.below(1_000_000) < share,
            };
            self.free = self.free.max(self.now) + 1;
            self.outstanding
                .push_back((self.now, self.free + self.delay, marked));
            self.sent += 1;
            self.path.inflight += MSS;
            let event = SendEvent {
                now,
                bytes: MSS,
                inflight: self.path.inflight,
                ..SendEvent::default()
            };
            self.controller.on_sent(&event, &self.path);
        }
    }

    fn acknowledge(&mut self) -> bool {
        let (sent, _, marked) = self.outstanding.pop_front().unwrap();
        let (now, inflight_before) = (self.now * self.slot, self.path.inflight);
        let rtt = (self.now - sent) * self.slot;
        self.path.inflight -= MSS;
        self.path.delivered += MSS;
        self.path.on_rtt(rtt);
        if marked && self.recover.is_none() {
            self.recover = Some(self.sent);
            let event = CongestionEvent {
                now,
                signal: Signal::Ecn,
                inflight_before,
                lost: 0,
            };
            self.controller.on_congestion(&event, &self.path);
        }
        let event = AckEvent {
            now,
            acked: MSS,
            delivered: MSS,
            inflight_before,
            inflight: self.path.inflight,
            rtt: Some(rtt),
            ce_bytes: u64::from(marked) * MSS,
            cwnd_limited: true,
            in_recovery: self.recover.is_some(),
            ..AckEvent::default()
        };
        self.controller.on_ack(&event, &self.path);
        if self
            .recover
            .is_some_and(|at| self.path.delivered > at * MSS)
        {
            self.recover = None;
            self.controller.on_recovery_exit(now, &self.path);
        }
        marked
    }
}
