//! The rules, ready to be asked.

use std::sync::Arc;

use windlass_engine::{
    Arm, Bounds, Choice, Comparison, Decide, Drawn, Edition, LivePath, Mode, Nanos, Side, Tenant,
    TenantId, Transfer, Verdict,
};
use windlass_wire::{Addr, FlowKey};

use crate::auto::{Auto, dice};
use crate::auto_config::AutoConfig;
use crate::facts::FlowFacts;
use crate::guard::{self, SharedGuard};
use crate::guard_config::GuardConfig;
use crate::rule::Rule;
use crate::switching::SwitchList;
use crate::tally::{RuleTried, Tally};
use crate::tenants::Owner;
use crate::trial::SharedTrial;

/// Auto, trials and the guard throw dice of their own.
const AUTO_SALT: u64 = 1;
const TRIAL_SALT: u64 = 2;
const GUARD_SALT: u64 = 3;

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
    auto: Auto,
    /// What each rule has tried by experience.
    tallies: Vec<Arc<Tally>>,
    trial: Option<SharedTrial>,
    guard: Option<SharedGuard>,
    /// Of the dice.
    seed: u64,
    edition: Edition,
}

impl Policy {
    pub(crate) fn new(
        mut rules: Vec<Rule>,
        tenants: Vec<Owner>,
        lists: Vec<SwitchList>,
        interfaces: [String; 2],
        auto: AutoConfig,
        guard: Option<GuardConfig>,
    ) -> Policy {
        for rule in &mut rules {
            rule.ports.sort_unstable();
            rule.ports.dedup();
        }
        Policy {
            tallies: rules.iter().map(|_| Arc::default()).collect(),
            guard: guard.map(|config| SharedGuard::new(config, &rules, &tenants, 0)),
            rules,
            tenants,
            lists,
            interfaces,
            epoch: 0,
            auto: Auto::new(auto),
            trial: None,
            seed: 0,
            edition: Edition::default(),
        }
    }

    /// Whom `auto` lets explore and who takes part in trials depends on this number.
    pub fn set_seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    /// What is learned where `algorithm = "auto"`.
    pub fn auto(&self) -> &Auto {
        &self.auto
    }

    /// What the rules with `algorithm = "auto"` have tried since the start, and what came of it.
    pub fn tried(&self) -> Vec<RuleTried> {
        let arms = self.auto.config().arms.len();
        let rules = self.rules.iter().zip(&self.tallies);
        let chosen = rules.filter(|(rule, _)| rule.verdict.is_some_and(|v| v.arm.is_some()));
        let tried = chosen.map(|(rule, tally)| RuleTried {
            rule: rule.name.clone(),
            arms: tally.tried(arms),
        });
        tried.collect()
    }

    /// What guards the rules.
    pub fn guard(&self) -> Option<&SharedGuard> {
        self.guard.as_ref()
    }

    /// The trial that runs.
    pub fn trial(&self) -> Option<&SharedTrial> {
        self.trial.as_ref()
    }

    /// Begins a trial, or ends it.
    pub fn set_trial(&mut self, trial: Option<SharedTrial>) {
        self.trial = trial;
    }

    /// Goes on with what the policy before has learned and tries, as the next edition.
    pub fn inherit(&mut self, old: &Policy, now: Nanos) {
        self.edition = Edition(old.edition.0.wrapping_add(1));
        if self.auto.config().arms == old.auto.config().arms {
            for (rule, tally) in self.rules.iter().zip(&mut self.tallies) {
                let before = old.rules.iter().position(|r| r.name == rule.name);
                if let Some(before) = before {
                    tally.clone_from(&old.tallies[before]);
                }
            }
        }
        self.auto.inherit(&old.auto, now);
        self.trial.clone_from(&old.trial);
        self.seed = old.seed;
        if let (Some(guard), Some(old)) = (&mut self.guard, &old.guard) {
            let unix = self.epoch.saturating_add(now);
            guard.inherit(old, &self.rules, &self.tenants, unix);
        }
    }

