//! One `[[rule]]`: which flows, and what with them.

use windlass_engine::{Side, Verdict};

use crate::cel::{self, Condition};
use crate::error::Wrong;
use crate::facts::FlowFacts;
use crate::guard;
use crate::prefix::Prefix;
use crate::read::{Section, Value};
use crate::settings::{self, Known, Said};

const VLAN_MAX: u64 = 4094;
const SENDERS: [(&str, Senders); 3] = [
    ("inside", Senders::Inside),
    ("outside", Senders::Outside),
    ("both", Senders::Both),
];

/// On which side the sender of the data must be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Senders {
    /// Inside.
    #[default]
    Inside,
    /// Outside.
    Outside,
    /// Either.
    Both,
}

impl Senders {
    /// Whether a sender on this side is meant.
    pub fn include(self, side: Side) -> bool {
        match self {
            Senders::Inside => side == Side::Inside,
            Senders::Outside => side == Side::Outside,
            Senders::Both => true,
        }
    }
}

/// A condition in CEL.
#[derive(Clone, PartialEq, Debug)]
pub struct Match {
    /// As it was written.
    pub text: String,
    /// As it is asked.
    pub condition: Condition,
}

/// A rule. All its conditions must hold; one that is empty or `None` always does.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Its name, as operators see it.
    pub name: String,
    /// TCP ports; the sender's or the receiver's must be among them.
    pub ports: Vec<u16>,
    /// Where the sender of the data is.
    pub servers: Vec<Prefix>,
    /// Where its receiver is.
    pub clients: Vec<Prefix>,
    /// VLAN id of the outer tag; 0: untagged.
    pub vlan: Option<u16>,
    /// Side of the sender.
    pub sender: Senders,
    /// Whatever else must hold.
    pub matches: Option<Match>,
    /// What to do; `None` leaves the flow alone, for good.
    pub verdict: Option<Verdict>,
    /// `mode = "off"`: the flow is left alone until the rule has another mode.
    pub off: bool,
    /// Whether the guard holds flows out of it; `None`: as it thinks best.
    pub guard: Option<bool>,
}

impl Rule {
    /// The rule of a file that has none: every flow whose sender is inside.
    pub(crate) fn everything(said: Said) -> Rule {
        Rule {
            name: "default".to_owned(),
            ports: Vec::new(),
            servers: Vec::new(),
            clients: Vec::new(),
            vlan: None,
            sender: Senders::Inside,
            matches: None,
            verdict: Some(said.verdict),
            off: said.off,
            guard: None,
        }
    }

    /// Reads the rule that is the `number`th, from 1.
    pub(crate) fn read(
        mut section: Section<'_>,
        number: usize,
        default: Said,
        known: &mut Known<'_>,
    ) -> Result<Rule, Wrong> {
        let mut rule = Rule::everything(default);
        rule.name = match section.take("name") {
            Some(name) => name.text("web")?.to_owned(),
            None => format!("rule {number}"),
        };
        if let Some(value) = section.take("ports") {
            rule.ports = list(value, "[80, 443]", port)?;
        }
        if let Some(value) = section.take("servers") {
            rule.servers = list(value, "[\"10.0.0.0/8\"]", prefix)?;
        }
        if let Some(value) = section.take("clients") {
            rule.clients = list(value, "[\"192.0.2.0/24\"]", prefix)?;
        }
        if let Some(value) = section.take("vlan") {
            rule.vlan = Some(value.integer(0..=VLAN_MAX, "(0: untagged)")? as u16);
        }
        if let Some(value) = section.take("sender") {
            rule.sender = value.word(&SENDERS)?;
        }
        if let Some(value) = section.take("match") {
            rule.matches = Some(Match {
                condition: value.condition(&cel::FLOW)?,
                text: value.text("sport == 443")?.to_owned(),
            });
        }
        let govern = match section.take("govern") {
            Some(value) => value.boolean()?,
            None => true,
        };
        let said = settings::said(&mut section, default, known)?;
        rule.verdict = govern.then_some(said.verdict);
        rule.off = said.off;
        if let Some(value) = section.take("guard") {
            rule.guard = Some(value.boolean()?);
            let bound = |verdict| guard::bound_to(verdict, &known.tenants);
            let bound = rule.verdict.as_ref().and_then(bound);
            if let (Some(true), Some(bound)) = (rule.guard, bound) {
                let what = format!("{bound} holds for every flow, and the guard leaves some alone");
                let help = format!("leave guard out, or {bound}");
                return Err(Wrong::new(value.span(), what, help));
            }
        }
        section.finish()?;
        Ok(rule)
    }
}

pub(crate) fn list<T>(
    value: Value<'_>,
    example: &str,
    each: fn(&Value<'_>) -> Result<T, Wrong>,
) -> Result<Vec<T>, Wrong> {
    value.list(example)?.iter().map(each).collect()
}

fn port(value: &Value<'_>) -> Result<u16, Wrong> {
    Ok(value.integer(1..=u64::from(u16::MAX), "")? as u16)
}

pub(crate) fn prefix(value: &Value<'_>) -> Result<Prefix, Wrong> {
    let text = value.text("10.0.0.0/8")?;
    text.parse().map_err(|help: String| {
        Wrong::new(value.span(), format!("\"{text}\" is not a prefix"), help)
    })
}

impl Rule {
    /// The first of its conditions that does not hold, for people; `None`: it matches.
    pub(crate) fn failing(&self, facts: &FlowFacts<'_>) -> Option<Failing<'_>> {
        let FlowFacts { key, sender, .. } = facts;
        let port = |port: u16| self.ports.binary_search(&port).is_ok();
        let within = |prefixes: &[Prefix], address| prefixes.iter().any(|p| p.contains(address));
        if !self.sender.include(*sender) {
            return Some(Failing::Sender);
        }
        if self.vlan.is_some_and(|vlan| vlan != key.vlan) {
            return Some(Failing::Vlan);
        }
        if !self.ports.is_empty() && !port(key.src_port) && !port(key.dst_port) {
            return Some(Failing::Ports);
        }
        if !self.servers.is_empty() && !within(&self.servers, key.src) {
            return Some(Failing::Servers);
        }
        if !self.clients.is_empty() && !within(&self.clients, key.dst) {
            return Some(Failing::Clients);
        }
        let matches = self.matches.as_ref()?;
        let holds = matches.condition.holds(facts, 0.0);
        (!holds).then_some(Failing::Match(&matches.text))
    }
}

/// Why a rule does not match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Failing<'a> {
    /// The sender is on the other side.
    Sender,
    /// Another VLAN.
    Vlan,
    /// Neither port is among its ports.
    Ports,
    /// The sender is not among its servers.
    Servers,
    /// The receiver is not among its clients.
    Clients,
    /// Its expression is false.
    Match(&'a str),
}
