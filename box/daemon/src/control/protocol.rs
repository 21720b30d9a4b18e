//! What is asked and answered.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use windlass_auto::guard::GuardReport;
use windlass_policy::ConfigFile;
use windlass_record::Chunk;

use super::comparisons::{AutoReport, TrialAnswer, TrialsReport};
use crate::events::EventReport;
use crate::view::{AlgorithmReport, FlowFilter, ViewQuery, ViewReport};
use crate::{ExplainReport, FlowReport, OverviewReport, RuleReport, TenantReport};

/// A request: `{"request":"flows"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum Request {
    /// All governed flows, or those that a filter wants.
    Flows(FlowFilter),
    /// All counters.
    Counters,
    /// What each tenant has sent.
    Tenants,
    /// The daemon itself.
    Status,
    /// What `auto` believes.
    Auto,
    /// What the guard has found.
    Guard {
        /// How far back the hours go that are told, h.
        hours: u32,
    },
    /// Begins a trial, in the place of one that runs.
    StartTrial {
        /// The rule whose flows take part; `None`: all that are governed.
        rule: Option<String>,
        /// What is compared: algorithms as they are typed, two at least.
        arms: Vec<String>,
        /// Share of the new flows that take part, in thousandths.
        share_permille: u32,
    },
    /// How the trial stands.
    Trial,
    /// The trial, if one runs, and what `auto` has tried.
    Trials,
    /// Ends the trial. Flows that take part get what their rules say.
    StopTrial,
    /// Turns all enforcement off, or on again for new connections.
    Bypass {
        /// Off.
        on: bool,
    },
    /// Has another process take over, which governs on with all connections.
    Upgrade {
        /// The program, as an absolute path; `None`: the file that the running one was started from.
        binary: Option<PathBuf>,
    },
    /// Events after the one with this number, oldest first.
    Events {
        /// 0: all that are remembered.
        after: u64,
    },
    /// Flows in order, a part of them.
    View(ViewQuery),
    /// One flow as it is at this moment.
    Flow {
        /// Its name.
        flow: String,
    },
    /// The algorithms beside each other.
    Algorithms,
    /// The box at a glance.
    Overview,
    /// The rules in charge.
    Rules,
    /// What the rules say of a flow, and why.
    Explain {
        /// Its name, from the sender of the data to its receiver.
        flow: String,
        /// Side of the sender: `inside` or `outside`.
        sender: String,
    },
    /// How plugins do.
    Plugins,
    /// Takes in a plugin, in the place of one of the same name for flows to come.
    AddPlugin {
        /// The module, as an absolute path.
        file: PathBuf,
    },
    /// What the flight recorder has: of a connection, of the flows of a rule, or of both.
    Record {
        /// The connection, in either direction.
        flow: Option<String>,
        /// The rule, by the rules in charge now.
        rule: Option<String>,
        /// By worker: where to go on ([`Chunk::next`]); empty at first.
        from: Vec<u64>,
        /// By worker: where to end ([`Chunk::until`]); empty at first.
        until: Vec<u64>,
    },
    /// Puts the rules of a configuration in charge: of new connections altogether, of those that run
    /// in algorithm, conditions, copies and caps.
    Apply {
        /// The configuration file, and those of its `conf.d`.
        files: Vec<ConfigFile>,
    },
}

impl Request {
    /// In words, if it changes something.
    pub(crate) fn order(&self) -> Option<String> {
        let what = match self {
            Request::StartTrial { arms, .. } => format!("start a trial of {}", arms.join(", ")),
            Request::StopTrial => "stop the trial".to_owned(),
            Request::Bypass { on } => format!("bypass {}", if *on { "on" } else { "off" }),
            Request::AddPlugin { file } => format!("add the plugin {}", file.display()),
            Request::Upgrade { binary: None } => "upgrade".to_owned(),
            Request::Upgrade { binary: Some(file) } => format!("upgrade to {}", file.display()),
            Request::Apply { files } => {
                let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
                format!("apply {}", names.join(", "))
            }
            _ => return None,
        };
        Some(format!("order: {what}"))
    }
}

