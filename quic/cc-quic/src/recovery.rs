//! Recovery periods (RFC 9002 §7.3.2).

use windlass_cc::host::Episode;
use windlass_cc::{CongestionEvent, Nanos, Signal};

/// Congestion that the algorithm has not been told of: that waits for the packet or the ACK that follows, since QUIC
/// stacks report the losses of one ACK one by one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Recovery {
    pending: Option<CongestionEvent>,
}

impl Recovery {
    /// A packet of this order was lost or marked, with `inflight` bytes out before. One that was sent before the `open`
    /// period is part of it.
    pub(crate) fn on_congestion(
        &mut self,
        now: Nanos,
        signal: Signal,
        open: Option<Episode>,
        order: u64,
        inflight: u64,
        lost: u64,
    ) {
        if open.is_some_and(|open| order < open.point) {
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

    /// The period that is due begins.
    pub(crate) fn begin(&mut self) -> Option<CongestionEvent> {
        self.pending.take()
    }

    /// Persistent congestion has taken all of it in.
    pub(crate) fn forget(&mut self) {
        self.pending = None;
    }
}
