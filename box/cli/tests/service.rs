//! The service as systemd runs it: its sandbox, its capabilities, its readiness, its watchdog, and what it leaves at its end.

#[allow(dead_code, unused_imports)]
mod netns;
mod program;

use std::fs::{self, File, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use netns::{Lab, MEGABYTE, PLACE, PROGRAM, Transfer, lab};
use nix::sys::ptrace;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

const UNIT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../packaging/systemd/windlass.service"
);
/// The worst that `systemd-analyze security` may say.
const EXPOSURE_MAX: f64 = 2.5;
const NOBODY: u32 = 65_534;
/// What the unit's limits give, for prlimit(1): nice -10 is 30.
const LIMITS: [&str; 3] = ["--memlock=unlimited", "--nice=30", "--rtprio=1"];
/// What gives the same, where this process may not raise its limits (`CAP_SYS_RESOURCE`).
const IN_PLACE_OF_LIMITS: [&str; 2] = ["ipc_lock", "sys_nice"];

fn has(name: &str, arguments: &[&str]) -> bool {
    let there = Command::new(name)
        .args(arguments)
        .output()
        .is_ok_and(|o| o.status.success());
    if !there {
        eprintln!("skipped: {name} {arguments:?} does not work here");
    }
    there
}

#[test]
fn systemd_finds_the_sandbox_tight() {
    if !has("systemd-analyze", &["security", "--offline=true", UNIT]) {
        return;
    }
    let said = Command::new("systemd-analyze")
        .args(["security", "--offline=true", UNIT])
        .output()
        .unwrap();
    let said = program::stdout(&said);
    let line = said
        .lines()
        .find(|line| line.contains("Overall exposure level"))
        .unwrap();
    let level = line
        .split_whitespace()
        .find_map(|word| word.parse::<f64>().ok());
    assert!(level.is_some_and(|level| level <= EXPOSURE_MAX), "{line}");
}

