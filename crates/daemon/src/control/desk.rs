//! Where requests are answered.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

use windlass_io::{DriverInfo, Mode, Session, XdpCounters, monotonic_ns};
use windlass_policy::{Config, ConfigFile, Overrides, Policy};

use super::comparisons::{self, AutoReport, TrialAnswer};
use super::counters;
use super::protocol::{Answer, PluginReport, Request, StatusReport};
use crate::advice::advice_on;
use crate::command::Workers;
use crate::settings::set_clock;
use crate::{FlowReport, TenantReport};

const NO_TRIAL: &str = "no trial runs: begin one with windlass trial start";

/// What is asked of the session as a whole.
pub(crate) trait Wire: Send {
    /// True: the kernel forwards everything.
    fn set_bypass(&mut self, on: bool) -> io::Result<()>;
    fn counters(&self) -> io::Result<XdpCounters>;
}

impl Wire for Session {
    fn set_bypass(&mut self, on: bool) -> io::Result<()> {
        Session::set_bypass(self, on)
    }

    fn counters(&self) -> io::Result<XdpCounters> {
        Session::counters(self)
    }
}

/// Everything that answers are made of.
pub(crate) struct Desk {
    pub workers: Workers,
    pub wire: Mutex<Box<dyn Wire>>,
    pub policy: Arc<RwLock<Policy>>,
    pub inside: String,
    pub outside: String,
    pub driver: DriverInfo,
    pub started: Instant,
}

impl Desk {
    pub(crate) fn answer(&self, request: Request) -> Answer {
        let answer = match request {
            Request::Flows => self.flows(),
            Request::Counters => self.counters(),
            Request::Tenants => self.tenants(),
            Request::Status => self.status(),
            Request::Plugins => Ok(plugins()),
            Request::AddPlugin { file } => add_plugin(&file),
            Request::Auto => Ok(Answer::Auto(self.auto())),
            Request::StartTrial {
                rule,
                arms,
                share_permille,
            } => self.start_trial(rule, &arms, share_permille),
            Request::Trial => self.trial(),
            Request::StopTrial => self.stop_trial(),
            Request::Bypass { on } => self.bypass(on),
            Request::Apply { files } => self.apply(&files, &Overrides::default()),
        };
        answer.unwrap_or_else(|error| Answer::Error { error })
    }

    /// On: first the engines send what waits and let go, then the kernel takes over, so that
    /// nothing is overtaken. Off: the other way around.
    pub(crate) fn bypass(&self, on: bool) -> Result<Answer, String> {
        let mut wire = self.wire.lock().unwrap_or_else(PoisonError::into_inner);
        // The kernel takes over even from workers that do not answer.
        let engines = self.workers.bypass(on).map_err(|e| e.to_string());
        wire.set_bypass(on)
            .map_err(|e| format!("switching the XDP program: {e}"))?;
        engines.map(|()| Answer::Bypass { on })
    }

    /// Only the rules: what the box is made of and the ports that the XDP program takes stay.
    pub(crate) fn apply(
        &self,
        files: &[ConfigFile],
        overrides: &Overrides,
    ) -> Result<Answer, String> {
        let mut config = Config::parse_all(files).map_err(|e| e.to_string())?;
        config.override_with(overrides);
        config.device.inside = Some(self.inside.clone());
        config.device.outside = Some(self.outside.clone());
        let mut policy = config.policy();
        set_clock(&mut policy);
        let mut current = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        policy.inherit(&current, monotonic_ns());
        if let Some(port) = beyond(&current, &policy) {
            let file = files.first().map_or("the file", |f| &f.name);
            return Err(format!(
                "{file} governs {port}, which the running windlass leaves to the kernel: nothing \
                 was changed; stop it and start it with this file"
            ));
        }
        let reached = self.workers.set_policy(&policy);
        *current = policy;
        reached.map_err(|e| e.to_string())?;
        Ok(Answer::Applied {
            rules: config.rules.len() as u64,
        })
    }

