//! Events in the log of the process.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::Severity;
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

/// The same, but not if nobody takes it: false if the line was left out. `waits`: for a moment at most.
pub(super) fn say_if_taken(severity: Severity, text: &str, waits: bool) -> bool {
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
