//! Detaching: whatever there is of an attachment goes, also of one that came half-way only.

use anyhow::{Result, bail};

use crate::attachment::{self, State};
use crate::command::Command;
use crate::database::{Bridge, NoBridge};
use crate::lock::lock;
use crate::openflow::{Entry, Speech};
use crate::rule::Role;
use crate::veth_pairs::{Links, VethPairs};

/// What is in the box comes out of it in this time, s: it is led back to the bridge until then.
const GRACE_S: &str = "0.3";

/// What detaching will do, or has done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Detach {
    commands: Vec<Command>,
}

impl Detach {
    /// Looks for all that there is and changes nothing.
    ///
    /// # Errors
    /// When there is nothing to detach, or Open vSwitch's database does not answer.
    pub fn plan(bridge: &str) -> Result<Detach> {
        let links = Links::read()?;
        let mut wire = VethPairs::of_bridge(bridge, &links);
        let mut commands = Vec::new();
        match Bridge::read(bridge) {
            // The ports and rules are gone with it; the other end of the wire is not.
            Err(error) if error.is::<NoBridge>() && wire.is_some() => {}
            found => {
                let found = found?;
                // The wire's alias may not be written yet, the record may not be readable.
                let recorded = found.external_ids.get(attachment::WIRE);
                wire = recorded.map(|name| VethPairs::named(name)).or(wire);
                commands = from_bridge(&found, wire.as_ref());
            }
        }
        commands.extend(wire.iter().flat_map(|wire| wire.remove(&links)));
        if commands.is_empty() {
            bail!("windlass is not attached to bridge {bridge}");
        }
        Ok(Detach { commands })
    }

    /// [`Detach::plan`], then [`Detach::commands`] to `shown`, then all of them. Nobody else changes
    /// attachments meanwhile.
    ///
    /// # Errors
    /// Those of [`Detach::plan`]; every command that failed, after all have been tried.
    pub fn run(bridge: &str, shown: impl FnOnce(&Detach)) -> Result<Detach> {
        let _lock = lock()?;
        let detach = Detach::plan(bridge)?;
        shown(&detach);
        let failed = detach.commands.iter().filter_map(|c| c.run().err());
        let failed: Vec<String> = failed.map(|error| format!("{error:#}")).collect();
        if !failed.is_empty() {
            bail!(
                "not all of the attachment to bridge {bridge} could be removed (then again: windlass \
                 detach --ovs {bridge}): {}",
                failed.join("; ")
            );
        }
        Ok(detach)
    }

    /// In their order.
    pub fn commands(&self) -> impl Iterator<Item = &Command> {
        self.commands.iter()
    }
}

/// Rules first, so that nothing is led to a port that is gone; the record last.
fn from_bridge(bridge: &Bridge, wire: Option<&VethPairs>) -> Vec<Command> {
    let ids = &bridge.external_ids;
    let speech = Speech::with(bridge);
    // Without ovs-vswitchd there are no rules, and nobody to wait for.
    let rules = speech.dump_own().ok();
    let is_recorded = attachment::is_recorded(ids);
    let mut all = Vec::new();
    if is_recorded {
        // From here on nobody repairs it.
        all.push(waiting_for(
            &rules,
            attachment::write_state(&bridge.name, State::Detaching),
        ));
    }
    if rules.as_ref().is_some_and(|rules| !rules.is_empty()) {
        all.push(speech.remove(Role::Steer));
        all.push(Command::new(&format!("sleep {GRACE_S}")));
        all.push(speech.remove_all());
    }
    let mut last: Vec<String> = Vec::new();
    if let Some(wire) = wire.filter(|wire| is_recorded || has_ports(bridge, wire)) {
        last.extend(wire.del_ports(&bridge.name));
    }
    if is_recorded {
        last.extend((!last.is_empty()).then(|| "--".to_owned()));
        // The state may have been written since.
        last.extend(attachment::forget(&bridge.name, ids));
    }
    if !last.is_empty() {
        let command = waiting_for(&rules, Command::vsctl(""));
        all.push(last.into_iter().fold(command, Command::word));
    }
    all
}

fn has_ports(bridge: &Bridge, wire: &VethPairs) -> bool {
    let mut ports = crate::Side::BOTH.into_iter().map(|side| wire.port(side));
    ports.any(|name| bridge.port(&name).is_some())
}

/// Changes of the database take effect when ovs-vswitchd runs.
fn waiting_for(rules: &Option<Vec<Entry>>, command: Command) -> Command {
    match rules {
        Some(_) => command,
        None => command.without_waiting(),
    }
}