#[test]
fn systemd_understands_every_line_of_the_unit() {
    if !has("systemd-analyze", &["--version"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let unit = folder.path().join("windlass.service");
    let text = fs::read_to_string(UNIT)
        .unwrap()
        .replace("/usr/bin/windlass", PROGRAM);
    // The pages are not installed here.
    let lines = text
        .lines()
        .filter(|line| !line.starts_with("Documentation="));
    fs::write(
        &unit,
        lines.map(|line| format!("{line}\n")).collect::<String>(),
    )
    .unwrap();
    let said = Command::new("systemd-analyze")
        .arg("verify")
        .arg(&unit)
        .output()
        .unwrap();
    let said = program::stderr(&said);
    assert!(!said.contains("windlass"), "{said}");
}

/// The capabilities that a line of the unit names, as setpriv(1) has them.
fn capabilities(key: &str) -> Vec<String> {
    let text = fs::read_to_string(UNIT).unwrap();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    let names = line.unwrap().split(' ');
    names
        .map(|name| name.trim_start_matches("CAP_").to_lowercase())
        .collect()
}

/// `windlass run` in the middle, and the service manager's end of its socket.
struct Service {
    child: Child,
    heard: UnixDatagram,
    /// All that it has heard.
    all: String,
    said: PathBuf,
    control: PathBuf,
}

impl Service {
    /// As nobody, with these capabilities only.
    fn start(lab: &Lab, capabilities: &[String], environment: &[(&str, &str)]) -> Service {
        let folder = lab.folder.path();
        fs::set_permissions(folder, Permissions::from_mode(0o777)).unwrap();
        let socket = folder.join("notify");
        let _ = fs::remove_file(&socket);
        let heard = UnixDatagram::bind(&socket).unwrap();
        fs::set_permissions(&socket, Permissions::from_mode(0o777)).unwrap();
        heard
            .set_read_timeout(Some(Duration::from_millis(100)))
            .unwrap();
        let (said, control) = (folder.join("said"), folder.join("w.sock"));
        let mut set: Vec<&str> = capabilities.iter().map(String::as_str).collect();
        let raised = Command::new("prlimit").args(LIMITS).arg("true").output();
        let may_raise = raised.unwrap().status.success();
        if !may_raise {
            eprintln!("limits cannot be raised here: {IN_PLACE_OF_LIMITS:?} are in their place");
            set.extend(IN_PLACE_OF_LIMITS);
        }
        let set: String = set.iter().map(|name| format!(",+{name}")).collect();
        let mut command = lab.command("m", "prlimit");
        command.args(LIMITS.iter().filter(|_| may_raise));
        let ids = [format!("--reuid={NOBODY}"), format!("--regid={NOBODY}")];
        command.arg("setpriv").args(ids);
        command.args(["--clear-groups", "--no-new-privs"]);
        for kind in ["inh-caps", "ambient-caps", "bounding-set"] {
            command.arg(format!("--{kind}=-all{set}"));
        }
        command
            .arg(PROGRAM)
            .args(["run", "--algorithm", "bbr", "--control"])
            .arg(&control)
            .args(PLACE);
        command
            .env("NOTIFY_SOCKET", &socket)
            .env("WINDLASS_PLUGINS", "/nowhere")
            .envs(environment.iter().copied());
        command
            .stdout(Stdio::null())
            .stderr(File::create(&said).unwrap());
        Service {
            child: command.spawn().unwrap(),
            heard,
            all: String::new(),
            said,
            control,
        }
    }

    /// Whether the manager hears this within the time, before the process ends.
    fn hears(&mut self, what: &str, within: Duration) -> bool {
        let end = Instant::now() + within;
        let mut buffer = [0; 4096];
        while Instant::now() < end {
            match self.heard.recv(&mut buffer) {
                Ok(n) => {
                    let message = String::from_utf8_lossy(&buffer[..n]);
                    self.all += &message;
                    if message.lines().any(|line| line.starts_with(what)) {
                        return true;
                    }
                }
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    if self.child.try_wait().unwrap().is_some() {
                        return false;
                    }
                }
                Err(e) => panic!("{e}"),
            }
        }
        false
    }

    fn is_ready(&mut self) -> bool {
        self.hears("READY=1", Duration::from_secs(15))
    }

    /// `ip netns exec`, `prlimit` and `setpriv` become what they start.
    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }

    fn worker(&self) -> Pid {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.pid())).unwrap();
        let is_worker = |task: &Path| {
            fs::read_to_string(task.join("comm")).is_ok_and(|comm| comm.trim() == "worker")
        };
        let task = tasks
            .map(|task| task.unwrap().path())
            .find(|task| is_worker(task))
            .expect("a worker");
        Pid::from_raw(task.file_name().unwrap().to_str().unwrap().parse().unwrap())
    }

    fn ended_within(&mut self, within: Duration) -> ExitStatus {
        let end = Instant::now() + within;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < end, "it does not end: {}", self.said());
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn said(&self) -> String {
        fs::read_to_string(&self.said).unwrap()
    }

    fn ask(&self, arguments: &[&str]) -> String {
        let mut all = arguments.to_vec();
        all.extend(["--control", self.control.to_str().unwrap()]);
        let answer = program::windlass(&all);
        assert!(
            answer.status.success(),
            "{arguments:?}: {}",
            program::stderr(&answer)
        );
        program::stdout(&answer)
    }

    /// Until an event of this kind has been told.
    fn waits_for_event(&self, kind: &str) {
        let wanted = format!("\"kind\":\"{kind}\"");
        let deadline = Instant::now() + Duration::from_secs(10);
        while !self.ask(&["events", "-j"]).contains(&wanted) {
            assert!(Instant::now() < deadline, "no {kind}: {}", self.said());
            thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A lab, where there are the programs that take privileges away.
fn lab_without_privileges() -> Option<Lab> {
    let tools = [("setpriv", "--version"), ("prlimit", "--version")];
    tools
        .iter()
        .all(|(name, flag)| has(name, &[flag]))
        .then(lab)
        .flatten()
}

#[test]
fn the_capabilities_of_the_unit_are_enough_and_each_is_needed() {
    let Some(lab) = lab_without_privileges() else {
        return;
    };
    let all = capabilities("CapabilityBoundingSet");
    assert_eq!(all, capabilities("AmbientCapabilities"));
    let mut service = Service::start(&lab, &all, &[]);
    assert!(service.is_ready(), "{}", service.said());
    let said = service.said();
    assert!(
        !said.contains("CAP_SYS_NICE"),
        "the limit is enough: {said}"
    );
    let transfer = Transfer::start(&lab, 8001);
    transfer.wait_for(MEGABYTE);
    transfer.finish();
    let taken = service.ask(&["counters", "-j"]);
    let taken: serde_json::Value = serde_json::from_str(&taken).unwrap();
    assert!(taken["xdp"]["taken"].as_u64().unwrap() > 100, "{taken}");
    drop(service);
    for lacking in &all {
        let rest: Vec<String> = all
            .iter()
            .filter(|name| *name != lacking)
            .cloned()
            .collect();
        let mut service = Service::start(&lab, &rest, &[]);
        assert!(!service.is_ready(), "it is ready without {lacking}");
        assert!(
            service.said().contains(&lacking.to_uppercase()),
            "{lacking}: {}",
            service.said()
        );
    }
}

/// A thread that stands still until this is dropped. A process of which one is traced cannot be waited for.
struct Stopped(Pid);

impl Stopped {
    fn stop(thread: Pid) -> Stopped {
        ptrace::attach(thread).unwrap();
        waitpid(thread, Some(WaitPidFlag::__WALL)).unwrap();
        Stopped(thread)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = ptrace::detach(self.0, None);
    }
}

#[test]
fn a_worker_that_stands_still_starves_the_watchdog_and_the_last_events_are_told() {
    let Some(lab) = lab_without_privileges() else {
        return;
    };
    let limit = Duration::from_secs(4);
    let usec = limit.as_micros().to_string();
    let all = capabilities("CapabilityBoundingSet");
    let mut service = Service::start(&lab, &all, &[("WATCHDOG_USEC", usec.as_str())]);
    assert!(service.is_ready(), "{}", service.said());
    assert!(service.hears("WATCHDOG=1", limit / 2));
    // It may come before the others or after them.
    let status = "STATUS=governing, m0 > m1, 1 worker(s)";
    let told = service.all.contains(status) || service.hears(status, limit);
    assert!(told, "{}", service.all);
    service.ask(&["bypass", "on"]);
    // The thread alone: all others go on, and the socket answers.
    let stopped = Stopped::stop(service.worker());
    // What it did before counts once more: it is looked four times within the limit.
    while service.hears("WATCHDOG=1", limit / 2) {}
    assert!(!service.hears("WATCHDOG=1", limit), "nobody else feeds it");
    let said = service.said();
    assert!(said.contains("worker 0 has not got on for "), "{said}");
    service.waits_for_event("worker_stopped");
    drop(stopped);
    assert!(service.hears("WATCHDOG=1", limit), "it works again");
    service.waits_for_event("worker_returned");
    // What systemd does when the watchdog starves.
    kill(service.pid(), Signal::SIGABRT).unwrap();
    let ended = service.ended_within(Duration::from_secs(10));
    assert_eq!(ended.signal(), Some(Signal::SIGABRT as i32));
    let said = service.said();
    assert!(
        said.contains("windlass: ended by SIGABRT, as a watchdog does; the last "),
        "{said}"
    );
    assert!(said.contains(" s before: order: bypass on\n"), "{said}");
    assert!(
        said.contains(" s before: worker 0 has not got on"),
        "{said}"
    );
}

#[test]
fn a_stop_is_told_to_the_manager() {
    let Some(lab) = lab_without_privileges() else {
        return;
    };
    let mut service = Service::start(&lab, &capabilities("CapabilityBoundingSet"), &[]);
    assert!(service.is_ready(), "{}", service.said());
    kill(service.pid(), Signal::SIGTERM).unwrap();
    assert!(service.hears("STOPPING=1", Duration::from_secs(5)));
    let ended = service.ended_within(Duration::from_secs(20));
    assert_eq!(ended.code(), Some(0));
}

#[test]
fn in_the_journal_every_line_has_its_priority() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let run = |stream: &str| {
        let file = File::create(&path).unwrap();
        let mut command = Command::new(PROGRAM);
        command
            .args(["run", "--inside", "a"])
            .env("JOURNAL_STREAM", stream)
            .stderr(file);
        let ended = command.stdout(Stdio::null()).status().unwrap();
        assert_eq!(ended.code(), Some(1));
        fs::read_to_string(&path).unwrap()
    };
    let elsewhere = run("1:1");
    assert!(elsewhere.starts_with("windlass: "), "{elsewhere}");
    let there = fs::metadata(&path).unwrap();
    let journal = run(&format!("{}:{}", there.dev(), there.ino()));
    assert_eq!(
        journal,
        elsewhere
            .lines()
            .map(|line| format!("<2>{line}\n"))
            .collect::<String>()
    );
}
