//! What a flow waits for, by name.

use serde::{Deserialize, Serialize};

/// What limits a flow at the moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum LimitedBy {
    /// The sender has nothing more, or its own window is closed.
    #[default]
    Sender,
    /// The congestion window.
    Cwnd,
    /// Pacing.
    Pacing,
    /// The cap of its tenant.
    Tenant,
    /// The receiver's window.
    Receiver,
    /// Windlass itself: it paces below what the algorithm wants, at a guess about the bottleneck that nothing has proven yet.
    Guess,
}

impl LimitedBy {
    /// All of them.
    pub const ALL: [LimitedBy; 6] = [
        LimitedBy::Sender,
        LimitedBy::Cwnd,
        LimitedBy::Pacing,
        LimitedBy::Tenant,
        LimitedBy::Receiver,
        LimitedBy::Guess,
    ];
}

impl LimitedBy {
    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            LimitedBy::Sender => "sender",
            LimitedBy::Cwnd => "cwnd",
            LimitedBy::Pacing => "pacing",
            LimitedBy::Tenant => "tenant",
            LimitedBy::Receiver => "receiver",
            LimitedBy::Guess => "guess",
        }
    }
}
