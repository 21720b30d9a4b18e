//! Recovery periods (RFC 9002 §7.3.2).

use windlass_cc::{CongestionEvent, Nanos, Signal};

/// The period that is open, and the one that is about to begin.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Recovery {
    /// The first packet sent in the open period.
    point: Option<u64>,
    /// Congestion that the algorithm has not been told of: that waits for the packet or the ACK
    /// that follows, since QUIC stacks report the losses of one ACK one by one.
    pending: Option<CongestionEvent>,
}

impl Recovery {
    /// A packet of this order was lost or marked, with `inflight` bytes out before.
    pub(crate) fn on_congestion(
        &mut self,
        now: Nanos,
        signal: Signal,
        order: u64,
        inflight: u64,
        lost: u64,
    ) {
        if self.point.is_some_and(|point| order < point) {
            return;
        }
        let event = self.pending.get_or_insert(CongestionEvent {
            now,
            signal,
            inflight_before: inflight,
            lost: 0,
        });
        event.lost += lost;
        if signal == Signal::Loss {
            event.signal = signal;
        }
    }

    /// Congestion has been noticed, and the algorithm does not know.
    pub(crate) fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// Begins the period that is due, in which the packet `next` will be the first; with the event
    /// comes whether another period ends by it.
    pub(crate) fn begin(&mut self, next: u64) -> Option<(CongestionEvent, bool)> {
        let event = self.pending.take()?;
        let ended = self.point.replace(next).is_some();
        Some((event, ended))
    }

    /// Persistent congestion: all before the packet `next` is one period.
    pub(crate) fn begin_after_timeout(&mut self, next: u64) {
        self.pending = None;
        self.point = Some(next);
    }

    /// A period is open.
    pub(crate) fn is_open(&self) -> bool {
        self.point.is_some()
    }

    /// True if the acknowledgement of this packet ends the period.
    pub(crate) fn end(&mut self, order: u64) -> bool {
        self.point.take_if(|point| order >= *point).is_some()
    }
}
