//! The last events in a file beside the control socket. It is there only while the process runs: whatever ends it, be it SIGKILL,
//! leaves the file, and the next process tells what is in it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{EVENTS_MAX, Ring, seconds};
use crate::regular_file;
use crate::settings::unix_ns;

/// The longest file that is read.
const FILE_MAX_BYTES: u64 = 16 << 20;
const NANOS_PER_MILLI: u64 = 1_000_000;

/// The file.
pub(super) struct Kept {
    path: PathBuf,
    file: File,
    /// Events in it.
    count: usize,
}

impl Kept {
    pub(super) fn path(control: &Path) -> PathBuf {
        let mut path = control.as_os_str().to_owned();
        path.push(".events");
        path.into()
    }

    /// A new file, with the events that there are.
    pub(super) fn begin(path: PathBuf, ring: &Ring) -> io::Result<Kept> {
        // What somebody else has put there is not written to.
        match fs::remove_file(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut kept = Kept {
            file: options.open(&path)?,
            path,
            count: 0,
        };
        kept.write_all(ring)?;
        Ok(kept)
    }

    fn write_all(&mut self, ring: &Ring) -> io::Result<()> {
        let mut text = format!("process {}\n", std::process::id());
        for (at, what) in &ring.events {
            text += &line(at.elapsed(), what);
        }
        self.count = ring.events.len();
        self.file.write_all(text.as_bytes())
    }

    /// One more event, which the ring has already.
    pub(super) fn push(&mut self, at: Instant, what: &str, ring: &Ring) -> io::Result<()> {
        if self.count < 2 * EVENTS_MAX {
            self.count += 1;
            return self.file.write_all(line(at.elapsed(), what).as_bytes());
        }
        self.file.set_len(0)?;
        io::Seek::rewind(&mut self.file)?;
        self.write_all(ring)
    }

    pub(super) fn remove(self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn line(before: Duration, what: &str) -> String {
    let at = (unix_ns() / NANOS_PER_MILLI).saturating_sub(before.as_millis() as u64);
    let what = what.trim_end().replace('\n', " | ");
    format!("{at} {what}\n")
}

/// What a process has left that was not stopped, in words.
pub(super) fn left_at(path: &Path) -> Option<String> {
    let bytes = regular_file::read_own(path, FILE_MAX_BYTES).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines();
    let process = lines.next()?;
    let events = lines.filter_map(|line| line.split_once(' '));
    let events: Vec<(u64, &str)> = events
        .filter_map(|(at, what)| Some((at.parse().ok()?, what)))
        .collect();
    let forgotten = events.len().saturating_sub(EVENTS_MAX);
    let events = &events[forgotten..];
    let last = events.last().map_or(0, |(at, _)| *at);
    let mut told = format!(
        "{process} has ended without a stop, by a crash or SIGKILL; its last {} event(s):\n",
        events.len()
    );
    for (at, what) in events {
        let before = Duration::from_millis(last.saturating_sub(*at));
        told += &format!("  {:10.3} s before the last: {what}\n", seconds(before));
    }
    Some(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_the_last_events_however_many_there_were() {
        let folder = tempfile::tempdir().unwrap();
        let path = Kept::path(&folder.path().join("w.sock"));
        let mut ring = Ring::default();
        ring.push(Instant::now(), "first");
        let mut kept = Kept::begin(path.clone(), &ring).unwrap();
        let count = 3 * EVENTS_MAX + 7;
        for number in 0..count {
            let what = format!("event\nof {number}");
            ring.push(Instant::now(), &what);
            kept.push(Instant::now(), &what, &ring).unwrap();
        }
        let told = left_at(&path).unwrap();
        assert_eq!(told.lines().count(), 1 + EVENTS_MAX);
        let first = told.lines().nth(1).unwrap();
        assert!(first.ends_with(&format!(": event | of {}", count - EVENTS_MAX)));
        let last = told.lines().last().unwrap();
        assert!(last.ends_with(&format!(
            "0.000 s before the last: event | of {}",
            count - 1
        )));
        let process = format!("process {} has ended without a stop", std::process::id());
        assert!(told.starts_with(&process), "{told}");
        kept.remove();
        assert_eq!(left_at(&path), None);
    }
}
