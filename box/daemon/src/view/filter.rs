//! Which flows are wanted.

use serde::{Deserialize, Serialize};
use windlass_engine::{FlowInfo, LimitedBy};
use windlass_policy::{Policy, Prefix};

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

/// The same, read: whether a flow is wanted can be told without the policy.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    /// The numbers of the rule.
    rules: Option<Vec<u16>>,
    client: Option<Prefix>,
    limited_by: Option<LimitedBy>,
    slow_bps: Option<u64>,
}

impl FlowFilter {
    /// # Errors
    /// The prefix is none, or nothing of that name limits flows.
    pub fn check(&self) -> Result<(), String> {
        self.client()?;
        self.limited_by().map(drop)
    }

    fn client(&self) -> Result<Option<Prefix>, String> {
        let read = |text: &String| {
            let wrong = |_| format!("\"{text}\" is no address or prefix (192.0.2.0/24)");
            text.parse::<Prefix>().map_err(wrong)
        };
        self.client.as_ref().map(read).transpose()
    }

    fn limited_by(&self) -> Result<Option<LimitedBy>, String> {
        let Some(name) = &self.limited_by else {
            return Ok(None);
        };
        let found = LimitedBy::ALL.iter().find(|by| by.name() == name);
        found.map(|by| Some(*by)).ok_or_else(|| {
            let known: Vec<&str> = LimitedBy::ALL.iter().map(|by| by.name()).collect();
            format!(
                "nothing called \"{name}\" limits flows: {}",
                known.join(", ")
            )
        })
    }

    /// # Errors
    /// Those of [`FlowFilter::check`].
    pub(crate) fn read(&self, policy: &Policy) -> Result<Wanted, String> {
        let numbers = |name: &String| {
            let rules = (0..).zip(policy.rules());
            let so_called = rules.filter(|(_, rule)| rule.name == *name);
            so_called.map(|(number, _)| number).collect()
        };
        Ok(Wanted {
            rules: self.rule.as_ref().map(numbers),
            client: self.client()?,
            limited_by: self.limited_by()?,
            slow_bps: self.slow_bps,
        })
    }
}

impl Wanted {
    pub(crate) fn wants(&self, info: &FlowInfo) -> bool {
        // A sender that has nothing to send is not slow.
        let slow = |rate: u64| {
            info.limited_by != LimitedBy::Sender && info.figures.delivery_rate_bps < rate
        };
        let governs = |rules: &Vec<u16>| info.rule.is_some_and(|rule| rules.contains(&rule));
        self.rules.as_ref().is_none_or(governs)
            && self
                .client
                .is_none_or(|prefix| prefix.contains(info.key.dst))
            && self.limited_by.is_none_or(|by| info.limited_by == by)
            && self.slow_bps.is_none_or(slow)
    }
}

#[cfg(test)]
mod tests {
    use windlass_cc::Catalog;
    use windlass_policy::Config;

    use super::*;
    use crate::control::tests::info;

    fn policy() -> Policy {
        let rules =
            "version = 1\n[[rule]]\nname = \"mail\"\nports = [25]\n[[rule]]\nname = \"web\"\n";
        let config = Config::parse(rules, "test.toml", &Catalog::new());
        config.expect("rules").policy()
    }

    fn flow() -> FlowInfo {
        let mut info = info(5555);
        (info.rule, info.limited_by) = (Some(1), LimitedBy::Cwnd);
        info.figures.delivery_rate_bps = 900_000;
        info
    }

    fn wants(filter: &FlowFilter, flow: &FlowInfo) -> bool {
        filter.read(&policy()).expect("it is right").wants(flow)
    }

    #[test]
    fn a_flow_must_meet_all_conditions() {
        let receiver = flow().key.dst.to_string();
        let all = || FlowFilter {
            rule: Some("web".to_owned()),
            client: Some(receiver.clone()),
            limited_by: Some("cwnd".to_owned()),
            slow_bps: Some(1_000_000),
        };
        assert!(wants(&all(), &flow()) && wants(&FlowFilter::default(), &info(5000)));
        let others = [
            FlowFilter {
                rule: Some("mail".to_owned()),
                ..all()
            },
            FlowFilter {
                rule: Some("nobody's".to_owned()),
                ..all()
            },
            FlowFilter {
                client: Some("203.0.113.0/24".to_owned()),
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
            assert!(!wants(other, &flow()), "{number}");
        }
        let idle = FlowInfo {
            limited_by: LimitedBy::Sender,
            ..flow()
        };
        let slow = FlowFilter {
            slow_bps: Some(u64::MAX),
            ..FlowFilter::default()
        };
        assert!(wants(&slow, &flow()) && !wants(&slow, &idle));
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
        assert!(by.read(&policy()).is_err());
    }
}
