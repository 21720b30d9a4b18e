//! Which flows are wanted.

use windlass_daemon::FlowReport;
use windlass_engine::LimitedBy;
use windlass_policy::Prefix;
use windlass_wire::FlowKey;

use crate::values;

/// Conditions of which all must hold.
#[derive(clap::Args, Default)]
pub(crate) struct Filter {
    /// Only those that this rule governs.
    #[arg(long, value_name = "NAME")]
    rule: Option<String>,
    /// Only those whose receiver has this address, or one of this prefix.
    #[arg(long, value_name = "PREFIX")]
    client: Option<Prefix>,
    /// Only those that this limits.
    #[arg(long, value_name = "WHAT", value_parser = values::limited_by())]
    limited_by: Option<LimitedBy>,
    /// Only those that something other than their sender limits, and that are slower than this rate [default: 1mbit].
    #[arg(long, value_name = "RATE", num_args = 0..=1, default_missing_value = "1mbit", value_parser = values::bits_per_second)]
    slow: Option<u64>,
}

impl Filter {
    pub(super) fn wants(&self, flow: &FlowReport) -> bool {
        let rule = |name: &String| flow.rule.as_ref() == Some(name);
        let key = || flow.flow.parse::<FlowKey>();
        let client = |prefix: Prefix| key().is_ok_and(|key| prefix.contains(key.dst));
        // A sender that has nothing to send is not slow.
        let slow = |rate: u64| {
            flow.limited_by != LimitedBy::Sender.name() && flow.figures.delivery_rate_bps < rate
        };
        self.rule.as_ref().is_none_or(rule)
            && self.client.is_none_or(client)
            && self
                .limited_by
                .is_none_or(|by| flow.limited_by == by.name())
            && self.slow.is_none_or(slow)
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
        let prefix = |text: &str| Some(text.parse::<Prefix>().expect("a prefix"));
        let all = || Filter {
            rule: Some("web".to_owned()),
            client: prefix("192.0.2.0/24"),
            limited_by: Some(LimitedBy::Cwnd),
            slow: Some(1_000_000),
        };
        assert!(all().wants(&flow()) && Filter::default().wants(&FlowReport::default()));
        let others = [
            Filter {
                rule: Some("mail".to_owned()),
                ..all()
            },
            Filter {
                client: prefix("10.0.0.1"),
                ..all()
            },
            Filter {
                limited_by: Some(LimitedBy::Receiver),
                ..all()
            },
            Filter {
                slow: Some(900_000),
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
        let slow = Filter {
            slow: Some(u64::MAX),
            ..Filter::default()
        };
        assert!(slow.wants(&flow()) && !slow.wants(&idle));
    }
}
