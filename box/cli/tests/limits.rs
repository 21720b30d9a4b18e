//! What bounds the process: its memory, its processors, and how soon it runs.

#[allow(dead_code)]
mod netns;

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;
use windlass_io::packet::Injector;
use windlass_wire::complete_checksum;

use netns::{Daemon, Lab, MEGABYTE, PLACE, Transfer, lab};

const PATIENCE: Duration = Duration::from_secs(40);
const FRAME_BYTES: u64 = 2048;
const FRAMES: u64 = 8192;
/// Half-open connections of the flood, and how many come at a time.
const SYNS: u32 = 160_000;
const SYNS_AT_ONCE: u32 = 500;
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);

fn start(lab: &Lab, config: &str) -> Daemon {
    let file = lab.folder.path().join("w.toml");
    fs::write(&file, format!("version = 1\n{config}")).unwrap();
    Daemon::start(
        lab,
        &[&PLACE[..], &["--config", file.to_str().unwrap()]].concat(),
    )
}

/// The process of the box itself: `ip netns exec` becomes it.
fn resident_bytes(daemon: &Daemon) -> u64 {
    let statm = fs::read_to_string(format!("/proc/{}/statm", daemon.child.id())).unwrap();
    let pages: u64 = statm.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * 4096
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The events about memory so far, by kind.
fn told_of_memory(daemon: &Daemon) -> Vec<String> {
    let text = daemon.ask(&["events", "-j"]);
    let events = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    events
        .filter(|event: &Value| event["reason"] == "memory_mb")
        .map(|event| event["kind"].as_str().expect("a kind").to_owned())
        .collect()
}

/// A SYN of the stranger with this number to the server.
fn syn(number: u32, server_hardware: [u8; 6]) -> Vec<u8> {
    let source = Ipv4Addr::from(0x0b00_0000 + number * 251);
    let mut ip = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0];
    ip.extend(source.octets());
    ip.extend(SERVER.octets());
    complete_checksum(&mut ip, 0, 10);
    // Behind the pseudo-header (RFC 9293 §3.1).
    let mut tcp = [&ip[12..20], &[0, 6, 0, 20], &[0x30, 0x39, 0x1f, 0x41]].concat();
    tcp.extend(number.to_be_bytes());
    tcp.extend([0, 0, 0, 0, 0x50, 0x02, 0xff, 0xff, 0, 0, 0, 0]);
    complete_checksum(&mut tcp, 0, 12 + 16);
    let ethernet = [&server_hardware[..], &[2, 0, 0, 0, 0, 9], &[8, 0]].concat();
    [&ethernet, &ip, &tcp[12..]].concat()
}

