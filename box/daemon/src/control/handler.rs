//! Where requests are answered.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::Instant;

use windlass_auto::guard::GuardReport;
use windlass_cc::{Catalog, Nanos};
use windlass_io::monotonic_ns;
use windlass_policy::{Config, ConfigFile, Overrides, Policy};

use super::comparisons::{self, AutoReport, TrialAnswer};
use super::counters::{self, Sums};
use super::live::{Condition, Live};
use super::protocol::{Answer, PluginReport, Request, StatusReport, Trouble};
use crate::advice::advice_on;
use crate::command::FLOWS_PER_ANSWER;
use crate::events::{Draft, EventKind, Events};
use crate::settings::{set_clock, unix_ns};
use crate::upgrade::{self, Upgrade};
use crate::view::{FlowFilter, Sampler};
use crate::{FlowReport, TenantReport, log};

const NO_TRIAL: &str = "no trial runs: begin one with windlass trial start";
const NO_GUARD: &str = "the configuration has no [guard] section, so nothing is guarded: docs/policy.md, \"The guard\"";
const NANOS_PER_HOUR: u64 = 3_600_000_000_000;

/// Everything that answers are made of.
///
/// Whoever needs the policy and the live box takes the policy first. Nobody who has the catalog waits for either.
pub(crate) struct Handler {
    pub live: RwLock<Option<Live>>,
    pub condition: Mutex<Condition>,
    pub policy: Arc<RwLock<Policy>>,
    /// What rules and trials name.
    pub catalog: RwLock<Catalog>,
    /// How long ago what is still told may have been recorded, ns; `None`: nothing is recorded.
    pub recorded_for: Option<Nanos>,
    /// What has been asked for; workers to come begin with it.
    pub bypass: AtomicBool,
    pub inside: String,
    pub outside: String,
    /// Those that the XDP program takes; none: all.
    pub ports: Vec<u16>,
    pub started: Instant,
    pub upgrade: Upgrade,
    pub events: Events,
    pub sampler: Sampler,
}

impl Handler {
    pub(crate) fn answer(&self, request: Request) -> Answer {
        request.order().inspect(|order| log::notice(order));
        let answer = match request {
            Request::Flows(filter) => self.flows(&filter),
            Request::Counters => self.counters(),
            Request::Tenants => self.tenants(),
            Request::Status => self.status(),
            Request::Events { after } => Ok(self.events_after(after)),
            Request::View(query) => self.view(&query),
            Request::Flow { flow } => self.flow(&flow),
            Request::Algorithms => self.algorithms(),
            Request::Overview => self.overview(),
            Request::Rules => Ok(self.rules()),
            Request::Explain { flow, sender } => self.explain(&flow, &sender),
            Request::Plugins => Ok(plugins(&self.catalog())),
            Request::AddPlugin { file } => self.add_plugin(&file),
            Request::Auto => Ok(Answer::Auto(self.auto())),
            Request::Guard { hours } => self.guard(hours),
            Request::StartTrial {
                rule,
                arms,
                share_permille,
            } => self.start_trial(rule, &arms, share_permille),
            Request::Trial => self.trial(),
            Request::Trials => Ok(Answer::Trials(self.trials())),
            Request::StopTrial => self.stop_trial(),
            Request::Bypass { on } => self.bypass(on),
            Request::Upgrade { binary } => {
                let upgraded = self.upgrade(binary.as_deref());
                upgraded.map(|pid| Answer::Upgraded { pid })
            }
            Request::Record {
                flow,
                rule,
                from,
                until,
            } => self.recorded(flow.as_deref(), rule.as_deref(), from, until),
            Request::Apply { files } => self.apply_for(&files),
        };
        answer.unwrap_or_else(|error| Answer::Error { error })
    }

    /// What the live box says.
    pub(crate) fn with_live<T>(
        &self,
        ask: impl FnOnce(&Live) -> Result<T, String>,
    ) -> Result<T, String> {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        match &*live {
            Some(live) => ask(live),
            None => Err(self.condition().no_workers()),
        }
    }

    /// Does it if there is a live box; one to come finds what has been set.
    fn with_live_if_any(
        &self,
        tell: impl FnOnce(&Live) -> Result<(), String>,
    ) -> Result<(), String> {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        live.as_ref().map_or(Ok(()), tell)
    }

