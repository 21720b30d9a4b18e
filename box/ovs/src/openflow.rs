//! The bridge's OpenFlow tables: what is in them, what is free, and how ours get there.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};

use crate::command::Command;
use crate::database::Bridge;
use crate::rule::{COOKIE, COOKIE_MASK, INSTALLED, Role, Rule};
use crate::rules::LEVELS;

/// Registers that a packet has.
const REGISTERS: u8 = 16;
/// The last table that is not Open vSwitch's own.
const LAST_TABLE: u8 = 253;
/// Versions in which rules can be exchanged all at once.
const BUNDLING: [&str; 2] = ["OpenFlow14", "OpenFlow15"];

/// How to speak with a bridge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Speech {
    bridge: String,
    /// For questions.
    flags: String,
    /// For changes, if they can be made at once.
    bundle: Option<String>,
}

impl Speech {
    pub(crate) fn with(bridge: &Bridge) -> Speech {
        let spoken = &bridge.protocols;
        let mut bundling = BUNDLING.iter();
        let bundling = bundling.find(|v| spoken.is_empty() || spoken.iter().any(|s| s == *v));
        let flags = match spoken.as_slice() {
            [] => String::new(),
            spoken => format!("-O {}", spoken.join(",")),
        };
        Speech {
            bridge: bridge.name.clone(),
            flags,
            bundle: bundling.map(|version| format!("-O {version} --bundle")),
        }
    }

    /// All that is in the tables, a line a rule, without what counts.
    ///
    /// # Errors
    /// When ovs-vswitchd does not answer.
    pub(crate) fn dump(&self) -> Result<Vec<Entry>> {
        let command = self.command("--no-stats --no-names dump-flows");
        Ok(entries(&command.run()?))
    }

    /// All that is ours.
    ///
    /// # Errors
    /// When ovs-vswitchd does not answer.
    pub(crate) fn dump_own(&self) -> Result<Vec<Entry>> {
        let command = self.command("--no-stats --no-names dump-flows");
        Ok(entries(
            &command
                .word(format!("cookie={COOKIE:#x}/{COOKIE_MASK:#x}"))
                .run()?,
        ))
    }

    /// What groups do, if the bridge can be asked.
    pub(crate) fn dump_groups(&self) -> String {
        let flags = match self.flags.as_str() {
            "" => "-O OpenFlow13",
            flags => flags,
        };
        let command = Command::ofctl(flags, "dump-groups").word(&self.bridge);
        command.run().unwrap_or_default()
    }

    /// Whether [`Speech::install`] leaves no moment without rules.
    pub(crate) fn at_once(&self) -> bool {
        self.bundle.is_some()
    }

    /// Puts these rules in, into the place of those that were ours if there are any; at once if the
    /// bridge can do that.
    pub(crate) fn install(&self, rules: &[Rule], any_there: bool) -> Vec<Command> {
        let old = format!("cookie={:#x}/{:#x}", INSTALLED.0, INSTALLED.1);
        let lines: String = rules.iter().map(|rule| format!("{rule}\n")).collect();
        if let Some(flags) = &self.bundle {
            let delete = match any_there {
                true => format!("delete {old}\n"),
                false => String::new(),
            };
            let add = Command::ofctl(flags, "add-flows").word(&self.bridge);
            return vec![add.word("-").input(delete + &lines)];
        }
        let delete = any_there.then(|| self.command("del-flows").word(old));
        let add = self.command("add-flows").word("-").input(lines);
        delete.into_iter().chain([add]).collect()
    }

    /// Removes the rules for one purpose.
    pub(crate) fn remove(&self, role: Role) -> Command {
        let only = format!("cookie={:#x}/-1", role.cookie());
        self.command("del-flows").word(only)
    }

    /// Removes all that is ours.
    pub(crate) fn remove_all(&self) -> Command {
        let own = format!("cookie={COOKIE:#x}/{COOKIE_MASK:#x}");
        self.command("del-flows").word(own)
    }

    /// Prints a line whenever a rule is removed from table 0, and ends when ovs-vswitchd does.
    pub(crate) fn monitor(&self) -> Command {
        let command = Command::new(&format!("ovs-ofctl {} monitor", self.flags));
        let command = command.word(&self.bridge);
        command.word("watch:!initial,!add,!modify,table=0")
    }

    fn command(&self, what: &str) -> Command {
        Command::ofctl(&self.flags, what).word(&self.bridge)
    }
}

/// A rule as the bridge has it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Entry {
    pub(crate) cookie: u64,
    pub(crate) table: u8,
    pub(crate) priority: u16,
    pub(crate) text: String,
}