/// Fills the table of half-open connections. No end answers: the server has no route to the strangers.
fn flood(lab: &Lab) {
    let address = lab
        .command("a", "cat")
        .arg("/sys/class/net/a0/address")
        .output();
    let address = String::from_utf8(address.unwrap().stdout).unwrap();
    let octets = address.trim().split(':');
    let hardware: Vec<u8> = octets.map(|o| u8::from_str_radix(o, 16).unwrap()).collect();
    let hardware: [u8; 6] = hardware.try_into().unwrap();
    let sent = lab.spawn("b", move || {
        let mut out = Injector::open("b0").expect("an interface");
        for begin in (0..SYNS).step_by(SYNS_AT_ONCE as usize) {
            let frames: Vec<_> = (begin..begin + SYNS_AT_ONCE)
                .map(|number| syn(number, hardware))
                .collect();
            let mut left = &frames[..];
            while !left.is_empty() {
                let sent = out.send(&left[..left.len().min(50)]).expect("sent");
                left = &left[sent..];
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    });
    sent.join().expect("no panic");
}

/// A flood of handshakes takes the memory that `memory_mb` leaves: new connections pass, those that run are governed. When the
/// flood is forgotten, its memory is the system's again, and new connections are governed.
#[test]
fn at_its_memory_limit_the_box_leaves_new_connections_alone() {
    let Some(lab) = lab() else { return };
    let config = |memory_mb: u64| {
        format!(
            "[box]\nframes = {FRAMES}\n[limits]\nmemory_mb = {memory_mb}\nsyns_per_second = 0\n\
             syns_per_second_per_prefix = 0\nhalf_open = 200000\nflows = 300000\nhandshake_timeout_s = 10\n"
        )
    };
    let daemon = start(&lab, &config(4096));
    let at_rest = resident_bytes(&daemon);
    flood(&lab);
    let flooded = resident_bytes(&daemon);
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
    assert!(
        flooded > at_rest + 12 * MEGABYTE,
        "{at_rest} bytes, and {flooded} with the flood"
    );

    let frames = FRAMES * FRAME_BYTES;
    let limit = (at_rest + (flooded - at_rest) * 3 / 4).saturating_sub(frames);
    let daemon = start(&lab, &config(limit >> 20));
    let before = Transfer::start(&lab, 8001);
    before.wait_for(MEGABYTE);
    flood(&lab);
    wait_until("the limit", || told_of_memory(&daemon) == ["limit_reached"]);
    let during = Transfer::start(&lab, 8002);
    during.wait_for(MEGABYTE);
    assert!(daemon.counter("engine", "passed_memory_limit") > 0);
    let is_governed = |port: u16| {
        let flows = daemon.json(&["flow", "show", "-j"]);
        let from = format!("10.77.0.1:{port}>");
        let mut flows = flows.as_array().expect("flows").iter();
        let of_port = flows.find(|f| f["flow"].as_str().expect("a name").starts_with(&from));
        of_port.is_some_and(|flow| flow["passed"].is_null())
    };
    assert!(is_governed(8001) && !is_governed(8002));
    wait_until("room again", || {
        told_of_memory(&daemon) == ["limit_reached", "limit_over"]
    });
    let after = Transfer::start(&lab, 8003);
    after.wait_for(MEGABYTE);
    assert!(is_governed(8003));
    for transfer in [before, during, after] {
        transfer.finish();
    }
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
}

/// Scheduling policy (sched(7)), real-time priority, and the processors of the thread with this name.
fn scheduling(daemon: &Daemon, name: &str) -> (u32, u32, String) {
    let tasks = fs::read_dir(format!("/proc/{}/task", daemon.child.id())).unwrap();
    let of_name = |task: &std::path::PathBuf| {
        fs::read_to_string(task.join("comm")).is_ok_and(|comm| comm.trim() == name)
    };
    let task = tasks
        .map(|task| task.unwrap().path())
        .find(of_name)
        .expect("a thread of that name");
    let stat = fs::read_to_string(task.join("stat")).unwrap();
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .unwrap()
        .1
        .split_whitespace()
        .collect();
    // proc_pid_stat(5) counts from 1; the name, which is behind, is the second.
    let field = |number: usize| fields[number - 3].parse().unwrap();
    let status = fs::read_to_string(task.join("status")).unwrap();
    let allowed = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    (field(41), field(40), allowed.unwrap().trim().to_owned())
}

/// `priority` and `cpus` are the kernel's, of the thread that forwards and of no other.
#[test]
fn a_worker_has_the_processor_and_the_priority_that_are_configured() {
    let Some(lab) = lab() else { return };
    let (ordinary, first_in_first_out) = (0, 1);
    let daemon = start(&lab, "[box]\npriority = \"realtime\"\ncpus = [0]\n");
    let worker = scheduling(&daemon, "worker");
    assert_eq!(worker, (first_in_first_out, 1, "0".to_owned()));
    let (policy, ..) = scheduling(&daemon, "events");
    assert_eq!(policy, ordinary);
    let transfer = Transfer::start(&lab, 8001);
    transfer.wait_for(2 * MEGABYTE);
    transfer.finish();
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
}

/// Until the first RTT is known nothing paces a flow. It has no rate then: not the largest one that there is.
#[test]
fn a_flow_that_is_not_paced_has_no_pacing_rate() {
    let Some(lab) = lab() else { return };
    let daemon = start(&lab, "");
    let address = SocketAddr::new(SERVER.into(), 8001);
    let listener = lab.spawn("a", move || TcpListener::bind(address));
    let listener = listener.join().unwrap().expect("a port");
    let client = lab.spawn("b", move || TcpStream::connect(address));
    let client = client.join().unwrap().expect("a connection");
    let (mut server, _) = listener.accept().expect("a connection");
    let shown = || (daemon.flow(8001), daemon.ask(&["flow", "show"]));
    let (flow, text) = shown();
    assert!(flow["pacing_rate_bps"].is_null(), "{flow}");
    assert!(
        text.contains(":8001") && !text.contains("pacing_rate"),
        "{text}"
    );
    server.write_all(&[7; 100_000]).expect("sent");
    (&client).read_exact(&mut [0; 100_000]).expect("received");
    let (flow, text) = shown();
    let rate = flow["pacing_rate_bps"].as_u64().expect("a rate");
    assert!((1_000..1_000_000_000_000).contains(&rate), "{flow}");
    assert!(text.contains("pacing_rate"), "{text}");
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
}

/// A cgroup, of version 1 or 2, that counts processes and threads. It is removed when it is dropped.
struct FewProcesses(PathBuf);

impl FewProcesses {
    /// `None`: it says why.
    fn new() -> Option<FewProcesses> {
        const PIDS: &str = "/sys/fs/cgroup/pids";
        const UNIFIED: &str = "/sys/fs/cgroup";
        let controllers = fs::read_to_string(format!("{UNIFIED}/cgroup.controllers"));
        let hands_on = controllers
            .is_ok_and(|known| known.split_whitespace().any(|name| name == "pids"))
            && fs::write(format!("{UNIFIED}/cgroup.subtree_control"), "+pids").is_ok();
        let root = match (fs::metadata(PIDS).is_ok(), hands_on) {
            (true, _) => PIDS,
            (false, true) => UNIFIED,
            (false, false) => {
                println!("skipped: no cgroup counts processes here");
                return None;
            }
        };
        let group = PathBuf::from(root).join(format!("wl-limits-{}", std::process::id()));
        let made = fs::create_dir(&group);
        made.map_err(|error| println!("skipped: {}: {error}", group.display()))
            .ok()
            .map(|()| FewProcesses(group))
    }

    /// Windlass where there may be so many processes and threads: what it says before it ends.
    fn run(&self, most: usize) -> String {
        fs::write(self.0.join("pids.max"), most.to_string()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let enter = format!(
            "echo $$ > {}/cgroup.procs && exec {} run --inside no-such0 --outside no-such1 --control {}/w.sock",
            self.0.display(),
            netns::PROGRAM,
            folder.path().display(),
        );
        let output = Command::new("sh").args(["-c", &enter]).output();
        let output = output.expect("a shell");
        assert_eq!(output.status.code(), Some(1), "{most}: {output:?}");
        String::from_utf8(output.stderr).expect("text")
    }
}

impl Drop for FewProcesses {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir(&self.0) {
            eprintln!("{} stays: {error}", self.0.display());
        }
    }
}

/// A thread that cannot be started ends it, with what mends that; a holder of its memory does not.
#[test]
fn few_processes_are_told_with_what_mends_it() {
    let Some(group) = FewProcesses::new() else {
        return;
    };
    let told: Vec<String> = (1..=8).map(|most| group.run(most)).collect();
    let no_thread = |text: &String| text.contains("TasksMax=");
    assert!(no_thread(&told[0]), "{told:?}");
    let no_holder =
        |text: &String| text.contains("a process that holds its memory cannot be started");
    assert!(told.iter().any(no_holder), "{told:?}");
    assert!(
        told.iter().all(|text| !text.contains("panicked")),
        "{told:?}"
    );
    // With enough of them it comes as far as the interfaces.
    let last = told.last().expect("eight");
    assert!(last.contains("no-such0") && !no_holder(last), "{last}");
}
