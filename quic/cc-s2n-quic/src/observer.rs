//! Looking on while a connection is controlled.

use core::fmt::Debug;

use windlass_cc_quic::Report;

/// Hears of a connection's window, rate and RTT. Called from the endpoint's own task after every
/// ACK and loss: take what is needed and return.
pub trait Observer: Debug + Send + Sync + 'static {
    /// The state after an event. `report.at` counts from the connection's first packet, ns.
    fn observe(&self, report: &Report);
}
