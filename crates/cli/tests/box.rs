//! The whole box between two namespaces: a transfer goes on through everything that happens to it.

mod netns;

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use netns::{Lab, Transfer};

const PROGRAM: &str = env!("CARGO_BIN_EXE_windlass");
const MEGABYTE: u64 = 1_000_000;

/// `windlass run` in the middle namespace, and what asks it.
struct Daemon {
    child: Child,
    control: PathBuf,
}

impl Daemon {
    fn start(lab: &Lab, more: &[&str]) -> Daemon {
        let control = lab.folder.path().join("w.sock");
        let mut command = lab.command("m", PROGRAM);
        command
            .args([
                "run",
                "--inside",
                "m0",
                "--outside",
                "m1",
                "--algorithm",
                "bbr",
                "--control",
            ])
            .arg(&control)
            .args(more)
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
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
        let daemon = Daemon { child, control };
        is_ready
            .recv_timeout(Duration::from_secs(15))
            .expect("windlass is not ready");
        daemon
    }

    fn ask(&self, arguments: &[&str]) -> String {
        let output = Command::new(PROGRAM)
            .args(arguments)
            .arg("--control")
            .arg(&self.control)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.ask(arguments)).unwrap()
    }

    /// The flow from this server's port.
    fn flow(&self, port: u16) -> Value {
        let flows = self.json(&["flow", "show", "-j"]);
        let from = format!("10.77.0.1:{port}>");
        let mut flows = flows.as_array().unwrap().iter();
        let found = flows.find(|f| f["flow"].as_str().unwrap().starts_with(&from));
        found.unwrap_or_else(|| panic!("no flow {from}")).clone()
    }

    fn counter(&self, group: &str, name: &str) -> u64 {
        self.json(&["counters", "-j"])[group][name]
            .as_u64()
            .unwrap()
    }

    /// Sends the signal and waits for the end.
    fn end(mut self, signal: Signal) -> Option<i32> {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
        let deadline = Instant::now() + Duration::from_secs(5);
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

fn lab() -> Option<Lab> {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: needs root for network namespaces");
        return None;
    }
    Some(Lab::new())
}

#[test]
fn a_transfer_goes_on_through_bypass_and_sigterm() {
    let Some(lab) = lab() else { return };
    let trace = lab.folder.path().join("trace.jsonl");
    let daemon = Daemon::start(&lab, &["--trace", trace.to_str().unwrap()]);
    let transfer = Transfer::start(&lab, 8001);
    transfer.wait_for(5 * MEGABYTE);

    let flow = daemon.flow(8001);
    assert_eq!(
        (&flow["mode"], &flow["algorithm"]),
        (&"enforce".into(), &"bbr".into())
    );
    assert_eq!(flow["passed"], Value::Null, "{flow}");
    assert!(flow["bytes_acked"].as_u64().unwrap() > MEGABYTE, "{flow}");
    for key in [
        "cwnd_bytes",
        "srtt_us",
        "min_rtt_us",
        "delivery_rate_bps",
        "pacing_rate_bps",
    ] {
        assert!(flow[key].as_u64().is_some_and(|v| v > 0), "{key} in {flow}");
    }
    let shown = daemon.ask(&["flow", "show"]);
    assert!(
        shown.contains("10.77.0.1:8001>") && shown.contains("cwnd:"),
        "{shown}"
    );
    assert!(daemon.counter("engine", "flows_governed") >= 1);
    assert_eq!(daemon.json(&["status", "-j"])["bypass"], false);

    daemon.ask(&["bypass", "on"]);
    transfer.wait_for(5 * MEGABYTE);
    assert_eq!(daemon.json(&["status", "-j"])["bypass"], true);
    assert!(daemon.counter("xdp", "passed_bypass") > 100);
    daemon.ask(&["bypass", "off"]);
    let second = Transfer::start(&lab, 8002);
    second.wait_for(5 * MEGABYTE);
    assert_eq!(daemon.flow(8002)["passed"], Value::Null);

    let control = daemon.control.clone();
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
    assert!(!control.exists());
    for transfer in [&transfer, &second] {
        transfer.wait_for(5 * MEGABYTE);
    }
    transfer.finish();
    second.finish();

    let text = std::fs::read_to_string(trace).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert!(lines.len() > 10, "{} lines of trace", lines.len());
    assert!(
        lines
            .iter()
            .all(|l| l["time_ns"].is_u64() && l["cwnd_bytes"].is_u64())
    );
}