/// An answer: `{"answer":"flows","flows":[…],"omitted":0}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// The governed flows that are wanted.
    Flows {
        /// In no particular order.
        flows: Vec<FlowReport>,
        /// Flows that are wanted, and beyond what one answer holds.
        omitted: u64,
    },
    /// All counters since the start, summed over the workers.
    Counters {
        /// Of the engines.
        engine: BTreeMap<String, u64>,
        /// Of the drivers, by side where they have one.
        driver: BTreeMap<String, u64>,
        /// Of the XDP program.
        xdp: BTreeMap<String, u64>,
        /// Of the flight recorder, if there is one.
        #[serde(default)]
        recorder: BTreeMap<String, u64>,
    },
    /// What each tenant has sent, in the order of the configuration.
    Tenants {
        /// All of them.
        tenants: Vec<TenantReport>,
    },
    /// How plugins do, by name.
    Plugins {
        /// All of them.
        plugins: Vec<PluginReport>,
    },
    /// Events after the one that was named.
    Events(EventsReport),
    /// Flows in order.
    View(ViewReport),
    /// One flow.
    Flow(Box<FlowNow>),
    /// The algorithms beside each other, by name.
    Algorithms {
        /// All that drive a flow.
        algorithms: Vec<AlgorithmReport>,
    },
    /// The box at a glance.
    Overview(Box<OverviewReport>),
    /// The rules in charge, in order.
    Rules {
        /// All of them.
        rules: Vec<RuleReport>,
    },
    /// What the rules say of a flow.
    Explained(ExplainReport),
    /// What `auto` believes.
    Auto(AutoReport),
    /// What the guard has found.
    Guard(GuardReport),
    /// How the trial stands, or stood when it ended.
    Trial(TrialAnswer),
    /// What is tried, and what has come of it.
    Trials(TrialsReport),
    /// A part of what the flight recorder has.
    Recorded(Chunk),
    /// The daemon itself.
    Status(StatusReport),
    /// Done.
    Bypass {
        /// Whether it is on now.
        on: bool,
    },
    /// Another process governs.
    Upgraded {
        /// Its number.
        pid: u32,
    },
    /// Done.
    Applied {
        /// Rules in charge now.
        rules: u64,
    },
    /// The request was not understood or could not be followed.
    Error {
        /// Why.
        error: String,
    },
}

/// Events after the one that was named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct EventsReport {
    /// When the process began to count, ms since 1970: if that is another time than before, it was started anew, and its
    /// events count from 1 again.
    pub began_ms: u64,
    /// Oldest first.
    pub events: Vec<EventReport>,
    /// Events before the first of these that are not remembered any more.
    pub missed: u64,
    /// More are to be had at once.
    pub more: bool,
}

/// One flow as it is at this moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct FlowNow {
    /// When, ms since 1970.
    pub time_ms: u64,
    /// The flow; `null`: it is not governed, or is over.
    pub flow: Option<FlowReport>,
    /// What it has moved in the last minute, a number a second or so while somebody watches, oldest first, bit/s.
    pub rates_bps: Vec<u64>,
}

/// How a plugin does in this process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginReport {
    /// Its name.
    pub name: String,
    /// Calls that failed.
    pub faults: u32,
    /// It failed so often that it is not asked any more.
    pub suspended: bool,
    /// What it did last, in words.
    pub last_fault: Option<String>,
}

/// The daemon itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct StatusReport {
    /// Its process.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// How long it has run.
    pub uptime_s: u64,
    /// Interface towards the governed senders.
    pub inside: String,
    /// Interface towards the network.
    pub outside: String,
    /// `native`, `generic` or `packet`.
    pub io: String,
    /// The network card reads and writes the packets' memory itself.
    pub zero_copy: bool,
    /// When the process dies, the kernel goes on forwarding.
    pub fail_open: bool,
    /// Worker threads.
    pub workers: u64,
    /// Whether bypass is on.
    pub bypass: bool,
    /// Connections tracked.
    pub connections: u64,
    /// Bytes held for repair.
    pub held_bytes: u64,
    /// `governing`, or `waiting` for an interface that is gone.
    #[serde(default)]
    pub state: String,
    /// The bridge that carries what the box does not.
    #[serde(default)]
    pub bridge: Option<String>,
    /// What is not as it should be at this moment.
    #[serde(default)]
    pub troubles: Vec<Trouble>,
    /// Times that flows were governed again after an interface had been gone.
    #[serde(default)]
    pub reopened: u64,
    /// Another file lies where that of this program was: a package has replaced it, and an upgrade has not followed yet.
    #[serde(default)]
    pub replaced: bool,
}

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Trouble {
    /// What it is.
    pub what: String,
    /// What puts it right.
    pub mend: String,
}
