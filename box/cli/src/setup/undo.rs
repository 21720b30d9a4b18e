//! The way back.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use windlass_daemon::control::{AskError, Request, ask};
use windlass_io::{bridge, interface::Interface};
use windlass_terminal::print;

use super::record::{Kept, Record, content, replace};
use super::{command, service};

pub(super) fn run(record_file: &Path, control: &Path, dry_run: bool) -> Result<ExitCode> {
    let Some(mut record) = Record::read(record_file)? else {
        return print("there is nothing to undo: windlass setup has changed nothing here\n");
    };
    let commands = commands(&record);
    if dry_run {
        return print(&planned(&record, &commands));
    }
    let [first, last] = commands;
    let mut failed = Vec::new();
    let mut follow = |words: &Vec<String>| {
        let _ = print(&format!("{}\n", command::line(words)));
        if let Err(error) = command::output(words) {
            eprintln!("windlass: {error:#}");
            failed.push(words.clone());
        }
    };
    first.iter().for_each(&mut follow);
    // A box that somebody has started by hand would make its bridge again.
    match ask(control, Request::Status) {
        Err(AskError::NotRunning { .. }) => {}
        _ => bail!(
            "a windlass runs and answers at {}: stop it first, then undo",
            control.display()
        ),
    }
    last.iter().for_each(&mut follow);
    while let Some(kept) = record.files.last() {
        restore(kept)?;
        record.files.pop();
        record.write(record_file)?;
    }
    if let Some(before) = record.service.filter(|_| service::has_systemd()) {
        command::output(&["systemctl", "daemon-reload"])?;
        if before.active {
            command::output(&["systemctl", "start", service::SERVICE])?;
        }
    }
    // Interfaces that are gone took their settings with them.
    record
        .steps
        .retain(|step| failed.contains(&step.restore) && !concerns_what_is_gone(&step.restore));
    if !record.steps.is_empty() {
        record.write(record_file)?;
        bail!(
            "not everything is as it was: mend what is told above, then windlass setup --undo again"
        );
    }
    fs::remove_file(record_file)
        .with_context(|| format!("cannot remove {}", record_file.display()))?;
    print("everything is as it was before windlass setup\n")
}

/// What would be done, as one would type it.
fn planned(record: &Record, commands: &[Vec<Vec<String>>; 2]) -> String {
    let mut text = String::new();
    for words in commands.iter().flatten() {
        text += &format!("{}\n", command::line(words));
    }
    for kept in record.files.iter().rev() {
        text += &match &kept.before {
            Some(before) => format!("cat > {} <<'END'\n{before}END\n", kept.path.display()),
            None => format!("rm {}\n", kept.path.display()),
        };
    }
    text
}

/// The commands, before and after no windlass runs any more.
fn commands(record: &Record) -> [Vec<Vec<String>>; 2] {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let mut first = Vec::new();
    if let Some(before) = record.service.filter(|_| service::has_systemd()) {
        first.push(words(&format!("systemctl stop {}", service::SERVICE)));
        if !before.enabled {
            first.push(words(&format!(
                "systemctl disable --quiet {}",
                service::SERVICE
            )));
        }
    }
    let mut last = Vec::new();
    last.extend(own_bridge(record).map(|bridge| words(&format!("ip link del dev {bridge}"))));
    last.extend(record.steps.iter().rev().map(|step| step.restore.clone()));
    [first, last]
}

/// The bridge that Windlass has made of the two, and that stayed when it ended.
fn own_bridge(record: &Record) -> Option<String> {
    let bridge = |name: &String| Interface::get(name).ok()?.bridge;
    let (a, b) = (bridge(&record.inside), bridge(&record.outside));
    a.or(b)
        .filter(|name| record.unbridged && bridge::is_own_name(name))
}

/// `ethtool -K eth1 …`, `ip link set dev eth1 …`: of an interface that is no more.
fn concerns_what_is_gone(words: &[String]) -> bool {
    let name = match words.first().map(String::as_str) {
        Some("ethtool") => words.get(2),
        Some("ip") => words.get(4),
        _ => None,
    };
    name.is_some_and(|name| Interface::get(name).is_err())
}

/// What somebody has written since is kept beside it.
fn restore(kept: &Kept) -> Result<()> {
    let path = &kept.path;
    let now = content(path)?;
    if let Some(edited) = now.filter(|now| *now != kept.wrote && Some(now) != kept.before.as_ref())
    {
        let aside = path.with_extension("before-undo");
        replace(&aside, &edited)?;
        print(&format!(
            "{} was changed since: kept as {}\n",
            path.display(),
            aside.display()
        ))?;
    }
    match &kept.before {
        Some(before) => replace(path, before)?,
        None => match fs::remove_file(path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            removed => removed.with_context(|| format!("cannot remove {}", path.display()))?,
        },
    }
    // The folder of a drop-in, if nothing else is in it.
    let folder = path
        .parent()
        .filter(|folder| folder.extension().is_some_and(|e| e == "d"));
    if let (None, Some(folder)) = (&kept.before, folder) {
        let _ = fs::remove_dir(folder);
    }
    print(&format!("{} is as it was\n", path.display())).map(drop)
}
