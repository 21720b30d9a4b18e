//! What happens, as it happens: a bounded ring of events, and the same in the log of the process.
//!
//! `kind` is the table of kinds. Whoever has something to tell gives it to an [`Events`], which never waits: what there is
//! no room for is counted, and told as an event of its own. One thread (`keeper`) limits the rate of each kind, puts the
//! events into the `ring` and writes the `log`, or gives them to the `journal` with fields. Whoever reads asks for what came after the last event that it has seen, so
//! a slow reader loses events and holds nobody. `lookout` sees what nobody tells: limits, workers that stand still, the guard.

mod journal;
mod keeper;
mod kind;
pub(crate) mod log;
mod lookout;
mod pace;
mod ring;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};

use serde::{Deserialize, Serialize};
use windlass_engine::Notice;

pub(crate) use keeper::Keeper;
pub use kind::{EVENT_KINDS, EventKind, KindRow, Severity};
pub(crate) use lookout::Lookout;
pub use ring::EVENTS_MAX;
pub(crate) use ring::Ring;

/// Messages on their way to the thread that keeps events; what comes when they are so many is counted as lost.
const QUEUE_MAX: usize = 1024;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct EventReport {
    /// They count from 1, since the start of the process.
    pub number: u64,
    /// When, ms since 1970.
    pub time_ms: u64,
    /// Which kind of event.
    pub kind: EventKind,
    /// How bad it is.
    pub severity: Severity,
    /// The flow, if it is about one: from the sender of the data to its receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// The rule, if it is about one, or about a flow that one governs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Why, in one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The same in a sentence.
    pub text: String,
    /// The numbers of it, with units in their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub numbers: BTreeMap<String, u64>,
    /// Events of this kind that were suppressed before this one, because there were too many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub suppressed: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What somebody has to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Draft {
    pub kind: EventKind,
    pub flow: Option<String>,
    pub rule: Option<String>,
    pub reason: Option<String>,
    pub text: String,
    pub numbers: Vec<(&'static str, u64)>,
}

impl Draft {
    pub(crate) fn new(kind: EventKind, text: impl Into<String>) -> Draft {
        Draft {
            kind,
            flow: None,
            rule: None,
            reason: None,
            text: text.into(),
            numbers: Vec::new(),
        }
    }

    pub(crate) fn of_rule(self, rule: impl Into<String>) -> Draft {
        Draft {
            rule: Some(rule.into()),
            ..self
        }
    }

    pub(crate) fn because(self, reason: impl Into<String>) -> Draft {
        Draft {
            reason: Some(reason.into()),
            ..self
        }
    }

    pub(crate) fn with(mut self, name: &'static str, number: u64) -> Draft {
        self.numbers.push((name, number));
        self
    }
}

/// What is on its way to the keeper.
#[derive(Debug)]
enum Message {
    Told(Draft),
    Noticed(Notice),
    End,
}

/// Where events are told and read. All clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Events {
    queue: SyncSender<Message>,
    lost: Arc<AtomicU64>,
    ring: Arc<Ring>,
}

/// What [`Keeper::start`] takes the messages from.
#[derive(Debug)]
pub(crate) struct Inbox {
    messages: Receiver<Message>,
    lost: Arc<AtomicU64>,
    ring: Arc<Ring>,
}

impl Events {
    pub(crate) fn new() -> (Events, Inbox) {
        let (queue, messages) = mpsc::sync_channel(QUEUE_MAX);
        let (lost, ring) = (
            Arc::default(),
            Arc::new(Ring::new(crate::settings::unix_ns() / 1_000_000)),
        );
        let events = Events {
            queue,
            lost: Arc::clone(&lost),
            ring: Arc::clone(&ring),
        };
        let inbox = Inbox {
            messages,
            lost,
            ring,
        };
        (events, inbox)
    }

    /// Tells it. Never waits.
    pub(crate) fn tell(&self, draft: Draft) {
        self.send(Message::Told(draft));
    }

    /// Tells what an engine has noticed. Never waits, and allocates nothing.
    pub(crate) fn notice(&self, notice: Notice) {
        self.send(Message::Noticed(notice));
    }

    /// So many more have been lost on their way here.
    pub(crate) fn lose(&self, count: u64) {
        self.lost.fetch_add(count, Ordering::Relaxed);
    }

    /// What can be read.
    pub(crate) fn ring(&self) -> &Ring {
        &self.ring
    }

    fn send(&self, message: Message) {
        if let Err(TrySendError::Full(_)) = self.queue.try_send(message) {
            self.lose(1);
        }
    }
}
