//! The rules, ready to be asked.

use windlass_engine::{Decide, Side, Tenant, TenantId, Verdict};
use windlass_wire::FlowKey;

use crate::rule::Rule;

/// Rules in order; the first that matches decides. Asked once per connection and direction.
#[derive(Clone, Debug)]
pub struct Policy {
    rules: Vec<Rule>,
    tenants: Vec<Tenant>,
}

impl Policy {
    pub(crate) fn new(mut rules: Vec<Rule>, tenants: Vec<Tenant>) -> Policy {
        for rule in &mut rules {
            rule.ports.sort_unstable();
            rule.ports.dedup();
        }
        Policy { rules, tenants }
    }

    /// The policy for one of several workers: a tenant's cap is divided among them, since they share
    /// nothing on the packet path.
    pub fn for_one_of(&self, workers: usize) -> Policy {
        let mut policy = self.clone();
        for tenant in &mut policy.tenants {
            tenant.cap = tenant.cap.map(|cap| (cap / workers.max(1) as u64).max(1));
        }
        policy
    }

    /// The rule for this flow, which runs from its sender to its receiver.
    pub fn rule(&self, flow: &FlowKey, sender: Side) -> Option<&Rule> {
        self.rules.iter().find(|r| matches(r, flow, sender))
    }

    /// What this tenant is called.
    pub fn tenant_name(&self, id: TenantId) -> Option<&str> {
        let tenant = self.tenants.get(usize::from(id.0))?;
        Some(&tenant.name)
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

    fn tenants(&self) -> Vec<Tenant> {
        self.tenants.clone()
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
