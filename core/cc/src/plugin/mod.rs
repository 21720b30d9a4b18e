//! Algorithms that come from outside: what a host of such code implements, and what a flow keeps of
//! one. Nothing here knows what the code is; `box/plugin` runs WebAssembly.
//!
//! The state of a flow is bytes that belong to the flow, not to the code: they are copied and exported
//! like that of any other algorithm, and one instance of the code serves all flows.

mod flow;
mod id;

use core::fmt;
use std::sync::Arc;

use crate::estimates::{Estimates, Steps};
use crate::{
    About, AckEvent, Beginning, CongestionEvent, Control, Nanos, Parameter, Path, Range, SendEvent,
    Value,
};

pub use flow::{Plugin, PluginParameters, sane};
pub use id::{PluginId, WrongPlugin};

/// Bytes of state that a plugin may keep for a flow.
pub const STATE_BYTES_MAX: usize = 256;
/// Parameters that a plugin may have.
pub const PARAMETERS_MAX: usize = 8;

/// Code that decides for flows. It must answer the same to the same call: all that it remembers of a
/// flow is in the flow's state.
pub trait Code: Send + Sync {
    /// An event of a flow. What it changes in `flow` counts if it answers `Ok`.
    ///
    /// # Errors
    /// The code failed: the flow goes on with another algorithm.
    fn call(&self, call: &Call<'_>, flow: &mut FlowState) -> Result<(), Fault>;

    /// A flow has left this code because of that. Told once for each flow that somebody has asked
    /// ([`crate::Controller::take_failed`]); not for flows that are only imagined.
    fn on_fault(&self, fault: Fault);

    /// How it does.
    fn health(&self) -> Health;
}

/// How code does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Flows that have left it because it failed.
    pub faults: u32,
    /// It is not asked any more.
    pub suspended: bool,
    /// What it did last.
    pub last_fault: Option<Fault>,
}

/// A plugin, as it is made known.
pub struct Description {
    /// Its name: small letters, digits and underscores, not that of another algorithm.
    pub name: &'static str,
    /// What it says of itself.
    pub about: About,
    /// What can be set: numbers.
    pub parameters: &'static [Parameter],
    /// Their defaults, in the same order.
    pub defaults: [f64; PARAMETERS_MAX],
    /// Bytes of [`FlowState::state`] that it uses.
    pub state_bytes: usize,
    /// PRR spreads its reductions ([`crate::CongestionControl::uses_prr`]).
    pub prr: bool,
    /// What is called.
    pub code: Arc<dyn Code>,
}

/// What happened: [`crate::CongestionControl`] says when each comes.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The flow begins, or moves here from another algorithm.
    Start(&'a Beginning<'a>),
    /// Data left.
    Sent(&'a SendEvent),
    /// An ACK.
    Ack(&'a AckEvent),
    /// The first loss or mark of a window.
    Congestion(&'a CongestionEvent),
    /// The episode is over.
    RecoveryExit,
    /// The retransmission timer fired.
    Rto,
    /// The last reduction was a mistake.
    Spurious,
    /// Sending resumes after so many ns.
    IdleRestart(Nanos),
}

/// All that a plugin is told.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// What happened.
    pub event: Event<'a>,
    /// When; 0 for [`Event::Start`].
    pub now: Nanos,
    /// What is known of the path.
    pub path: &'a Path,
    /// Table 1 of the Mystique paper.
    pub estimates: &'a Estimates,
    /// As the operator has set them.
    pub parameters: &'a [f64; PARAMETERS_MAX],
}

/// What a plugin decides and remembers for one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowState {
    /// Its memory of the flow.
    pub state: [u8; STATE_BYTES_MAX],
    /// What may be in flight and how fast it may leave.
    pub control: Control,
    /// How the estimates age.
    pub steps: Steps,
}

/// Why a plugin is no longer in charge of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It did something that ends a program, such as a division by zero.
    Trap(&'static str),
    /// It did not come to an end within its instructions.
    OutOfTime,
    /// What it answered cannot be.
    Nonsense(&'static str),
    /// It has failed so often that it is not asked any more.
    Suspended,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Trap(what) => write!(f, "it trapped: {what}"),
            Fault::OutOfTime => f.write_str("it did not end within its instructions"),
            Fault::Nonsense(what) => write!(f, "it answered nonsense: {what}"),
            Fault::Suspended => f.write_str("it is suspended, having failed too often"),
        }
    }
}

/// What rules say in an algorithm's place to leave it to experience.
pub const CHOSEN_BY_EXPERIENCE: &str = "auto";
/// The word that stands beside algorithms, where flows may be left to their server.
pub const LEFT_ALONE: &str = "observe";
/// What stands beside the parameters in a rule's table for an algorithm.
const KEYS_OF_RULES: [&str; 3] = ["name", "preset", "fallback"];

fn is_name(name: &str) -> bool {
    let letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(letter)
}

impl Description {
    fn default_of(&self, parameter: &str) -> Option<f64> {
        let at = self.position(parameter)?;
        Some(self.defaults[at])
    }

    fn position(&self, parameter: &str) -> Option<usize> {
        self.parameters.iter().position(|p| p.name == parameter)
    }

    /// The first thing that is wrong with it, in words.
    pub(crate) fn mistake(&self) -> Option<String> {
        let names = self.parameters.iter().map(|p| p.name);
        if let Some(name) = names.chain([self.name]).find(|name| !is_name(name)) {
            return Some(format!(
                "\"{name}\" cannot be a name: small letters, digits and underscores, a letter first"
            ));
        }
        if [CHOSEN_BY_EXPERIENCE, LEFT_ALONE].contains(&self.name) {
            return Some(format!(
                "\"{}\" has a meaning in rules: take another name",
                self.name
            ));
        }
        if self.state_bytes > STATE_BYTES_MAX {
            return Some(format!(
                "{} bytes of state: a flow has {STATE_BYTES_MAX}",
                self.state_bytes
            ));
        }
        if self.parameters.len() > PARAMETERS_MAX {
            return Some(format!(
                "{} parameters: at most {PARAMETERS_MAX}",
                self.parameters.len()
            ));
        }
        self.parameters.iter().enumerate().find_map(|(at, p)| {
            if KEYS_OF_RULES.contains(&p.name) {
                return Some(format!(
                    "{} has a meaning in rules: call the parameter otherwise",
                    p.name
                ));
            }
            if self.position(p.name) != Some(at) {
                return Some(format!("two parameters are called {}", p.name));
            }
            let default = Value::Number(self.default_of(p.name)?);
            if !matches!(p.range, Range::Number { .. }) {
                return Some(format!("{} is no number: only numbers can be set", p.name));
            }
            let out = !p.range.contains(default);
            out.then(|| format!("the default of {} is {default}: {}", p.name, p.range))
        })
    }
}