    /// Whether a rule has this name.
    pub fn has_rule(&self, name: &str) -> bool {
        self.rules.iter().any(|rule| rule.name == name)
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

    /// This policy, if it is the one in which a number has its meaning.
    pub fn of(&self, edition: Edition) -> Option<&Policy> {
        (self.edition == edition).then_some(self)
    }

    /// What the rule with this number ([`Verdict::rule`]) is called.
    pub fn rule_name(&self, number: u16) -> Option<&str> {
        let rule = self.rules.get(usize::from(number))?;
        Some(&rule.name)
    }

    /// All of them, in order.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
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

    /// The ports outside of which nothing can be governed, in order; `None`: any port may be. Rules with
    /// `mode = "off"` count: a policy to come may give them another.
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
        let owner = self.owner(key.src);
        let tenant = owner.and_then(|id| self.tenant_name(id));
        FlowFacts {
            owner,
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

impl Policy {
    /// The rule of a verdict, and what it has tried.
    fn rule_of(&self, verdict: &Verdict) -> Option<(&Rule, &Tally)> {
        let at = usize::from(verdict.rule?);
        Some((self.rules.get(at)?, self.tallies.get(at)?))
    }

    /// The trial that flows of this rule take part in.
    fn trial_of(&self, rule: &Rule) -> Option<&SharedTrial> {
        self.trial
            .as_ref()
            .filter(|trial| trial.concerns(&rule.name))
    }
}

impl Decide for Policy {
    fn edition(&self) -> Edition {
        self.edition
    }

    fn classify(&self, flow: &FlowKey, sender: Side, now: Nanos) -> Option<Verdict> {
        let facts = self.facts(flow, sender, now);
        let matches = |rule: &Rule| rule.failing(&facts).is_none();
        let number = self.rules.iter().position(matches)?;
        let rule = &self.rules[number];
        if rule.off {
            return None;
        }
        let mut verdict = rule.verdict?;
        verdict.rule = Some(number as u16);
        verdict.tenant = verdict.tenant.or(facts.owner);
        if self.trial_of(rule).is_some() {
            verdict.arm = Some(Arm {
                by: Comparison::Trial,
                number: 0,
            });
        }
        Some(verdict)
    }

    fn draw(&self, verdict: Verdict, flow: &FlowKey, now: Nanos) -> Verdict {
        let Some((rule, tally)) = self.rule_of(&verdict) else {
            return verdict;
        };
        let dice = |salt| dice(self.seed, salt, flow, now);
        let trial = self.trial_of(rule);
        if let Some(drawn) = trial.and_then(|t| t.draw(dice(TRIAL_SALT), verdict)) {
            return drawn;
        }
        let arm = rule.verdict.and_then(|verdict| verdict.arm);
        match arm {
            Some(_) => {
                let bound = guard::bound_to(&verdict, &self.tenants).is_some();
                let dice = dice(AUTO_SALT);
                self.auto.choose(flow.dst, dice, (verdict, bound), tally)
            }
            None => Verdict { arm, ..verdict },
        }
    }

    fn hold_out(&self, verdict: &Verdict, flow: &FlowKey) -> Option<Drawn> {
        let guard = self.guard.as_ref()?;
        let at = verdict.rule?;
        let rule = self.rules.get(usize::from(at))?;
        if self.trial_of(rule).is_some() || guard::bound_to(verdict, &self.tenants).is_some() {
            return None;
        }
        // Both directions of a connection draw the same, and any worker does.
        let connection = flow.canonical().0;
        let dice = dice(self.seed, GUARD_SALT, &connection, 0);
        guard.draw(guard.number_of(at)?, flow.dst, dice)
    }

    fn choose(&self, list: u16, in_force: Option<u8>, path: &LivePath) -> Option<Choice> {
        Some(self.switch_list(list)?.choose(in_force, path))
    }

    fn begin(&self, verdict: &Verdict, flow: &FlowKey, now: Nanos) {
        if let (Some(drawn), Some(guard)) = (verdict.drawn, &self.guard) {
            guard.begin(drawn, flow.dst, self.epoch.saturating_add(now));
        }
        let trial = verdict.arm.filter(|arm| arm.by == Comparison::Trial);
        if let (Some(arm), Some(trial)) = (trial, &self.trial) {
            trial.begin(arm.number);
        }
    }

    fn learn(&self, verdict: &Verdict, flow: &FlowKey, transfer: &Transfer, now: Nanos) {
        if let (Some(drawn), Some(guard)) = (verdict.drawn, &self.guard) {
            guard.learn(drawn, flow.dst, transfer, self.epoch.saturating_add(now));
        }
        let Some(arm) = verdict.arm else { return };
        match (arm.by, &self.trial) {
            (Comparison::Auto, _) => {
                self.auto.learn(flow.dst, arm.number, transfer, now);
                if let Some((_, tally)) = self.rule_of(verdict) {
                    tally.learned(usize::from(arm.number), transfer);
                }
            }
            (Comparison::Trial, Some(trial)) => {
                trial.learn(arm.number, transfer, dice(self.seed, TRIAL_SALT, flow, now));
            }
            (Comparison::Trial, None) => {}
        }
    }

    fn tenants(&self) -> Vec<Tenant> {
        // Where nothing is enforced, nothing is dropped.
        let enforces = |rule: &Rule| {
            let verdict = rule.verdict.filter(|_| !rule.off);
            verdict.is_some_and(|verdict| verdict.mode == Mode::Enforce)
        };
        let enforced = self.rules.iter().any(enforces);
        let told = |owner: &Owner| Tenant {
            bounds: match enforced {
                true => owner.tenant.bounds,
                false => Bounds::default(),
            },
            ..owner.tenant.clone()
        };
        self.tenants.iter().map(told).collect()
    }
}
