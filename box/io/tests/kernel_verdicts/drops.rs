//! What the kernel says of packets that it throws away: the tracepoint `skb:kfree_skb`, in a tracing
//! instance of our own.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

/// An EtherType for local experiments (IEEE 802), of a frame that follows each segment. Nobody takes
/// it, so that its own drop tells that the segment has been dealt with.
pub const MARKER: u16 = 0x88b5;

const TRACING: &str = "/sys/kernel/tracing";
const PATIENCE: Duration = Duration::from_secs(5);

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A packet was thrown away.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dropped {
    /// Name of the reason, `TCP_INVALID_SEQUENCE` say.
    pub reason: String,
    /// The kernel's function that did.
    pub place: String,
    /// Whose it was: the socket, by a name of the kernel's.
    pub socket: String,
}

/// A tracing instance that sees the drops of one processor.
pub struct Drops {
    instance: PathBuf,
    pipe: Option<File>,
    unread: String,
}

impl Drops {
    /// Sees the drops of IPv4 packets and of markers on this processor from now on.
    pub fn watch(processor: usize) -> Result<Drops, String> {
        let event = Path::new(TRACING).join("events/skb/kfree_skb");
        if !event.exists() {
            mount_tracefs().map_err(|e| format!("{TRACING} cannot be mounted: {e}"))?;
        }
        let format = fs::read_to_string(event.join("format"))
            .map_err(|e| format!("no tracepoint skb:kfree_skb in {TRACING}: {e}"))?;
        if !format.contains("rx_sk") || !format.contains("TCP_RFC7323_PAWS") {
            return Err("this kernel does not say why it drops TCP segments".to_owned());
        }
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("windlass_{}_{n}", std::process::id());
        let instance = Path::new(TRACING).join("instances").join(name);
        fs::create_dir(&instance).map_err(|e| format!("no tracing instance: {e}"))?;
        let mut drops = Drops {
            instance,
            pipe: None,
            unread: String::new(),
        };
        drops.start(processor, &format).map_err(|e| e.to_string())?;
        Ok(drops)
    }

    fn start(&mut self, processor: usize, format: &str) -> std::io::Result<()> {
        let event = self.instance.join("events/skb/kfree_skb");
        // What the kernel's end sends is for another MAC address, and dropped at the far end.
        let other = number_of(format, "OTHERHOST");
        // Others use this processor as well, and other namespaces. What we send is dealt with in our
        // own name, unless there is so much that the processor's thread for it is woken up.
        let own = nix::unistd::gettid();
        let helper = thread_named(&format!("ksoftirqd/{processor}"));
        let filter = format!(
            "(common_pid == {own} || common_pid == {helper}) && \
             ((protocol == 2048 && reason != {other}) || protocol == {MARKER})"
        );
        fs::write(event.join("filter"), filter)?;
        let pipe = format!("per_cpu/cpu{processor}/trace_pipe");
        self.pipe = Some(
            OpenOptions::new()
                .read(true)
                .custom_flags(libc::O_NONBLOCK)
                .open(self.instance.join(pipe))?,
        );
        fs::write(event.join("enable"), "1")
    }

    /// What was dropped before the next marker.
    pub fn until_marker(&mut self) -> Vec<Dropped> {
        let deadline = Instant::now() + PATIENCE;
        let mut dropped = Vec::new();
        loop {
            while let Some(end) = self.unread.find('\n') {
                let line: String = self.unread.drain(..=end).collect();
                match event(&line) {
                    Some((MARKER, _)) => return dropped,
                    Some((_, drop)) => dropped.push(drop),
                    None => {}
                }
            }
            assert!(Instant::now() < deadline, "the marker is missing");
            self.read();
        }
    }

    fn read(&mut self) {
        let mut bytes = [0; 4096];
        let pipe = self.pipe.as_mut().expect("open");
        match pipe.read(&mut bytes) {
            Ok(got) => self
                .unread
                .push_str(&String::from_utf8_lossy(&bytes[..got])),
            Err(e) if e.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
            Err(e) => panic!("trace_pipe: {e}"),
        }
    }
}

impl Drop for Drops {
    fn drop(&mut self) {
        self.pipe = None;
        let enable = self.instance.join("events/skb/kfree_skb/enable");
        let _ = fs::write(enable, "0");
        if let Err(e) = fs::remove_dir(&self.instance) {
            eprintln!("{} is left: {e}", self.instance.display());
        }
    }
}

/// `... kfree_skb: skbaddr=... protocol=2048 location=tcp_ack+0x1/0x2 reason: TCP_CSUM`
fn event(line: &str) -> Option<(u16, Dropped)> {
    let word = |name: &str| line.split_once(name)?.1.split_whitespace().next();
    let place = word("location=")?.split('+').next()?;
    let dropped = Dropped {
        reason: word("reason: ")?.to_owned(),
        place: place.to_owned(),
        socket: word("rx_sk=")?.to_owned(),
    };
    Some((word("protocol=")?.parse().ok()?, dropped))
}

/// Mounts it for this thread alone: it goes with the thread.
fn mount_tracefs() -> nix::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    mount(
        Some("tracefs"),
        TRACING,
        Some("tracefs"),
        MsFlags::empty(),
        none,
    )
}

/// Number of a thread of the kernel's; 0 if there is none.
fn thread_named(name: &str) -> u32 {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut threads = entries.filter(|entry| {
        let comm = fs::read_to_string(entry.path().join("comm"));
        comm.is_ok_and(|comm| comm.trim_end() == name)
    });
    let found = threads.next().map(|entry| entry.file_name());
    let number = found.and_then(|name| name.to_str()?.parse().ok());
    number.unwrap_or(0)
}

/// Number of a reason by the event's format: `{ 13, "OTHERHOST" }`. 0 (no reason) if it is unknown.
fn number_of(format: &str, reason: &str) -> u32 {
    let before = format.split_once(&format!(", \"{reason}\"")).map(|s| s.0);
    let number = before.and_then(|b| b.rsplit(['{', ' ']).next());
    number.and_then(|n| n.parse().ok()).unwrap_or(0)
}