#[test]
fn a_transfer_goes_on_after_kill_9_and_a_new_windlass_takes_its_place() {
    let Some(lab) = lab() else { return };
    let daemon = Daemon::start(&lab, &[]);
    let transfer = Transfer::start(&lab, 8001);
    transfer.wait_for(5 * MEGABYTE);
    assert_eq!(daemon.flow(8001)["passed"], Value::Null);
    let control = daemon.control.clone();
    assert_eq!(daemon.end(Signal::SIGKILL), None);
    transfer.wait_for(5 * MEGABYTE);
    assert!(control.exists(), "the socket of a killed process is left");

    let daemon = Daemon::start(&lab, &[]);
    let second = Transfer::start(&lab, 8002);
    second.wait_for(5 * MEGABYTE);
    transfer.wait_for(5 * MEGABYTE);
    assert_eq!(daemon.flow(8002)["passed"], Value::Null);
    second.finish();
    transfer.finish();
    let other = lab
        .command("m", PROGRAM)
        .args(["run", "--inside", "m0", "--outside", "m1", "--control"])
        .arg(&daemon.control)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&other.stderr);
    assert_eq!(other.status.code(), Some(1));
    assert!(said.contains("another windlass runs: pid "), "{said}");
    assert_eq!(daemon.end(Signal::SIGINT), Some(0));
}

#[test]
fn an_interface_that_vanishes_ends_it_with_an_error() {
    let Some(lab) = lab() else { return };
    let mut daemon = Daemon::start(&lab, &["--mode", "observe"]);
    lab.ip(&["-n", &lab.name("m"), "link", "del", "m1"]);
    let deadline = Instant::now() + Duration::from_secs(5);
    let status = loop {
        if let Some(status) = daemon.child.try_wait().unwrap() {
            break status;
        }
        assert!(
            Instant::now() < deadline,
            "windlass goes on without its interface"
        );
        thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(status.code(), Some(1));
}

#[test]
fn two_workers_and_a_packet_socket_carry_a_transfer_too() {
    let Some(lab) = lab() else { return };
    let daemon = Daemon::start(&lab, &["--io", "packet"]);
    let status = daemon.json(&["status", "-j"]);
    assert_eq!(
        (&status["io"], &status["fail_open"]),
        (&"packet".into(), &false.into())
    );
    let transfer = Transfer::start(&lab, 8001);
    transfer.wait_for(5 * MEGABYTE);
    assert_eq!(daemon.flow(8001)["passed"], Value::Null);
    transfer.finish();
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));

    for port in ["m0", "m1"] {
        let mut channels = lab.command("m", "ethtool");
        let output = channels.args(["-L", port, "rx", "2", "tx", "2"]).output();
        if !output.is_ok_and(|o| o.status.success()) {
            eprintln!("skipped: ethtool cannot give {port} two queues");
            return;
        }
    }
    let daemon = Daemon::start(&lab, &[]);
    assert_eq!(daemon.json(&["status", "-j"])["workers"], 2);
    let transfer = Transfer::start(&lab, 8002);
    transfer.wait_for(5 * MEGABYTE);
    daemon.ask(&["flow", "show", "-j"]);
    daemon.ask(&["bypass", "on"]);
    transfer.wait_for(5 * MEGABYTE);
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
    transfer.wait_for(5 * MEGABYTE);
    transfer.finish();
}
