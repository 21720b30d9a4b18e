//! A flow as operators see it: the fields of `ss -ti` and the box's own, units in the names.

use serde::{Deserialize, Serialize};
use windlass_engine::{FlowFigures, FlowInfo, Side, TenantInfo};
use windlass_policy::Policy;

use crate::AdviceReport;

const BITS_PER_BYTE: u64 = 8;

/// A flow at one moment: words, and the numbers of the engine's own table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
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
    /// The guard has left it alone, to compare others with it.
    #[serde(default)]
    pub held_out: bool,
    /// The condition on the path that has brought the algorithm, if one has.
    pub because: Option<String>,
    /// The plugin in whose place the algorithm is, and why: `mine: it did not end …`.
    pub plugin_failed: Option<String>,
    /// Where the algorithm is.
    pub phase: String,
    /// Its numbers, under their own names.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schema(value_type = crate::figures_schema::Figures))]
    pub figures: FlowFigures,
    /// Another box reports what the network marks.
    pub peer: bool,
    /// Whose flow it is.
    pub tenant: Option<String>,
    /// It is in its sender's hands now.
    pub in_senders_hands: bool,
    /// The reaction to a loss or a mark is under way: the window is recovery's.
    pub in_recovery: bool,
    /// What limits it: `sender`, `cwnd`, `pacing`, `tenant`, `receiver`, or `guess`: the pace at which Windlass tests
    /// what it takes for the bottleneck's rate.
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
        let policy = policy.of(info.edition);
        let rule = policy.and_then(|policy| policy.rule_name(info.rule?));
        let because = policy.and_then(|policy| {
            let (list, number) = info.switching?;
            let switches = &policy.switch_list(list)?.switches;
            switches.get(usize::from(number?))
        });
        let tenant = policy.and_then(|policy| policy.tenant_name(info.tenant?));
        let plugin_failed = info
            .failed
            .map(|failed| format!("{}: {}", failed.plugin.name(), failed.fault));
        FlowReport {
            flow: info.key.to_string(),
            sender: side_name(info.sender).to_owned(),
            rule: rule.map(str::to_owned),
            mode: info.mode.name().to_owned(),
            algorithm: info.algorithm.to_string(),
            held_out: info.held_out,
            chosen_by: info.arm.map(|arm| arm.by.name().to_owned()),
            because: because.map(|switch| switch.when.clone()),
            plugin_failed,
            phase: info.phase.name().to_owned(),
            figures: info.figures,
            peer: info.peer,
            tenant: tenant.map(str::to_owned),
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

pub(crate) fn side_name(side: Side) -> &'static str {
    match side {
        Side::Inside => "inside",
        Side::Outside => "outside",
    }
}
