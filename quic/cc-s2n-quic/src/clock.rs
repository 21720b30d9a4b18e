//! s2n-quic's clock as nanoseconds since a connection's first packet.

use core::time::Duration;

use s2n_quic::provider::congestion_controller::Timestamp;
use windlass_cc::Nanos;

/// s2n-quic takes a time for past when it is this close (RFC 9002 `kGranularity`).
const GRANULARITY: Duration = Duration::from_micros(999);

/// Where time begins: with the first packet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    origin: Option<Timestamp>,
}

impl Clock {
    /// The first time asked for is 0.
    pub(crate) fn nanos(&mut self, at: Timestamp) -> Nanos {
        let origin = *self.origin.get_or_insert(at);
        at.saturating_duration_since(origin).as_nanos() as Nanos
    }

    /// What s2n-quic must be told so that something happens at `nanos` and no sooner; `None` before
    /// the first packet, and for times beyond those of s2n-quic.
    pub(crate) fn departure(&self, nanos: Nanos) -> Option<Timestamp> {
        self.origin?
            .checked_add(Duration::from_nanos(nanos) + GRANULARITY)
    }
}
