//! How far away the ends are, as their handshake has shown.

use windlass_cc::Nanos;

use super::Flow;
use super::info::NANOS_PER_MICRO;

impl Flow {
    /// From the SYN of the sender to its answer, if neither was sent again.
    pub(crate) fn set_handshake_rtt(&mut self, rtt: Nanos, now: Nanos) {
        self.host.path_mut().on_handshake_rtt(rtt, now);
        self.recall_handshake_rtt(rtt);
    }

    /// The same of a handshake that was long ago: it says how far away the ends are, and not whether a queue stands now.
    pub(crate) fn recall_handshake_rtt(&mut self, rtt: Nanos) {
        self.cold.handshake_us = known_micros(rtt);
    }

    /// From the SYN of the receiver to the sender's answer, if neither was sent again.
    pub(crate) fn set_near_rtt(&mut self, rtt: Nanos) {
        self.setup.near_us = known_micros(rtt);
    }

    /// From the SYN of the sender to its answer; 0: unknown.
    pub(super) fn handshake_rtt(&self) -> Nanos {
        Nanos::from(self.cold.handshake_us) * NANOS_PER_MICRO
    }

    /// Between the box and the receiver, of late; of the handshake, until data have been acknowledged; 0: unknown.
    pub(super) fn far_rtt(&self) -> Nanos {
        match self.host.path().recent_min_rtt() {
            Nanos::MAX => self.handshake_rtt(),
            measured => measured,
        }
    }

    /// Between the box and the sender; 0: unknown.
    pub(super) fn near_rtt(&self) -> Nanos {
        Nanos::from(self.setup.near_us) * NANOS_PER_MICRO
    }
}

/// A time that was measured, in at least 1 µs.
pub(super) fn known_micros(time: Nanos) -> u32 {
    u32::try_from(time / NANOS_PER_MICRO)
        .unwrap_or(u32::MAX)
        .max(1)
}
