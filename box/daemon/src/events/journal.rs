//! Events in the journal of systemd, by its native protocol: one datagram an entry, with fields to search by.
//!
//! The crates that speak it have the socket's path fixed. What there is to it is short:
//! <https://systemd.io/JOURNAL_NATIVE_PROTOCOL/>.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::time::Duration;

use super::EventReport;
use crate::log;

/// Where the journal listens.
const SOCKET: &str = "/run/systemd/journal/socket";
/// A variable of the environment that names another socket.
const VARIABLE: &str = "WINDLASS_JOURNAL";
/// The journal takes no longer names of fields.
const NAME_MAX: usize = 64;

/// The journal.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    patience: Duration,
    socket: Option<UnixDatagram>,
}

impl Journal {
    /// The one that the service manager has connected the standard error output with, if it has.
    pub(super) fn of_this_process(patience: Duration) -> Option<Journal> {
        let path = || std::env::var_os(VARIABLE).map_or_else(|| PathBuf::from(SOCKET), Into::into);
        log::to_journal().then(|| Journal::at(path(), patience))
    }

    fn at(path: PathBuf, patience: Duration) -> Journal {
        Journal {
            path,
            patience,
            socket: None,
        }
    }

    /// Sends an entry. If there is no room for it, waits a moment at most, and not at all unless it `waits`.
    pub(super) fn send(&mut self, entry: &[u8], waits: bool) -> io::Result<()> {
        let known = self.socket.take();
        let is_known = known.is_some();
        let socket = known.map_or_else(|| self.connect(), Ok)?;
        socket.set_nonblocking(!waits)?;
        match socket.send(entry) {
            // The journal has been started again, with another socket.
            Err(e) if is_known && is_gone(&e) => self.send(entry, waits),
            sent => {
                self.socket = Some(socket);
                sent.map(drop)
            }
        }
    }

    fn connect(&self) -> io::Result<UnixDatagram> {
        let socket = UnixDatagram::unbound()?;
        socket.connect(&self.path)?;
        socket.set_write_timeout(Some(self.patience))?;
        Ok(socket)
    }
}

fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, NotConnected};
    let kinds = [BrokenPipe, ConnectionRefused, ConnectionReset, NotConnected];
    kinds.contains(&error.kind())
}

/// An event as an entry, with this message.
pub(super) fn entry(event: &EventReport, message: &str) -> Vec<u8> {
    let mut entry = Entry(Vec::new());
    entry.add("MESSAGE", message);
    entry.add("PRIORITY", &(event.severity as u8).to_string());
    entry.add("SYSLOG_IDENTIFIER", "windlass");
    entry.add("WINDLASS_EVENT", event.kind.name());
    let words = [
        ("WINDLASS_FLOW", &event.flow),
        ("WINDLASS_RULE", &event.rule),
        ("WINDLASS_REASON", &event.reason),
    ];
    for (name, word) in words {
        if let Some(word) = word {
            entry.add(name, word);
        }
    }
    for (name, number) in &event.numbers {
        let name = format!("WINDLASS_{}", name.to_uppercase());
        entry.add(&name, &number.to_string());
    }
    if event.suppressed > 0 {
        entry.add("WINDLASS_SUPPRESSED", &event.suppressed.to_string());
    }
    entry.0
}

struct Entry(Vec<u8>);

impl Entry {
    /// `NAME=value` if that is one line. Else the name, the value's length as 64 bits with the lowest first, the value.
    fn add(&mut self, name: &str, value: &str) {
        debug_assert!(is_name(name), "{name} is no name of a field");
        self.0.extend_from_slice(name.as_bytes());
        if value.contains('\n') {
            self.0.push(b'\n');
            self.0
                .extend_from_slice(&(value.len() as u64).to_le_bytes());
        } else {
            self.0.push(b'=');
        }
        self.0.extend_from_slice(value.as_bytes());
        self.0.push(b'\n');
    }
}

