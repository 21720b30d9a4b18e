//! One path of one connection: calls translated.

use core::time::Duration;
use std::sync::Arc;

use s2n_quic::provider::congestion_controller::{
    CongestionController, Publisher, RandomGenerator, RttEstimator, Timestamp,
};
use windlass_cc::Nanos;
use windlass_cc_quic::{QuicController, Rtt, Sent};

use crate::Observer;
use crate::clock::Clock;

/// An algorithm in charge of a path, as s2n-quic asks for it.
#[derive(Clone, Debug)]
pub struct PathController {
    controller: QuicController,
    clock: Clock,
    observer: Option<Arc<dyn Observer>>,
}

impl PathController {
    pub(crate) fn new(controller: QuicController, observer: Option<Arc<dyn Observer>>) -> Self {
        PathController {
            controller,
            clock: Clock::default(),
            observer,
        }
    }

    fn report(&self, now: Nanos) {
        if let Some(observer) = &self.observer {
            observer.observe(&self.controller.report(now));
        }
    }
}

fn nanos(duration: Duration) -> Nanos {
    duration.as_nanos() as Nanos
}

fn narrow(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

impl CongestionController for PathController {
    type PacketInfo = Sent;

    fn congestion_window(&self) -> u32 {
        narrow(self.controller.window())
    }

    fn bytes_in_flight(&self) -> u32 {
        narrow(self.controller.inflight())
    }

    fn is_congestion_limited(&self) -> bool {
        self.controller.is_full()
    }

    /// Never: the window itself lets one packet go at the start of recovery.
    fn requires_fast_retransmission(&self) -> bool {
        false
    }

    fn on_packet_sent<Pub: Publisher>(
        &mut self,
        time_sent: Timestamp,
        sent_bytes: usize,
        app_limited: Option<bool>,
        _: &RttEstimator,
        _: &mut Pub,
    ) -> Sent {
        let now = self.clock.nanos(time_sent);
        // During the handshake s2n-quic does not say; there is never enough to fill a window.
        let app_limited = app_limited.unwrap_or(true);
        self.controller.on_sent(now, sent_bytes as u64, app_limited)
    }

    fn on_rtt_update<Pub: Publisher>(
        &mut self,
        _: Timestamp,
        _: Timestamp,
        rtt: &RttEstimator,
        _: &mut Pub,
    ) {
        self.controller.on_rtt(Rtt {
            latest: nanos(rtt.latest_rtt()),
            smoothed: nanos(rtt.smoothed_rtt()),
            variation: nanos(rtt.rttvar()),
            min: nanos(rtt.min_rtt()),
        });
    }

    fn on_ack<Pub: Publisher>(
        &mut self,
        _: Timestamp,
        bytes_acknowledged: usize,
        newest: Sent,
        _: &RttEstimator,
        _: &mut dyn RandomGenerator,
        ack_receive_time: Timestamp,
        _: &mut Pub,
    ) {
        let now = self.clock.nanos(ack_receive_time);
        self.controller
            .on_acked(now, bytes_acknowledged as u64, &newest);
        self.report(now);
    }

    fn on_packet_lost<Pub: Publisher>(
        &mut self,
        lost_bytes: u32,
        packet: Sent,
        persistent_congestion: bool,
        new_loss_burst: bool,
        _: &mut dyn RandomGenerator,
        timestamp: Timestamp,
        _: &mut Pub,
    ) {
        let now = self.clock.nanos(timestamp);
        self.controller.on_lost(
            now,
            u64::from(lost_bytes),
            &packet,
            new_loss_burst,
            persistent_congestion,
        );
        self.report(now);
    }

    fn on_explicit_congestion<Pub: Publisher>(&mut self, ce_count: u64, _: Timestamp, _: &mut Pub) {
        self.controller.on_marked(ce_count);
    }

    fn on_mtu_update<Pub: Publisher>(&mut self, max_data_size: u16, _: &mut Pub) {
        self.controller.on_mtu(max_data_size);
    }

    fn on_packet_discarded<Pub: Publisher>(&mut self, bytes_sent: usize, _: &mut Pub) {
        self.controller.on_discarded(bytes_sent as u64);
    }

    fn earliest_departure_time(&self) -> Option<Timestamp> {
        self.clock.departure(self.controller.departure()?)
    }

    fn send_quantum(&self) -> Option<usize> {
        self.controller.quantum().map(|bytes| bytes as usize)
    }
}