    /// What `auto` believes.
    pub(crate) fn auto(&self) -> AutoReport {
        let policy = self.policy.read().unwrap_or_else(PoisonError::into_inner);
        AutoReport::new(policy.auto(), monotonic_ns())
    }

    fn start_trial(
        &self,
        rule: Option<String>,
        arms: &[String],
        share_permille: u32,
    ) -> Result<Answer, String> {
        let trial = comparisons::trial(rule, arms, share_permille)?;
        let mut policy = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(rule) = trial.rule.as_ref().filter(|rule| !policy.has_rule(rule)) {
            return Err(format!(
                "no rule is called \"{rule}\": windlass policy explain names them"
            ));
        }
        let answer = TrialAnswer::new(&trial);
        policy.set_trial(Some(trial));
        let reached = self.workers.set_policy(&policy);
        reached.map_err(|e| e.to_string())?;
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
        let reached = self.workers.set_policy(&policy);
        reached.map_err(|e| e.to_string())?;
        Ok(Answer::Trial(TrialAnswer::new(&trial)))
    }

    fn flows(&self) -> Result<Answer, String> {
        let all = self.workers.flows().map_err(|e| e.to_string())?;
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
        let all = self.workers.status().map_err(|e| e.to_string())?;
        let wire = self.wire.lock().unwrap_or_else(PoisonError::into_inner);
        let xdp = wire
            .counters()
            .map_err(|e| format!("counters of the XDP program: {e}"))?;
        Ok(Answer::Counters {
            engine: counters::of_engines(&all),
            driver: counters::of_drivers(&all),
            xdp: counters::of_xdp(&xdp),
        })
    }

    /// Packets that the kernel has forwarded because no worker took any; `None` if it cannot be asked.
    pub(crate) fn unread(&self) -> Option<u64> {
        let wire = self.wire.lock().unwrap_or_else(PoisonError::into_inner);
        wire.counters().ok().map(|xdp| xdp.passed_unread)
    }

    fn tenants(&self) -> Result<Answer, String> {
        let all = self.workers.tenants().map_err(|e| e.to_string())?;
        Ok(Answer::Tenants {
            tenants: all.iter().map(TenantReport::new).collect(),
        })
    }

    fn status(&self) -> Result<Answer, String> {
        let all = self.workers.status().map_err(|e| e.to_string())?;
        Ok(Answer::Status(StatusReport {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            uptime_s: self.started.elapsed().as_secs(),
            inside: self.inside.clone(),
            outside: self.outside.clone(),
            io: match self.driver.mode {
                Mode::Native => "native",
                Mode::Generic => "generic",
                Mode::Packet => "packet",
            }
            .to_owned(),
            zero_copy: self.driver.zero_copy,
            fail_open: self.driver.fail_open,
            workers: self.workers.count() as u64,
            bypass: all.iter().all(|s| s.bypass),
            connections: all.iter().map(|s| s.connections as u64).sum(),
            held_bytes: all.iter().map(|s| s.held_bytes).sum(),
        }))
    }
}

fn plugins() -> Answer {
    let report = |status: windlass_plugin::Status| PluginReport {
        name: status.name.to_owned(),
        faults: status.faults,
        suspended: status.suspended,
        last_fault: status.last_fault,
    };
    Answer::Plugins {
        plugins: windlass_plugin::statuses()
            .into_iter()
            .map(report)
            .collect(),
    }
}

/// Rules that name it from now on get this one; those that name one of the same name too.
fn add_plugin(file: &Path) -> Result<Answer, String> {
    windlass_plugin::add_file(file).map_err(|e| e.to_string())?;
    Ok(plugins())
}

/// What `new` governs beyond the ports of `current`.
fn beyond(current: &Policy, new: &Policy) -> Option<String> {
    let taken = current.governed_ports()?;
    match new.governed_ports() {
        None => Some("every port".to_owned()),
        Some(ports) => {
            let other = ports.iter().find(|port| !taken.contains(port))?;
            Some(format!("port {other}"))
        }
    }
}
