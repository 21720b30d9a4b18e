//! Another process goes on with all connections.
//!
//! `WINDLASS_UPGRADES=100` does it so often, and `WINDLASS_CHATS=190` has so many connections beside the transfers.

#[allow(dead_code)]
mod netns;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use netns::{Chats, Daemon, Lab, MEGABYTE, PLACE, PROGRAM, Transfer, lab};

const UPGRADES_IN_TEST: usize = 5;
const CHATS_IN_TEST: usize = 20;
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(50);
/// The box may govern nothing for so long, and machines on which this runs stand still for as long themselves.
const STALL_MAX: Duration = Duration::from_millis(400);

/// The process that governs, ended when the test is over.
struct Governs(u32);

impl Governs {
    fn of(daemon: &Daemon) -> Governs {
        Governs(pid(daemon))
    }
}

impl Drop for Governs {
    fn drop(&mut self) {
        let _ = kill(Pid::from_raw(self.0 as i32), Signal::SIGKILL);
    }
}

fn pid(daemon: &Daemon) -> u32 {
    let status = daemon.wait_status("answering", |status| status["pid"].is_u64());
    status["pid"].as_u64().unwrap() as u32
}

fn is_governed(daemon: &Daemon, port: u16) -> bool {
    daemon.flow(port)["passed"] == Value::Null
}

/// Flows that are.
fn governed(daemon: &Daemon) -> usize {
    let flows = daemon.json(&["flow", "show", "-j"]);
    let flows = flows.as_array().unwrap();
    let governed = flows.iter().filter(|flow| flow["passed"] == Value::Null);
    governed.count()
}

fn wait_governed(daemon: &Daemon, all: usize) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while governed(daemon) < all {
        assert!(Instant::now() < deadline, "{} of {all}", governed(daemon));
        thread::sleep(PAUSE);
    }
}

