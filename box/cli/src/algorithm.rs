//! `windlass algorithm`.

use std::fmt::Write;
use std::process::ExitCode;

use anyhow::Result;
use serde::Serialize;
use windlass_cc::{AlgorithmId, Catalog, Parameter, Preset, Range, Settings, Value};
use windlass_daemon::control::PluginReport;
use windlass_terminal::{print, print_json};

use crate::ask::Control;
use crate::plugins;

/// The congestion control algorithms.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// List them, a line each, plugins last.
    List {
        /// As JSON.
        #[arg(short, long)]
        json: bool,
        #[command(flatten)]
        control: Control,
    },
    Add(plugins::AddArgs),
    Remove(plugins::RemoveArgs),
    /// What one is, when to use it, and what can be set.
    Show {
        /// The algorithm.
        name: AlgorithmId,
        /// As JSON.
        #[arg(short, long)]
        json: bool,
    },
}

#[derive(Serialize)]
struct Entry {
    name: &'static str,
    summary: &'static str,
    /// It was added.
    plugin: bool,
    /// How it does in the running windlass.
    #[serde(skip_serializing_if = "Option::is_none")]
    running: Option<PluginReport>,
}

#[derive(Serialize)]
struct Description {
    name: &'static str,
    summary: &'static str,
    source: &'static str,
    advice: &'static str,
    slows_down_at: Vec<&'static str>,
    state_bytes: usize,
    parameters: Vec<Setting>,
    presets: Vec<Set>,
}

#[derive(Serialize)]
struct Setting {
    name: &'static str,
    meaning: &'static str,
    default: serde_json::Value,
    #[serde(flatten)]
    range: Accepted,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Accepted {
    Number {
        least: f64,
        most: f64,
        whole: bool,
        unit: &'static str,
    },
    Flag,
    Choice {
        words: &'static [&'static str],
    },
}

#[derive(Serialize)]
struct Set {
    name: &'static str,
    meaning: &'static str,
    values: serde_json::Map<String, serde_json::Value>,
}

pub(crate) fn run(command: Command, mut catalog: Catalog) -> Result<ExitCode> {
    match command {
        Command::List { json, control } => list(json, &control, &catalog),
        Command::Add(args) => plugins::add(&args, &mut catalog),
        Command::Remove(args) => plugins::remove(&args),
        Command::Show { name, json: true } => print_json(&describe(name)),
        Command::Show { name, .. } => print(&page(name)?),
    }
}

fn list(json: bool, control: &Control, catalog: &Catalog) -> Result<ExitCode> {
    let known = catalog.algorithms();
    let any_plugin = known.len() > AlgorithmId::ALL.len();
    let running = any_plugin.then(|| plugins::running(control)).flatten();
    let entry = |id: &AlgorithmId| Entry {
        name: id.name(),
        summary: id.summary(),
        plugin: matches!(id, AlgorithmId::Plugin(_)),
        running: running
            .iter()
            .flatten()
            .find(|report| report.name == id.name())
            .cloned(),
    };
    let all: Vec<Entry> = known.iter().map(entry).collect();
    if json {
        return print_json(&all);
    }
    let width = all.iter().map(|e| e.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for e in &all {
        let plugin = if e.plugin { "[plugin] " } else { "" };
        writeln!(text, "{:width$}  {plugin}{}", e.name, e.summary)?;
        if let Some(report) = e.running.as_ref().filter(|r| r.faults > 0) {
            let last = report.last_fault.as_deref().unwrap_or("");
            let suspended = if report.suspended { ", suspended" } else { "" };
            writeln!(
                text,
                "{:width$}  failed {} times{suspended}: {last}",
                "", report.faults
            )?;
        }
    }
    print(&text)
}

fn describe(id: AlgorithmId) -> Description {
    let about = id.about();
    let defaults = Settings::from(id);
    let setting = |p: &Parameter| Setting {
        name: p.name,
        meaning: p.meaning.trim(),
        default: defaults.get(p.name).map_or(serde_json::Value::Null, json),
        range: accepted(p.range),
    };
    let set = |p: &Preset| Set {
        name: p.name,
        meaning: p.meaning,
        values: p
            .values
            .iter()
            .map(|(n, v)| ((*n).to_owned(), json(*v)))
            .collect(),
    };
    Description {
        name: id.name(),
        summary: about.summary,
        source: about.source,
        advice: about.advice,
        slows_down_at: signals(id),
        state_bytes: id.state_bytes(),
        parameters: id.parameters().iter().map(setting).collect(),
        presets: id.presets().iter().map(set).collect(),
    }
}

fn signals(id: AlgorithmId) -> Vec<&'static str> {
    let signals = id.about().signals;
    let all = [
        (signals.loss, "loss"),
        (signals.ecn, "ECN marks"),
        (signals.delay, "delay"),
    ];
    all.iter()
        .filter(|(on, _)| *on)
        .map(|(_, name)| *name)
        .collect()
}

