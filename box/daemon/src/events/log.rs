//! The log of the process: its standard error output, which the journal reads under systemd.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::fstat;

use super::Severity;

/// Whoever reads the log may take so long for a line; then it is left out.
const PATIENCE: Duration = Duration::from_millis(100);

/// Writes a line. The journal gets the severity in front of it (sd-daemon(3)).
pub(crate) fn say(severity: Severity, text: &str) {
    let line = line(severity, text, is_journal());
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

/// The same, but not if nobody takes it: false if the line was left out. `waits`: for a moment at most.
pub(super) fn say_if_taken(severity: Severity, text: &str, waits: bool) -> bool {
    let stderr = io::stderr();
    let mut fds = [PollFd::new(stderr.as_fd(), PollFlags::POLLOUT)];
    let patience = if waits { PATIENCE } else { Duration::ZERO };
    let patience = PollTimeout::try_from(patience).unwrap_or(PollTimeout::ZERO);
    let takes = poll(&mut fds, patience).is_ok_and(|ready| ready > 0);
    if takes {
        say(severity, text);
    }
    takes
}

fn line(severity: Severity, text: &str, journal: bool) -> String {
    let one_line = text.replace('\n', " ");
    match journal {
        true => format!("<{}>windlass: {one_line}\n", severity as u8),
        // A person may read what is wrong with a file in several lines.
        false => format!("windlass: {text}\n"),
    }
}

/// Whether the standard error output is the one that the service manager has connected with the journal: it may have been
/// redirected since (systemd.exec(5), `JOURNAL_STREAM`).
fn is_journal() -> bool {
    static KNOWN: OnceLock<bool> = OnceLock::new();
    *KNOWN.get_or_init(|| {
        let stream = std::env::var("JOURNAL_STREAM").unwrap_or_default();
        let found = fstat(io::stderr());
        found.is_ok_and(|file| stream == format!("{}:{}", file.st_dev, file.st_ino))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_hears_how_bad_it_is() {
        let text = "rules stay\nas they were";
        let journal = line(Severity::Error, text, true);
        assert_eq!(journal, "<3>windlass: rules stay as they were\n");
        let person = line(Severity::Error, text, false);
        assert_eq!(person, "windlass: rules stay\nas they were\n");
    }
}
