//! What has been decided about a packet, as data for whoever records it.

use serde::{Deserialize, Serialize};
use windlass_cc::Phase;
use windlass_metric::labels;

use crate::{LimitedBy, PassReason, Side};

labels! {
    /// Why a packet leaves.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
    pub enum Why {
        /// An end has sent it, and it goes on.
        Forwarded = "forwarded",
        /// Data, for the first time.
        First = "first_transmission",
        /// Data that is taken for lost, once more.
        Repair = "repair",
        /// A tail loss probe.
        Probe = "tail_probe",
        /// A second copy.
        Copy = "copy",
        /// An acknowledgement of the receiver, as the sender is to read it.
        AckShown = "ack_shown",
        /// An acknowledgement made here, of a number that the receiver has sent.
        AckMade = "ack_made",
        /// A report to the other box.
        Report = "report",
    }
}

labels! {
    /// What becomes of a packet that has come.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum Fate {
        /// It leaves at once.
        Sent = "sent",
        /// Its receiver or policy wants nothing done to it: it leaves unchanged.
        Passed = "passed",
        /// Data that waits for its turn, or is kept for repair.
        Held = "held",
        /// An acknowledgement that waits to be shown.
        AckWaits = "ack_waits",
        /// An acknowledgement that says nothing the sender needs: not shown.
        AckHidden = "ack_hidden",
        /// An acknowledgement in whose place one made here is shown.
        AckReplaced = "ack_replaced",
        /// A retransmission of the sender that Windlass has made already, or will.
        RepeatAbsorbed = "repeat_absorbed",
        /// A retransmission of what the receiver has: answered here by the receiver's own number.
        RepeatAnswered = "repeat_answered",
        /// An older segment that another has overtaken: its receiver would drop it.
        Overtaken = "overtaken",
        /// Data beyond the edge that the sender was shown: dropped.
        Policed = "policed",
        /// A report of the other box.
        Report = "report",
        /// Of a connection that cannot be governed, which policy limits or forbids: dropped.
        Ungoverned = "ungoverned",
    }
}

/// What was decided about a packet that has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decision {
    /// What becomes of it.
    pub fate: Fate,
    /// Why it passes unchanged, if it does.
    pub reason: Option<PassReason>,
    /// Length of its headers up to the TCP payload, bytes; 0 if it has not been understood.
    pub headers: u16,
    /// How the flow stands that it acknowledges.
    pub standing: Option<Standing>,
}

/// How a flow stands once a packet of its receiver has been taken in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    /// Where its sender is.
    pub sender: Side,
    /// Where the algorithm is.
    pub phase: Phase,
    /// What the flow waits for.
    pub limited_by: LimitedBy,
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// In flight, bytes.
    pub inflight: u64,
    /// Waiting for their first transmission, bytes.
    pub queued: u64,
    /// Slow-start threshold, bytes; `u64::MAX`: none.
    pub ssthresh: u64,
    /// Rate at which packets leave, bytes per second; 0: at once.
    pub pacing_rate: u64,
    /// Smoothed RTT, µs; 0 before the first sample.
    pub srtt_us: u32,
    /// Smallest RTT, µs; 0 before the first sample.
    pub min_rtt_us: u32,
    /// Newest RTT, µs; 0 before the first sample.
    pub latest_rtt_us: u32,
}