fn json(value: Value) -> serde_json::Value {
    match value {
        Value::Number(number) => number.into(),
        Value::Flag(flag) => flag.into(),
        Value::Choice(word) => word.into(),
    }
}

fn accepted(range: Range) -> Accepted {
    match range {
        Range::Number {
            least,
            most,
            whole,
            unit,
        } => Accepted::Number {
            least,
            most,
            whole,
            unit,
        },
        Range::Flag => Accepted::Flag,
        Range::Choice(words) => Accepted::Choice { words },
    }
}

fn page(id: AlgorithmId) -> Result<String> {
    let about = id.about();
    let mut page = format!("{id}: {}\n\nsource: {}\n", about.summary, about.source);
    let signals = signals(id);
    let signals = if signals.is_empty() {
        "no single signal (it follows a model of the path)".to_owned()
    } else {
        signals.join(", ")
    };
    writeln!(page, "slows down at: {signals}")?;
    writeln!(
        page,
        "state: {} bytes a flow\n\n{}",
        id.state_bytes(),
        wrapped(about.advice, 0)
    )?;
    let defaults = Settings::from(id);
    if !id.parameters().is_empty() {
        page.push_str("\nparameters (algorithm = { name = \"…\", PARAMETER = VALUE }):\n");
    }
    for parameter in id.parameters() {
        let default = defaults.get(parameter.name);
        let default = default.map_or(String::new(), |value| value.to_string());
        writeln!(page, "  {} = {default}", parameter.name)?;
        writeln!(page, "{}", wrapped(parameter.meaning.trim(), 6))?;
        writeln!(page, "      {}", parameter.range)?;
    }
    if !id.presets().is_empty() {
        page.push_str("\npresets (algorithm = { name = \"…\", preset = \"PRESET\" }):\n");
    }
    for preset in id.presets() {
        let values = preset.values.iter().map(|(n, v)| format!("{n} = {v}"));
        let values = values.collect::<Vec<_>>().join(", ");
        writeln!(page, "  {}\n{}", preset.name, wrapped(preset.meaning, 6))?;
        writeln!(page, "{}", wrapped(&values, 6))?;
    }
    Ok(page)
}

/// In lines of at most 78 columns, each with an indent.
fn wrapped(text: &str, indent: usize) -> String {
    const COLUMNS: usize = 78;
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let full = lines.last().is_none_or(|line| {
            !line.is_empty() && indent + line.chars().count() + 1 + word.chars().count() > COLUMNS
        });
        if full {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    let indented = lines.iter().map(|line| format!("{:indent$}{line}", ""));
    indented.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod manual;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_all_parameters_and_fits_a_terminal() {
        for id in AlgorithmId::ALL {
            let page = page(*id).expect("a page");
            for parameter in id.parameters() {
                assert!(
                    page.contains(&format!("\n  {} = ", parameter.name)),
                    "{page}"
                );
            }
            for preset in id.presets() {
                assert!(page.contains(&format!("\n  {}\n", preset.name)), "{page}");
            }
            for line in page.lines().skip(3) {
                assert!(line.chars().count() <= 100, "{id}: {line}");
            }
            let described = serde_json::to_value(describe(*id)).expect("JSON");
            assert_eq!(described["name"], id.name());
            let list = described["parameters"].as_array().expect("a list");
            assert_eq!(list.len(), id.parameters().len());
            assert!(list.iter().all(|p| !p["default"].is_null()), "{id}");
        }
    }
}
