//! The two ends of a transfer as processes, with a folder each.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

/// Nothing that a test waits for takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where the programs run.
type InNamespace = Box<dyn Fn(&str) -> Command>;

/// Tests run side by side, but for those that measure time.
static TURN: RwLock<()> = RwLock::new(());

/// What keeps others waiting.
#[allow(dead_code)]
enum Turn {
    Shared(RwLockReadGuard<'static, ()>),
    Alone(RwLockWriteGuard<'static, ()>),
}

/// Folders, and how programs are started at either end.
pub struct Ends {
    folder: TempDir,
    sender: InNamespace,
    receiver: InNamespace,
    listen: String,
    _turn: Turn,
}

impl Ends {
    /// Both on this host.
    pub fn here() -> Ends {
        Ends::at(
            "127.0.0.1:0",
            Box::new(|p| Command::new(p)),
            Box::new(|p| Command::new(p)),
        )
    }

    /// Where these make commands run.
    pub fn at(listen: &str, sender: InNamespace, receiver: InNamespace) -> Ends {
        let turn = TURN.read().unwrap_or_else(PoisonError::into_inner);
        Ends::new(listen, sender, receiver, Turn::Shared(turn))
    }

    /// The same, while no other test runs.
    pub fn alone_at(listen: &str, sender: InNamespace, receiver: InNamespace) -> Ends {
        let turn = TURN.write().unwrap_or_else(PoisonError::into_inner);
        Ends::new(listen, sender, receiver, Turn::Alone(turn))
    }

    fn new(listen: &str, sender: InNamespace, receiver: InNamespace, turn: Turn) -> Ends {
        let folder = tempfile::tempdir().unwrap();
        for end in ["inbox", "outbox"] {
            fs::create_dir(folder.path().join(end)).unwrap();
        }
        Ends {
            folder,
            sender,
            receiver,
            listen: listen.to_owned(),
            _turn: turn,
        }
    }

    pub fn inbox(&self) -> PathBuf {
        self.folder.path().join("inbox")
    }

    pub fn outbox(&self) -> PathBuf {
        self.folder.path().join("outbox")
    }

    pub fn recv(&self, arguments: &[&str]) -> Recv {
        let mut command = (self.receiver)(env!("CARGO_BIN_EXE_windlass-transfer"));
        command.args(["recv", "-j", "--listen", &self.listen, "--dir"]);
        command.arg(self.inbox()).args(arguments);
        Recv::start(command)
    }

    pub fn send(&self, recv: &Recv, arguments: &[&str]) -> Output {
        self.start_send(recv, arguments).wait_with_output().unwrap()
    }

    pub fn start_send(&self, recv: &Recv, arguments: &[&str]) -> Child {
        let pinned = [&["--fingerprint", &recv.fingerprint][..], arguments].concat();
        self.sending(&recv.address, &pinned).spawn().unwrap()
    }

    pub fn send_to(&self, address: &str, arguments: &[&str]) -> Output {
        self.sending(address, arguments).output().unwrap()
    }

    fn sending(&self, address: &str, arguments: &[&str]) -> Command {
        let mut command = (self.sender)(env!("CARGO_BIN_EXE_windlass-transfer"));
        command.args(["send", address]).args(arguments);
        command.stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn hash_of_received(&self, name: &str) -> String {
        sha256sum(&self.inbox().join(name))
    }

    /// Until so much of `file` is there, under its temporary name.
    pub fn wait_for_part(&self, bytes: u64) {
        let part = self.inbox().join(".file.windlass-part");
        let began = Instant::now();
        while fs::metadata(&part).map_or(0, |m| m.len()) < bytes {
            assert!(
                began.elapsed() < PATIENCE,
                "{} does not grow",
                part.display()
            );
            thread::sleep(Duration::from_millis(2));
        }
    }
}

/// A receiver that listens.
pub struct Recv {
    child: Option<Child>,
    pub address: String,
    pub fingerprint: String,
    events: Receiver<Value>,
}

impl Recv {
    fn start(mut command: Command) -> Recv {
        command.stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (told, events) = channel();
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let _ = told.send(serde_json::from_str(&line).unwrap());
            }
        });
        let mut recv = Recv {
            child: Some(child),
            address: String::new(),
            fingerprint: String::new(),
            events,
        };
        let listening = recv.wait_for("listening");
        let text = |key: &str| listening[key].as_str().unwrap().to_owned();
        (recv.address, recv.fingerprint) = (text("address"), text("fingerprint"));
        recv
    }

    /// The next event of this kind; those before it are dropped.
    pub fn wait_for(&self, kind: &str) -> Value {
        loop {
            let event = self.events.recv_timeout(PATIENCE);
            let event = event.unwrap_or_else(|_| panic!("no event {kind}"));
            if event["event"] == kind {
                return event;
            }
        }
    }

    fn signal(&self, signal: Signal) {
        let child = self.child.as_ref().unwrap();
        kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
    }

    pub fn kill(mut self) {
        self.signal(Signal::SIGKILL);
        self.child.take().unwrap().wait().unwrap();
    }

    /// Ends it as a person would; what it told until then.
    pub fn interrupt(mut self) -> Vec<Value> {
        self.signal(Signal::SIGINT);
        self.child.take().unwrap().wait().unwrap();
        self.events.iter().collect()
    }

    /// Until it ends by itself: its exit code, and what it said on stderr.
    pub fn wait(mut self) -> (Option<i32>, String) {
        let mut child = self.child.take().unwrap();
        let mut said = String::new();
        let stderr = child.stderr.as_mut().unwrap();
        stderr.read_to_string(&mut said).unwrap();
        (child.wait().unwrap().code(), said)
    }
}

impl Drop for Recv {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A file that does not compress; its SHA-256.
pub fn write_file(path: &Path, bytes: u64) -> String {
    let mut file = File::create(path).unwrap();
    let mut state = bytes | 1;
    let mut left = bytes;
    let mut chunk = vec![0u8; 1 << 20];
    while left > 0 {
        for word in chunk.chunks_exact_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            word.copy_from_slice(&state.to_le_bytes());
        }
        let len = left.min(chunk.len() as u64) as usize;
        file.write_all(&chunk[..len]).unwrap();
        left -= len as u64;
    }
    sha256sum(path)
}

fn sha256sum(path: &Path) -> String {
    let output = Command::new("sha256sum").arg(path).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().next().unwrap().to_owned()
}

/// Names in a folder, in order.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|e| e.unwrap());
    let mut names: Vec<String> = entries
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

pub fn stdout_json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"))
}
