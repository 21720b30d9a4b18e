//! The table of kinds, from which the manual and the commands have theirs.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

/// How bad it is, as syslog has it (RFC 5424 §6.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum Severity {
    /// Something does not work.
    Error = 3,
    /// Something is not as it should be.
    Warning = 4,
    /// Ordinary, and worth knowing.
    Notice = 5,
    /// Ordinary.
    Info = 6,
}

impl Severity {
    /// Its name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Notice => "notice",
            Severity::Info => "info",
        }
    }
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct KindRow {
    /// The kind.
    pub kind: EventKind,
    /// Its name in output.
    pub name: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// One sentence.
    pub help: &'static str,
}

macro_rules! kinds {
    ($($(#[doc = $help:literal])+ $kind:ident = $name:literal, $severity:ident;)+) => {
        /// What happened.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
        pub enum EventKind {
            $($(#[doc = $help])+ #[serde(rename = $name)] $kind,)+
        }

        /// All kinds.
        pub const EVENT_KINDS: &[KindRow] = &[$(KindRow {
            kind: EventKind::$kind,
            name: $name,
            severity: Severity::$severity,
            help: concat!($($help),+),
        },)+];
    };
}

kinds! {
    /// The box is open, and governs new flows.
    Started = "started", Info;
    /// The box is closed; the bridge carries every flow.
    Stopped = "stopped", Info;
    /// A flow was handed back to its sender, which repairs from there on.
    HandedBack = "handed_back", Notice;
    /// The box repairs again what it had handed back.
    TakenOver = "taken_over", Info;
    /// A condition on the path has brought a flow another algorithm.
    AlgorithmSwitched = "algorithm_switched", Info;
    /// A plugin has failed; its fallback goes on with the flow.
    PluginFailed = "plugin_failed", Warning;
    /// Governed flows were slower beyond doubt: the guard has withdrawn a rule, at a prefix or altogether.
    GuardWithdrew = "guard_withdrew", Warning;
    /// The guard lets a rule govern again that it had withdrawn.
    GuardReturned = "guard_returned", Notice;
    /// A limit was reached; the reason names it, and the number says how often since the last event of this limit.
    LimitReached = "limit_reached", Warning;
    /// There is room again below a limit that had lasted.
    LimitOver = "limit_over", Notice;
    /// Packet memory was exhausted: reception stood still, or packets were dropped.
    FramesExhausted = "frames_exhausted", Warning;
    /// A worker took no packets for longer than `bypass_after_ms`, and the kernel forwarded them in its place.
    WorkerLate = "worker_late", Warning;
    /// A worker has not answered for a second.
    WorkerStopped = "worker_stopped", Error;
    /// All workers answer again.
    WorkerReturned = "worker_returned", Notice;
    /// An interface is gone or down: nothing is governed until it is back.
    InterfaceGone = "interface_gone", Error;
    /// The interfaces are back: new flows are governed again.
    InterfaceBack = "interface_back", Notice;
    /// The bridge of the interfaces was repaired, or is another one now.
    BridgeChanged = "bridge_changed", Notice;
    /// Something is not as it should be; the text says what mends it.
    Trouble = "trouble", Warning;
    /// Rules were read again, and are in charge.
    Reloaded = "reloaded", Notice;
    /// The configuration could not be read again: the rules stay as they were.
    ReloadFailed = "reload_failed", Error;
    /// Bypass is on: every flow passes untouched.
    BypassOn = "bypass_on", Warning;
    /// Bypass is off: connections are governed again.
    BypassOff = "bypass_off", Notice;
    /// A trial has begun.
    TrialStarted = "trial_started", Info;
    /// A trial has ended.
    TrialEnded = "trial_ended", Info;
    /// Connections of the process before are known, and governed again once both of their ends are seen to agree.
    Remembered = "remembered", Info;
    /// This box tells another one of its connections now, or hears of those of the other.
    StandbyFound = "standby_found", Notice;
    /// This box cannot tell another one of its connections any more, or hears nothing of those of the other.
    StandbyLost = "standby_lost", Warning;
    /// More happened at once than the queue of events holds; the number says how much was lost.
    EventsLost = "events_lost", Warning;
}

impl EventKind {
    /// Its row of the table.
    pub fn row(self) -> &'static KindRow {
        &EVENT_KINDS[self as usize]
    }

    /// Its name in output.
    pub fn name(self) -> &'static str {
        self.row().name
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for EventKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = EVENT_KINDS.iter().find(|row| row.name == text);
        found
            .map(|row| row.kind)
            .ok_or_else(|| format!("there are no events of the kind \"{text}\""))
    }
}

#[cfg(test)]
mod tests {
    use windlass_engine::HandBack;

    use super::*;

    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/events.md");
    const BEGIN: &str = "<!-- the table of events begins -->\n";
    const END: &str = "<!-- the table of events ends -->\n";

    #[test]
    fn a_kind_finds_its_row() {
        for row in EVENT_KINDS {
            assert_eq!(row.kind.name(), row.name);
            assert_eq!(row.name.parse(), Ok(row.kind));
            let json = serde_json::to_string(&row.kind).expect("a word");
            assert_eq!(json, format!("\"{}\"", row.name));
        }
        assert!("nothing".parse::<EventKind>().is_err());
    }

    /// `WINDLASS_WRITE_DOCS=1` writes it.
    #[test]
    fn the_manual_has_the_table_of_events() {
        let page = std::fs::read_to_string(PAGE).expect("docs/events.md");
        let (before, rest) = page.split_once(BEGIN).expect("the table begins");
        let (written, after) = rest.split_once(END).expect("the table ends");
        let mut table = "\n| kind | severity | meaning |\n| --- | --- | --- |\n".to_owned();
        for row in EVENT_KINDS {
            let (name, severity, help) = (row.name, row.severity.name(), row.help.trim());
            table += &format!("| `{name}` | {severity} | {help} |\n");
        }
        table += "\n### Why flows are handed back\n\n| reason | meaning |\n| --- | --- |\n";
        for reason in HandBack::LABELS {
            table += &format!("| `{}` | {} |\n", reason.name, reason.help.trim());
        }
        table += "\n";
        if std::env::var_os("WINDLASS_WRITE_DOCS").is_some() {
            std::fs::write(PAGE, format!("{before}{BEGIN}{table}{END}{after}")).expect("the page");
        } else {
            let how = "stale: WINDLASS_WRITE_DOCS=1 cargo test -p windlass-daemon the_manual";
            assert!(written == table, "docs/events.md is {how}");
        }
    }
}
