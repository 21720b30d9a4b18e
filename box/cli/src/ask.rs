//! `windlass bypass`, `counters`, `tenants`, `status`: what a running daemon is asked.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::ValueEnum;
use windlass_daemon::TenantReport;
use windlass_daemon::control::{Answer, AskError, METRICS, Request, StatusReport, Trouble, ask};
use windlass_policy::DEFAULT_CONTROL_SOCKET;
use windlass_terminal::{print, print_json};

/// Where the daemon is.
#[derive(clap::Args)]
pub(crate) struct Control {
    /// Control socket of the running windlass.
    #[arg(long, value_name = "PATH", default_value = DEFAULT_CONTROL_SOCKET)]
    control: PathBuf,
}

impl Control {
    /// Asks it.
    pub(crate) fn ask(&self, request: Request) -> Result<Answer> {
        Ok(ask(&self.control, request)?)
    }

    /// Asks it, if it runs.
    pub(crate) fn ask_if_running(&self, request: Request) -> Result<Option<Answer>> {
        match ask(&self.control, request) {
            Err(AskError::NotRunning { .. }) => Ok(None),
            answer => Ok(answer.map(Some)?),
        }
    }
}

/// The answer was to another question.
pub(crate) fn unexpected(answer: &Answer) -> anyhow::Error {
    let answer = serde_json::to_string(answer).unwrap_or_default();
    anyhow::anyhow!("unexpected answer (is the running windlass of another version?): {answer}")
}

#[derive(Clone, Copy, ValueEnum)]
enum Switch {
    On,
    Off,
}

/// Turn all enforcement off at once (on), or on again for new connections (off).
#[derive(clap::Args)]
pub(crate) struct BypassArgs {
    /// on: the kernel carries every flow. off: connections are governed again, also those of before.
    switch: Switch,
    #[command(flatten)]
    control: Control,
}

pub(crate) fn bypass(args: &BypassArgs) -> Result<ExitCode> {
    let on = matches!(args.switch, Switch::On);
    match args.control.ask(Request::Bypass { on })? {
        Answer::Bypass { on: true } => print("bypass is on: every flow passes untouched\n"),
        Answer::Bypass { on: false } => print("bypass is off: connections are governed again\n"),
        other => Err(unexpected(&other)),
    }
}

/// Show what has been counted.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// As JSON.
    #[arg(short, long)]
    json: bool,
    /// Also those that are zero.
    #[arg(short, long)]
    all: bool,
    /// Say what each figure means, those of `flow show -j` included. This asks no running windlass.
    #[arg(long, conflicts_with_all = ["json", "all"])]
    explain: bool,
    #[command(flatten)]
    control: Control,
}

pub(crate) fn counters(args: &Args) -> Result<ExitCode> {
    if args.explain {
        return print(&explained());
    }
    let answer = args.control.ask(Request::Counters)?;
    if args.json {
        return print_json(&answer);
    }
    let Answer::Counters {
        engine,
        driver,
        xdp,
        recorder,
    } = &answer
    else {
        bail!(unexpected(&answer));
    };
    let group = |(title, counters): (&str, &BTreeMap<String, u64>)| {
        let shown = counters.iter().filter(|(_, v)| args.all || **v > 0);
        let lines = shown.map(|(name, value)| format!("  {name:36} {value:>16}\n"));
        format!("{title}\n{}", lines.collect::<String>())
    };
    let groups = [("engine", engine), ("driver", driver), ("xdp", xdp)].map(group);
    let recorder = (!recorder.is_empty()).then(|| group(("recorder", recorder)));
    print(&(groups.concat() + &recorder.unwrap_or_default()))
}

/// The table of figures, a line each.
fn explained() -> String {
    let mut text = String::new();
    for (part, metrics) in METRICS {
        text.push_str(&format!("{part}\n"));
        for metric in metrics {
            let (kind, unit) = (metric.kind.name(), metric.unit.name());
            text.push_str(&row(metric.name, kind, unit, metric.help));
            for label in metric.labels {
                let name = format!("{}_{}", metric.name, label.name);
                text.push_str(&row(&name, kind, unit, label.help));
            }
        }
    }
    text
}

