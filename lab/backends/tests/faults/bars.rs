//! What the box has to reach. An `Aim` becomes `Held` when the box reaches it in every run.

use crate::report::Bar;
use crate::report::Weight::{self, Aim, Held};

/// Nothing fails and nothing is falsified, whatever happens to the box.
pub const NONE_FAILS: (Bar, Weight) = (Bar::AtMost(0.0), Held);

/// Established transfers during a flood.
pub const FLOOD_SPEED: (Bar, Weight) = (Bar::OfBridgeAtLeast(0.95), Aim);
/// New connections of honest clients during a flood.
pub const FLOOD_NEW: (Bar, Weight) = (Bar::OfBridgeAtLeast(0.95), Aim);
/// Memory of the box during a flood and after it, MB.
pub const FLOOD_MEMORY_MB: (Bar, Weight) = (Bar::AtMost(300.0), Held);
/// More memory than before, some time after a flood, MB.
pub const FLOOD_KEPT_MB: (Bar, Weight) = (Bar::AtMost(50.0), Held);
/// Until new connections are governed again, s.
pub const GOVERNED_AGAIN_S: (Bar, Weight) = (Bar::AtMost(1.0), Aim);

/// Transfers that packets with right checksums and wrong contents end, beside the bridge's.
pub const NOISE_FAILS: (Bar, Weight) = (Bar::OfBridgeAtMost(1.0), Aim);
/// Transfers that are governed when the noise is over, of those that were before.
pub const NOISE_GOVERNED: (Bar, Weight) = (Bar::OfBridgeAtLeast(1.0), Aim);

/// Longest stall of a transfer under a box that stands still, s.
pub const STOPPED_STALL_S: (Bar, Weight) = (Bar::AtMost(1.0), Aim);
/// Transfers that are governed after the last stop, of those that were before the first.
pub const STILL_GOVERNED: (Bar, Weight) = (Bar::OfBridgeAtLeast(1.0), Aim);
/// Longest stall under a box that is killed, beside that of the same load in peace.
pub const KILLED_STALL: (Bar, Weight) = (Bar::OfBridgeAtMost(1.5), Aim);
/// Until the bridge has taken over, ms: the patience of the XDP program, and some more.
pub const BLACKOUT_MS: (Bar, Weight) = (Bar::AtMost(75.0), Aim);

/// Of thousands of flows, those that complete in the time.
pub const CROWD_COMPLETE: (Bar, Weight) = (Bar::OfBridgeAtLeast(0.95), Aim);
/// Packets that the box has not taken for want of frames or room.
pub const DROPS: (Bar, Weight) = (Bar::AtMost(0.0), Held);

/// Time of transfers and latency of others beside spinning processes.
pub const STARVED_TIME: (Bar, Weight) = (Bar::OfBridgeAtMost(1.10), Aim);
pub const STARVED_PING: (Bar, Weight) = (Bar::OfBridgeAtMost(1.10), Aim);

/// Short downloads that begin beside long ones, beside those of a server with BBR.
pub const NEWCOMERS: (Bar, Weight) = (Bar::OfBridgeAtMost(1.10), Aim);

/// The box ends only when it is told to.
pub const SOAK_ENDS: (Bar, Weight) = (Bar::AtMost(0.0), Held);
/// What it has more than when it began, in rest.
pub const SOAK_KEPT_MB: (Bar, Weight) = (Bar::AtMost(50.0), Held);
pub const SOAK_KEPT_FILES: (Bar, Weight) = (Bar::AtMost(4.0), Held);
