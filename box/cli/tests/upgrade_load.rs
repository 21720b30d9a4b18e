//! Two boxes in a row that report marks to each other, each followed by another process in turn, while many connections run:
//! none is lost, every byte comes, and no packet passes ungoverned.
//!
//! `WINDLASS_UPGRADES=100 WINDLASS_FLOWS=200` does it so often, with so many.

#[allow(dead_code, unused_imports)]
mod netns;

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use netns::{Daemon, Lab, Load, Mix};

const UPGRADES_IN_TEST: usize = 6;
const FLOWS_IN_TEST: usize = 60;
/// The longest that a chunk may be under way around an upgrade, and how often it may be longer where the machine stands still by
/// itself.
const STALL_MAX: Duration = Duration::from_millis(200);
const LONGER_IN_TEN: usize = 1;
/// Between two upgrades; and how long after one it is looked whether a packet has passed ungoverned since.
const PAUSE: Duration = Duration::from_millis(300);
const LOOK_AFTER: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(10);
/// Why packets of a connection that runs would pass ungoverned.
const UNGOVERNED: [&str; 6] = [
    "passed_no_syn",
    "passed_unseen_data",
    "passed_one_way",
    "passed_timed_out",
    "passed_wrong_side",
    "passed_out_of_sight",
];
const CONFIG: &str = "version = 1\n\
    [default]\n\
    algorithm = { name = \"dctcp\", preset = \"acdc\" }\n\
    feedback = \"boxes\"\n";

fn number(name: &str, default: usize) -> usize {
    let given = std::env::var(name);
    given.map_or(default, |number| number.parse().unwrap())
}

/// a – m0 [m] m1 – n0 [n] n1 – b: each box has the end that is next to it on its inside.
struct Row {
    lab: Lab,
    boxes: [Daemon; 2],
}

impl Row {
    fn new() -> Option<Row> {
        netns::lab()?;
        let lab = Lab::bare();
        lab.add_host("a", ("a0", "10.77.0.1/24"), "m0");
        lab.ip(&["netns", "add", &lab.name("n")]);
        lab.ip(&["netns", "add", &lab.name("b")]);
        for place in ["n", "b"] {
            lab.ip(&["-n", &lab.name(place), "link", "set", "lo", "up"]);
        }
        for ((left, one), (right, other)) in
            [(("m", "m1"), ("n", "n0")), (("n", "n1"), ("b", "b0"))]
        {
            let (left, right) = (lab.name(left), lab.name(right));
            lab.ip(&[
                "link", "add", one, "netns", &left, "type", "veth", "peer", "name", other, "netns",
                &right,
            ]);
            lab.ip(&["-n", &left, "link", "set", one, "up"]);
            lab.ip(&["-n", &right, "link", "set", other, "up"]);
        }
        lab.ip(&[
            "-n",
            &lab.name("b"),
            "addr",
            "add",
            "10.77.0.2/24",
            "dev",
            "b0",
        ]);
        let config = lab.folder.path().join("windlass.toml");
        fs::write(&config, CONFIG).unwrap();
        let config = config.to_str().unwrap();
        let start = |place, inside, outside| {
            let arguments = ["--config", config, "--inside", inside, "--outside", outside];
            Daemon::within(&lab, place, &arguments)
        };
        let boxes = [start("m", "m0", "m1"), start("n", "n1", "n0")];
        Some(Row { lab, boxes })
    }
}

