//! `windlass policy`: rules checked, explained, put in charge.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use windlass_cc::Value::Choice;
use windlass_cc::{Catalog, Settings};
use windlass_daemon::config_files::{self, DEFAULT_CONFIG};
use windlass_daemon::control::{Answer, Request};
use windlass_engine::{LivePath, Side, Verdict};
use windlass_policy::{Config, ConfigFile, Explanation, SwitchState};
use windlass_terminal::shipped::POLICIES;
use windlass_terminal::{print, print_json};
use windlass_wire::FlowKey;

use crate::ask::{Control, unexpected};
use crate::{path, values};

const NOT_INSTALLED: &str =
    "the policies that come with Windlass are in its package windlass-lab, which is not installed";
const NANOS_PER_MILLI: f64 = 1e6;

/// Check rules, explain what they say of a flow, put them in charge.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Check a configuration file, and the conf.d beside it: the first mistake with its place and
    /// remedy, or how many rules there are.
    Check {
        /// The configuration file, or the name of a policy that comes with Windlass.
        file: PathBuf,
    },
    Explain(ExplainArgs),
    /// Put the rules of a configuration file in charge, without a stop.
    ///
    /// New connections are governed by them altogether. Flows that run are moved to the algorithm
    /// that the rules name for them, from what is known of their path, and take over conditions,
    /// redundancy and caps; mode and head-room stay as the flow began. A file with a mistake changes
    /// nothing. [box], [limits] and ports that were left to the kernel need a restart.
    Apply {
        /// The configuration file, or the name of a policy that comes with Windlass.
        file: PathBuf,
        #[command(flatten)]
        control: Control,
    },
}

/// Say which rule governs a flow and why, and what would change its algorithm.
#[derive(clap::Args)]
pub(crate) struct ExplainArgs {
    /// From the sender of the data to its receiver, a VLAN behind an @.
    #[arg(long, value_name = "ADDR:PORT>ADDR:PORT")]
    flow: FlowKey,
    /// The side on which the sender is.
    #[arg(long, default_value = "inside", value_parser = values::side())]
    sender: Side,
    /// A path, for conditions that ask about it: rtt=80ms,loss=1%,delivery_rate=50M …
    #[arg(long, value_name = "NAME=VALUE,…", value_parser = path::parse)]
    path: Option<LivePath>,
    /// Configuration file, or the name of a policy that comes with Windlass.
    #[arg(long, value_name = "FILE", default_value = DEFAULT_CONFIG)]
    config: PathBuf,
    /// As JSON.
    #[arg(short, long)]
    json: bool,
}

pub(crate) fn run(command: Command, catalog: &Catalog) -> Result<ExitCode> {
    match command {
        Command::Check { file } => {
            let file = POLICIES.file(&file);
            let config = read(&file, catalog)?;
            let governing = config
                .rules
                .iter()
                .filter(|r| r.verdict.is_some() && !r.off)
                .count();
            print(&format!(
                "{}: {} rule(s), {governing} of which govern, {} with conditions on the path\n",
                file.display(),
                config.rules.len(),
                config.switch_lists.len(),
            ))
        }
        Command::Explain(args) => explain(&args, catalog),
        Command::Apply { file, control } => apply(&file, &control),
    }
}

pub(crate) fn apply(file: &Path, control: &Control) -> Result<ExitCode> {
    let files = files(file)?;
    match control.ask(Request::Apply { files })? {
        Answer::Applied { rules } => print(&format!("{rules} rule(s) in charge\n")),
        other => Err(unexpected(&other)),
    }
}

/// The file of this path, or the policy of this name that comes with Windlass; and the `conf.d` beside it.
pub(crate) fn files(named: &Path) -> Result<Vec<ConfigFile>> {
    let files = config_files::read(&POLICIES.file(named));
    match POLICIES.lacks(named) {
        true => files.context(NOT_INSTALLED),
        false => Ok(files?),
    }
}

fn read(named: &Path, catalog: &Catalog) -> Result<Config> {
    Ok(Config::parse_all(&files(named)?, catalog)?)
}

fn explain(args: &ExplainArgs, catalog: &Catalog) -> Result<ExitCode> {
    let mut policy = read(&args.config, catalog)?.policy();
    let since_1970 = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    policy.set_clock(0, since_1970.as_nanos() as u64);
    let explained = policy.explain(&args.flow, args.sender, 0, args.path.as_ref());
    if args.json {
        return print_json(&as_json(&explained));
    }
    print(&as_text(args, &explained)?)
}