    pub(crate) fn condition(&self) -> MutexGuard<'_, Condition> {
        self.condition
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn catalog(&self) -> RwLockReadGuard<'_, Catalog> {
        self.catalog.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Rules that name it from now on get this one; those that name one of the same name too.
    fn add_plugin(&self, file: &Path) -> Result<Answer, String> {
        let mut catalog = self.catalog.write().unwrap_or_else(PoisonError::into_inner);
        windlass_plugin::add_file(&mut catalog, file).map_err(|e| e.to_string())?;
        Ok(plugins(&catalog))
    }

    pub(crate) fn bypass(&self, on: bool) -> Result<Answer, String> {
        let was = self.bypass.swap(on, Ordering::AcqRel);
        if was != on {
            self.events.tell(match on {
                true => Draft::new(
                    EventKind::BypassOn,
                    "bypass is on: every flow passes untouched",
                ),
                false => Draft::new(
                    EventKind::BypassOff,
                    "bypass is off: connections are governed again",
                ),
            });
        }
        self.with_live_if_any(|live| live.bypass(on))?;
        Ok(Answer::Bypass { on })
    }

    fn apply_for(&self, files: &[ConfigFile]) -> Result<Answer, String> {
        let rules = self.apply(files, &Overrides::default())?;
        let file = files.first().map_or("a policy", |file| &file.name);
        let draft = Draft::new(EventKind::Reloaded, format!("{file} is in charge"));
        self.events.tell(draft.with("rules", rules));
        Ok(Answer::Applied { rules })
    }

    /// Returns how many rules are in charge now. Only the rules: what the box is made of and the ports that the XDP program takes stay.
    pub(crate) fn apply(&self, files: &[ConfigFile], overrides: &Overrides) -> Result<u64, String> {
        let mut config = Config::parse_all(files, &self.catalog()).map_err(|e| e.to_string())?;
        config.override_with(overrides);
        config.device.inside = Some(self.inside.clone());
        config.device.outside = Some(self.outside.clone());
        let mut policy = config.policy();
        set_clock(&mut policy);
        let mut current = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        policy.inherit(&current, monotonic_ns());
        if let Some(port) = beyond(&self.ports, &policy) {
            let file = files.first().map_or("the file", |f| &f.name);
            return Err(format!(
                "{file} governs {port}, which the running windlass leaves to the kernel: nothing \
                 was changed; stop it and start it with this file"
            ));
        }
        let reached = self.tell_policy(&policy);
        *current = policy;
        reached?;
        Ok(config.rules.len() as u64)
    }

    fn tell_policy(&self, policy: &Policy) -> Result<(), String> {
        let told = |live: &Live| live.workers.set_policy(policy).map_err(|e| e.to_string());
        self.with_live_if_any(told)
    }

    /// What `auto` believes.
    pub(crate) fn auto(&self) -> AutoReport {
        let policy = self.policy.read().unwrap_or_else(PoisonError::into_inner);
        AutoReport::new(&policy, monotonic_ns())
    }

    fn guard(&self, hours: u32) -> Result<Answer, String> {
        let report = self.guard_report(hours).ok_or(NO_GUARD)?;
        Ok(Answer::Guard(report))
    }

    /// What the guard knows, with so many hours; `None`: nothing is guarded.
    pub(crate) fn guard_report(&self, hours: u32) -> Option<GuardReport> {
        let policy = self.policy.read().unwrap_or_else(PoisonError::into_inner);
        let guard = policy.guard().cloned()?;
        drop(policy);
        let this_hour = (unix_ns() / NANOS_PER_HOUR) as u32;
        Some(guard.report(this_hour.saturating_sub(hours)))
    }

    fn start_trial(
        &self,
        rule: Option<String>,
        arms: &[String],
        share_permille: u32,
    ) -> Result<Answer, String> {
        let trial = comparisons::trial(rule, arms, share_permille, &self.catalog())?;
        let mut policy = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(rule) = trial.rule.as_ref().filter(|rule| !policy.has_rule(rule)) {
            return Err(format!(
                "no rule is called \"{rule}\": windlass policy explain names them"
            ));
        }
        let answer = TrialAnswer::new(&trial);
        let text = format!("a trial compares {}", answer.arms.join(", "));
        self.events.tell(Draft::new(EventKind::TrialStarted, text));
        policy.set_trial(Some(trial));
        self.tell_policy(&policy)?;
        Ok(Answer::Trial(answer))
    }

