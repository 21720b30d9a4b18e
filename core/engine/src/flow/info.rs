//! What can be shown of a flow: the fields of `ss -ti`, and the box's own.

use serde::{Deserialize, Serialize};
use windlass_cc::{AlgorithmId, Failed, Nanos, Phase, Settings};
use windlass_metric::metrics;
use windlass_wire::FlowKey;

use super::review::Review;
use super::{Flow, LimitedBy, Watched};
use crate::{Arm, Edition, Mode, PassReason, Side, TenantId};

pub(super) const NANOS_PER_MICRO: Nanos = 1000;
const BITS_PER_BYTE: u64 = 8;

metrics! {
    /// The numbers of a flow, under the names and in the units of `windlass flow show -j`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct FlowFigures {
        /// Congestion window.
        gauge cwnd_bytes: u64, Bytes;
        /// Slow-start threshold, if one is known.
        gauge ssthresh_bytes: Option<u64>, Bytes;
        /// Rate at which packets leave, if they are paced.
        gauge pacing_rate_bps: Option<u64>, BitsPerSecond;
        /// Largest recent delivery rate.
        gauge delivery_rate_bps: u64, BitsPerSecond;
        /// Window edge shown to the sender, beyond what is acknowledged.
        gauge edge_bytes: u64, Bytes;
        /// In flight, as the box sees it.
        gauge inflight_bytes: u64, Bytes;
        /// Waiting in the box for their first transmission.
        gauge queued_bytes: u64, Bytes;
        /// Held for repair.
        gauge held_bytes: u64, Bytes;
        /// Packets held for repair.
        gauge held_packets: u64, One;
        /// Most packets held for repair at once.
        gauge held_packets_max: u64, One;
        /// Smallest RTT, 0 before the first sample.
        gauge min_rtt_us: u64, Microseconds;
        /// Smoothed RTT (RFC 6298), 0 before the first sample.
        gauge srtt_us: u64, Microseconds;
        /// RTT variation (RFC 6298).
        gauge rttvar_us: u64, Microseconds;
        /// Segment size.
        gauge mss_bytes: u64, Bytes;
        /// Shift of the receiver's window field (RFC 7323).
        gauge wscale: u64, One;
        /// Cumulatively acknowledged.
        counter bytes_acked: u64, Bytes;
        /// Received from the sender.
        counter bytes_seen: u64, Bytes;
        /// Segments marked lost.
        counter lost_segments: u64, One;
        /// Segments retransmitted by the box.
        counter repaired_segments: u64, One;
        /// Payload of the segments retransmitted by the box.
        counter repaired_bytes: u64, Bytes;
        /// Payload that the receiver says it has had already (DSACK); not counted once copies have been sent, which it would report too.
        counter spurious_bytes: u64, Bytes;
        /// Second copies sent.
        counter copied_segments: u64, One;
        /// Payload of the second copies.
        counter copied_bytes: u64, Bytes;
        /// Time-outs of the box.
        counter timeouts: u64, One;
        /// Times handed back to the sender.
        counter handed_back: u64, One;
        /// Retransmissions of the sender.
        counter sender_retransmissions: u64, One;
        /// Payload that another box has reported as marked.
        counter marked_bytes: u64, Bytes;
        /// Packets beyond the shown edge that were dropped.
        counter policed_packets: u64, One;
        /// Payload of the dropped packets.
        counter policed_bytes: u64, Bytes;
        /// Changes of the algorithm because of the path.
        counter switches: u64, One;
        /// Weight beside the other flows of the tenant.
        gauge priority: u64, One;
    }
}

