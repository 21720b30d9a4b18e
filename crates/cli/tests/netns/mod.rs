//! Three namespaces in a row, and a transfer from one end to the other.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, setns};
use tempfile::TempDir;

/// A transfer that stands still for so long has failed.
const PATIENCE: Duration = Duration::from_secs(20);
/// One write of the server, bytes; one a millisecond makes 256 Mbit/s.
const CHUNK: usize = 32_768;

/// Namespaces a (10.77.0.1), m and b (10.77.0.2): a0 – m0, m1 – b0. Removed when dropped.
pub struct Lab {
    prefix: String,
    pub folder: TempDir,
}

impl Lab {
    pub fn new() -> Lab {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let lab = Lab {
            prefix: format!("wlcli-{}-{number}", std::process::id()),
            folder: tempfile::tempdir().unwrap(),
        };
        for place in ["a", "m", "b"] {
            lab.ip(&["netns", "add", &lab.name(place)]);
            lab.ip(&["-n", &lab.name(place), "link", "set", "lo", "up"]);
        }
        for (end, interface, port, address) in [
            ("a", "a0", "m0", "10.77.0.1/24"),
            ("b", "b0", "m1", "10.77.0.2/24"),
        ] {
            let (end, middle) = (lab.name(end), lab.name("m"));
            let veth = [
                "link", "add", interface, "netns", &end, "type", "veth", "peer", "name",
            ];
            lab.ip(&[&veth[..], &[port, "netns", &middle]].concat());
            lab.ip(&["-n", &end, "addr", "add", address, "dev", interface]);
            lab.ip(&["-n", &end, "link", "set", interface, "up"]);
            lab.ip(&["-n", &middle, "link", "set", port, "up"]);
        }
        lab
    }

    pub fn name(&self, place: &str) -> String {
        format!("{}-{place}", self.prefix)
    }

    pub fn ip(&self, arguments: &[&str]) {
        let output = Command::new("ip").args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "ip {arguments:?}: {said}");
    }

    /// A command in a namespace.
    pub fn command(&self, place: &str, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name(place), program]);
        command
    }

    /// A thread in a namespace.
    fn spawn<T: Send + 'static>(
        &self,
        place: &str,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let namespace = File::open(format!("/run/netns/{}", self.name(place))).unwrap();
        thread::spawn(move || {
            setns(namespace, CloneFlags::CLONE_NEWNET).unwrap();
            body()
        })
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for place in ["a", "m", "b"] {
            let _ = Command::new("ip")
                .args(["netns", "del", &self.name(place)])
                .status();
        }
    }
}

/// The byte at this place of the stream.
fn pattern(at: u64) -> u8 {
    (at ^ (at >> 8) ^ (at >> 16)) as u8
}

/// A server in a sends until it is told to finish; a client in b checks every byte.
pub struct Transfer {
    received: Arc<AtomicU64>,
    finish: Arc<AtomicBool>,
    server: JoinHandle<u64>,
    client: JoinHandle<u64>,
}

impl Transfer {
    pub fn start(lab: &Lab, port: u16) -> Transfer {
        let finish = Arc::new(AtomicBool::new(false));
        let received = Arc::new(AtomicU64::new(0));
        let (told, count) = (Arc::clone(&finish), Arc::clone(&received));
        let listener = lab.spawn("a", move || TcpListener::bind(("10.77.0.1", port)).unwrap());
        let listener = listener.join().unwrap();
        let server = thread::spawn(move || serve(listener.accept().unwrap().0, &told));
        let connect = move || TcpStream::connect(("10.77.0.1", port)).unwrap();
        let client = lab.spawn("b", move || check(connect(), &count));
        Transfer {
            received,
            finish,
            server,
            client,
        }
    }

    /// Waits until so many more bytes have come.
    pub fn wait_for(&self, bytes: u64) {
        let end = self.received.load(Ordering::Acquire) + bytes;
        let deadline = Instant::now() + PATIENCE;
        while self.received.load(Ordering::Acquire) < end {
            assert!(!self.client.is_finished(), "the connection broke");
            assert!(Instant::now() < deadline, "the transfer stands still");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends it; every byte that was sent must have come.
    pub fn finish(self) {
        self.finish.store(true, Ordering::Release);
        let sent = self.server.join().unwrap();
        assert_eq!(self.client.join().unwrap(), sent);
    }
}

fn serve(mut stream: TcpStream, finish: &AtomicBool) -> u64 {
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    let mut at = 0u64;
    while !finish.load(Ordering::Acquire) {
        let chunk: Vec<u8> = (at..at + CHUNK as u64).map(pattern).collect();
        stream.write_all(&chunk).unwrap();
        at += CHUNK as u64;
        thread::sleep(Duration::from_millis(1));
    }
    at
}

fn check(mut stream: TcpStream, received: &AtomicU64) -> u64 {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut buffer = vec![0; 1 << 16];
    let mut at = 0u64;
    loop {
        let count = match stream.read(&mut buffer) {
            Ok(0) => return at,
            Ok(count) => count,
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(e) => panic!("after {at} bytes: {e}"),
        };
        for (i, byte) in buffer[..count].iter().enumerate() {
            assert_eq!(*byte, pattern(at + i as u64), "byte {}", at + i as u64);
        }
        at += count as u64;
        received.store(at, Ordering::Release);
    }
}