impl Drop for Row {
    fn drop(&mut self) {
        // Those that have followed are not children of this process.
        for place in ["m", "n"] {
            let pids = Command::new("ip")
                .args(["netns", "pids", &self.lab.name(place)])
                .output();
            let pids = pids.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
            for pid in pids
                .unwrap_or_default()
                .lines()
                .filter_map(|pid| pid.trim().parse().ok())
            {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
        }
    }
}

fn pid(daemon: &Daemon) -> i32 {
    let status = daemon.wait_status("answering", |status| status["pid"].is_u64());
    status["pid"].as_u64().unwrap() as i32
}

fn governed(daemon: &Daemon) -> usize {
    let flows = daemon.json(&["flow", "show", "-j"]);
    let flows = flows.as_array().unwrap();
    flows
        .iter()
        .filter(|flow| flow["passed"] == Value::Null)
        .count()
}

fn wait_governed(daemon: &Daemon, all: usize) -> Duration {
    let began = Instant::now();
    while governed(daemon) < all {
        let time = began.elapsed();
        assert!(
            time < PATIENCE,
            "{} of {all} are governed",
            governed(daemon)
        );
        thread::sleep(Duration::from_millis(5));
    }
    began.elapsed()
}

/// Packets of connections that have passed ungoverned since the process began.
fn ungoverned(daemon: &Daemon) -> u64 {
    let counters = daemon.json(&["counters", "-j"]);
    let of = |group: &str, name: &str| counters[group][name].as_u64().unwrap();
    let engine: u64 = UNGOVERNED.iter().map(|name| of("engine", name)).sum();
    engine + of("xdp", "passed_unread")
}

/// The longest, and how many were beyond what is allowed.
fn sum_up(what: &str, mut times: Vec<Duration>) -> usize {
    times.sort();
    let longer = times.iter().filter(|time| **time > STALL_MAX).count();
    println!(
        "{what}: {:?} in the median, {:?} at most, {longer} of {} longer than {STALL_MAX:?}",
        times[times.len() / 2],
        times[times.len() - 1],
        times.len()
    );
    longer
}

/// The programs that follow each other: this one, and that of `WINDLASS_OTHER_RELEASE`, if that names one.
fn releases() -> Vec<String> {
    let own = env!("CARGO_BIN_EXE_windlass").to_owned();
    let other = std::env::var("WINDLASS_OTHER_RELEASE").ok();
    [own].into_iter().chain(other).collect()
}

#[test]
fn nobody_notices_that_boxes_are_upgraded() {
    let Some(row) = Row::new() else { return };
    let upgrades = number("WINDLASS_UPGRADES", UPGRADES_IN_TEST);
    let mix = Mix::of(number("WINDLASS_FLOWS", FLOWS_IN_TEST));
    let releases = releases();
    let load = Load::start(&row.lab, mix);
    for daemon in &row.boxes {
        wait_governed(daemon, mix.all());
        assert_eq!(daemon.counter("engine", "peers_found"), mix.all() as u64);
    }
    // What the machine does by itself, in as many pieces of time.
    thread::sleep(PAUSE);
    load.take_longest();
    let quiet = (0..upgrades).map(|_| {
        thread::sleep(2 * PAUSE);
        load.take_longest()
    });
    let quiet = quiet.collect();
    let (mut under_way, mut took, mut late) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..upgrades {
        let which = round % 2;
        let (daemon, before) = (&row.boxes[which], pid(&row.boxes[which]));
        let (began, bytes) = (Instant::now(), load.received());
        // Each box goes to the other release, and back.
        let release = &releases[(round / 2 + 1) % releases.len()];
        daemon.ask(&["upgrade", "--binary", release]);
        took.push(began.elapsed());
        thread::sleep(LOOK_AFTER);
        let passed = ungoverned(daemon);
        if passed > 0 || governed(daemon) < mix.all() {
            // Those that are silent are governed again when they speak.
            wait_governed(daemon, mix.moving());
            late.push((round, passed, began.elapsed() - took[round]));
        }
        assert_ne!(pid(daemon), before, "round {round}");
        thread::sleep(PAUSE);
        assert!(load.all_live(), "round {round}");
        assert!(load.received() > bytes, "round {round}");
        under_way.push(load.take_longest());
    }
    println!("{upgrades} upgrades of two boxes under {} flows", mix.all());
    sum_up("from the command to the answer", took);
    let by_itself = sum_up("under way without an upgrade", quiet);
    let longer = sum_up("under way around an upgrade", under_way);
    println!(
        "after {} of them packets had passed ungoverned: {late:?}",
        late.len()
    );
    load.finish();
    let allowed = by_itself + 1 + LONGER_IN_TEN * upgrades / 10;
    assert!(
        longer <= allowed,
        "{longer} of {upgrades}, {by_itself} by itself"
    );
    assert!(late.len() <= 1 + upgrades / 10, "{late:?}");
}