/// A flow at one moment.
#[derive(Clone, Copy, Debug)]
pub struct FlowInfo {
    /// From the sender of the data to its receiver.
    pub key: FlowKey,
    /// Where the sender is.
    pub sender: Side,
    /// The policy in which rule, tenant and conditions have their numbers.
    pub edition: Edition,
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
    /// Its numbers.
    pub figures: FlowFigures,
    /// Another box reports what the network marks.
    pub peer: bool,
    /// Whose flow it is.
    pub tenant: Option<TenantId>,
    /// By whom its algorithm was chosen among several, if it was.
    pub arm: Option<Arm>,
    /// It has drawn to be only observed, so that others can be compared with it.
    pub held_out: bool,
    /// The list of conditions on its path that may change the algorithm, and the condition of it that has brought the
    /// algorithm, by number from 0.
    pub switching: Option<(u16, Option<u8>)>,
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
        let review = self.cold.review();
        FlowInfo {
            key,
            sender: self.setup.sender,
            edition: Edition::default(),
            rule: self.verdict.rule,
            mode: self.verdict.mode,
            algorithm: self.host.controller().id(),
            failed: self.host.controller().failed(),
            settings: self.verdict.algorithm,
            phase: self.host.control().phase,
            figures: self.figures(),
            peer: self.cold.rare.read().marks.due.is_some(),
            tenant: self.verdict.tenant,
            arm: self.verdict.arm,
            held_out: self.verdict.drawn.is_some_and(|drawn| drawn.held_out),
            switching: (self.verdict.switching)
                .map(|s| (s.list, review.and_then(Review::in_force))),
            in_senders_hands: self.hands.are_senders(),
            in_recovery: self.host.is_reacting(),
            limited_by: self.limited_by(),
            watched: self.watched(),
            pass: self.hands.pass,
        }
    }

    pub(super) fn limited_by(&self) -> LimitedBy {
        let guessed = self.train.as_ref().is_some_and(|train| train.is_unproven());
        match self.pacing.limited_by {
            LimitedBy::Pacing if guessed => LimitedBy::Guess,
            by => by,
        }
    }

    fn figures(&self) -> FlowFigures {
        let (control, path) = (self.host.control(), self.host.path());
        let (tally, review) = (self.cold.tally(), self.cold.review());
        let (held_packets, held_bytes, held_packets_max) = self.board.held();
        let micros = |time: Nanos| time / NANOS_PER_MICRO;
        FlowFigures {
            cwnd_bytes: control.cwnd,
            ssthresh_bytes: Some(control.ssthresh).filter(|s| *s != u64::MAX),
            pacing_rate_bps: self.pacing.rate.get().map(bits),
            delivery_rate_bps: bits(path.max_bw),
            edge_bytes: self.view.edge().saturating_sub(self.board.una()),
            inflight_bytes: self.board.inflight(),
            queued_bytes: self.board.queued(),
            held_bytes,
            held_packets: held_packets.into(),
            held_packets_max: held_packets_max.into(),
            min_rtt_us: micros(known(path.min_rtt)),
            srtt_us: micros(path.srtt),
            rttvar_us: micros(path.rttvar),
            mss_bytes: path.mss.into(),
            wscale: self.setup.scale.into(),
            bytes_acked: self.board.una().saturating_sub(1),
            bytes_seen: self.board.nxt().saturating_sub(1),
            lost_segments: tally.lost,
            repaired_segments: tally.repaired,
            repaired_bytes: tally.repaired_bytes,
            spurious_bytes: tally.spurious_bytes,
            copied_segments: tally.copies,
            copied_bytes: tally.copied_bytes,
            timeouts: tally.timeouts,
            handed_back: tally.handed_back,
            sender_retransmissions: tally.sender_retransmissions,
            marked_bytes: self.cold.rare.read().marks.bytes,
            policed_packets: tally.policed,
            policed_bytes: tally.policed_bytes,
            switches: review.map_or(0, |r| r.switches().into()),
            priority: self.verdict.priority.into(),
        }
    }
}

/// 0 for an RTT that has not been measured.
pub(super) fn known(min_rtt: Nanos) -> Nanos {
    match min_rtt {
        Nanos::MAX => 0,
        measured => measured,
    }
}

fn bits(bytes: u64) -> u64 {
    bytes.saturating_mul(BITS_PER_BYTE)
}
