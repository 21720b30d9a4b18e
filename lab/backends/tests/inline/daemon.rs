//! `windlass run` on the box: started, asked, ended by a signal.
#![allow(dead_code)] // Each of the tests uses a part of it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use windlass_lab::topology::{INSIDE, OUTSIDE};

use crate::lab::Lab;
use crate::program::program;

const READY: &str = "windlass: ready: ";
const START_TIMEOUT: Duration = Duration::from_secs(20);
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Dropping it kills it.
pub struct Daemon {
    program: PathBuf,
    child: Child,
    control: PathBuf,
    output: PathBuf,
}

impl Daemon {
    /// Starts it with this configuration file and waits until it governs.
    pub fn start(lab: &Lab, config: &str) -> Daemon {
        Daemon::start_with(lab, config, &[])
    }

    /// The same, with more words on its command line.
    pub fn start_with(lab: &Lab, config: &str, more: &[&str]) -> Daemon {
        Daemon::start_under(lab, config, more, &[])
    }

    /// The same, with these variables in its environment.
    pub fn start_under(
        lab: &Lab,
        config: &str,
        more: &[&str],
        variables: &[(&str, &Path)],
    ) -> Daemon {
        let file = |name: &str| lab.folder.path().join(name);
        let (control, output) = (file("control.sock"), file("windlass.log"));
        let text = format!("version = 1\n{config}");
        std::fs::write(file("windlass.toml"), text).expect("written");
        let log = File::create(&output).expect("a log");
        let program = program();
        let mut command = lab.topology.middle.command(&program);
        command.envs(variables.iter().copied());
        command.args(["run", "--inside", INSIDE, "--outside", OUTSIDE]);
        command.args(["--algorithm", "bbr", "--mode", "enforce", "--config"]);
        command
            .arg(file("windlass.toml"))
            .arg("--control")
            .arg(&control)
            .args(more);
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log);
        let child = command.spawn().expect("cannot run ip");
        let mut daemon = Daemon {
            program,
            child,
            control,
            output,
        };
        daemon.wait_until_ready();
        daemon
    }

    fn wait_until_ready(&mut self) {
        let deadline = Instant::now() + START_TIMEOUT;
        while !self.said().lines().any(|l| l.starts_with(READY)) {
            let ended = self.child.try_wait().expect("a child");
            assert_eq!(ended, None, "windlass ended: {}", self.said());
            assert!(Instant::now() < deadline, "not ready: {}", self.said());
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// What it has said and complained of.
    pub fn said(&self) -> String {
        std::fs::read_to_string(&self.output).unwrap_or_default()
    }

    /// What the program answers to these arguments.
    pub fn ask(&self, arguments: &[&str]) -> String {
        self.try_ask(arguments).expect("an answer")
    }

    /// The same, or why it refuses.
    pub fn try_ask(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let mut command = Command::new(&self.program);
        command.args(arguments).arg("--control").arg(&self.control);
        windlass_lab::command::run(&mut command)
    }

    /// The configuration file that it was started with.
    pub fn config(&self) -> String {
        let path = self.output.with_file_name("windlass.toml");
        path.to_string_lossy().into_owned()
    }

    /// Replaces that file.
    pub fn write_config(&self, config: &str) {
        std::fs::write(self.config(), format!("version = 1\n{config}")).expect("written");
    }

    /// Has it read that file again, and waits until it has said so. What it said before does not
    /// count: `policy apply` says the same of its own file.
    pub fn hang_up(&self, said: &str) {
        let before = self.said().len();
        kill(self.pid(), Signal::SIGHUP).expect("a process");
        let deadline = Instant::now() + STOP_TIMEOUT;
        while !self.said()[before..].contains(said) {
            assert!(Instant::now() < deadline, "no \"{said}\": {}", self.said());
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Its process.
    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }

    /// Memory that it occupies; 0 when it has ended.
    pub fn resident_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok());
        kilobytes.unwrap_or(0) << 10
    }

    /// Files that it has open.
    pub fn open_files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.pid())).map_or(0, Iterator::count)
    }

    /// `windlass counters -j`.
    pub fn counters(&self) -> Value {
        serde_json::from_str(&self.ask(&["counters", "-j"])).expect("JSON")
    }

    /// Whether it runs; it may have been ended by others.
    pub fn runs(&mut self) -> bool {
        self.child.try_wait().expect("a child").is_none()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).expect("a process");
    }

    /// Has it stand still for so long.
    pub fn stop_for(&self, time: Duration) {
        let pid = self.pid();
        kill(pid, Signal::SIGSTOP).expect("a process");
        std::thread::sleep(time);
        kill(pid, Signal::SIGCONT).expect("a process");
    }

    /// Sends the signal and waits for the end: in order, unless it is `SIGKILL`.
    pub fn end(&mut self, signal: Signal) {
        let running = self.child.try_wait().expect("a child").is_none();
        assert!(running, "windlass ended on its own: {}", self.said());
        kill(self.pid(), signal).expect("a process");
        let deadline = Instant::now() + STOP_TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                let killed = signal == Signal::SIGKILL;
                assert!(killed || status.success(), "{status}: {}", self.said());
                return;
            }
            assert!(Instant::now() < deadline, "windlass does not end");
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
