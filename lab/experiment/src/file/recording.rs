//! Recorded rates: the files that `link.recorded` and `link.ack_recorded` name.

use std::fs;
use std::path::Path;

use windlass_policy::Wrong;
use windlass_policy::read::Value;

use crate::setup::Recording;

/// Longest file, bytes.
const FILE_MAX_BYTES: u64 = 16 << 20;
const DELAY_MAX_MS: u32 = 60_000;

/// The recordings of a run.
pub(super) struct Recordings<'f> {
    /// Where their files are.
    folder: &'f Path,
    /// By index.
    pub all: Vec<Recording>,
}

impl<'f> Recordings<'f> {
    /// None yet.
    pub(super) fn new(folder: &'f Path) -> Recordings<'f> {
        let all = Vec::new();
        Recordings { folder, all }
    }

    /// The index of the one that `value` names.
    pub(super) fn add(&mut self, value: &Value<'_>) -> Result<usize, Wrong> {
        self.all.push(read(value, self.folder)?);
        Ok(self.all.len() - 1)
    }
}

/// Reads a recording. Its path is relative to `folder`.
fn read(value: &Value<'_>, folder: &Path) -> Result<Recording, Wrong> {
    let name = value.text("cellular.trace")?;
    let file = folder.join(name);
    let wrong = |what: String, help: &str| Wrong::new(value.span(), what, help);
    let size = fs::metadata(&file).map(|m| m.len());
    if size.is_ok_and(|size| size > FILE_MAX_BYTES) {
        let what = format!("{} is longer than {FILE_MAX_BYTES} bytes", file.display());
        return Err(wrong(
            what,
            "cut it: a recording is played over and over again",
        ));
    }
    let text = fs::read_to_string(&file).map_err(|error| {
        let what = format!("cannot read {}: {error}", file.display());
        wrong(what, "give the path from the folder of this file")
    })?;
    parse(&text).map_err(|(line, what)| {
        let what = format!("{} in line {line} of {}", what, file.display());
        let help = "each line has the ms at which a full frame could leave, and perhaps the additional delay in ms: \
                    12 or 12 30";
        wrong(what, help)
    })
}

/// The number of a bad line and what is bad about it.
fn parse(text: &str) -> Result<Recording, (usize, &'static str)> {
    let mut recording = Recording::default();
    let mut lines = 0;
    for (number, line) in text.lines().enumerate().map(|(n, line)| (n + 1, line)) {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let Some(at) = words.next() else { continue };
        let at = at.parse().map_err(|_| (number, "no time in whole ms"))?;
        if recording.at_ms.last().is_some_and(|last| at < *last) {
            return Err((number, "a time before the one above"));
        }
        if let Some(delay) = words.next() {
            let delay = delay.parse().ok().filter(|ms| *ms <= DELAY_MAX_MS);
            recording
                .delay_ms
                .push(delay.ok_or((number, "no delay in whole ms"))?);
        }
        if words.next().is_some() {
            return Err((number, "a third word"));
        }
        recording.at_ms.push(at);
        lines = number;
    }
    if recording.at_ms.last().is_none_or(|last| *last == 0) {
        return Err((lines, "no time above 0"));
    }
    if !recording.delay_ms.is_empty() && recording.delay_ms.len() != recording.at_ms.len() {
        return Err((lines, "a delay on some lines only"));
    }
    Ok(recording)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_a_line_and_perhaps_a_delay() {
        let plain = parse("0\n3\n3\n\n10 # the end\n").expect("a recording");
        assert_eq!((plain.at_ms, plain.delay_ms), (vec![0, 3, 3, 10], vec![]));
        let delayed = parse("1 20\n5 30\n").expect("a recording");
        assert_eq!(delayed.delay_ms, [20, 30]);
    }

    #[test]
    fn bad_lines_are_named() {
        let line = |text| parse(text).expect_err(text).0;
        assert_eq!(line("1\nx\n"), 2);
        assert_eq!(line("5\n4\n"), 2);
        assert_eq!(line("1 2 3\n"), 1);
        assert_eq!(line("1\n2 -3\n"), 2);
        assert_eq!(line("1\n2 3\n"), 2, "on some lines only");
        assert_eq!(line("0\n0\n"), 2);
        assert_eq!(line(""), 0);
    }
}