/// A program that does something else than to take over.
fn program(lab: &Lab, name: &str, lines: &str) -> PathBuf {
    let file = lab.folder.path().join(name);
    fs::write(&file, format!("#!/bin/sh\n{lines}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    file
}

fn number(name: &str, default: usize) -> usize {
    let given = std::env::var(name);
    given.map_or(default, |number| number.parse().unwrap())
}

#[test]
fn connections_stay_governed() {
    let Some(lab) = lab() else { return };
    let upgrades = number("WINDLASS_UPGRADES", UPGRADES_IN_TEST);
    let daemon = Daemon::start(&lab, &PLACE);
    let mut governs = Governs::of(&daemon);
    let chats = number("WINDLASS_CHATS", CHATS_IN_TEST);
    let talk = Chats::start(&lab, chats);
    let ports: Vec<u16> = (8001..8005).collect();
    let transfers: Vec<Transfer> = ports
        .iter()
        .map(|port| Transfer::start(&lab, *port))
        .collect();
    transfers
        .iter()
        .for_each(|transfer| transfer.wait_for(MEGABYTE));
    let all = chats + ports.len();
    wait_governed(&daemon, all);
    let (mut times, mut late, mut expected) = (Vec::new(), 0, all);
    for round in 1..=upgrades {
        let began = Instant::now();
        let said = daemon.ask(&["upgrade"]);
        times.push(began.elapsed());
        let next = Governs::of(&daemon);
        assert_ne!(next.0, governs.0, "round {round}");
        assert!(said.contains(&format!("process {}", next.0)), "{said}");
        let before = std::mem::replace(&mut governs, next);
        // It has ended by itself, and so is not a child that nobody waits for either.
        std::mem::forget(before);
        transfers
            .iter()
            .for_each(|transfer| transfer.wait_for(MEGABYTE / 10));
        if governed(&daemon) < expected {
            // A machine that is busy with other things kept a worker from reading. Who is silent is governed again
            // when he speaks.
            late += 1;
            expected = all - chats / 2;
            wait_governed(&daemon, expected);
        }
        let unseen = ["passed_no_syn", "passed_unseen_data", "passed_one_way"];
        let unseen = unseen.map(|counter| daemon.counter("engine", counter));
        assert!(late > 0 || unseen == [0; 3], "round {round}: {unseen:?}");
    }
    let stall = transfers.iter().map(Transfer::longest_stall).max();
    let stall = stall.expect("a transfer");
    times.sort();
    println!(
        "{upgrades} upgrades with {all} connections, {:?} in the median; longest stall {stall:?}; {late} times, not all \
         were governed at once",
        times[times.len() / 2]
    );
    assert!(late <= 1 + upgrades / 10, "{late} of {upgrades}");
    assert!(stall < STALL_MAX, "{stall:?}");
    transfers.into_iter().for_each(Transfer::finish);
    talk.finish();
    // And new ones are governed.
    let transfer = Transfer::start(&lab, 8010);
    transfer.wait_for(MEGABYTE);
    assert!(is_governed(&daemon, 8010));
    transfer.finish();
}

#[test]
fn one_that_does_not_come_up_changes_nothing() {
    let Some(lab) = lab() else { return };
    let config = lab.folder.path().join("windlass.toml");
    fs::write(&config, "version = 1\n[box]\nframes = 8192\n").unwrap();
    let config_file = config.to_str().unwrap();
    let daemon = Daemon::start(&lab, &[&PLACE[..], &["--config", config_file]].concat());
    let governs = Governs::of(&daemon);
    let transfer = Transfer::start(&lab, 8001);
    transfer.wait_for(MEGABYTE);
    let still_governed = |refused: &str| {
        let on = format!("process {} governs on", governs.0);
        assert!(refused.contains(&on), "{refused}");
        assert_eq!(pid(&daemon), governs.0);
        transfer.wait_for(MEGABYTE);
        assert!(is_governed(&daemon, 8001), "{refused}");
    };
    let ends = program(&lab, "ends", "exit 3");
    let refused = daemon.refused(&["upgrade", "--binary", ends.to_str().unwrap()]);
    assert!(refused.contains("it has ended"), "{refused}");
    still_governed(&refused);
    let crashes = program(&lab, "crashes", "kill -SEGV $$");
    let refused = daemon.refused(&["upgrade", "--binary", crashes.to_str().unwrap()]);
    assert!(refused.contains("it has ended"), "{refused}");
    still_governed(&refused);
    // One that reads another format says so first of all.
    let hello = r#"{"hello":{"version":"9.0.0","connections_format":9,"driver_format":1}}"#;
    let later = program(&lab, "later", &format!("printf %s '{hello}' >&0; sleep 5"));
    let refused = daemon.refused(&["upgrade", "--binary", later.to_str().unwrap()]);
    assert!(
        refused.contains("it reads the state of connections in format 9"),
        "{refused}"
    );
    assert!(
        refused.contains("stop windlass, and start the other"),
        "{refused}"
    );
    still_governed(&refused);
    let no_program = daemon.refused(&["upgrade", "--binary", config_file]);
    assert!(no_program.contains("cannot be started"), "{no_program}");
    still_governed(&no_program);
    let nowhere = daemon.refused(&["upgrade", "--binary", "/nowhere"]);
    assert!(nowhere.contains("the program /nowhere"), "{nowhere}");
    // Its configuration has another number of frames: that is a restart.
    fs::write(&config, "version = 1\n[box]\nframes = 16384\n").unwrap();
    let refused = daemon.refused(&["upgrade"]);
    assert!(
        refused.contains("frames in [box] must be as before"),
        "{refused}"
    );
    still_governed(&refused);
    fs::write(&config, "version = 1\n[box\n").unwrap();
    still_governed(&daemon.refused(&["upgrade"]));
    // And when all is as it should be, it goes on.
    fs::write(&config, "version = 1\n[box]\nframes = 8192\n").unwrap();
    daemon.ask(&["upgrade"]);
    let next = Governs::of(&daemon);
    assert_ne!(next.0, governs.0);
    assert!(is_governed(&daemon, 8001));
    transfer.finish();
}

/// Whenever it dies: before it has taken over, the first governs on; afterwards, the bridge forwards.
#[test]
fn one_that_is_killed_at_any_time_costs_no_connection() {
    let Some(lab) = lab() else { return };
    let mut taken = 0;
    for round in 0..5u32 {
        let daemon = Daemon::start(&lab, &PLACE);
        let governs = Governs::of(&daemon);
        let transfer = Transfer::start(&lab, 8001);
        transfer.wait_for(MEGABYTE);
        let delay = 0.05 + f64::from(round) * 0.03;
        let lines = format!("(sleep {delay}; kill -9 $$) 2>/dev/null &\nexec {PROGRAM} \"$@\"");
        let killed = program(&lab, "killed", &lines);
        let mut command = std::process::Command::new(PROGRAM);
        command.args(["upgrade", "--binary"]).arg(&killed);
        let output = command.arg("--control").arg(&daemon.control).output();
        let said = String::from_utf8(output.unwrap().stderr).unwrap();
        thread::sleep(Duration::from_millis(600));
        transfer.wait_for(MEGABYTE);
        if said.contains("governs on") {
            assert_eq!(pid(&daemon), governs.0);
            // A machine that is busy with other things may have kept its worker from reading.
            wait_governed(&daemon, 1);
        } else {
            taken += 1;
        }
        transfer.finish();
    }
    println!("{taken} of 5 were killed after they had taken over");
}
