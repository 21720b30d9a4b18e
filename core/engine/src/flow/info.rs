//! What can be shown of a flow: the fields of `ss -ti`, and the box's own.

use windlass_cc::{AlgorithmId, Failed, Nanos, Phase, Settings};
use windlass_wire::FlowKey;

use super::review::Review;
use super::{Flow, LimitedBy, Watched};
use crate::{Arm, Mode, PassReason, Side, TenantId};

/// A flow at one moment. Bytes, nanoseconds and bytes per second throughout.
#[derive(Clone, Copy, Debug)]
pub struct FlowInfo {
    /// From the sender of the data to its receiver.
    pub key: FlowKey,
    /// Where the sender is.
    pub sender: Side,
    /// The rule that governs it, by number; `None` also once it has gone.
    pub rule: Option<u16>,
    /// How far the box goes.
    pub mode: Mode,
    /// The algorithm.
    pub algorithm: AlgorithmId,
    /// How it is set.
    pub settings: Settings,
    /// Where the algorithm is.
    pub phase: Phase,
    /// Its window.
    pub cwnd: u64,
    /// Its slow-start threshold, `u64::MAX` while unknown.
    pub ssthresh: u64,
    /// The rate at which packets leave, if paced.
    pub pacing_rate: Option<u64>,
    /// Largest recent delivery rate.
    pub delivery_rate: u64,
    /// Edge shown to the sender, bytes beyond `una`.
    pub edge: u64,
    /// In flight, as the box sees it.
    pub inflight: u64,
    /// Waiting in the box for their first transmission.
    pub queued: u64,
    /// Smallest RTT, 0 before the first sample.
    pub min_rtt: Nanos,
    /// Smoothed RTT.
    pub srtt: Nanos,
    /// RTT variation.
    pub rttvar: Nanos,
    /// Segment size.
    pub mss: u32,
    /// Held for repair.
    pub held: u64,
    /// Packets held for repair.
    pub held_packets: u64,
    /// Most of them at once.
    pub held_packets_max: u64,
    /// Cumulatively acknowledged.
    pub bytes_acked: u64,
    /// Received from the sender.
    pub bytes_seen: u64,
    /// Segments marked lost.
    pub lost: u64,
    /// Segments retransmitted by the box.
    pub repaired: u64,
    /// Payload of these.
    pub repaired_bytes: u64,
    /// Payload that the receiver says it has had already (DSACK). Not counted once copies have been
    /// sent, which it would report too.
    pub spurious_bytes: u64,
    /// Second copies.
    pub copies: u64,
    /// Payload of these.
    pub copied_bytes: u64,
    /// Time-outs of the box.
    pub timeouts: u64,
    /// Times handed back to the sender.
    pub handed_back: u64,
    /// Retransmissions of the sender.
    pub sender_retransmissions: u64,
    /// Another box reports what the network marks.
    pub peer: bool,
    /// Payload that it has reported as marked.
    pub marked_bytes: u64,
    /// Packets beyond the shown edge that were dropped.
    pub policed: u64,
    /// Their payload.
    pub policed_bytes: u64,
    /// Whose flow it is.
    pub tenant: Option<TenantId>,
    /// Its weight beside the other flows of the tenant.
    pub priority: u8,
    /// By whom its algorithm was chosen among several, if it was.
    pub arm: Option<Arm>,
    /// The list of conditions on its path that may change the algorithm.
    pub switch_list: Option<u16>,
    /// The condition of it that has brought the algorithm, by number from 0.
    pub switch_condition: Option<u8>,
    /// Changes of the algorithm because of the path.
    pub switches: u32,
    /// It is in its sender's hands now.
    pub in_senders_hands: bool,
    /// The reaction to a loss or a mark is under way: the window is recovery's.
    pub in_recovery: bool,
    /// The plugin that failed, and in whose place the algorithm is.
    pub failed: Option<Failed>,
    /// What limits it.
    pub limited_by: LimitedBy,
    /// What a sender that keeps its own congestion control has made of the path (modes `observe` and
    /// `advise`).
    pub watched: Option<Watched>,
    /// Why it passes, if it does.
    pub pass: Option<PassReason>,
}

impl Flow {
    pub(crate) fn info(&self, key: FlowKey) -> FlowInfo {
        let control = self.host.control();
        let path = self.host.path();
        let review = self.cold.review.as_deref();
        let (held_packets, held_bytes, held_packets_max) = self.board.held();
        FlowInfo {
            key,
            sender: self.setup.sender,
            rule: self.verdict.rule,
            mode: self.verdict.mode,
            algorithm: self.host.controller().id(),
            failed: self.host.controller().failed(),
            settings: self.verdict.algorithm,
            phase: control.phase,
            cwnd: control.cwnd,
            ssthresh: control.ssthresh,
            pacing_rate: self.pacing.rate,
            delivery_rate: path.max_bw,
            edge: self.view.edge().saturating_sub(self.board.una()),
            inflight: self.board.inflight(),
            queued: self.board.queued(),
            min_rtt: if path.min_rtt == Nanos::MAX {
                0
            } else {
                path.min_rtt
            },
            srtt: path.srtt,
            rttvar: path.rttvar,
            mss: path.mss,
            held: held_bytes,
            held_packets: u64::from(held_packets),
            held_packets_max: u64::from(held_packets_max),
            bytes_acked: self.board.una().saturating_sub(1),
            bytes_seen: self.board.nxt().saturating_sub(1),
            lost: self.cold.tally.lost,
            repaired: self.cold.tally.repaired,
            repaired_bytes: self.cold.tally.repaired_bytes,
            spurious_bytes: self.cold.tally.spurious_bytes,
            copies: self.cold.tally.copies,
            copied_bytes: self.cold.tally.copied_bytes,
            timeouts: self.cold.tally.timeouts,
            handed_back: self.cold.tally.handed_back,
            sender_retransmissions: self.cold.tally.sender_retransmissions,
            peer: self.cold.marks_due.is_some(),
            marked_bytes: self.cold.marked_bytes,
            policed: self.cold.tally.policed,
            policed_bytes: self.cold.tally.policed_bytes,
            tenant: self.verdict.tenant,
            priority: self.verdict.priority,
            arm: self.verdict.arm,
            switch_list: self.verdict.switching.map(|s| s.list),
            switch_condition: review.and_then(Review::in_force),
            switches: review.map_or(0, Review::switches),
            in_senders_hands: self.hands.back_until.is_some(),
            in_recovery: self.host.is_reacting(),
            limited_by: self.pacing.limited_by,
            watched: self.watched(),
            pass: self.hands.pass,
        }
    }
}
