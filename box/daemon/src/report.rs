//! A flow as operators see it: the fields of `ss -ti` and the box's own, units in the names.

use serde::{Deserialize, Serialize};
use windlass_engine::{FlowInfo, Nanos, Side, TenantInfo};
use windlass_policy::Policy;

use crate::AdviceReport;

const NANOS_PER_MICRO: Nanos = 1000;
const BITS_PER_BYTE: u64 = 8;

/// A flow at one moment. Rates are bits per second, as in `ss -ti`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowReport {
    /// From the sender of the data to its receiver: `10.0.0.1:443>192.0.2.7:5555`, `@vlan` behind
    /// it when tagged.
    pub flow: String,
    /// Side of the sender: `inside` or `outside`.
    pub sender: String,
    /// The rule that governs it.
    pub rule: Option<String>,
    /// `observe`, `advise` or `enforce`.
    pub mode: String,
    /// The algorithm.
    pub algorithm: String,
    /// Who has chosen the algorithm among several: `auto`, or a `trial`.
    pub chosen_by: Option<String>,
    /// The condition on the path that has brought the algorithm, if one has.
    pub because: Option<String>,
    /// The plugin in whose place the algorithm is, and why: `mine: it did not end …`.
    pub plugin_failed: Option<String>,
    /// Changes of the algorithm because of the path.
    pub switches: u64,
    /// Where the algorithm is.
    pub phase: String,
    /// Congestion window.
    pub cwnd_bytes: u64,
    /// Slow-start threshold, if one is known.
    pub ssthresh_bytes: Option<u64>,
    /// Rate at which packets leave, if paced.
    pub pacing_rate_bps: Option<u64>,
    /// Largest recent delivery rate.
    pub delivery_rate_bps: u64,
    /// Window edge shown to the sender, beyond what is acknowledged.
    pub edge_bytes: u64,
    /// In flight, as the box sees it.
    pub inflight_bytes: u64,
    /// Waiting in the box for their first transmission.
    pub queued_bytes: u64,
    /// Held for repair.
    pub held_bytes: u64,
    /// Packets held for repair.
    pub held_packets: u64,
    /// Most of them at once.
    pub held_packets_max: u64,
    /// Smallest RTT, 0 before the first sample.
    pub min_rtt_us: u64,
    /// Smoothed RTT.
    pub srtt_us: u64,
    /// RTT variation.
    pub rttvar_us: u64,
    /// Segment size.
    pub mss_bytes: u32,
    /// Cumulatively acknowledged.
    pub bytes_acked: u64,
    /// Received from the sender.
    pub bytes_seen: u64,
    /// Segments marked lost.
    pub lost_segments: u64,
    /// Segments retransmitted by the box.
    pub repaired_segments: u64,
    /// Payload of these.
    pub repaired_bytes: u64,
    /// Payload that the receiver says it has had already (DSACK); not counted once copies are sent.
    pub spurious_bytes: u64,
    /// Second copies sent.
    pub copied_segments: u64,
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
    pub policed_packets: u64,
    /// Their payload.
    pub policed_bytes: u64,
    /// Whose flow it is.
    pub tenant: Option<String>,
    /// Its weight beside the tenant's other flows.
    pub priority: u8,
    /// It is in its sender's hands now.
    pub in_senders_hands: bool,
    /// The reaction to a loss or a mark is under way: the window is recovery's.
    pub in_recovery: bool,
    /// What limits it: `sender`, `cwnd`, `pacing`, `tenant` or `receiver`.
    pub limited_by: String,
    /// Why it passes untouched, if it does.
    pub passed: Option<String>,
    /// What enforcing would make of it, for flows in mode `advise`. Not in traces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<AdviceReport>,
}

impl FlowReport {
    /// What is known of the flow, and the rule that `policy` has for it.
    pub(crate) fn new(info: &FlowInfo, policy: &Policy) -> FlowReport {
        let rule = info.rule.and_then(|number| policy.rule_name(number));
        let list = info.switch_list.and_then(|list| policy.switch_list(list));
        let because = list.zip(info.switch_condition);
        let because = because.and_then(|(list, number)| list.switches.get(usize::from(number)));
        FlowReport {
            flow: info.key.to_string(),
            sender: side_name(info.sender).to_owned(),
            rule: rule.map(str::to_owned),
            mode: info.mode.name().to_owned(),
            algorithm: info.algorithm.to_string(),
            chosen_by: info.arm.map(|arm| arm.by.name().to_owned()),
            because: because.map(|switch| switch.when.clone()),
            plugin_failed: info
                .failed
                .map(|failed| format!("{}: {}", failed.plugin.name(), failed.fault)),
            switches: u64::from(info.switches),
            phase: info.phase.name().to_owned(),
            cwnd_bytes: info.cwnd,
            ssthresh_bytes: (info.ssthresh != u64::MAX).then_some(info.ssthresh),
            pacing_rate_bps: info.pacing_rate.map(bits),
            delivery_rate_bps: bits(info.delivery_rate),
            edge_bytes: info.edge,
            inflight_bytes: info.inflight,
            queued_bytes: info.queued,
            held_bytes: info.held,
            held_packets: info.held_packets,
            held_packets_max: info.held_packets_max,
            min_rtt_us: info.min_rtt / NANOS_PER_MICRO,
            srtt_us: info.srtt / NANOS_PER_MICRO,
            rttvar_us: info.rttvar / NANOS_PER_MICRO,
            mss_bytes: info.mss,
            bytes_acked: info.bytes_acked,
            bytes_seen: info.bytes_seen,
            lost_segments: info.lost,
            repaired_segments: info.repaired,
            repaired_bytes: info.repaired_bytes,
            spurious_bytes: info.spurious_bytes,
            copied_segments: info.copies,
            copied_bytes: info.copied_bytes,
            timeouts: info.timeouts,
            handed_back: info.handed_back,
            sender_retransmissions: info.sender_retransmissions,
            peer: info.peer,
            marked_bytes: info.marked_bytes,
            policed_packets: info.policed,
            policed_bytes: info.policed_bytes,
            tenant: info
                .tenant
                .and_then(|id| policy.tenant_name(id))
                .map(str::to_owned),
            priority: info.priority,
            in_senders_hands: info.in_senders_hands,
            in_recovery: info.in_recovery,
            limited_by: info.limited_by.name().to_owned(),
            passed: info.pass.map(|reason| reason.name().to_owned()),
            advice: None,
        }
    }
}

/// What a tenant has sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantReport {
    /// Its name.
    pub name: String,
    /// What its flows may send in all.
    pub cap_bps: Option<u64>,
    /// Payload sent, retransmissions included.
    pub bytes_sent: u64,
    /// Packets beyond a shown edge that were dropped.
    pub policed_packets: u64,
    /// Their payload.
    pub policed_bytes: u64,
}

impl TenantReport {
    pub(crate) fn new(info: &TenantInfo) -> TenantReport {
        TenantReport {
            name: info.name.clone(),
            cap_bps: info.cap.map(bits),
            bytes_sent: info.bytes_sent,
            policed_packets: info.policed_packets,
            policed_bytes: info.policed_bytes,
        }
    }
}

pub(crate) fn bits(bytes: u64) -> u64 {
    bytes.saturating_mul(BITS_PER_BYTE)
}

fn side_name(side: Side) -> &'static str {
    match side {
        Side::Inside => "inside",
        Side::Outside => "outside",
    }
}
