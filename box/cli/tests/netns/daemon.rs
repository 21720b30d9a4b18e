//! Windlass in the middle.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::{Lab, PROGRAM};

/// The kernel takes XDP programs off interfaces under a lock that making and removing namespaces
/// holds too: on a busy machine that is seconds.
const END_TIMEOUT: Duration = Duration::from_secs(20);

/// `windlass run` in the middle namespace, and what asks it.
pub struct Daemon {
    pub child: Child,
    pub control: PathBuf,
    /// Its folder of plugins.
    pub plugins: PathBuf,
    /// Its standard error output so far.
    said: Arc<Mutex<String>>,
}

impl Daemon {
    /// `arguments` say where it stands, and more.
    pub fn start(lab: &Lab, arguments: &[&str]) -> Daemon {
        Daemon::with(lab, &[&["--algorithm", "bbr"], arguments].concat())
    }

    /// With no more than these.
    pub fn with(lab: &Lab, arguments: &[&str]) -> Daemon {
        Daemon::within(lab, "m", arguments)
    }

    /// With a monotonic clock that is ahead of the machine's by so many seconds (time_namespaces(7)).
    pub fn ahead(lab: &Lab, seconds: u32, arguments: &[&str]) -> Daemon {
        let mut command = lab.command("m", "unshare");
        command.args(["--time", "--monotonic", &seconds.to_string(), PROGRAM]);
        let arguments = [&["--algorithm", "bbr"], arguments].concat();
        Daemon::launch(lab, command, "m", &arguments)
    }

    /// In another namespace.
    pub fn within(lab: &Lab, place: &str, arguments: &[&str]) -> Daemon {
        Daemon::launch(lab, lab.command(place, PROGRAM), place, arguments)
    }

    /// `command` is the program, in its place.
    fn launch(lab: &Lab, mut command: Command, place: &str, arguments: &[&str]) -> Daemon {
        let control = lab.folder.path().join(match place {
            "m" => "w.sock".to_owned(),
            other => format!("w-{other}.sock"),
        });
        let plugins = lab.folder.path().join("plugins");
        command
            .args(["run", "--control"])
            .arg(&control)
            .args(arguments)
            .env("WINDLASS_PLUGINS", &plugins)
            // Where a core dump would be written.
            .current_dir(lab.folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let errors = BufReader::new(child.stderr.take().unwrap());
        let said = Arc::new(Mutex::new(String::new()));
        let heard = Arc::clone(&said);
        thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                eprintln!("{line}");
                heard.lock().unwrap().push_str(&format!("{line}\n"));
            }
        });
        let output = BufReader::new(child.stdout.take().unwrap());
        let (ready, is_ready) = mpsc::channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                eprintln!("{line}");
                if line.starts_with("windlass: ready: ") {
                    let _ = ready.send(());
                }
            }
        });
        let daemon = Daemon {
            child,
            control,
            plugins,
            said,
        };
        is_ready
            .recv_timeout(Duration::from_secs(15))
            .expect("windlass is not ready");
        daemon
    }

    pub fn ask(&self, arguments: &[&str]) -> String {
        let output = Command::new(PROGRAM)
            .args(arguments)
            .arg("--control")
            .arg(&self.control)
            .env("WINDLASS_PLUGINS", &self.plugins)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.ask(arguments)).unwrap()
    }

    /// Asks, and gives what it says when it refuses.
    pub fn refused(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).arg("--control").arg(&self.control);
        let output = command.output().unwrap();
        assert!(!output.status.success(), "{arguments:?} succeeds");
        String::from_utf8(output.stderr).unwrap()
    }

    pub fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// Waits until it has said this on its standard error output.
    pub fn wait_said(&self, what: &str) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while !self.said().contains(what) {
            assert!(Instant::now() < deadline, "it does not say: {what}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until the status, in which a worker may be about to end, is so.
    pub fn wait_status(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + Duration::from_secs(15);
        loop {
            let mut command = Command::new(PROGRAM);
            command
                .args(["status", "-j", "--control"])
                .arg(&self.control);
            let output = command.output().unwrap();
            let status = serde_json::from_slice(&output.stdout).unwrap_or_default();
            if is_so(&status) {
                return status;
            }
            assert!(Instant::now() < deadline, "not {what}: {status}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The flow from this server's port.
    pub fn flow(&self, port: u16) -> Value {
        let flows = self.json(&["flow", "show", "-j"]);
        let from = format!("10.77.0.1:{port}>");
        let mut flows = flows.as_array().unwrap().iter();
        let found = flows.find(|f| f["flow"].as_str().unwrap().starts_with(&from));
        found.unwrap_or_else(|| panic!("no flow {from}")).clone()
    }

    pub fn counter(&self, group: &str, name: &str) -> u64 {
        self.json(&["counters", "-j"])[group][name]
            .as_u64()
            .unwrap()
    }

    /// Sends the signal and waits for the end.
    pub fn end(mut self, signal: Signal) -> Option<i32> {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
        let deadline = Instant::now() + END_TIMEOUT;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("windlass does not end");
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
