//! `windlass record`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use windlass_daemon::control::{Answer, Request};
use windlass_record::{Collector, Recording, pcapng, qlog};
use windlass_terminal::print;
use windlass_wire::FlowKey;

use crate::ask::{Control, unexpected};

/// What the flight recorder of the running windlass has ([recorder] in its configuration).
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Write the packets of a connection, or of a rule's flows, on both interfaces, with what was decided about each.
    /// Also of connections that have ended.
    Flow(FlowArgs),
}

/// What to write, and where.
#[derive(clap::Args)]
#[command(override_usage = "windlass record flow [OPTIONS] --out <FILE> <KEY|--rule <NAME>>")]
pub(crate) struct FlowArgs {
    /// The connection, in either direction, as `flow show` names it: 10.0.0.1:443>192.0.2.7:5555.
    #[arg(value_name = "KEY", required_unless_present = "rule")]
    key: Option<FlowKey>,
    /// The flows of this rule, by the rules in charge now.
    #[arg(long, value_name = "NAME")]
    rule: Option<String>,
    /// The capture (pcapng), for tcpdump, Wireshark and windlass verdict. A file of this name is replaced.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Also the flows as qlog, for qvis. A file of this name is replaced.
    #[arg(long, value_name = "FILE")]
    qlog: Option<PathBuf>,
    #[command(flatten)]
    control: Control,
}

pub(crate) fn run(command: Command) -> Result<ExitCode> {
    let Command::Flow(args) = command;
    let recording = fetch(&args)?;
    if recording.entries.is_empty() {
        let what = match (&args.key, &args.rule) {
            (Some(key), _) => format!("of {key}"),
            (None, rule) => format!("of the rule \"{}\"", rule.as_deref().unwrap_or_default()),
        };
        bail!(
            "nothing is recorded {what}: it is older than the recorder's seconds or memory allow, or its packets do not \
             pass through windlass"
        );
    }
    save(&args.out, |file| Ok(pcapng::write(&recording, file)?))?;
    if let Some(path) = &args.qlog {
        save(path, |file| Ok(qlog::write(&recording, file)?))?;
    }
    let seconds = |ns: u64| ns as f64 / 1e9;
    let first = recording.entries.first().map_or(0, |entry| entry.time);
    let last = recording.entries.last().map_or(0, |entry| entry.time);
    print(&format!(
        "{}: {} packets of {} connection(s), {:.1} s\n",
        args.out.display(),
        recording.entries.len(),
        recording.connections().len(),
        seconds(last - first)
    ))
}

/// Chunk after chunk.
fn fetch(args: &FlowArgs) -> Result<Recording> {
    let mut collector = Collector::default();
    let (mut from, mut until) = (Vec::new(), Vec::new());
    loop {
        let request = Request::Record {
            flow: args.key.map(|key| key.to_string()),
            rule: args.rule.clone(),
            from,
            until,
        };
        let chunk = match args.control.ask(request)? {
            Answer::Recorded(chunk) => chunk,
            other => bail!(unexpected(&other)),
        };
        collector.add(&chunk)?;
        if chunk.is_last() {
            return Ok(collector.finish());
        }
        (from, until) = (chunk.next, chunk.until);
    }
}

fn save(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> Result<()>) -> Result<()> {
    let wrong = || format!("writing {}", path.display());
    let mut file = BufWriter::new(File::create(path).with_context(wrong)?);
    write(&mut file).with_context(wrong)?;
    file.flush().with_context(wrong)
}
