//! Why a flow is governed as it is, and what would change that.

use core::fmt::Write;

use windlass_cc::{Nanos, Settings};
use windlass_engine::{Decide, LivePath, Side, Verdict};
use windlass_wire::FlowKey;

use crate::cel::{Facts, PATH, Type};
use crate::facts::{FlowFacts, PathFacts};
use crate::policy::Policy;
use crate::rule::{Failing, Rule, Senders};
use crate::switching::SwitchList;

/// What the policy says of a flow, and why.
#[derive(Clone, PartialEq, Debug)]
pub struct Explanation {
    /// The rules up to the one that matches, in order.
    pub judged: Vec<Judged>,
    /// What is done; `None`: the flow is left alone.
    pub verdict: Option<Verdict>,
    /// The rule that matches has `mode = "off"`.
    pub off: bool,
    /// The conditions on its path, if there are any.
    pub switching: Option<SwitchState>,
}

/// A rule, asked about the flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Judged {
    /// Its name.
    pub rule: String,
    /// Why it does not match; `None`: it does.
    pub why_not: Option<String>,
}

/// The conditions of the rule, asked about a path.
#[derive(Clone, PartialEq, Debug)]
pub struct SwitchState {
    /// The list.
    pub list: SwitchList,
    /// For each of its conditions, what the path is in the terms of the condition, and whether it
    /// holds; empty without a path.
    pub asked: Vec<(String, bool)>,
    /// What the path asks for; without a path, what the flow begins with.
    pub algorithm: Settings,
}

impl Policy {
    /// Why this flow, which runs from its sender to its receiver and begins at `now`, is governed as
    /// it is; and what is in charge of it on a path like this one.
    pub fn explain(
        &self,
        flow: &FlowKey,
        sender: Side,
        now: Nanos,
        path: Option<&LivePath>,
    ) -> Explanation {
        let facts = self.facts(flow, sender, now);
        let mut judged = Vec::new();
        let mut off = false;
        for rule in &self.rules {
            let failing = rule.failing(&facts);
            judged.push(Judged {
                rule: rule.name.clone(),
                why_not: failing.map(|failing| reason(rule, &failing, &facts)),
            });
            if failing.is_none() {
                off = rule.off;
                break;
            }
        }
        let verdict = self.decide(flow, sender, now);
        let list = verdict.and_then(|v| self.switch_list(v.switching?.list));
        Explanation {
            judged,
            verdict,
            off,
            switching: list.map(|list| state(list, path)),
        }
    }
}

fn reason(rule: &Rule, failing: &Failing<'_>, facts: &FlowFacts<'_>) -> String {
    let key = facts.key;
    match failing {
        Failing::Sender => {
            let wanted = match rule.sender {
                Senders::Outside => "outside",
                _ => "inside",
            };
            format!("sender: its sender must be {wanted}")
        }
        Failing::Vlan => {
            let wanted = rule.vlan.unwrap_or_default();
            format!("vlan: {wanted} is wanted, the flow has {}", key.vlan)
        }
        Failing::Ports => format!(
            "ports: neither {} nor {} is {}",
            key.src_port,
            key.dst_port,
            list(&rule.ports)
        ),
        Failing::Servers => format!(
            "servers: {} is not in {}",
            key.src.ip(),
            list(&rule.servers)
        ),
        Failing::Clients => format!(
            "clients: {} is not in {}",
            key.dst.ip(),
            list(&rule.clients)
        ),
        Failing::Match(text) => format!("match: {text} is false"),
    }
}

fn list<T: ToString>(all: &[T]) -> String {
    let all: Vec<String> = all.iter().map(T::to_string).collect();
    all.join(", ")
}

fn state(list: &SwitchList, path: Option<&LivePath>) -> SwitchState {
    let Some(path) = path else {
        return SwitchState {
            list: list.clone(),
            asked: Vec::new(),
            algorithm: list.otherwise,
        };
    };
    let facts = PathFacts(path);
    let asked = list.switches.iter().map(|switch| {
        let mut variables = Vec::new();
        switch.condition.visit(&mut |variable| {
            if !variables.contains(&variable) {
                variables.push(variable);
            }
        });
        let values = variables.iter().map(|variable| value(*variable, &facts));
        let values: Vec<String> = values.collect();
        (values.join(", "), switch.condition.holds(&facts, 0.0))
    });
    SwitchState {
        list: list.clone(),
        asked: asked.collect(),
        algorithm: list.choose(None, path).algorithm,
    }
}

/// `rtt = 80 ms`.
fn value(variable: u8, facts: &PathFacts<'_>) -> String {
    let described = &PATH.variables[usize::from(variable)];
    let mut text = format!("{} = ", described.name);
    let number = facts.number(variable);
    let _ = match described.kind {
        Type::Duration => write!(text, "{} ms", number / 1e6),
        Type::Bool => write!(text, "{}", facts.flag(variable)),
        _ => write!(text, "{number}"),
    };
    text
}
