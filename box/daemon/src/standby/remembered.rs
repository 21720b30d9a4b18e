//! The connections of this box, kept for a process that follows this one, whatever becomes of it: in memory, and in a file
//! beside the control socket.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crc::{CRC_32_ISCSI, Crc};
use serde::{Deserialize, Serialize};
use windlass_engine::{Engine, Introduction};
use windlass_io::monotonic_ns;
use windlass_wire::FlowKey;

use crate::introducing::Told;
use crate::regular_file;

/// Connections that are kept. When there are more, those go of which nothing has been told for longest: after a restart they are
/// not governed.
const CONNECTIONS_MAX: usize = 65_536;
/// So many go at once.
const GO_AT_ONCE: usize = CONNECTIONS_MAX / 8;
/// Between two writings.
const WRITE_EVERY: Duration = Duration::from_secs(1);
/// What is older says too little.
const AGE_MAX_NS: u64 = 300_000_000_000;
/// The largest file that is read: as many connections, with all that two boxes tell each other.
const FILE_MAX_BYTES: u64 = 64 << 20;
const CHECKSUM: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

/// What must be as it was for the rest to mean anything.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    format: u16,
    /// The clock begins anew with each boot.
    boot: String,
    inside: String,
    outside: String,
}

impl Header {
    fn own(interfaces: [&str; 2]) -> Header {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Header {
            format: Engine::STATE_FORMAT,
            boot: boot.trim().to_owned(),
            inside: interfaces[0].to_owned(),
            outside: interfaces[1].to_owned(),
        }
    }
}

/// A connection, and when it was told last.
struct Entry {
    bytes: Vec<u8>,
    told_at: Instant,
}

/// The connections, as they were last told.
pub(super) struct Remembered {
    path: PathBuf,
    header: Header,
    all: HashMap<FlowKey, Entry>,
    changed: bool,
    written_at: Instant,
    /// Why the file cannot be written.
    failed: bool,
}

impl Remembered {
    /// Beside this control socket, for a box between these interfaces.
    pub(super) fn new(control: &Path, interfaces: [&str; 2]) -> Remembered {
        let mut path = control.as_os_str().to_owned();
        path.push(".connections");
        Remembered {
            path: path.into(),
            header: Header::own(interfaces),
            all: HashMap::new(),
            changed: false,
            written_at: Instant::now(),
            failed: false,
        }
    }

    /// What a process before this one has left, if it is of use.
    pub(super) fn read(&mut self) -> Vec<Introduction> {
        let Ok(bytes) = regular_file::read_own(&self.path, FILE_MAX_BYTES) else {
            return Vec::new();
        };
        type File = (Header, u64, Vec<Vec<u8>>);
        let Ok((header, at, all)) = postcard::from_bytes_crc32::<File>(&bytes, CHECKSUM.digest())
        else {
            return Vec::new();
        };
        // A clock that was ahead of this one is another: nobody knows how old it is.
        let age = monotonic_ns().checked_sub(at);
        if header != self.header || age.is_none_or(|age| age > AGE_MAX_NS) {
            return Vec::new();
        }
        let known = all.into_iter().filter_map(|bytes| {
            let introduction = Introduction::from_bytes(&bytes)?;
            // Those that stay silent are for the process after this one, too.
            self.keep(introduction.key, bytes);
            Some(introduction)
        });
        known.collect()
    }

    /// Takes in what the workers tell.
    pub(super) fn note(&mut self, told: &Told) {
        self.changed |= !told.introductions.is_empty() || !told.ended.is_empty();
        for each in &told.introductions {
            self.keep(each.key, each.to_bytes());
        }
        for key in &told.ended {
            self.all.remove(key);
        }
    }

    fn keep(&mut self, key: FlowKey, bytes: Vec<u8>) {
        if self.all.len() >= CONNECTIONS_MAX && !self.all.contains_key(&key) {
            let mut told: Vec<Instant> = self.all.values().map(|each| each.told_at).collect();
            let (_, oldest, _) = told.select_nth_unstable(GO_AT_ONCE);
            let oldest = *oldest;
            self.all.retain(|_, each| each.told_at > oldest);
        }
        let told_at = Instant::now();
        self.all.insert(key, Entry { bytes, told_at });
    }

    /// All of them, for workers that know none.
    pub(super) fn all(&self) -> Vec<Introduction> {
        let all = self.all.values();
        all.filter_map(|each| Introduction::from_bytes(&each.bytes))
            .collect()
    }

    /// Writes the file, now and then. The error is told once.
    pub(super) fn write(&mut self) -> Result<(), String> {
        if !self.changed || self.written_at.elapsed() < WRITE_EVERY {
            return Ok(());
        }
        (self.changed, self.written_at) = (false, Instant::now());
        let written = self.write_now();
        let failed = std::mem::replace(&mut self.failed, written.is_err());
        written.or_else(|e| match failed {
            true => Ok(()),
            false => Err(format!("{}: {e}", self.path.display())),
        })
    }

    /// Writes it for the last time. An error is of no use to anybody any more.
    pub(super) fn finish(&self) {
        let _ = self.write_now();
    }

    fn write_now(&self) -> io::Result<()> {
        let all: Vec<&[u8]> = self
            .all
            .values()
            .map(|each| each.bytes.as_slice())
            .collect();
        let state = (&self.header, monotonic_ns(), all);
        let bytes =
            postcard::to_allocvec_crc32(&state, CHECKSUM.digest()).map_err(io::Error::other)?;
        let mut new = self.path.as_os_str().to_owned();
        new.push(".new");
        // What somebody else has put there is not written to.
        match fs::remove_file(&new) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut file: File = options.open(&new)?;
        file.write_all(&bytes)?;
        fs::rename(&new, &self.path)
    }
}