impl Entry {
    pub(crate) fn is_own(&self) -> bool {
        self.cookie & COOKIE_MASK == COOKIE
    }

    pub(crate) fn is_learned(&self) -> bool {
        self.cookie == Role::Learned.cookie()
    }
}

/// Rules in what `dump-flows --no-stats` prints.
fn entries(said: &str) -> Vec<Entry> {
    let lines = said
        .lines()
        .map(str::trim)
        .filter(|l| l.contains("actions="));
    lines.map(entry).collect()
}

/// What is not said has OpenFlow's default.
fn entry(line: &str) -> Entry {
    let (matching, _) = line.split_once("actions=").unwrap_or((line, ""));
    let value = |name: &str| {
        let mut words = matching.split([',', ' ']);
        words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    };
    let cookie =
        value("cookie").and_then(|v| u64::from_str_radix(v.trim_start_matches("0x"), 16).ok());
    Entry {
        cookie: cookie.unwrap_or(0),
        table: value("table").and_then(|v| v.parse().ok()).unwrap_or(0),
        priority: value("priority")
            .and_then(|v| v.parse().ok())
            .unwrap_or(32768),
        text: line.to_owned(),
    }
}

/// What the operator's rules leave free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Free {
    pub(crate) register: u8,
    pub(crate) table: u8,
}

/// Looks for a register and a table that no rule and no group mentions.
///
/// # Errors
/// When there is none.
pub(crate) fn free(entries: &[Entry], groups: &str, register: Option<u8>) -> Result<Free> {
    let (mut registers, mut tables) = (BTreeSet::new(), BTreeSet::new());
    for entry in entries {
        tables.insert(entry.table);
        mentioned(&entry.text, &mut registers, &mut tables);
    }
    mentioned(groups, &mut registers, &mut tables);
    if let Some(register) = register.filter(|register| *register >= REGISTERS) {
        bail!("there is no register reg{register}: they are reg0 to reg15");
    }
    let unused = (0..REGISTERS).rev().find(|r| !registers.contains(r));
    let register = register.or(unused).context(
        "the bridge's rules use all registers, and one is needed to mark packets that have been \
         through the box: name one with --register whose value no rule relies on before it is set",
    )?;
    let table = (1..=LAST_TABLE).rev().find(|t| !tables.contains(t));
    Ok(Free {
        register,
        table: table.context("the bridge's rules use all tables")?,
    })
}

/// Adds the registers and tables that a text has in it.
fn mentioned(text: &str, registers: &mut BTreeSet<u8>, tables: &mut BTreeSet<u8>) {
    let text = text.to_ascii_lowercase();
    for (at, found) in text.match_indices("reg") {
        let number = leading_number(&text[at + found.len()..]);
        let of = match text[..at].chars().rev().take_while(|c| *c == 'x').count() {
            0 => 1,
            1 => 2,
            _ => 4,
        };
        if let Some(number) = number
            .and_then(|n| u8::try_from(n).ok())
            .filter(|n| *n < REGISTERS / of)
        {
            registers.extend(number * of..(number + 1) * of);
        }
    }
    // `resubmit(,N)`, `resubmit(port,N)`, `goto_table:N`, `table=N` in learn() and ct().
    for name in ["goto_table:", "table="] {
        let found = text
            .match_indices(name)
            .map(|(at, _)| &text[at + name.len()..]);
        tables.extend(found.filter_map(|rest| u8::try_from(leading_number(rest)?).ok()));
    }
    for (at, found) in text.match_indices("resubmit(") {
        let inside = text[at + found.len()..]
            .split(')')
            .next()
            .unwrap_or_default();
        let table = inside.split(',').nth(1).and_then(leading_number);
        tables.extend(table.and_then(|n| u8::try_from(n).ok()));
    }
}

fn leading_number(text: &str) -> Option<u32> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text[..digits].parse().ok()
}

/// The operator's rules that would come before ours.
///
/// # Errors
/// The first of them, and what to do.
pub(crate) fn check_priority(entries: &[Entry], priority: u16) -> Result<()> {
    let highest = u16::MAX - LEVELS + 1;
    if priority > highest {
        bail!("--priority must be at most {highest}: {LEVELS} levels from there on are used");
    }
    let above = entries.iter().filter(|e| e.table == 0 && !e.is_own());
    if let Some(entry) = above.into_iter().find(|e| e.priority >= priority) {
        bail!(
            "a rule of table 0 has a priority of {priority} or more, and would keep packets from \
             the box: `{}` (give that rule a lower one, or name another with --priority)",
            entry.text
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests;
