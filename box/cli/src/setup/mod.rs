//! `windlass setup`: from an installed program to one that observes, and back.

mod apply;
mod command;
mod configuration;
mod place;
mod plan;
mod questions;
mod record;
mod service;
mod undo;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use windlass_cc::Catalog;
use windlass_daemon::config_files::DEFAULT_CONFIG;
use windlass_policy::DEFAULT_CONTROL_SOCKET;

use crate::wrong_usage;
use place::Placement;

/// Not in the folder of the service's own state, which its user may write: root follows what is in it.
const DEFAULT_RECORD: &str = "/var/lib/windlass-setup/record.json";

/// Put Windlass between two interfaces: check, mend what lacks, write the configuration, start observing.
///
/// At a terminal it asks what no flag says. It turns off offloads that would change packets, enlarges receive rings, and has
/// systemd do so at each start of the service. It remembers how everything was; `--undo` makes it so again. Run again, it does
/// only what lacks. Nothing is governed until you write mode = "enforce".
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Interface towards the governed senders.
    #[arg(long, value_name = "IF", requires = "outside", conflicts_with = "undo")]
    inside: Option<String>,
    /// Interface towards the network.
    #[arg(long, value_name = "IF", requires = "inside", conflicts_with = "undo")]
    outside: Option<String>,
    /// Where the box stands: two interfaces of this machine (wire), a machine that routes, a hypervisor, an Open vSwitch. For
    /// the latter three it shows the commands that make the two interfaces first.
    #[arg(long, value_enum, conflicts_with = "undo")]
    placement: Option<Placement>,
    /// Go on although an interface has IP addresses, which do not answer any more once it is in a bridge.
    #[arg(long)]
    lose_addresses: bool,
    /// Make everything as it was before.
    #[arg(long)]
    undo: bool,
    /// Only print the commands and the files.
    #[arg(long)]
    dry_run: bool,
    /// Configuration file to write.
    #[arg(long, value_name = "FILE", default_value = DEFAULT_CONFIG)]
    config: PathBuf,
    /// Where it is remembered how everything was.
    #[arg(long, value_name = "FILE", default_value = DEFAULT_RECORD)]
    record: PathBuf,
    /// Control socket of a windlass that may run.
    #[arg(long, value_name = "PATH", default_value = DEFAULT_CONTROL_SOCKET)]
    control: PathBuf,
}

pub(crate) fn run(args: &Args, catalog: &Catalog) -> Result<ExitCode> {
    if !args.dry_run && !nix::unistd::geteuid().is_root() {
        bail!("setup changes the machine: run it as root (sudo windlass setup …)");
    }
    if args.undo {
        return undo::run(&args.record, &args.control, args.dry_run);
    }
    let answers = match (&args.inside, &args.outside) {
        (Some(inside), Some(outside)) => questions::Answers {
            placement: args.placement.unwrap_or(Placement::Wire),
            sides: [inside.clone(), outside.clone()],
        },
        _ if questions::can_be_asked() => questions::ask(args.placement)?,
        _ => wrong_usage(
            "setup needs --inside IF and --outside IF where there is no terminal to ask at",
        ),
    };
    if let Some(recipe) = answers.placement.recipe() {
        return place::show(answers.placement, recipe);
    }
    apply::run(args, &answers.sides, catalog)
}
