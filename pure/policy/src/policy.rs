//! The rules, ready to be asked.

use windlass_engine::{Choice, Decide, LivePath, Nanos, Side, Tenant, TenantId, Verdict};
use windlass_wire::{Addr, FlowKey};

use crate::facts::FlowFacts;
use crate::rule::Rule;
use crate::switching::SwitchList;
use crate::tenants::Owner;

/// Rules in order; the first that matches decides. Asked once per connection and direction.
#[derive(Clone, Debug)]
pub struct Policy {
    pub(crate) rules: Vec<Rule>,
    tenants: Vec<Owner>,
    pub(crate) lists: Vec<SwitchList>,
    /// By side: inside, outside.
    interfaces: [String; 2],
    /// When the engine's clock was 0, ns since 1970.
    epoch: Nanos,
}

impl Policy {
    pub(crate) fn new(
        mut rules: Vec<Rule>,
        tenants: Vec<Owner>,
        lists: Vec<SwitchList>,
        interfaces: [String; 2],
    ) -> Policy {
        for rule in &mut rules {
            rule.ports.sort_unstable();
            rule.ports.dedup();
        }
        Policy {
            rules,
            tenants,
            lists,
            interfaces,
            epoch: 0,
        }
    }

    /// The engine's clock, whose time is `now`, says `unix` ns since 1970: for conditions that ask
    /// about `time`. Without it that clock itself counts from 1970.
    pub fn set_clock(&mut self, now: Nanos, unix: Nanos) {
        self.epoch = unix.saturating_sub(now);
    }

    /// The policy for one of several workers: a tenant's cap is divided among them, since they share
    /// nothing on the packet path.
    pub fn for_one_of(&self, workers: usize) -> Policy {
        let mut policy = self.clone();
        for owner in &mut policy.tenants {
            let cap = &mut owner.tenant.cap;
            *cap = cap.map(|cap| (cap / workers.max(1) as u64).max(1));
        }
        policy
    }

    /// What the rule with this number ([`Verdict::rule`]) is called.
    pub fn rule_name(&self, number: u16) -> Option<&str> {
        let rule = self.rules.get(usize::from(number))?;
        Some(&rule.name)
    }

    /// What this tenant is called.
    pub fn tenant_name(&self, id: TenantId) -> Option<&str> {
        let owner = self.tenants.get(usize::from(id.0))?;
        Some(&owner.tenant.name)
    }

    /// The conditions with this number ([`windlass_engine::Switching::list`]).
    pub fn switch_list(&self, number: u16) -> Option<&SwitchList> {
        self.lists.get(usize::from(number))
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

    pub(crate) fn facts<'a>(&'a self, key: &'a FlowKey, sender: Side, now: Nanos) -> FlowFacts<'a> {
        let tenant = self.owner(key.src).and_then(|id| self.tenant_name(id));
        FlowFacts {
            key,
            sender,
            interface: &self.interfaces[sender.index()],
            tenant: tenant.unwrap_or_default(),
            time: self.epoch.saturating_add(now),
        }
    }

    /// Whose this sender is.
    fn owner(&self, sender: Addr) -> Option<TenantId> {
        let has = |owner: &Owner| owner.prefixes.iter().any(|p| p.contains(sender));
        let index = self.tenants.iter().position(has)?;
        Some(TenantId(index as u16))
    }
}

impl Decide for Policy {
    fn decide(&self, flow: &FlowKey, sender: Side, now: Nanos) -> Option<Verdict> {
        let facts = self.facts(flow, sender, now);
        let matches = |rule: &Rule| rule.failing(&facts).is_none();
        let rule = self.rules.iter().position(matches)?;
        let mut verdict = self.rules[rule].verdict?;
        verdict.rule = Some(rule as u16);
        verdict.tenant = verdict.tenant.or_else(|| self.owner(flow.src));
        Some(verdict)
    }

    fn choose(&self, list: u16, in_force: Option<u8>, path: &LivePath) -> Option<Choice> {
        Some(self.switch_list(list)?.choose(in_force, path))
    }

    fn tenants(&self) -> Vec<Tenant> {
        self.tenants.iter().map(|o| o.tenant.clone()).collect()
    }
}
