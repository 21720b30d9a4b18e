//! `windlass attach` and `windlass detach`: the box as a pair of ports of an Open vSwitch bridge.

use std::process::ExitCode;

use anyhow::Result;
use serde::Serialize;
use windlass_ovs::{Attach, Command, Detach, Request, Side, Traffic};
use windlass_terminal::{print, print_json};

/// Insert the box into an Open vSwitch bridge, as a pair of ports, and lead traffic through it.
///
/// The commands that do it are printed first. Packets go through the box once, before the bridge's
/// own rules, which then treat them as what came from their port. The box only forwards until
/// `windlass run --ovs BRIDGE` governs, and again when that ends. Open vSwitch's own OVS_RUNDIR says
/// where its daemons are.
#[derive(clap::Args)]
pub(crate) struct AttachArgs {
    /// The bridge.
    #[arg(long, value_name = "BRIDGE")]
    ovs: String,
    /// Packets towards the servers, as in ovs-fields(7): tcp,nw_dst=10.0.0.0/24,tp_dst=443. Those
    /// from the servers are these with source and destination exchanged. May be given repeatedly.
    #[arg(long = "match", value_name = "FLOW", required = true)]
    traffic: Vec<Traffic>,
    /// Ports at which the servers are, separated by commas [default: where the match says].
    #[arg(long, value_name = "PORT", value_delimiter = ',')]
    inside: Vec<String>,
    /// Ports at which the network is, separated by commas [default: all].
    #[arg(long, value_name = "PORT", value_delimiter = ',')]
    outside: Vec<String>,
    /// Priority of the lowest of our rules, in table 0 [default: the highest that is possible].
    #[arg(long, value_name = "NUMBER")]
    priority: Option<u16>,
    /// Number of the register that marks packets which have been through the box [default: one that
    /// no rule mentions].
    #[arg(long, value_name = "NUMBER")]
    register: Option<u8>,
    /// Source addresses whose port is remembered, at most; packets of others go past the box.
    #[arg(long, value_name = "NUMBER", default_value_t = 16_384,
          value_parser = clap::value_parser!(u32).range(1..))]
    addresses: u32,
    #[command(flatten)]
    how: How,
}

/// Take the box out of an Open vSwitch bridge, and leave it as it was.
///
/// Also what an attach that was killed has left, and what is left of a bridge that is no more.
#[derive(clap::Args)]
pub(crate) struct DetachArgs {
    /// The bridge.
    #[arg(long, value_name = "BRIDGE")]
    ovs: String,
    #[command(flatten)]
    how: How,
}

#[derive(clap::Args)]
struct How {
    /// Only print the commands.
    #[arg(long)]
    dry_run: bool,
    /// As JSON.
    #[arg(short, long)]
    json: bool,
}

/// What is, or would be, done.
#[derive(Serialize)]
struct Report {
    bridge: String,
    /// Whether it has been done.
    done: bool,
    /// For `windlass run`; not after detaching.
    #[serde(skip_serializing_if = "Option::is_none")]
    interfaces: Option<Interfaces>,
    commands: Vec<Command>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct Interfaces {
    inside: String,
    outside: String,
}

pub(crate) fn attach(args: AttachArgs) -> Result<ExitCode> {
    let How { dry_run, json } = args.how;
    let request = Request {
        bridge: args.ovs,
        traffic: args.traffic,
        inside: args.inside,
        outside: args.outside,
        register: args.register,
        priority: args.priority,
        addresses: args.addresses,
    };
    let show = |attach: &Attach| {
        for warning in attach.warnings() {
            eprintln!("windlass: warning: {warning}");
        }
        if !json {
            show_commands(attach.commands());
        }
    };
    let attach = if dry_run {
        let attach = Attach::plan(&request)?;
        show(&attach);
        attach
    } else {
        Attach::run(&request, show)?
    };
    let wire = &attach.attachment().wire;
    if json {
        return print_json(&Report {
            bridge: request.bridge,
            done: !dry_run,
            interfaces: Some(Interfaces {
                inside: wire.interface(Side::Inside),
                outside: wire.interface(Side::Outside),
            }),
            commands: attach.commands().cloned().collect(),
            warnings: attach.warnings().to_vec(),
        });
    }
    if dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    let bridge = &request.bridge;
    print(&format!(
        "windlass: attached to bridge {bridge}; govern it with: windlass run --ovs {bridge}\n"
    ))
}

pub(crate) fn detach(args: &DetachArgs) -> Result<ExitCode> {
    let How { dry_run, json } = args.how;
    let bridge = &args.ovs;
    let show = |detach: &Detach| {
        if !json {
            show_commands(detach.commands());
        }
    };
    let detach = if dry_run {
        let detach = Detach::plan(bridge)?;
        show(&detach);
        detach
    } else {
        Detach::run(bridge, show)?
    };
    if json {
        return print_json(&Report {
            bridge: bridge.clone(),
            done: !dry_run,
            interfaces: None,
            commands: detach.commands().cloned().collect(),
            warnings: Vec::new(),
        });
    }
    if dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    print(&format!("windlass: detached from bridge {bridge}\n"))
}

/// Whether somebody reads them or not, they are run.
fn show_commands<'a>(commands: impl Iterator<Item = &'a Command>) {
    let lines: String = commands.map(|command| format!("{command}\n")).collect();
    let _ = print(&lines);
}
