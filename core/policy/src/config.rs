//! The configuration file as a whole.

use serde::{Deserialize, Serialize};
use windlass_cc::{AlgorithmId, Catalog};
use windlass_engine::{Limits, Redundancy};

use crate::auto_config::AutoConfig;
use crate::device::BoxConfig;
use crate::error::{ConfigError, Wrong};
use crate::files;
use crate::guard_config::GuardConfig;
use crate::limits::BoxLimits;
use crate::metrics_config::MetricsListen;
use crate::policy::Policy;
use crate::recorder_config::RecorderConfig;
use crate::rule::Rule;
use crate::settings::{Extent, Said};
use crate::standby_config::StandbyConfig;
use crate::switching::SwitchList;
use crate::tenants::Owner;
use crate::web_config::WebConfig;

/// The version of the file format.
pub const VERSION: u64 = 1;
/// Where the control socket is, unless the file or a flag says otherwise.
pub const DEFAULT_CONTROL_SOCKET: &str = "/run/windlass/windlass.sock";

/// A configuration without mistakes. The default is that of a file with nothing but its version.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The box.
    pub device: BoxConfig,
    /// Limits of the whole box.
    pub limits: Limits,
    /// Limits of the process and its drivers.
    pub box_limits: BoxLimits,
    /// Whose the flows are.
    pub tenants: Vec<Owner>,
    /// The rules in order; at least one, and at least one that governs.
    pub rules: Vec<Rule>,
    /// What `algorithm = "auto"` means.
    pub auto: AutoConfig,
    /// How rules are guarded, if they are.
    pub guard: Option<GuardConfig>,
    /// Where metrics can be scraped, if they can.
    pub metrics: Option<MetricsListen>,
    /// How much the flight recorder keeps, if there is one.
    pub recorder: Option<RecorderConfig>,
    /// Another box that stands by, if there is one.
    pub standby: Option<StandbyConfig>,
    /// The page in the browser, if there is one.
    pub web: Option<WebConfig>,
    /// What verdicts with [`windlass_engine::Switching`] refer to, by number.
    pub switch_lists: Vec<SwitchList>,
}

/// A file, as it was read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ConfigFile {
    /// Its name, for messages.
    pub name: String,
    /// Its text.
    pub text: String,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            device: BoxConfig::default(),
            limits: Limits::default(),
            box_limits: BoxLimits::default(),
            tenants: Vec::new(),
            rules: vec![Rule::everything(Said::nothing())],
            auto: AutoConfig::default(),
            guard: None,
            metrics: None,
            recorder: None,
            standby: None,
            web: None,
            switch_lists: Vec::new(),
        }
    }
}

/// What a command line puts in the place of what the file says, for every rule.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// How far to go.
    pub mode: Option<Extent>,
    /// The algorithm.
    pub algorithm: Option<AlgorithmId>,
    /// Second copies.
    pub redundancy: Option<Redundancy>,
    /// TCP ports.
    pub ports: Option<Vec<u16>>,
}

impl Config {
    /// Reads the text of the file called `file_name`, which names algorithms of the catalog.
    ///
    /// # Errors
    /// The first mistake: syntax, an unknown key, a value of the wrong type or out of range.
    pub fn parse(text: &str, file_name: &str, catalog: &Catalog) -> Result<Config, ConfigError> {
        let file = ConfigFile {
            name: file_name.to_owned(),
            text: text.to_owned(),
        };
        Config::parse_all(&[file], catalog)
    }

    /// Reads a configuration of several files: the first is a whole one, the others have tenants and
    /// rules, which come behind those of the first in the order of the files.
    ///
    /// # Errors
    /// The first mistake.
    pub fn parse_all(files: &[ConfigFile], catalog: &Catalog) -> Result<Config, ConfigError> {
        let wrong = |(at, wrong): (usize, Wrong)| match files.get(at) {
            Some(file) => wrong.locate(&file.text, &file.name),
            None => wrong.locate("", "configuration"),
        };
        files::read_all(files, catalog).map_err(wrong)
    }

    /// Replaces settings of all rules.
    pub fn override_with(&mut self, overrides: &Overrides) {
        for rule in &mut self.rules {
            if let Some(ports) = &overrides.ports {
                rule.ports.clone_from(ports);
            }
            let Some(verdict) = &mut rule.verdict else {
                continue;
            };
            if let Some(extent) = overrides.mode {
                rule.off = extent == Extent::Off;
                if let Extent::Govern(mode) = extent {
                    verdict.mode = mode;
                }
            }
            // A name alone keeps what the file sets of that algorithm.
            if let Some(id) = overrides
                .algorithm
                .filter(|id| *id != verdict.algorithm.id())
            {
                verdict.algorithm = id.into();
            }
            if overrides.algorithm.is_some() {
                verdict.switching = None;
                verdict.arm = None;
            }
            verdict.redundancy = overrides.redundancy.unwrap_or(verdict.redundancy);
        }
    }

    /// The rules, ready to be asked.
    pub fn policy(&self) -> Policy {
        let interface = |name: &Option<String>| name.clone().unwrap_or_default();
        Policy::new(
            self.rules.clone(),
            self.tenants.clone(),
            self.switch_lists.clone(),
            [
                interface(&self.device.inside),
                interface(&self.device.outside),
            ],
            self.auto.clone(),
            self.guard.clone(),
        )
    }
}