fn row(name: &str, kind: &str, unit: &str, help: &str) -> String {
    format!("  {name:36} {kind:8} {unit:7} {}\n", help.trim())
}

/// Show what each tenant has sent, and what was dropped because it was not allowed.
#[derive(clap::Args)]
pub(crate) struct TenantsArgs {
    /// As JSON.
    #[arg(short, long)]
    json: bool,
    #[command(flatten)]
    control: Control,
}

pub(crate) fn tenants(args: &TenantsArgs) -> Result<ExitCode> {
    let answer = args.control.ask(Request::Tenants)?;
    let Answer::Tenants { tenants } = &answer else {
        bail!(unexpected(&answer));
    };
    if args.json {
        return print_json(tenants);
    }
    if tenants.is_empty() {
        return print("the configuration names no tenants: see [[tenant]]\n");
    }
    let line = |tenant: &TenantReport| {
        let cap = tenant
            .cap_bps
            .map_or("none".to_owned(), windlass_terminal::rate);
        format!(
            "{:24} cap:{cap} sent:{} policed:{} packets, {}\n",
            tenant.name,
            windlass_terminal::bytes(tenant.bytes_sent),
            tenant.policed_packets,
            windlass_terminal::bytes(tenant.policed_bytes),
        )
    };
    print(&tenants.iter().map(line).collect::<String>())
}

/// Show the state of the running windlass.
#[derive(clap::Args)]
pub(crate) struct StatusArgs {
    /// As JSON.
    #[arg(short, long)]
    json: bool,
    #[command(flatten)]
    control: Control,
}

pub(crate) fn status(args: &StatusArgs) -> Result<ExitCode> {
    let answer = args.control.ask(Request::Status)?;
    if args.json {
        return print_json(&answer);
    }
    let Answer::Status(s) = &answer else {
        bail!(unexpected(&answer));
    };
    print(&describe(s))
}

/// A line on the process, one on where it stands, one on what it does, and what is amiss.
fn describe(s: &StatusReport) -> String {
    let mut text = format!(
        "windlass {}, pid {}, up {} s\n",
        s.version, s.pid, s.uptime_s
    );
    let bridge = s.bridge.as_ref();
    let bridge = bridge.map_or(String::new(), |bridge| format!(", bridge {bridge}"));
    let again = match s.reopened {
        0 => String::new(),
        times => format!(", taken back {times} time(s)"),
    };
    text.push_str(&format!("{} > {}", s.inside, s.outside));
    if s.state == "waiting" {
        text.push_str(&format!("{bridge}{again}\nwaiting: nothing is governed\n"));
    } else {
        let copy = if s.zero_copy { " zero-copy" } else { "" };
        let open = if s.fail_open {
            "fail-open"
        } else {
            "not fail-open"
        };
        text.push_str(&format!(
            ", {}{copy}, {} worker(s), {open}{bridge}{again}\n",
            s.io, s.workers
        ));
        text.push_str(&format!(
            "bypass {}, {} connections, {} held\n",
            if s.bypass { "on" } else { "off" },
            s.connections,
            windlass_terminal::bytes(s.held_bytes),
        ));
    }
    if s.replaced {
        text.push_str("another program lies in the place of this one: windlass upgrade\n");
    }
    for trouble in &s.troubles {
        let Trouble { what, mend } = trouble;
        text.push_str(&format!("trouble: {what}\n    mend it with: {mend}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_explained() {
        let text = explained();
        for expected in [
            "  repaired                             counter  1       Segments retransmitted by the box.\n",
            "  passed_no_syn                        counter  1       No SYN was seen, so no window scale is known.\n",
            "  cwnd_bytes                           gauge    bytes   Congestion window.\n",
        ] {
            assert!(text.contains(expected), "{expected} in:\n{text}");
        }
        let wordless = |line: &&str| line.starts_with("  ") && line.split_whitespace().count() < 5;
        assert_eq!(text.lines().find(wordless), None);
    }
}
