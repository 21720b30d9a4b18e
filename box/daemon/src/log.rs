//! Messages of the daemon: to the standard error output, and into the events that a crash leaves behind.
//!
//! If that output is the journal's, each line begins with its priority, as sd-daemon(3) has it.

use std::fmt::Display;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;

use crate::last_events;

/// How grave something is, with syslog's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Critical = 2,
    Error = 3,
    Warning = 4,
    Notice = 5,
    Info = 6,
}

/// The process is about to end, or a part of it has.
pub fn critical(what: impl Display) {
    tell(Level::Critical, &what);
}

/// Something does not work.
pub fn error(what: impl Display) {
    tell(Level::Error, &what);
}

/// Something is not as it should be; the box goes on.
pub fn warning(what: impl Display) {
    tell(Level::Warning, &what);
}

/// Something has changed, as it should.
pub fn notice(what: impl Display) {
    tell(Level::Notice, &what);
}

/// Something ordinary.
pub fn info(what: impl Display) {
    tell(Level::Info, &what);
}

fn tell(level: Level, what: &impl Display) {
    let text = what.to_string();
    last_events::note(&text);
    write(level, &text);
}

/// Only to the output. Whether somebody reads it or not, the box runs.
pub(crate) fn write_critical(text: &str) {
    write(Level::Critical, text);
}

fn write(level: Level, text: &str) {
    let lines = lines(to_journal().then_some(level), text);
    let _ = io::stderr().lock().write_all(lines.as_bytes());
}

fn lines(level: Option<Level>, text: &str) -> String {
    let priority = level.map_or(String::new(), |level| format!("<{}>", level as u8));
    let mut lines = String::new();
    for (number, line) in text.lines().enumerate() {
        let who = if number == 0 { "windlass: " } else { "" };
        lines += &format!("{priority}{who}{line}\n");
    }
    lines
}

/// Whether the standard error output is the socket of the journal that the environment names.
pub(crate) fn to_journal() -> bool {
    static KNOWN: OnceLock<bool> = OnceLock::new();
    *KNOWN.get_or_init(|| {
        let named = std::env::var("JOURNAL_STREAM").unwrap_or_default();
        let output = fs::metadata("/proc/self/fd/2");
        output.is_ok_and(|output| named == format!("{}:{}", output.dev(), output.ino()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_its_priority_in_the_journal_and_none_elsewhere() {
        let two = "it is so:\n  mend it";
        assert_eq!(lines(None, two), "windlass: it is so:\n  mend it\n");
        let journal = lines(Some(Level::Warning), two);
        assert_eq!(journal, "<4>windlass: it is so:\n<4>  mend it\n");
    }
}
