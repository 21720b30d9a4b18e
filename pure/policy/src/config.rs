//! The configuration file as a whole.

use serde::{Deserialize, Serialize};
use windlass_cc::AlgorithmId;
use windlass_engine::{Limits, Mode, Redundancy, Verdict};

use crate::error::{ConfigError, Wrong};
use crate::limits;
use crate::policy::Policy;
use crate::read::{self, Section, Value};
use crate::rule::Rule;
use crate::settings::{self, DEFAULT_ALGORITHM, Known};
use crate::switching::SwitchList;
use crate::tenants::{self, Owner};

/// The version of the file format.
pub const VERSION: u64 = 1;
/// Where the control socket is, unless the file or a flag says otherwise.
pub const DEFAULT_CONTROL_SOCKET: &str = "/run/windlass/windlass.sock";

/// Frames per worker: 128 MB of them hold 300 ms at 3 Gbit/s.
const DEFAULT_FRAMES: u32 = 1 << 16;
const FRAMES_MIN: u64 = 8192;
const FRAMES_MAX: u64 = 1 << 24;
/// Most rules of a configuration.
const RULES_MAX: usize = 65_535;
const IO_MODES: [(&str, IoMode); 4] = [
    ("auto", IoMode::Auto),
    ("native", IoMode::Native),
    ("generic", IoMode::Generic),
    ("packet", IoMode::Packet),
];

/// How packets are to be obtained.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum IoMode {
    /// AF_XDP in native mode, else in generic mode.
    #[default]
    Auto,
    /// AF_XDP in native mode or not at all.
    Native,
    /// AF_XDP in generic mode or not at all.
    Generic,
    /// AF_PACKET, in place of a bridge.
    Packet,
}

/// The `[box]` section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoxConfig {
    /// Interface towards the governed senders.
    pub inside: Option<String>,
    /// Interface towards the network.
    pub outside: Option<String>,
    /// Packet frames per worker.
    pub frames: u32,
    /// Bytes per frame, 2048 or 4096.
    pub frame_size: u32,
    /// How packets are obtained.
    pub mode: IoMode,
    /// Path of the control socket.
    pub control_socket: String,
}

impl Default for BoxConfig {
    fn default() -> Self {
        BoxConfig {
            inside: None,
            outside: None,
            frames: DEFAULT_FRAMES,
            frame_size: 2048,
            mode: IoMode::Auto,
            control_socket: DEFAULT_CONTROL_SOCKET.to_owned(),
        }
    }
}

/// A configuration without mistakes. The default is that of a file with nothing but its version.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The box.
    pub device: BoxConfig,
    /// Limits of the whole box.
    pub limits: Limits,
    /// Whose the flows are.
    pub tenants: Vec<Owner>,
    /// The rules in order; at least one, and at least one that governs.
    pub rules: Vec<Rule>,
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
            tenants: Vec::new(),
            rules: vec![Rule::everything(Verdict::enforce(DEFAULT_ALGORITHM))],
            switch_lists: Vec::new(),
        }
    }
}

/// What a command line puts in the place of what the file says, for every rule.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// How far to go.
    pub mode: Option<Mode>,
    /// The algorithm.
    pub algorithm: Option<AlgorithmId>,
    /// Second copies.
    pub redundancy: Option<Redundancy>,
    /// TCP ports.
    pub ports: Option<Vec<u16>>,
}

impl Config {
    /// Reads the text of the file called `file_name`.
    ///
    /// # Errors
    /// The first mistake: syntax, an unknown key, a value of the wrong type or out of range.
    pub fn parse(text: &str, file_name: &str) -> Result<Config, ConfigError> {
        Config::parse_all(&[ConfigFile {
            name: file_name.to_owned(),
            text: text.to_owned(),
        }])
    }

    /// Reads a configuration of several files: the first is a whole one, the others have tenants and
    /// rules, which come behind those of the first in the order of the files.
    ///
    /// # Errors
    /// The first mistake.
    pub fn parse_all(files: &[ConfigFile]) -> Result<Config, ConfigError> {
        let wrong = |(at, wrong): (usize, Wrong)| match files.get(at) {
            Some(file) => wrong.locate(&file.text, &file.name),
            None => wrong.locate("", "configuration"),
        };
        read_all(files).map_err(wrong)
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
            verdict.mode = overrides.mode.unwrap_or(verdict.mode);
            // A name alone keeps what the file sets of that algorithm.
            if let Some(id) = overrides
                .algorithm
                .filter(|id| *id != verdict.algorithm.id())
            {
                verdict.algorithm = id.into();
            }
            if overrides.algorithm.is_some() {
                verdict.switching = None;
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
        )
    }
}