fn is_name(name: &str) -> bool {
    let fits = |c: u8| c.is_ascii_uppercase() || c.is_ascii_digit() || c == b'_';
    name.len() <= NAME_MAX
        && name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::super::{EventKind, Severity};
    use super::*;

    fn event(text: &str) -> EventReport {
        EventReport {
            number: 7,
            time_ms: 1,
            kind: EventKind::HandedBack,
            severity: Severity::Notice,
            flow: Some("10.0.0.1:443>192.0.2.7:5555".to_owned()),
            rule: Some("web".to_owned()),
            reason: Some("not_held".to_owned()),
            text: text.to_owned(),
            numbers: [("srtt_us".to_owned(), 20_000)].into(),
            suppressed: 3,
        }
    }

    /// An entry as the journal reads it.
    fn fields(mut entry: &[u8]) -> BTreeMap<String, String> {
        let mut fields = BTreeMap::new();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
        while !entry.is_empty() {
            let end = entry.iter().position(|b| *b == b'\n').expect("a line");
            let (line, rest) = (&entry[..end], &entry[end + 1..]);
            if let Some(equals) = line.iter().position(|b| *b == b'=') {
                fields.insert(text(&line[..equals]), text(&line[equals + 1..]));
                entry = rest;
            } else {
                let (length, rest) = rest.split_first_chunk::<8>().expect("a length");
                let length = usize::try_from(u64::from_le_bytes(*length)).expect("small");
                assert_eq!(rest[length], b'\n');
                fields.insert(text(line), text(&rest[..length]));
                entry = &rest[length + 1..];
            }
        }
        fields
    }

    fn heard(journal: &UnixDatagram) -> BTreeMap<String, String> {
        let mut entry = [0; 4096];
        let length = journal.recv(&mut entry).expect("an entry");
        fields(&entry[..length])
    }

    fn sent(journal: &mut Journal, text: &str) {
        journal
            .send(&entry(&event(text), text), true)
            .expect("sent");
    }

    fn listen(path: &Path) -> UnixDatagram {
        let _ = std::fs::remove_file(path);
        let socket = UnixDatagram::bind(path).expect("a socket");
        let patience = Some(Duration::from_secs(5));
        socket.set_read_timeout(patience).expect("a socket");
        socket
    }

    #[test]
    fn the_journal_hears_fields_to_search_by() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("journal");
        let listening = listen(&path);
        let mut journal = Journal::at(path.clone(), Duration::from_millis(10));
        sent(&mut journal, "handed back: why=so");
        let expected = [
            ("MESSAGE", "handed back: why=so"),
            ("PRIORITY", "5"),
            ("SYSLOG_IDENTIFIER", "windlass"),
            ("WINDLASS_EVENT", "handed_back"),
            ("WINDLASS_FLOW", "10.0.0.1:443>192.0.2.7:5555"),
            ("WINDLASS_RULE", "web"),
            ("WINDLASS_REASON", "not_held"),
            ("WINDLASS_SRTT_US", "20000"),
            ("WINDLASS_SUPPRESSED", "3"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(heard(&listening), expected.into());

        // What could be taken for another field is a value still.
        let forged = "it is so:\nPRIORITY=0\n\n  mend it\n";
        sent(&mut journal, forged);
        let fields = heard(&listening);
        assert_eq!(
            (fields["MESSAGE"].as_str(), fields["PRIORITY"].as_str()),
            (forged, "5")
        );

        // Another journal in its place.
        drop(listening);
        let listening = listen(&path);
        sent(&mut journal, "again");
        assert_eq!(heard(&listening)["MESSAGE"], "again");
    }

    #[test]
    fn a_journal_that_has_stopped_is_not_waited_for_and_one_that_is_not_there_is_told_of() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("journal");
        let mut journal = Journal::at(path.clone(), Duration::from_millis(10));
        let entry = entry(&event("so"), "so");
        assert!(journal.send(&entry, true).is_err());
        let _listening = listen(&path);
        let refused = (0..100_000).find_map(|_| journal.send(&entry, false).err());
        assert_eq!(refused.map(|e| e.kind()), Some(io::ErrorKind::WouldBlock));
        let begun = std::time::Instant::now();
        let refused = journal.send(&entry, true).expect_err("it is full still");
        assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
        assert!(begun.elapsed() < Duration::from_secs(2));
    }
}
