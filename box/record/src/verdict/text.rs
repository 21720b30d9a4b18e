//! A line for each connection.

use std::fmt;

use super::{Connection, Finding, Outcome, Verdict};

const NANOS_PER_SECOND: u64 = 1_000_000_000;

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for connection in &self.connections {
            writeln!(f, "{connection}")?;
        }
        if self.connections.is_empty() {
            writeln!(f, "cannot tell: there is no TCP connection in it")?;
        }
        let not_read = [
            (
                self.not_captured,
                "packets were not captured, as the file says itself",
            ),
            (
                self.unreadable,
                "packets cannot be read: fragments, or cut off within their headers",
            ),
            (self.others, "packets are not TCP, and are not judged"),
        ];
        for (count, what) in not_read.into_iter().filter(|(count, _)| *count > 0) {
            writeln!(f, "note: {count} {what}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.outcome() {
            Outcome::Kept => "ok",
            Outcome::Broken => "BROKEN",
            Outcome::Unknown => "cannot tell",
        };
        write!(f, "{}: {word}", self.connection)?;
        if let Some(why) = self.unknown {
            return write!(f, ": {why}");
        }
        for finding in self.findings.iter().filter(|finding| finding.broken > 0) {
            broken(f, finding)?;
        }
        for finding in self
            .findings
            .iter()
            .filter(|f| f.unknown > 0 && f.broken == 0)
        {
            let why = finding.why_unknown.as_deref().unwrap_or_default();
            write!(
                f,
                "; {} cannot be told {} time(s): {why}",
                finding.rule, finding.unknown
            )?;
        }
        let is_kept = |finding: &&Finding| finding.broken == 0 && finding.unknown == 0;
        let kept: Vec<&str> = self
            .findings
            .iter()
            .filter(is_kept)
            .map(|f| f.rule)
            .collect();
        if !kept.is_empty() {
            write!(f, "; kept: {}", kept.join(" "))?;
        }
        write!(f, "; {} packets came, {} left", self.came, self.left)?;
        for (count, how) in [
            (self.compared_by_bytes, "byte for byte"),
            (self.compared_by_sums, "by its sum"),
        ] {
            if count > 0 {
                write!(f, "; payload of {count} segments compared {how}")?;
            }
        }
        Ok(())
    }
}

fn broken(f: &mut fmt::Formatter<'_>, finding: &Finding) -> fmt::Result {
    for place in &finding.places {
        let (seconds, nanos) = (
            place.time_ns / NANOS_PER_SECOND,
            place.time_ns % NANOS_PER_SECOND,
        );
        write!(
            f,
            "; {} at packet {} ({seconds}.{nanos:09}): {}",
            finding.rule, place.packet, place.what
        )?;
    }
    let named = finding.places.len() as u64;
    match finding.broken - named {
        0 => Ok(()),
        more => write!(f, "; {} {more} times more", finding.rule),
    }
}
