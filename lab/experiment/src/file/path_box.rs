//! `[box]`: what stands in the path.

use toml::de::DeTable;
use windlass_cc::Catalog;
use windlass_policy::read::{Section, Value};
use windlass_policy::{Config, FEEDBACKS, MODES, REDUNDANCIES, Wrong};

use super::algorithm;
use super::flows::Group;
use crate::algorithm::Algorithm;

use crate::setup::{Pair, PathBox, server_address};

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Nothing,
    Windlass,
    Command,
}

const KINDS: [(&str, Kind); 3] = [
    ("nothing", Kind::Nothing),
    ("windlass", Kind::Windlass),
    ("command", Kind::Command),
];

/// What stands between inside and outside.
pub(super) struct Between {
    pub path_box: PathBox,
    /// Of the box, if the table names one.
    pub algorithm: Option<Algorithm>,
    pub both_ends: bool,
}

/// Reads the table; without one, there is nothing.
pub(super) fn read(
    value: Option<Value<'_>>,
    groups: &[Group],
    pairs: &[Pair],
    catalog: &Catalog,
) -> Result<Between, Wrong> {
    let mut section = match value {
        Some(value) => value.section("[box]")?,
        None => Section::new("[box]", DeTable::new()),
    };
    let kind = match section.take("kind") {
        Some(value) => value.word(&KINDS)?,
        None => Kind::Nothing,
    };
    let both_ends = both_ends(&mut section, kind)?;
    let words = words(&mut section, kind)?;
    let named = section.take("algorithm");
    let algorithm = named
        .map(|value| algorithm::read(value, catalog))
        .transpose()?;
    let verdict = verdict(&mut section, algorithm.as_ref())?;
    let policy = section.take("policy");
    let full = policy
        .as_ref()
        .map(|value| full_policy(value, catalog))
        .transpose()?;
    section.finish()?;
    let without = |path_box| Between {
        path_box,
        algorithm: None,
        both_ends,
    };
    match (kind, policy, full) {
        (Kind::Nothing, ..) => Ok(without(PathBox::Nothing)),
        (Kind::Command, ..) => Ok(without(PathBox::Command { words })),
        (Kind::Windlass, Some(value), Some(policy)) => {
            let what = match (verdict.is_empty(), groups.iter().all(|g| g.governed)) {
                (true, true) => return Ok(without(PathBox::Windlass { policy })),
                (false, _) => "policy is a whole configuration file, and stands alone",
                (_, false) => {
                    "policy stands alone: governed = false of the [[flows]] would be lost"
                }
            };
            let help = "leave the other out, or say it in the policy: [default], [[rule]]";
            Err(Wrong::new(value.span(), what, help))
        }
        (Kind::Windlass, ..) => {
            let policy = made_policy(&verdict, groups, pairs)?;
            Ok(Between {
                algorithm,
                ..without(PathBox::Windlass { policy })
            })
        }
    }
}

/// Whether there is a box at both ends.
fn both_ends(section: &mut Section<'_>, kind: Kind) -> Result<bool, Wrong> {
    let Some(value) = section.take("both_ends") else {
        return Ok(false);
    };
    let both_ends = value.boolean()?;
    if both_ends && kind != Kind::Windlass {
        let what = "both_ends is for Windlass";
        let help = "leave it out, or write kind = \"windlass\"";
        return Err(Wrong::new(value.span(), what, help));
    }
    Ok(both_ends)
}

fn words(section: &mut Section<'_>, kind: Kind) -> Result<Vec<String>, Wrong> {
    let example = "[\"./box\", \"{inside}\", \"{outside}\"]";
    let value = match kind {
        Kind::Command => Some(section.need("command", example)?),
        _ => section.take("command"),
    };
    let Some(value) = value else {
        return Ok(Vec::new());
    };
    let words = value.list(example)?;
    words
        .iter()
        .map(|w| Ok(w.text("./box")?.to_owned()))
        .collect()
}

/// What a rule of the policy says beside its conditions, line by line.
fn verdict(section: &mut Section<'_>, algorithm: Option<&Algorithm>) -> Result<String, Wrong> {
    let mut text = String::new();
    if let Some(algorithm) = algorithm {
        text.push_str(&format!("algorithm = {algorithm}\n"));
    }
    if let Some(value) = section.take("mode") {
        value.word(&MODES)?;
        text.push_str(&format!("mode = \"{}\"\n", value.text("enforce")?));
    }
    if let Some(value) = section.take("redundancy") {
        value.word(&REDUNDANCIES)?;
        text.push_str(&format!("redundancy = \"{}\"\n", value.text("off")?));
    }
    if let Some(value) = section.take("feedback") {
        value.word(&FEEDBACKS)?;
        text.push_str(&format!("feedback = \"{}\"\n", value.text("boxes")?));
    }
    for key in ["headroom", "insert_sack", "police"] {
        if let Some(value) = section.take(key) {
            text.push_str(&format!("{key} = {}\n", value.boolean()?));
        }
    }
    Ok(text)
}

/// A policy that leaves the servers of ungoverned flows alone.
fn made_policy(verdict: &str, groups: &[Group], pairs: &[Pair]) -> Result<String, Wrong> {
    let server = |group: &Group| pairs[group.group.pair].server;
    let mut alone: Vec<usize> = Vec::new();
    for group in groups.iter().filter(|g| !g.governed) {
        let shared = |other: &&Group| other.governed && server(other) == server(group);
        if let Some(other) = groups.iter().find(shared) {
            let (name, other) = (&group.group.name, &other.group.name);
            let what = format!("\"{name}\" is not governed, but shares a server with \"{other}\"");
            let help =
                "give it a pair of its own: kind = \"dumbbell\", pairs = 2, and here pair = 1";
            return Err(Wrong::new(group.span.clone(), what, help));
        }
        alone.push(server(group));
    }
    alone.sort_unstable();
    alone.dedup();
    let mut text = "version = 1\n".to_owned();
    if !alone.is_empty() {
        let addresses = alone
            .iter()
            .map(|s| format!("\"{}/32\"", server_address(*s)));
        let addresses = addresses.collect::<Vec<_>>().join(", ");
        text.push_str("\n[[rule]]\nname = \"not governed\"\ngovern = false\n");
        text.push_str(&format!("servers = [{addresses}]\n"));
    }
    text.push_str(&format!("\n[[rule]]\nname = \"governed\"\n{verdict}"));
    Ok(text)
}

fn full_policy(value: &Value<'_>, catalog: &Catalog) -> Result<String, Wrong> {
    let text = value.text("version = 1")?;
    match Config::parse(text, "policy", catalog) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => {
            let what = format!("in line {} of the policy: {}", error.line, error.what);
            Err(Wrong::new(value.span(), what, error.help))
        }
    }
}
