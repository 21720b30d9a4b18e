//! The rules in charge, and what they say of a flow.

use serde::{Deserialize, Serialize};
use windlass_engine::{Side, Verdict};
use windlass_io::monotonic_ns;
use windlass_policy::{Policy, Rule, Senders};
use windlass_wire::FlowKey;

use crate::report::bits;
use crate::view::Shot;

/// A rule in charge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RuleReport {
    /// Its name.
    pub name: String,
    /// What must hold, one condition each; none: it takes every flow.
    pub conditions: Vec<String>,
    /// What it does: `observe`, `advise`, `enforce`, or `off`; `left alone` with `govern = false`.
    pub mode: String,
    /// The algorithm; `null` if it governs nothing.
    pub algorithm: Option<String>,
    /// What its flows may send each, bit/s.
    pub cap_bps: Option<u64>,
    /// Flows that it governs now.
    pub flows: u64,
    /// What they move together, bit/s.
    pub rate_bps: u64,
}

/// What the rules say of a flow, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ExplainReport {
    /// The flow, from the sender of the data to its receiver.
    pub flow: String,
    /// The rules up to the one that matches, in order.
    pub rules: Vec<JudgedReport>,
    /// What is done with it; `null`: it is left alone.
    pub mode: Option<String>,
    /// By which algorithm it begins.
    pub algorithm: Option<String>,
    /// What it may send, bit/s.
    pub cap_bps: Option<u64>,
    /// Conditions on the path that bring another algorithm: `when: algorithm`.
    pub switches: Vec<String>,
}

/// A rule, asked about a flow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct JudgedReport {
    /// Its name.
    pub rule: String,
    /// Why it does not match; `null`: it does.
    pub why_not: Option<String>,
}

/// All rules in order.
pub(crate) fn rules(policy: &Policy, shot: Option<&Shot>) -> Vec<RuleReport> {
    let mut all: Vec<RuleReport> = policy.rules().iter().map(of_rule).collect();
    let Some(shot) = shot else { return all };
    for (info, rate) in shot.flows.iter().zip(&shot.rates_bps) {
        let rule = info
            .rule
            .and_then(|number| all.get_mut(usize::from(number)));
        if let Some(rule) = rule {
            rule.flows += 1;
            rule.rate_bps += rate.unwrap_or(0);
        }
    }
    all
}

fn of_rule(rule: &Rule) -> RuleReport {
    let verdict = rule.verdict.as_ref();
    let mode = match verdict {
        None => "left alone",
        Some(_) if rule.off => "off",
        Some(verdict) => verdict.mode.name(),
    };
    RuleReport {
        name: rule.name.clone(),
        conditions: conditions(rule),
        mode: mode.to_owned(),
        algorithm: verdict.map(algorithm),
        cap_bps: verdict.and_then(|v| v.cap).map(bits),
        flows: 0,
        rate_bps: 0,
    }
}

fn algorithm(verdict: &Verdict) -> String {
    verdict.algorithm.id().name().to_owned()
}

fn conditions(rule: &Rule) -> Vec<String> {
    let mut all = Vec::new();
    let mut add = |name: &str, values: Vec<String>| {
        if !values.is_empty() {
            all.push(format!("{name}: {}", values.join(", ")));
        }
    };
    add("ports", rule.ports.iter().map(u16::to_string).collect());
    add(
        "servers",
        rule.servers.iter().map(ToString::to_string).collect(),
    );
    add(
        "clients",
        rule.clients.iter().map(ToString::to_string).collect(),
    );
    add("vlan", rule.vlan.iter().map(u16::to_string).collect());
    let sender = match rule.sender {
        Senders::Inside => None,
        Senders::Outside => Some("outside".to_owned()),
        Senders::Both => Some("both".to_owned()),
    };
    add("sender", sender.into_iter().collect());
    add(
        "match",
        rule.matches.iter().map(|m| m.text.clone()).collect(),
    );
    all
}

/// # Errors
/// There is no flow of such a name.
pub(crate) fn explain(policy: &Policy, flow: &str, sender: Side) -> Result<ExplainReport, String> {
    let wrong = |_| format!("\"{flow}\" is no flow: write 10.0.0.1:443>192.0.2.7:5555");
    let key: FlowKey = flow.parse().map_err(wrong)?;
    let found = policy.explain(&key, sender, monotonic_ns(), None);
    let judged = found.judged.into_iter().map(|judged| JudgedReport {
        rule: judged.rule,
        why_not: judged.why_not,
    });
    let switches = found
        .switching
        .iter()
        .flat_map(|state| &state.list.switches);
    let switch = |switch: &windlass_policy::Switch| {
        format!("{}: {}", switch.when, switch.algorithm.id().name())
    };
    Ok(ExplainReport {
        flow: key.to_string(),
        rules: judged.collect(),
        mode: found.verdict.map(|v| v.mode.name().to_owned()),
        algorithm: found.verdict.as_ref().map(algorithm),
        cap_bps: found.verdict.and_then(|v| v.cap).map(bits),
        switches: switches.map(switch).collect(),
    })
}

#[cfg(test)]
mod tests {
    use windlass_cc::Catalog;
    use windlass_policy::Config;

    use super::*;

    #[test]
    fn rules_and_their_reasons_are_told() {
        let text = "version = 1\n[[rule]]\nname = \"web\"\nports = [443, 80]\nclients = [\"192.0.2.0/24\"]\n\
                    algorithm = \"cubic\"\ncap_mbit = 8\n[[rule.switch]]\nwhen = \"rtt > duration('50ms')\"\n\
                    algorithm = \"hybla\"\n[[rule]]\nname = \"rest\"\ngovern = false\n";
        let config = Config::parse(text, "w.toml", &Catalog::new());
        let policy = config.unwrap_or_else(|e| panic!("{e}")).policy();
        let [web, rest] = rules(&policy, None).try_into().expect("two");
        assert_eq!(web.conditions, ["ports: 80, 443", "clients: 192.0.2.0/24"]);
        assert_eq!(
            (web.mode.as_str(), web.cap_bps),
            ("enforce", Some(8_000_000))
        );
        assert_eq!((rest.mode.as_str(), rest.algorithm), ("left alone", None));
        let explain = |flow| explain(&policy, flow, Side::Inside);
        let taken = explain("10.0.0.1:443>192.0.2.7:5555").expect("a flow");
        assert_eq!(taken.algorithm.as_deref(), Some("cubic"));
        assert_eq!(taken.switches, ["rtt > duration('50ms'): hybla"]);
        let left = explain("10.0.0.1:22>192.0.2.7:5555").expect("a flow");
        assert_eq!((left.rules.len(), left.mode), (2, None));
        assert!(
            left.rules[0]
                .why_not
                .as_ref()
                .is_some_and(|why| why.contains("ports"))
        );
        assert!(explain("nonsense").unwrap_err().contains("is no flow"));
    }
}
