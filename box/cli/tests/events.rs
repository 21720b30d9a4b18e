//! Events of a box that runs: what an operator does, what happens to flows, what the log says.

#[allow(dead_code)]
mod netns;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use netns::{Daemon, Lab, MEGABYTE, PLACE, PROGRAM, Transfer, lab};

const PATIENCE: Duration = Duration::from_secs(20);

fn start(lab: &Lab, config: &str) -> (Daemon, std::path::PathBuf) {
    let file = lab.folder.path().join("w.toml");
    fs::write(&file, config).unwrap();
    let arguments = [&PLACE[..], &["--config", file.to_str().unwrap()]].concat();
    (Daemon::start(lab, &arguments), file)
}

fn events(daemon: &Daemon, more: &[&str]) -> Vec<Value> {
    let text = daemon.ask(&[&["events", "-j"], more].concat());
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn wait_for(daemon: &Daemon, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = events(daemon, &[]).into_iter().find(|e| is_it(e)) {
            return found;
        }
        assert!(
            Instant::now() < deadline,
            "no {what}: {:?}",
            events(daemon, &[])
        );
        thread::sleep(Duration::from_millis(50));
    }
}

fn kind<'a>(name: &'a str) -> impl Fn(&Value) -> bool + 'a {
    move |event| event["kind"] == name
}

/// `windlass events --follow`, until it is dropped.
struct Follower {
    child: Child,
    lines: Receiver<String>,
}

