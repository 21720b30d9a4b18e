//! The rules, ready to be asked.

use windlass_engine::{Decide, Side, Verdict};
use windlass_wire::FlowKey;

use crate::rule::Rule;

/// Rules in order; the first that matches decides. Asked once per connection and direction.
#[derive(Clone, Debug)]
pub struct Policy {
    rules: Vec<Rule>,
}

impl Policy {
    pub(crate) fn new(mut rules: Vec<Rule>) -> Policy {
        for rule in &mut rules {
            rule.ports.sort_unstable();
            rule.ports.dedup();
        }
        Policy { rules }
    }

    /// The rule for this flow, which runs from its sender to its receiver.
    pub fn rule(&self, flow: &FlowKey, sender: Side) -> Option<&Rule> {
        self.rules.iter().find(|r| matches(r, flow, sender))
    }

    /// The ports outside of which nothing can be governed, in order; `None`: any port may be.
    pub fn governed_ports(&self) -> Option<Vec<u16>> {
        let governing = || self.rules.iter().filter(|r| r.verdict.is_some());
        if governing().any(|r| r.ports.is_empty()) {
            return None;
        }
        let mut ports: Vec<u16> = governing().flat_map(|r| r.ports.iter().copied()).collect();
        ports.sort_unstable();
        ports.dedup();
        Some(ports)
    }
}

impl Decide for Policy {
    fn decide(&self, flow: &FlowKey, sender: Side) -> Option<Verdict> {
        self.rule(flow, sender)?.verdict
    }
}

fn matches(rule: &Rule, flow: &FlowKey, sender: Side) -> bool {
    let governed = |port: u16| rule.ports.binary_search(&port).is_ok();
    rule.sender.include(sender)
        && rule.vlan.is_none_or(|vlan| vlan == flow.vlan)
        && (rule.ports.is_empty() || governed(flow.src_port) || governed(flow.dst_port))
        && (rule.servers.is_empty() || rule.servers.iter().any(|p| p.contains(flow.src)))
        && (rule.clients.is_empty() || rule.clients.iter().any(|p| p.contains(flow.dst)))
}
