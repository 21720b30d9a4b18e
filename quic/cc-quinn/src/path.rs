//! One path of one connection: calls translated.

use std::any::Any;
use std::time::Instant;

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerMetrics};
use windlass_cc::Nanos;
use windlass_cc_quic::{QuicController, Report, Sent};

/// What the packets of one ACK come to.
#[derive(Clone, Copy, Debug, Default)]
struct Acked {
    bytes: u64,
    packets: u64,
    /// Send time of the newest.
    newest: Nanos,
}

/// An algorithm in charge of a path, as quinn asks for it.
#[derive(Clone, Debug)]
pub struct PathController {
    controller: QuicController,
    origin: Instant,
    initial_window: u64,
    acked: Acked,
    /// Packets of the last ACK, should it turn out to have reported marks.
    last_packets: u64,
    largest_acked: Option<u64>,
}

impl PathController {
    pub(crate) fn new(controller: QuicController, now: Instant) -> Self {
        PathController {
            initial_window: controller.window(),
            controller,
            origin: now,
            acked: Acked::default(),
            last_packets: 0,
            largest_acked: None,
        }
    }

    /// The state of the path's congestion control.
    pub fn report(&self, now: Instant) -> Report {
        self.controller.report(self.nanos(now))
    }

    fn nanos(&self, at: Instant) -> Nanos {
        at.saturating_duration_since(self.origin).as_nanos() as Nanos
    }
}

impl Controller for PathController {
    fn on_sent(&mut self, now: Instant, bytes: u64, _last_packet_number: u64) {
        let now = self.nanos(now);
        self.controller.on_sent(now, bytes, false);
    }

    fn on_ack(&mut self, _: Instant, sent: Instant, bytes: u64, _: bool, _: &RttEstimator) {
        self.acked.bytes += bytes;
        self.acked.packets += 1;
        self.acked.newest = self.acked.newest.max(self.nanos(sent));
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest: Option<u64>,
    ) {
        let acked = std::mem::take(&mut self.acked);
        let now = self.nanos(now);
        if acked.packets > 0 {
            if largest > self.largest_acked {
                self.controller
                    .on_rtt_sample(now.saturating_sub(acked.newest));
            }
            self.controller
                .on_acked(now, acked.bytes, &Sent::at(acked.newest));
        }
        self.largest_acked = largest.max(self.largest_acked);
        self.last_packets = acked.packets;
        // Datagrams without anything to acknowledge were counted when they left, and quinn does
        // not tell of them again.
        self.controller.set_inflight(in_flight);
        if app_limited {
            self.controller.on_app_limited();
        }
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        if lost_bytes == 0 {
            self.controller.on_marked(self.last_packets.max(1));
            return;
        }
        let (now, sent) = (self.nanos(now), Sent::at(self.nanos(sent)));
        self.controller
            .on_lost(now, lost_bytes, &sent, true, is_persistent_congestion);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.controller.on_mtu(new_mtu);
    }

    /// One byte more than the algorithm's: quinn lets the flight come up to its window, not to fill
    /// it.
    fn window(&self) -> u64 {
        self.controller.window() + 1
    }

    fn metrics(&self) -> ControllerMetrics {
        let control = self.controller.controller().control();
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.controller.window();
        metrics.ssthresh = Some(control.ssthresh).filter(|bytes| *bytes < u64::MAX);
        metrics.pacing_rate = self.controller.pacing_rate().map(|rate| rate * 8);
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.initial_window
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