/// A mistake comes with the number of its file.
fn read_all(files: &[ConfigFile]) -> Result<Config, (usize, Wrong)> {
    let mut config = Config::default();
    let mut known = Known::default();
    let mut sections = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let mut open = || {
            let mut file = Section::new("the file", read::document(&file.text)?);
            read::check_version(&mut file, VERSION)?;
            if let Some(value) = file.take("tenant") {
                tenants::read(value, &mut known.tenants)?;
            }
            Ok(file)
        };
        sections.push(open().map_err(|wrong| (at, wrong))?);
    }
    let mut default = Verdict::enforce(DEFAULT_ALGORITHM);
    let mut rules = Vec::new();
    let mut rules_at = (0, 0..0);
    for (at, mut section) in sections.into_iter().enumerate() {
        let mut read = || {
            if at == 0 {
                default = read_first(&mut section, &mut config, &mut known)?;
            }
            if let Some(value) = section.take("rule") {
                rules_at = (at, value.span());
                read_rules(value, default, &mut known, &mut rules)?;
            }
            Ok(())
        };
        read().map_err(|wrong| (at, wrong))?;
        section.finish().map_err(|wrong| (at, wrong))?;
    }
    if rules.is_empty() {
        rules.push(Rule::everything(default));
    }
    if rules.iter().all(|r: &Rule| r.verdict.is_none()) {
        let what = "no rule governs anything: every one has govern = false";
        let help = "add a [[rule]] without govern = false for the flows to be governed";
        return Err((rules_at.0, Wrong::new(rules_at.1, what, help)));
    }
    config.rules = rules;
    config.tenants = known.tenants;
    config.switch_lists = known.lists.0;
    Ok(config)
}

/// What only the first file has. The answer is what rules have in common.
fn read_first(
    file: &mut Section<'_>,
    config: &mut Config,
    known: &mut Known,
) -> Result<Verdict, Wrong> {
    if let Some(value) = file.take("box") {
        config.device = read_box(value.section("[box]")?)?;
    }
    if let Some(value) = file.take("limits") {
        config.limits = limits::read(value.section("[limits]")?)?;
    }
    let mut default = Verdict::enforce(DEFAULT_ALGORITHM);
    if let Some(value) = file.take("default") {
        let mut section = value.section("[default]")?;
        default = settings::verdict(&mut section, default, known)?;
        section.finish()?;
    }
    Ok(default)
}

/// Adds the rules of a file to those of the files before.
fn read_rules(
    value: Value<'_>,
    default: Verdict,
    known: &mut Known,
    rules: &mut Vec<Rule>,
) -> Result<(), Wrong> {
    for value in value.list("[[rule]]")? {
        let section = value.section("[[rule]]")?;
        let at = section.span();
        let rule = Rule::read(section, rules.len() + 1, default, known)?;
        if rules.len() == RULES_MAX {
            let what = format!("more than {RULES_MAX} rules");
            return Err(Wrong::new(
                at,
                what,
                "say more with one rule: match, servers, ports",
            ));
        }
        if rules.iter().any(|other| other.name == rule.name) {
            let what = format!("two rules are called \"{}\"", rule.name);
            return Err(Wrong::new(at, what, "give each a name of its own"));
        }
        rules.push(rule);
    }
    Ok(())
}

fn read_box(mut section: Section<'_>) -> Result<BoxConfig, Wrong> {
    let mut device = BoxConfig::default();
    if let Some(value) = section.take("inside") {
        device.inside = Some(interface(value.text("eth0")?, &value)?);
    }
    if let Some(value) = section.take("outside") {
        device.outside = Some(interface(value.text("eth1")?, &value)?);
        if device.outside == device.inside {
            let what = "inside and outside are the same interface";
            return Err(Wrong::new(
                value.span(),
                what,
                "name the interface on the other side",
            ));
        }
    }
    if let Some(value) = section.take("frames") {
        device.frames = value.integer(FRAMES_MIN..=FRAMES_MAX, "frames")? as u32;
    }
    if let Some(value) = section.take("frame_size") {
        device.frame_size = value.integer(2048..=4096, "bytes")? as u32;
        if !device.frame_size.is_power_of_two() {
            let what = format!("frame_size is out of range: {}", device.frame_size);
            return Err(Wrong::new(value.span(), what, "use 2048 or 4096 bytes"));
        }
    }
    if let Some(value) = section.take("mode") {
        device.mode = value.word(&IO_MODES)?;
    }
    if let Some(value) = section.take("control_socket") {
        let path = value.text(DEFAULT_CONTROL_SOCKET)?;
        if !path.starts_with('/') {
            let what = format!("\"{path}\" is not an absolute path");
            let help = format!("write for example \"{DEFAULT_CONTROL_SOCKET}\"");
            return Err(Wrong::new(value.span(), what, help));
        }
        device.control_socket = path.to_owned();
    }
    section.finish()?;
    Ok(device)
}

/// Linux: 1 to 15 bytes (IFNAMSIZ − 1), no slash, no space, not "." or "..".
fn interface(name: &str, value: &Value<'_>) -> Result<String, Wrong> {
    let bad = |c: char| c == '/' || c == ':' || c.is_whitespace();
    if name.is_empty() || name.len() > 15 || name.contains(bad) || name == "." || name == ".." {
        let what = format!("\"{name}\" cannot be the name of an interface");
        let help = "use a name that `ip link show` lists, 1 to 15 characters";
        return Err(Wrong::new(value.span(), what, help));
    }
    Ok(name.to_owned())
}