    fn trial(&self) -> Result<Answer, String> {
        let policy = self.policy.read().unwrap_or_else(PoisonError::into_inner);
        let trial = policy.trial().ok_or(NO_TRIAL)?;
        Ok(Answer::Trial(TrialAnswer::new(trial)))
    }

    fn stop_trial(&self) -> Result<Answer, String> {
        let mut policy = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        let trial = policy.trial().cloned().ok_or(NO_TRIAL)?;
        policy.set_trial(None);
        let draft = Draft::new(EventKind::TrialEnded, "the trial has ended");
        self.events.tell(draft);
        self.tell_policy(&policy)?;
        Ok(Answer::Trial(TrialAnswer::new(&trial)))
    }

    fn flows(&self, filter: &FlowFilter) -> Result<Answer, String> {
        let wanted = {
            let policy = self.policy.read().unwrap_or_else(PoisonError::into_inner);
            filter.read(&policy)?
        };
        let all = self.with_live(|live| {
            let flows = live.workers.flows(&wanted, FLOWS_PER_ANSWER);
            flows.map_err(|e| e.to_string())
        })?;
        // Before the policy is asked for, which may be changed meanwhile.
        let advice = advice_on(&all.flows);
        let policy = self.policy.read().unwrap_or_else(PoisonError::into_inner);
        let flows = all.flows.iter().zip(advice);
        let report = |(info, advice)| FlowReport {
            advice,
            ..FlowReport::new(info, &policy)
        };
        Ok(Answer::Flows {
            flows: flows.map(report).collect(),
            omitted: all.omitted as u64,
        })
    }

    fn counters(&self) -> Result<Answer, String> {
        self.with_live(|live| {
            let all = live.workers.status().map_err(|e| e.to_string())?;
            let sums = Sums::of(&all);
            Ok(Answer::Counters {
                engine: sums.of_engines(),
                driver: sums.of_drivers(),
                xdp: counters::of_xdp(&live.counters()?),
                recorder: sums.of_recorder(),
            })
        })
    }

    /// Packets that the kernel has forwarded because no worker took any; `None` if it cannot be asked.
    pub(crate) fn unread(&self) -> Option<u64> {
        let xdp = self.with_live(Live::counters).ok()?;
        Some(xdp.passed_unread)
    }

    fn tenants(&self) -> Result<Answer, String> {
        let all = self.with_live(|live| live.workers.tenants().map_err(|e| e.to_string()))?;
        Ok(Answer::Tenants {
            tenants: all.iter().map(TenantReport::new).collect(),
        })
    }

    pub(super) fn status(&self) -> Result<Answer, String> {
        let mut report = StatusReport {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            uptime_s: self.started.elapsed().as_secs(),
            inside: self.inside.clone(),
            outside: self.outside.clone(),
            bypass: self.bypass.load(Ordering::Acquire),
            replaced: upgrade::is_replaced(),
            ..StatusReport::default()
        };
        let described = self.with_live_if_any(|live| live.describe(&mut report));
        let condition = self.condition();
        report.state = match condition.waiting {
            None => "governing",
            Some(_) => "waiting",
        }
        .to_owned();
        report.bridge.clone_from(&condition.bridge);
        report.troubles = condition.all_troubles();
        report.troubles.extend(described.err().map(|what| Trouble {
            what,
            mend: "start windlass again if it stays so; the bridge goes on meanwhile".to_owned(),
        }));
        report.reopened = condition.reopened;
        Ok(Answer::Status(report))
    }
}

fn plugins(catalog: &Catalog) -> Answer {
    let report = |status: windlass_plugin::Status| PluginReport {
        name: status.name.to_owned(),
        faults: status.faults,
        suspended: status.suspended,
        last_fault: status.last_fault,
    };
    Answer::Plugins {
        plugins: windlass_plugin::statuses(catalog)
            .into_iter()
            .map(report)
            .collect(),
    }
}

/// What a policy governs beyond the ports that are taken.
fn beyond(taken: &[u16], policy: &Policy) -> Option<String> {
    if taken.is_empty() {
        return None;
    }
    match policy.governed_ports() {
        None => Some("every port".to_owned()),
        Some(ports) => {
            let other = ports.iter().find(|port| !taken.contains(port))?;
            Some(format!("port {other}"))
        }
    }
}