fn as_text(args: &ExplainArgs, explained: &Explanation) -> Result<String> {
    let mut text = format!("{}\n", args.flow);
    for judged in &explained.judged {
        match &judged.why_not {
            Some(why) => writeln!(text, "  no   {}: {why}", judged.rule)?,
            None => writeln!(text, "  yes  {}", judged.rule)?,
        }
    }
    match (&explained.verdict, explained.judged.last()) {
        (Some(verdict), _) => text.push_str(&said(verdict)),
        (None, _) if explained.off => text.push_str("it is left alone: mode = \"off\"\n"),
        (None, Some(last)) if last.why_not.is_none() => {
            text.push_str("it is left alone: govern = false\n");
        }
        _ => text.push_str("it is left alone: no rule matches\n"),
    }
    if let Some(state) = &explained.switching {
        text.push_str(&switches(state)?);
    }
    Ok(text)
}

fn said(verdict: &Verdict) -> String {
    let cap = verdict.cap.map_or(String::new(), |cap| {
        format!(
            ", at most {}",
            windlass_terminal::rate(cap.saturating_mul(8))
        )
    });
    let priority = match verdict.priority {
        1 => String::new(),
        priority => format!(", priority {priority} beside its tenant's others"),
    };
    format!(
        "mode {}, {}, marks from {}{cap}{priority}\n",
        verdict.mode.name(),
        named(&verdict.algorithm),
        verdict.feedback.name(),
    )
}

/// As a configuration file has it: its name, and the parameters that are not as its source has them.
fn named(settings: &Settings) -> String {
    let (id, defaults) = (settings.id(), Settings::from(settings.id()));
    let parameters = id.parameters().iter().filter_map(|parameter| {
        let value = settings.get(parameter.name)?;
        let written = match value {
            Choice(word) => format!("\"{word}\""),
            value => value.to_string(),
        };
        (defaults.get(parameter.name) != Some(value))
            .then(|| format!(", {} = {written}", parameter.name))
    });
    let set: String = parameters.collect();
    match set.is_empty() {
        true => format!("\"{}\"", id.name()),
        false => format!("{{ name = \"{}\"{set} }}", id.name()),
    }
}

fn switches(state: &SwitchState) -> Result<String> {
    let list = &state.list;
    let mut text = format!(
        "on a path where, looked at once a round trip, with {} ms in charge at least and {} % \
         hysteresis:\n",
        list.dwell as f64 / NANOS_PER_MILLI,
        list.hysteresis * 100.0,
    );
    let mut asked = state.asked.iter();
    for switch in &list.switches {
        let algorithm = named(&switch.algorithm);
        match asked.next() {
            None => writeln!(text, "       {}: {algorithm}", switch.when)?,
            Some((values, holds)) => {
                let holds = if *holds { "yes" } else { "no " };
                writeln!(text, "  {holds}  {}: {algorithm} ({values})", switch.when)?;
            }
        }
    }
    writeln!(text, "       none of these: {}", named(&list.otherwise))?;
    let path = if state.asked.is_empty() {
        "it begins with"
    } else {
        "this path gets"
    };
    writeln!(text, "{path} {}", named(&state.algorithm))?;
    Ok(text)
}

fn as_json(explained: &Explanation) -> Value {
    let judged = explained.judged.iter();
    let judged: Vec<Value> = judged
        .map(|j| json!({"rule": j.rule, "matches": j.why_not.is_none(), "why_not": j.why_not}))
        .collect();
    let verdict = explained.verdict.map(|v| {
        json!({
            "mode": v.mode.name(),
            "algorithm": named(&v.algorithm).trim_matches('"'),
            "feedback": v.feedback.name(),
            "cap_bps": v.cap.map(|cap| cap.saturating_mul(8)),
            "priority": v.priority,
        })
    });
    let switching = explained.switching.as_ref().map(|state| {
        let asked = state.asked.iter().map(Some).chain(std::iter::repeat(None));
        let switches = state
            .list
            .switches
            .iter()
            .zip(asked)
            .map(|(switch, asked)| {
                json!({
                    "when": switch.when,
                    "algorithm": named(&switch.algorithm).trim_matches('"'),
                    "holds": asked.map(|(_, holds)| holds),
                    "path": asked.map(|(values, _)| values),
                })
            });
        json!({
            "dwell_ms": state.list.dwell as f64 / NANOS_PER_MILLI,
            "hysteresis": state.list.hysteresis,
            "switches": switches.collect::<Vec<_>>(),
            "otherwise": named(&state.list.otherwise).trim_matches('"'),
            "algorithm": named(&state.algorithm).trim_matches('"'),
        })
    });
    json!({"rules": judged, "verdict": verdict, "switching": switching})
}
