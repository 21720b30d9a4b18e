//! Events in the log of the process: in the journal with their fields if that is where the log goes, else as lines.

use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::journal::{Journal, entry};
use super::{EventReport, Severity};
use crate::{last_events, log};

/// Whoever reads the log may take so long for a line; then it is left out.
const PATIENCE: Duration = Duration::from_millis(100);

/// Writes a line.
pub(crate) fn say(severity: Severity, text: &str) {
    match severity {
        Severity::Error => log::error(text),
        Severity::Warning => log::warning(text),
        Severity::Notice => log::notice(text),
        Severity::Info => log::info(text),
    }
}

/// Where events are written.
#[derive(Debug)]
pub(super) struct Log {
    journal: Option<Journal>,
    /// Events that nobody took since the last that somebody did.
    unwritten: u64,
}

impl Log {
    pub(super) fn of_this_process() -> Log {
        Log {
            journal: Journal::of_this_process(PATIENCE),
            unwritten: 0,
        }
    }

    /// Writes an event. A reader that has stopped is not waited for again and again.
    pub(super) fn write(&mut self, event: &EventReport) {
        let mut line = match &event.flow {
            Some(flow) => format!("{flow}: {}", event.text),
            None => event.text.clone(),
        };
        if self.unwritten > 0 {
            line += &format!(" ({} lines before this one were not read)", self.unwritten);
        }
        let waits = self.unwritten == 0;
        let taken = self.journal(event, &line, waits);
        match taken.unwrap_or_else(|| say_if_taken(event.severity, &line, waits)) {
            true => self.unwritten = 0,
            false => self.unwritten += 1,
        }
    }

    /// Gives it to the journal. `None`: there is none that can be reached, or it does not take entries as long as this.
    fn journal(&mut self, event: &EventReport, line: &str, waits: bool) -> Option<bool> {
        let sent = self.journal.as_mut()?.send(&entry(event, line), waits);
        let taken = match sent {
            Ok(()) => true,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => false,
            Err(_) => return None,
        };
        last_events::note(line);
        Some(taken)
    }
}

/// Writes a line, but not if nobody takes it: false if the line was left out. `waits`: for a moment at most.
fn say_if_taken(severity: Severity, text: &str, waits: bool) -> bool {
    let stderr = io::stderr();
    let mut fds = [PollFd::new(stderr.as_fd(), PollFlags::POLLOUT)];
    let patience = if waits { PATIENCE } else { Duration::ZERO };
    let patience = PollTimeout::try_from(patience).unwrap_or(PollTimeout::ZERO);
    let takes = poll(&mut fds, patience).is_ok_and(|ready| ready > 0);
    match takes {
        true => say(severity, text),
        false => last_events::note(text),
    }
    takes
}
