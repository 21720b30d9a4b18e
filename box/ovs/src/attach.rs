//! Attaching: everything is looked at first, then done step by step, and undone if a step fails.

use anyhow::{Result, bail};

use crate::attachment::{self, Attachment, State};
use crate::check::{check_ports, check_request, check_unattached, mtu, warnings};
use crate::command::Command;
use crate::database::Bridge;
use crate::lock::lock;
use crate::openflow::{self, Speech};
use crate::rule::Rule;
use crate::rules::{LEVELS, rules};
use crate::rundir::check_answering;
use crate::traffic::Traffic;
use crate::veth_pairs::{Links, VethPairs};

/// What is to be attached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The bridge.
    pub bridge: String,
    /// What goes through the box.
    pub traffic: Vec<Traffic>,
    /// Ports at which the servers are; none: wherever the traffic says.
    pub inside: Vec<String>,
    /// Ports at which the network is; none: all.
    pub outside: Vec<String>,
    /// The register to mark packets in; none: one that no rule mentions.
    pub register: Option<u8>,
    /// Priority of the lowest rule; none: the highest there are.
    pub priority: Option<u16>,
    /// Source addresses whose port is remembered, at most.
    pub addresses: u32,
}

/// What attaching will do, or has done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attach {
    attachment: Attachment,
    steps: Vec<Step>,
    warnings: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Step {
    command: Command,
    undo: Option<Undo>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Undo {
    /// Of what is done whole or not at all.
    IfDone(Command),
    /// Of what may be done in part when it fails.
    Always(Command),
}

impl Attach {
    /// Looks at everything and changes nothing.
    ///
    /// # Errors
    /// What speaks against it, and what to do about it.
    pub fn plan(request: &Request) -> Result<Attach> {
        let bridge = Bridge::read(&request.bridge)?;
        check_unattached(&bridge)?;
        check_request(request, &bridge)?;
        check_answering(&bridge.name)?;
        let speech = Speech::with(&bridge);
        let entries = speech.dump()?;
        if entries.iter().any(openflow::Entry::is_own) {
            bail!(
                "bridge {0} has rules of an earlier attachment (remove them: windlass detach --ovs {0})",
                bridge.name
            );
        }
        let priority = request.priority.unwrap_or(u16::MAX - LEVELS + 1);
        openflow::check_priority(&entries, priority)?;
        let free = openflow::free(&entries, &speech.dump_groups(), request.register)?;
        let attachment = Attachment {
            bridge: bridge.name.clone(),
            traffic: request.traffic.clone(),
            inside: request.inside.clone(),
            outside: request.outside.clone(),
            wire: VethPairs::free(&Links::read()?, &bridge.wires)?,
            register: free.register,
            table: free.table,
            priority,
            addresses: request.addresses,
        };
        let rules = rules(&attachment, &bridge);
        Ok(Attach {
            steps: steps(&attachment, &bridge, &speech, &rules),
            warnings: warnings(&bridge),
            attachment,
        })
    }

    /// [`Attach::plan`], then [`Attach::commands`] to `shown`, then all of them. Nobody else changes
    /// attachments meanwhile.
    ///
    /// # Errors
    /// Those of [`Attach::plan`]; the step that failed, after all before it has been undone.
    pub fn run(request: &Request, shown: impl FnOnce(&Attach)) -> Result<Attach> {
        let _lock = lock()?;
        let attach = Attach::plan(request)?;
        shown(&attach);
        attach.execute()?;
        Ok(attach)
    }

    /// What is attached.
    pub fn attachment(&self) -> &Attachment {
        &self.attachment
    }

    /// In their order.
    pub fn commands(&self) -> impl Iterator<Item = &Command> {
        self.steps.iter().map(|step| &step.command)
    }

    /// What may go wrong later, and what to do about it.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn execute(&self) -> Result<()> {
        for (at, step) in self.steps.iter().enumerate() {
            let done = step.command.run();
            let failed = done.is_err();
            let Err(error) = done.and_then(|_| self.check_after(step)) else {
                continue;
            };
            let undone = self.undo(at, failed);
            let outcome = match undone.as_slice() {
                [] => "the bridge is as it was".to_owned(),
                left => format!("not all could be undone: {}", left.join("; ")),
            };
            return Err(error.context(format!(
                "windlass is not attached to bridge {}, and {outcome}",
                self.attachment.bridge
            )));
        }
        Ok(())
    }

    /// Open vSwitch takes in a port that does not work without complaint.
    fn check_after(&self, step: &Step) -> Result<()> {
        let Attachment { bridge, wire, .. } = &self.attachment;
        if step.command != wire.add_ports(bridge) {
            return Ok(());
        }
        check_ports(&Bridge::read(bridge)?, wire)
    }

    /// From step `at` back to the first. What could not be undone.
    fn undo(&self, at: usize, failed: bool) -> Vec<String> {
        let mut left = Vec::new();
        for (n, step) in self.steps[..=at].iter().enumerate().rev() {
            let command = match &step.undo {
                Some(Undo::Always(command)) => command,
                Some(Undo::IfDone(command)) if n < at || !failed => command,
                _ => continue,
            };
            left.extend(command.run().err().map(|error| format!("{error:#}")));
        }
        left
    }
}

fn steps(attachment: &Attachment, bridge: &Bridge, speech: &Speech, rules: &[Rule]) -> Vec<Step> {
    let Attachment {
        bridge: name, wire, ..
    } = attachment;
    let vsctl = |words: Vec<String>| words.into_iter().fold(Command::vsctl(""), Command::word);
    let step = |command, undo| Step { command, undo };
    let forget = vsctl(attachment::forget_all(attachment));
    let mut all = vec![step(
        attachment.write(State::Attaching),
        Some(Undo::Always(forget)),
    )];
    for command in wire.make(name, mtu(bridge)) {
        let made = command.made_link();
        let undo = made.map(|link| Undo::IfDone(Command::new(&format!("ip link del {link}"))));
        all.push(step(command, undo));
    }
    let ports = Undo::Always(vsctl(wire.del_ports(name)));
    all.push(step(wire.add_ports(name), Some(ports)));
    for command in speech.install(rules, false) {
        all.push(step(command, Some(Undo::Always(speech.remove_all()))));
    }
    all.push(step(attachment::write_state(name, State::Attached), None));
    all
}
