//! The guard, as policy sees it: which rules it guards, and who is held out.

use std::sync::{Arc, Mutex, PoisonError};

use windlass_auto::guard::{Guard, GuardReport};
use windlass_cc::{AlgorithmId, Nanos};
use windlass_engine::{Comparison, Drawn, Feedback, Mode, TenantId, Transfer, Verdict};
use windlass_wire::Addr;

use crate::guard_config::GuardConfig;
use crate::rule::Rule;
use crate::tenants::Owner;

/// What is found out, shared by all workers: they ask when a connection begins and tell when a transfer ends, and never wait
/// for each other. Who finds it in use draws with the usual share, and leaves the transfer out.
#[derive(Clone, Debug)]
pub struct SharedGuard {
    config: GuardConfig,
    guard: Arc<Mutex<Guard>>,
    /// By rule of the policy: its number in the guard.
    numbers: Vec<Option<u16>>,
}

impl SharedGuard {
    /// One that knows nothing; `unix`: ns since 1970.
    pub(crate) fn new(
        config: GuardConfig,
        rules: &[Rule],
        tenants: &[Owner],
        unix: Nanos,
    ) -> SharedGuard {
        let guard = Guard::new(config.judgement.clone());
        let mut shared = SharedGuard {
            config,
            guard: Arc::new(Mutex::new(guard)),
            numbers: Vec::new(),
        };
        shared.number(rules, tenants, unix);
        shared
    }

    /// How it judges and what it keeps.
    pub fn config(&self) -> &GuardConfig {
        &self.config
    }

    /// Does something with the guard.
    pub fn with_guard<T>(&self, then: impl FnOnce(&mut Guard) -> T) -> T {
        then(&mut self.guard.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What is known now, with the hours from `since` on, in hours since 1970.
    pub fn report(&self, since: u32) -> GuardReport {
        // A copy, so that no worker waits while it is being reckoned.
        let guard = self.with_guard(|guard| guard.clone());
        guard.report(since, |base| self.config.memory.prefix_of(base).to_string())
    }

    /// Goes on with what another has found out.
    pub(crate) fn inherit(
        &mut self,
        old: &SharedGuard,
        rules: &[Rule],
        tenants: &[Owner],
        unix: Nanos,
    ) {
        if old.config == self.config {
            self.guard = Arc::clone(&old.guard);
        } else if old.config.memory.bits == self.config.memory.bits {
            let known = old.with_guard(|guard| guard.clone());
            self.with_guard(|guard| guard.inherit(&known, unix));
        }
        self.number(rules, tenants, unix);
    }

    fn number(&mut self, rules: &[Rule], tenants: &[Owner], unix: Nanos) {
        let number = |rule: &Rule| {
            let what = guarded(rule, tenants)?;
            self.with_guard(|guard| guard.rule(&rule.name, &what, unix))
        };
        self.numbers = rules.iter().map(number).collect();
    }

    /// The number of a rule in the guard; `None`: it is not guarded.
    pub(crate) fn number_of(&self, rule: u16) -> Option<u16> {
        self.numbers.get(usize::from(rule)).copied().flatten()
    }

    /// What a flow to `dst` draws.
    pub(crate) fn draw(&self, number: u16, dst: Addr, dice: u64) -> Option<Drawn> {
        match self.guard.try_lock() {
            Ok(guard) => guard.draw(number, self.config.memory.key(dst), dice),
            Err(_) => Some(Guard::draw_blindly(&self.config.judgement, number, dice)),
        }
    }

    pub(crate) fn begin(&self, drawn: Drawn, dst: Addr, unix: Nanos) {
        if let Ok(mut guard) = self.guard.try_lock() {
            guard.begin(drawn, self.config.memory.key(dst), unix);
        }
    }

    pub(crate) fn learn(&self, drawn: Drawn, dst: Addr, transfer: &Transfer, unix: Nanos) {
        if let Ok(mut guard) = self.guard.try_lock() {
            guard.learn(drawn, self.config.memory.key(dst), transfer, unix);
        }
    }
}

/// What a rule does, if it is guarded: evidence of it says nothing of a rule that does something else.
fn guarded(rule: &Rule, tenants: &[Owner]) -> Option<String> {
    let verdict = rule.verdict.filter(|v| v.mode == Mode::Enforce)?;
    let auto = verdict.arm.is_some_and(|arm| arm.by == Comparison::Auto);
    let id = verdict.algorithm.id();
    let like_bbr = auto || matches!(id, AlgorithmId::Plugin(_)) || !id.about().signals.loss;
    if !rule.guard.unwrap_or(like_bbr) || bound_to(&verdict, tenants).is_some() {
        return None;
    }
    let copies = verdict.redundancy;
    Some(format!(
        "{}{}",
        match auto {
            true => crate::auto::AUTO.to_owned(),
            false => verdict.algorithm.to_string(),
        },
        match (copies.repairs, copies.first_segments) {
            (false, 0) => "",
            (_, 0) => ", repairs copied",
            (_, _) => ", copies",
        }
    ))
}

/// What a rule sees to that must hold for every flow, so that none can be held out.
pub(crate) fn bound_to(verdict: &Verdict, tenants: &[Owner]) -> Option<&'static str> {
    let capped = |id: TenantId| tenants.get(usize::from(id.0))?.tenant.cap;
    let bounds = [
        (verdict.police_tolerance.is_some(), "police"),
        (verdict.cap.is_some(), "cap_mbit"),
        (
            verdict.tenant.and_then(capped).is_some(),
            "the tenant's cap_mbit",
        ),
        (verdict.feedback == Feedback::Boxes, "feedback = \"boxes\""),
    ];
    let bound = bounds.into_iter().find(|(bound, _)| *bound);
    bound.map(|(_, name)| name)
}