impl Follower {
    fn start(daemon: &Daemon) -> Follower {
        let mut command = Command::new(PROGRAM);
        command
            .args(["events", "--follow", "--control"])
            .arg(&daemon.control);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (tell, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let _ = tell.send(line);
            }
        });
        Follower { child, lines }
    }

    fn wait_for(&self, what: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            let line = line.unwrap_or_else(|_| panic!("no line with {what}"));
            if line.contains(what) {
                return line;
            }
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn what_an_operator_does_is_told_as_it_happens() {
    let Some(lab) = lab() else { return };
    let (daemon, file) = start(&lab, "version = 1\n");
    let follower = Follower::start(&daemon);
    follower.wait_for(" started m0 > m1: new flows are governed");
    daemon.ask(&["bypass", "on"]);
    daemon.ask(&["bypass", "on"]);
    follower.wait_for("warning bypass_on");
    daemon.ask(&["bypass", "off"]);
    follower.wait_for("notice  bypass_off");
    fs::write(
        &file,
        "version = 1\n[[rule]]\nname = \"web\"\n[[rule]]\nname = \"b\"\n",
    )
    .unwrap();
    let pid = Pid::from_raw(daemon.child.id() as i32);
    kill(pid, Signal::SIGHUP).unwrap();
    let line = follower.wait_for("reloaded");
    assert!(line.contains("w.toml is in charge rules=2"), "{line}");
    fs::write(&file, "version = 1\nrules = 7\n").unwrap();
    kill(pid, Signal::SIGHUP).unwrap();
    let line = follower.wait_for("error   reload_failed");
    assert!(line.contains("rules stay as they were"), "{line}");
    lab.middle(&["link", "del", "m0"]);
    follower.wait_for("error   interface_gone interface m0 is gone");
    lab.add_link("a", ("a0", "10.77.0.1/24"), "m0");
    follower.wait_for("interface_back");

    // The same from the beginning, in order, each once; and by kind and severity.
    let all = events(&daemon, &[]);
    let numbers: Vec<u64> = all.iter().map(|e| e["number"].as_u64().unwrap()).collect();
    assert!(
        numbers.iter().copied().eq(1..=all.len() as u64),
        "{numbers:?}"
    );
    assert_eq!(all.iter().filter(|e| e["kind"] == "bypass_on").count(), 1);
    let reloads = events(&daemon, &["--kind", "reloaded,reload_failed"]);
    assert_eq!(reloads.len(), 2);
    let bad = events(&daemon, &["--min", "error"]);
    assert!(
        !bad.is_empty() && bad.iter().all(|e| e["severity"] == "error"),
        "{bad:?}"
    );
    let refused = daemon.refused(&["events", "--kind", "weather"]);
    assert!(refused.contains("--kinds shows all"), "{refused}");
    assert!(
        daemon
            .said()
            .contains("windlass: bypass is on: every flow passes untouched\n")
    );

    // A new process counts from 1 again, and who follows goes on with it.
    let control = daemon.control.clone();
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
    fs::write(&file, "version = 1\n").unwrap();
    let again = Daemon::start(
        &lab,
        &[&PLACE[..], &["--config", file.to_str().unwrap()]].concat(),
    );
    assert_eq!(again.control, control);
    follower.wait_for(" started ");
    assert_eq!(again.end(Signal::SIGTERM), Some(0));
}

/// The receiver acknowledges nothing for a while: the box tries in vain, and then the sender does.
#[test]
fn a_hand_back_is_told_with_its_flow_and_its_reason() {
    let Some(lab) = lab() else { return };
    let (daemon, _) = start(&lab, "version = 1\n");
    let transfer = Transfer::start(&lab, 8001);
    transfer.wait_for(2 * MEGABYTE);
    swallow_acks(&lab, true);
    let event = wait_for(&daemon, "hand-back", kind("handed_back"));
    swallow_acks(&lab, false);
    let flow = event["flow"].as_str().unwrap();
    assert!(flow.starts_with("10.77.0.1:8001>10.77.0.2:"), "{event}");
    let reason = event["reason"].as_str().unwrap();
    assert!(
        ["sender_timed_out", "sender_repeats"].contains(&reason),
        "{event}"
    );
    assert!(
        event["numbers"]["outstanding_bytes"].as_u64().unwrap() > 0,
        "{event}"
    );
    assert!(event["numbers"]["srtt_us"].as_u64().unwrap() > 0, "{event}");
    wait_for(&daemon, "taking over", |e| {
        e["kind"] == "taken_over" && e["flow"] == event["flow"]
    });
    transfer.wait_for(MEGABYTE);
    assert!(
        daemon
            .said()
            .contains(&format!("windlass: {flow}: handed back: "))
    );
    transfer.finish();
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
}

/// What the receiver says does not leave its host.
fn swallow_acks(lab: &Lab, on: bool) {
    let (receiver, does) = (lab.name("b"), if on { "add" } else { "del" });
    lab.ip(&["-n", &receiver, "route", does, "blackhole", "10.77.0.1/32"]);
}

#[test]
fn a_condition_on_the_path_that_changes_the_algorithm_is_told() {
    let Some(lab) = lab() else { return };
    let (daemon, _) = start(
        &lab,
        "version = 1\n[[rule]]\nname = \"r\"\nalgorithm = \"reno\"\ndwell_ms = 0\n[[rule.switch]]\n\
         when = \"bytes_acked > 1000000\"\nalgorithm = \"hybla\"\n",
    );
    daemon.ask(&[
        "policy",
        "apply",
        lab.folder.path().join("w.toml").to_str().unwrap(),
    ]);
    let transfer = Transfer::start(&lab, 8003);
    transfer.wait_for(3 * MEGABYTE);
    let event = wait_for(&daemon, "switch", kind("algorithm_switched"));
    assert!(
        event["flow"]
            .as_str()
            .unwrap()
            .starts_with("10.77.0.1:8003>"),
        "{event}"
    );
    assert_eq!(event["reason"], "bytes_acked > 1000000", "{event}");
    let text = event["text"].as_str().unwrap();
    assert!(text.starts_with("reno gives way to hybla"), "{event}");
    transfer.finish();
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
}

/// A process that is stopped tells afterwards that it was, and a worker that a reader does not read from does not wait.
#[test]
fn a_box_that_stood_still_says_so() {
    let Some(lab) = lab() else { return };
    let (daemon, _) = start(&lab, "version = 1\n");
    let transfer = Transfer::start(&lab, 8001);
    transfer.wait_for(2 * MEGABYTE);
    // Readers that ask for everything, and take nothing of it.
    let lazy: Vec<UnixStream> = (0..20)
        .map(|_| {
            let mut stream = UnixStream::connect(&daemon.control).unwrap();
            let _ = stream.write_all(b"{\"request\":\"events\",\"after\":0}\n");
            stream
        })
        .collect();
    transfer.wait_for(2 * MEGABYTE);
    let pid = Pid::from_raw(daemon.child.id() as i32);
    kill(pid, Signal::SIGSTOP).unwrap();
    thread::sleep(Duration::from_millis(600));
    kill(pid, Signal::SIGCONT).unwrap();
    let event = wait_for(&daemon, "late worker", kind("worker_late"));
    assert!(event["numbers"]["packets"].as_u64().unwrap() > 0, "{event}");
    drop(lazy);
    transfer.wait_for(2 * MEGABYTE);
    transfer.finish();
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
}
