//! Which flows are wanted.

use serde::{Deserialize, Serialize};
use windlass_engine::{FlowInfo, LimitedBy};
use windlass_policy::{Policy, Prefix};
use windlass_wire::{Addr, FlowKey};

use crate::FlowReport;

/// Conditions of which all must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema, utoipa::IntoParams))]
pub struct FlowFilter {
    /// Only those that this rule governs.
    pub rule: Option<String>,
    /// Only those whose receiver has this address, or one of this prefix.
    pub client: Option<String>,
    /// Only those that this limits: `sender`, `cwnd`, `pacing`, `tenant`, `receiver`, `guess`.
    pub limited_by: Option<String>,
    /// Only those that something other than their sender limits, and that are slower than this, bit/s.
    pub slow_bps: Option<u64>,
}

/// The same, read.
#[derive(Clone, Debug)]
pub(super) struct Wanted<'a> {
    filter: &'a FlowFilter,
    client: Option<Prefix>,
}

/// What is asked about.
struct Facts<'a> {
    rule: Option<&'a str>,
    receiver: Option<Addr>,
    limited_by: &'a str,
    delivery_rate_bps: u64,
}

impl FlowFilter {
    /// # Errors
    /// The prefix is none, or nothing of that name limits flows.
    pub fn check(&self) -> Result<(), String> {
        self.read().map(drop)
    }

    /// Whether all conditions hold; a filter that is wrong wants nothing.
    pub fn wants(&self, flow: &FlowReport) -> bool {
        let key = flow.flow.parse::<FlowKey>();
        let facts = Facts {
            rule: flow.rule.as_deref(),
            receiver: key.ok().map(|key| key.dst),
            limited_by: &flow.limited_by,
            delivery_rate_bps: flow.figures.delivery_rate_bps,
        };
        self.read().is_ok_and(|wanted| wanted.holds(&facts))
    }

    pub(super) fn read(&self) -> Result<Wanted<'_>, String> {
        let client = self.client.as_ref().map(|text| {
            let wrong = |_| format!("\"{text}\" is no address or prefix (192.0.2.0/24)");
            text.parse::<Prefix>().map_err(wrong)
        });
        let known = LimitedBy::ALL.iter().map(|by| by.name());
        if let Some(by) = &self.limited_by
            && !known.clone().any(|name| name == by)
        {
            let known: Vec<&str> = known.collect();
            return Err(format!(
                "nothing called \"{by}\" limits flows: {}",
                known.join(", ")
            ));
        }
        Ok(Wanted {
            filter: self,
            client: client.transpose()?,
        })
    }
}

impl Wanted<'_> {
    pub(super) fn wants(&self, info: &FlowInfo, policy: &Policy) -> bool {
        self.holds(&Facts {
            rule: info.rule.and_then(|number| policy.rule_name(number)),
            receiver: Some(info.key.dst),
            limited_by: info.limited_by.name(),
            delivery_rate_bps: info.figures.delivery_rate_bps,
        })
    }

    fn holds(&self, facts: &Facts<'_>) -> bool {
        let filter = self.filter;
        // A sender that has nothing to send is not slow.
        let slow = |rate: u64| {
            facts.limited_by != LimitedBy::Sender.name() && facts.delivery_rate_bps < rate
        };
        let rule = |name: &str| facts.rule == Some(name);
        let client = |prefix: Prefix| facts.receiver.is_some_and(|addr| prefix.contains(addr));
        filter.rule.as_deref().is_none_or(rule)
            && self.client.is_none_or(client)
            && filter
                .limited_by
                .as_ref()
                .is_none_or(|by| facts.limited_by == by)
            && filter.slow_bps.is_none_or(slow)
    }
}

#[cfg(test)]
mod tests {
    use windlass_engine::FlowFigures;

    use super::*;

    fn flow() -> FlowReport {
        FlowReport {
            flow: "10.0.0.1:443>192.0.2.7:5555@7".to_owned(),
            rule: Some("web".to_owned()),
            limited_by: "cwnd".to_owned(),
            figures: FlowFigures {
                delivery_rate_bps: 900_000,
                ..FlowFigures::default()
            },
            ..FlowReport::default()
        }
    }

    #[test]
    fn a_flow_must_meet_all_conditions() {
        let all = || FlowFilter {
            rule: Some("web".to_owned()),
            client: Some("192.0.2.0/24".to_owned()),
            limited_by: Some("cwnd".to_owned()),
            slow_bps: Some(1_000_000),
        };
        assert!(all().wants(&flow()) && FlowFilter::default().wants(&FlowReport::default()));
        let others = [
            FlowFilter {
                rule: Some("mail".to_owned()),
                ..all()
            },
            FlowFilter {
                client: Some("10.0.0.1".to_owned()),
                ..all()
            },
            FlowFilter {
                limited_by: Some("receiver".to_owned()),
                ..all()
            },
            FlowFilter {
                slow_bps: Some(900_000),
                ..all()
            },
        ];
        for (number, other) in others.iter().enumerate() {
            assert!(!other.wants(&flow()), "{number}");
        }
        let idle = FlowReport {
            limited_by: "sender".to_owned(),
            ..flow()
        };
        let slow = FlowFilter {
            slow_bps: Some(u64::MAX),
            ..FlowFilter::default()
        };
        assert!(slow.wants(&flow()) && !slow.wants(&idle));
    }

    #[test]
    fn what_cannot_be_meant_is_told() {
        let client = FlowFilter {
            client: Some("10.0.0.0/99".to_owned()),
            ..FlowFilter::default()
        };
        assert!(client.check().unwrap_err().contains("no address or prefix"));
        let by = FlowFilter {
            limited_by: Some("weather".to_owned()),
            ..FlowFilter::default()
        };
        assert!(by.check().unwrap_err().contains("receiver"));
        assert!(!by.wants(&flow()));
    }
}
