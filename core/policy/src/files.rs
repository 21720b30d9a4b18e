//! From the texts of the configuration files to a [`Config`]. A mistake comes with the number of its file.

use windlass_cc::Catalog;

use crate::auto_config::{self, AutoConfig};
use crate::config::{Config, ConfigFile, VERSION};
use crate::device;
use crate::error::Wrong;
use crate::guard_config;
use crate::limits;
use crate::read::{self, Section, Value};
use crate::recorder_config;
use crate::rule::Rule;
use crate::settings::{self, Known, Said};
use crate::switching::Lists;
use crate::tenants;
use crate::{metrics_config, standby_config, web_config};

/// Most rules of a configuration.
const RULES_MAX: usize = 65_535;

/// Reads all of them.
pub(crate) fn read_all(files: &[ConfigFile], catalog: &Catalog) -> Result<Config, (usize, Wrong)> {
    let mut config = Config::default();
    let mut known = Known {
        catalog,
        tenants: Vec::new(),
        lists: Lists::default(),
        auto: AutoConfig::default(),
    };
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
    let mut default = Said::nothing();
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
        let help = "add a [[rule]] without govern = false for the flows to be governed, or write \
                    mode = \"off\" for those that are to wait";
        return Err((rules_at.0, Wrong::new(rules_at.1, what, help)));
    }
    config.rules = rules;
    config.tenants = known.tenants;
    config.switch_lists = known.lists.0;
    config.auto = known.auto;
    Ok(config)
}

/// What only the first file has. The answer is what rules have in common.
fn read_first(
    file: &mut Section<'_>,
    config: &mut Config,
    known: &mut Known<'_>,
) -> Result<Said, Wrong> {
    if let Some(value) = file.take("box") {
        config.device = device::read(value.section("[box]")?)?;
    }
    if let Some(value) = file.take("limits") {
        (config.limits, config.box_limits) = limits::read(value.section("[limits]")?)?;
    }
    if let Some(value) = file.take("auto") {
        known.auto = auto_config::read(value.section("[auto]")?, known.catalog)?;
    }
    if let Some(value) = file.take("guard") {
        config.guard = Some(guard_config::read(value.section("[guard]")?)?);
    }
    if let Some(value) = file.take("metrics") {
        config.metrics = metrics_config::read(value.section("[metrics]")?)?;
    }
    if let Some(value) = file.take("recorder") {
        config.recorder = Some(recorder_config::read(value.section("[recorder]")?)?);
    }
    if let Some(value) = file.take("standby") {
        config.standby = Some(standby_config::read(value.section("[standby]")?)?);
    }
    if let Some(value) = file.take("web") {
        config.web = web_config::read(value.section("[web]")?)?;
    }
    let mut default = Said::nothing();
    if let Some(value) = file.take("default") {
        let mut section = value.section("[default]")?;
        default = settings::said(&mut section, default, known)?;
        section.finish()?;
    }
    Ok(default)
}

/// Adds the rules of a file to those of the files before.
fn read_rules(
    value: Value<'_>,
    default: Said,
    known: &mut Known<'_>,
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
