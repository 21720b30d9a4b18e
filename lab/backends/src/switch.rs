//! A box for experiments: an Open vSwitch between two interfaces, with or without Windlass in it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use windlass_experiment::Setup;
use windlass_experiment::setup::PathBox;

use crate::cleanup::{catch_signals, interrupted, lab_folder, lab_name};
use crate::command::run;
use crate::openvswitch::{Datapath, OpenVswitch, kernel_has_module};
use crate::windlass::READY;

/// By which words an experiment asks for it.
const WORDS: [&str; 2] = ["lab", "switch"];
const BRIDGE: &str = "br0";
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Whether a setup has one in its path.
pub fn is_in(setup: &Setup) -> bool {
    match &setup.path_box {
        PathBox::Command { words } => words.windows(2).any(|pair| pair == WORDS),
        _ => false,
    }
}

/// Joins two interfaces by an Open vSwitch with the kernel's datapath until a signal comes. If
/// `windlass` is given, that program stands in the bridge, with `arguments` for `windlass run`.
/// Nothing is forwarded before it is ready.
///
/// # Errors
/// When something is missing, does not start, or ends.
pub fn join(
    [inside, outside]: [&str; 2],
    windlass: Option<&Path>,
    arguments: &[String],
) -> Result<()> {
    if !kernel_has_module() {
        bail!("the kernel has no module openvswitch (on `--backend vm`, the guest's has)");
    }
    catch_signals()?;
    let folder = lab_folder(&lab_name())?;
    let switch = OpenVswitch::start(folder.path(), None)?;
    switch.add_bridge(BRIDGE, Datapath::Kernel)?;
    // In this mode, without a rule nothing is forwarded.
    let settings = format!("set Bridge {BRIDGE} fail_mode=secure");
    let ports = format!("add-port {BRIDGE} {inside} -- add-port {BRIDGE} {outside}");
    switch.run(&format!("ovs-vsctl --timeout=10 {settings} -- {ports}"))?;
    let mut windlass = windlass
        .map(|program| {
            govern(
                &switch,
                program,
                [inside, outside],
                arguments,
                folder.path(),
            )
        })
        .transpose()?;
    switch.run(&format!(
        "ovs-ofctl --timeout=10 add-flow {BRIDGE} actions=NORMAL"
    ))?;
    while !interrupted() {
        std::thread::sleep(POLL_INTERVAL);
        if let Some(windlass) = &mut windlass
            && let Some(status) = windlass.0.try_wait()?
        {
            bail!("windlass has ended ({status})");
        }
    }
    drop(windlass);
    switch.run(&format!("ovs-vsctl --timeout=10 del-br {BRIDGE}"))?;
    Ok(())
}

/// Killed when dropped.
struct Governing(Child);

impl Drop for Governing {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn govern(
    switch: &OpenVswitch,
    program: &Path,
    [inside, outside]: [&str; 2],
    arguments: &[String],
    folder: &Path,
) -> Result<Governing> {
    let mut attach: Command = switch.command(program);
    attach.args(["attach", "--ovs", BRIDGE, "--match", "tcp"]);
    run(attach.args(["--inside", inside, "--outside", outside]))?;
    let mut command = switch.command(program);
    command.args(["run", "--ovs", BRIDGE, "--control"]);
    command.arg(folder.join("control.sock")).args(arguments);
    let child = command.stdout(Stdio::piped()).spawn();
    let mut governing = Governing(child.context("cannot run windlass")?);
    let said = governing.0.stdout.take().context("no output")?;
    let mut lines = BufReader::new(said).lines().map_while(Result::ok);
    if !lines.any(|line| line.starts_with(READY)) {
        bail!("windlass did not start ({})", governing.0.wait()?);
    }
    Ok(governing)
}
