//! What becomes of a running box when something around it is not as it should be.

#[allow(dead_code)]
mod netns;

use std::fs;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use serde_json::Value;

use netns::{Daemon, Lab, MEGABYTE, PLACE, PROGRAM, Transfer, lab};

/// The client's end of the wire, and the box's, as after a guest was restarted.
fn make_outside_again(lab: &Lab) {
    lab.add_link("b", ("b0", "10.77.0.2/24"), "m1");
}

/// A new transfer is governed.
fn governs(lab: &Lab, daemon: &Daemon, port: u16) {
    let transfer = Transfer::start(lab, port);
    transfer.wait_for(2 * MEGABYTE);
    assert_eq!(daemon.flow(port)["passed"], Value::Null);
    transfer.finish();
}

fn troubles(status: &Value) -> String {
    status["troubles"].to_string()
}

fn is_untroubled(status: &Value) -> bool {
    status["state"] == "governing" && status["troubles"] == Value::Array(Vec::new())
}

fn run_in_middle(lab: &Lab, arguments: &[&str]) -> Output {
    let control = lab.folder.path().join("other.sock");
    let mut command = lab.command("m", PROGRAM);
    command
        .arg("run")
        .args(arguments)
        .arg("--control")
        .arg(control);
    command.output().unwrap()
}

/// What `windlass run` says, which refuses.
fn refusal(lab: &Lab, arguments: &[&str]) -> String {
    let output = run_in_middle(lab, arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    said
}

#[test]
fn an_interface_that_is_made_again_is_taken_back() {
    let Some(lab) = lab() else { return };
    let daemon = Daemon::start(&lab, &PLACE);
    governs(&lab, &daemon, 8001);
    for round in 1..=3u16 {
        lab.middle(&["link", "del", "m1"]);
        let status = daemon.wait_status("waiting", |s| s["state"] == "waiting");
        assert!(
            troubles(&status).contains("interface m1 is gone"),
            "{status}"
        );
        daemon.wait_said("interface m1 is gone");
        let refused = daemon.refused(&["flow", "show"]);
        assert!(refused.contains("nothing is governed now"), "{refused}");
        let shown = daemon.ask(&["status"]);
        assert!(shown.contains("waiting: nothing is governed"), "{shown}");
        make_outside_again(&lab);
        let made = Instant::now();
        let status = daemon.wait_status("governing", is_untroubled);
        let taken = made.elapsed();
        assert!(taken < Duration::from_secs(3), "it is heard of: {taken:?}");
        assert_eq!(status["reopened"], u64::from(round));
        assert_eq!(status["bridge"], "windlass0");
        governs(&lab, &daemon, 8001 + round);
    }
    // At once, so that it is never seen to be missing; and with bypass on.
    daemon.ask(&["bypass", "on"]);
    lab.middle(&["link", "del", "m1"]);
    make_outside_again(&lab);
    daemon.wait_status("taken back", |s| s["reopened"] == 4 && is_untroubled(s));
    let transfer = Transfer::start(&lab, 8010);
    transfer.wait_for(2 * MEGABYTE);
    assert_eq!(daemon.json(&["status", "-j"])["bypass"], true);
    assert_eq!(
        daemon.json(&["flow", "show", "-j"]),
        Value::Array(Vec::new())
    );
    transfer.finish();
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
}

#[test]
fn a_wire_that_was_cut_ends_neither_the_box_nor_its_end() {
    let Some(lab) = lab() else { return };
    let daemon = Daemon::start(&lab, &[&PLACE[..], &["--io", "packet"]].concat());
    governs(&lab, &daemon, 8001);
    lab.middle(&["link", "del", "m1"]);
    daemon.wait_status("waiting", |s| s["state"] == "waiting");
    make_outside_again(&lab);
    daemon.wait_status("governing", is_untroubled);
    governs(&lab, &daemon, 8002);
    lab.middle(&["link", "del", "m0"]);
    daemon.wait_status("waiting", |s| s["state"] == "waiting");
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
}

#[test]
fn the_bridge_and_its_ports_are_repaired() {
    let Some(lab) = lab() else { return };
    let daemon = Daemon::start(&lab, &PLACE);
    lab.middle(&["link", "set", "m1", "nomaster"]);
    daemon.wait_said("m1 was not a port of bridge windlass0 any more; it is again");
    daemon.wait_status("untroubled", is_untroubled);
    lab.middle(&["link", "del", "windlass0"]);
    daemon.wait_said("bridge windlass0 was gone; it is there again");
    daemon.wait_status("untroubled", is_untroubled);
    governs(&lab, &daemon, 8001);
    assert_eq!(daemon.json(&["status", "-j"])["reopened"], 0);
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
    let transfer = Transfer::start(&lab, 8002);
    transfer.wait_for(2 * MEGABYTE);
    transfer.finish();
}

#[test]
fn what_is_not_repaired_is_told_until_it_is_right_again() {
    let Some(lab) = lab() else { return };
    lab.middle(&["link", "add", "br7", "type", "bridge"]);
    lab.middle(&["link", "set", "br7", "up"]);
    for port in ["m0", "m1"] {
        lab.middle(&["link", "set", port, "master", "br7"]);
    }
    let daemon = Daemon::start(&lab, &PLACE);
    let troubled = |what: &str| {
        let status = daemon.wait_status(what, |s| troubles(s).contains(what));
        daemon.wait_said(what);
        status
    };
    let untroubled = || daemon.wait_status("untroubled", is_untroubled);
    assert_eq!(untroubled()["bridge"], "br7");

    lab.middle(&["link", "set", "br7", "down"]);
    let status = troubled("bridge br7 is down");
    assert!(troubles(&status).contains("ip link set br7 up"), "{status}");
    lab.middle(&["link", "set", "br7", "up"]);
    untroubled();

    lab.middle(&["link", "set", "m1", "mtu", "1400"]);
    let status = troubled("m0 has an MTU of 1500 bytes and m1 one of 1400");
    assert!(
        troubles(&status).contains("ip link set m0 mtu 1400"),
        "{status}"
    );
    lab.middle(&["link", "set", "m1", "mtu", "1500"]);
    untroubled();

    lab.middle(&["link", "add", "m2", "type", "veth", "peer", "name", "m3"]);
    lab.middle(&["link", "set", "m2", "master", "br7"]);
    troubled("br7 has a third port, m2");
    lab.middle(&["link", "del", "m2"]);
    untroubled();

    // Somebody's own bridge is theirs to make again; the ports are put back into it then.
    lab.middle(&["link", "del", "br7"]);
    troubled("bridge br7 is gone");
    let address = "02:00:00:00:77:07";
    lab.middle(&["link", "add", "br7", "address", address, "type", "bridge"]);
    lab.middle(&["link", "set", "br7", "up"]);
    untroubled();
    governs(&lab, &daemon, 8001);
    // It has another address than the one before: what is for the machine itself is not taken.
    lab.middle(&["addr", "add", "10.77.0.3/24", "dev", "br7"]);
    let own = Transfer::between(&lab, ("m", "10.77.0.3"), "b", 8003);
    own.wait_for(MEGABYTE);
    own.finish();

    lab.middle(&["link", "set", "m1", "down"]);
    troubled("m1 is down");
    lab.middle(&["link", "set", "m1", "up"]);
    untroubled();
    governs(&lab, &daemon, 8004);

    // A guest's tap comes back: into the bridge that it was in.
    lab.middle(&["link", "del", "m1"]);
    daemon.wait_status("waiting", |s| s["state"] == "waiting");
    make_outside_again(&lab);
    assert_eq!(untroubled()["bridge"], "br7");
    governs(&lab, &daemon, 8002);
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
}

#[test]
fn a_daemon_without_descriptors_goes_on() {
    let Some(lab) = lab() else { return };
    let daemon = Daemon::start(&lab, &PLACE);
    let transfer = Transfer::start(&lab, 8001);
    let pid = process(&daemon);
    let limit = |files: &str| {
        let arguments = ["--pid", &pid.to_string(), &format!("--nofile={files}")];
        Command::new("prlimit")
            .args(arguments)
            .status()
            .is_ok_and(|s| s.success())
    };
    if !limit("3:") {
        eprintln!("skipped: no prlimit");
        return;
    }
    let end = Instant::now() + Duration::from_secs(7);
    while Instant::now() < end {
        transfer.wait_for(MEGABYTE);
        // Each change of an interface makes it look.
        lab.middle(&["link", "set", "lo", "down"]);
        lab.middle(&["link", "set", "lo", "up"]);
    }
    assert!(limit("1024:"));
    daemon.wait_status("untroubled", is_untroubled);
    assert_eq!(daemon.flow(8001)["passed"], Value::Null);
    transfer.finish();
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
}

/// `ip netns exec` becomes what it executes.
fn process(daemon: &Daemon) -> u32 {
    daemon.child.id()
}

#[test]
fn a_configuration_that_cannot_be_read_delays_nothing() {
    let Some(lab) = lab() else { return };
    let file = lab.folder.path().join("windlass.toml");
    fs::write(
        &file,
        "version = 1\n[box]\ninside = \"m0\"\noutside = \"m1\"\n",
    )
    .unwrap();
    let daemon = Daemon::start(&lab, &["--config", file.to_str().unwrap()]);
    let hang_up = || kill(Pid::from_raw(process(&daemon) as i32), Signal::SIGHUP).unwrap();
    fs::remove_file(&file).unwrap();
    mkfifo(&file, Mode::S_IRWXU).unwrap();
    hang_up();
    daemon.wait_said("the rules stay as they were");
    assert!(
        daemon.said().contains("no regular file"),
        "{}",
        daemon.said()
    );
    fs::remove_file(&file).unwrap();
    fs::write(&file, "version = 1\n[default]\nmode = \"off\"\n").unwrap();
    hang_up();
    daemon.wait_said("is in charge");
    mkfifo(&file.with_extension("fifo"), Mode::S_IRWXU).unwrap();
    let start = Instant::now();
    let refused = refusal(
        &lab,
        &["--config", file.with_extension("fifo").to_str().unwrap()],
    );
    assert!(refused.contains("no regular file"), "{refused}");
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
    assert!(start.elapsed() < Duration::from_secs(15));
}

#[test]
fn a_trace_that_fails_is_told_while_the_box_runs() {
    let Some(lab) = lab() else { return };
    let absent = refusal(
        &lab,
        &[&PLACE[..], &["--trace", "/nonexistent/t.csv"]].concat(),
    );
    assert!(absent.contains("/nonexistent/t.csv"), "{absent}");
    assert!(!fs::exists("/nonexistent").unwrap());
    let links = lab
        .command("m", "ip")
        .args(["-br", "link"])
        .output()
        .unwrap();
    let links = String::from_utf8(links.stdout).unwrap();
    assert!(!links.contains("windlass0"), "nothing was touched: {links}");

    let daemon = Daemon::start(&lab, &[&PLACE[..], &["--trace", "/dev/full"]].concat());
    let transfer = Transfer::start(&lab, 8001);
    transfer.wait_for(MEGABYTE);
    daemon.wait_said("trace file /dev/full: No space left on device");
    let status = daemon.json(&["status", "-j"]);
    assert!(
        troubles(&status).contains("nothing more is recorded"),
        "{status}"
    );
    transfer.finish();
    assert_eq!(
        daemon.end(Signal::SIGTERM),
        Some(1),
        "the record is not whole"
    );
}

#[test]
fn a_second_windlass_is_refused_with_the_first_ones_process() {
    let Some(lab) = lab() else { return };
    for io in ["auto", "packet"] {
        let daemon = Daemon::start(&lab, &[&PLACE[..], &["--io", io]].concat());
        let said = refusal(&lab, &PLACE);
        let pid = process(&daemon);
        assert!(
            said.contains(&format!(
                "another windlass, pid {pid}, has the interface m0"
            )),
            "{said}"
        );
        assert!(said.contains(&format!("kill {pid}")), "{said}");
        assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
        if io == "auto" {
            lab.middle(&["link", "del", "windlass0"]);
        }
    }
}

#[test]
fn what_cannot_work_is_refused_with_what_mends_it() {
    let Some(lab) = lab() else { return };
    let absent = refusal(&lab, &["--inside", "m0", "--outside", "m9"]);
    assert!(absent.contains("there is no interface m9"), "{absent}");
    assert!(absent.contains("mend it with: --outside m1"), "{absent}");

    lab.middle(&["link", "set", "m1", "mtu", "1400"]);
    let differ = refusal(&lab, &PLACE);
    assert!(
        differ.contains("mend it with: ip link set m0 mtu 1400"),
        "{differ}"
    );
    lab.middle(&["link", "set", "m1", "mtu", "300"]);
    let small = refusal(&lab, &PLACE);
    assert!(
        small.contains("m1 has an MTU of 300 bytes, and Windlass needs 576"),
        "{small}"
    );
    assert!(
        small.contains("mend it with: ip link set m1 mtu 1500"),
        "{small}"
    );
    lab.middle(&["link", "set", "m1", "mtu", "1500"]);

    let folder = lab.folder.path().join("typo/w.sock");
    let mut command = lab.command("m", PROGRAM);
    let output = command
        .arg("run")
        .args(PLACE)
        .arg("--control")
        .arg(&folder)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("there is no folder"), "{said}");
    assert!(!folder.parent().unwrap().exists());
}

/// The remedy takes it away.
#[test]
fn a_foreign_xdp_program_is_refused_with_what_mends_it() {
    let Some(lab) = lab() else { return };
    let object = concat!(env!("CARGO_MANIFEST_DIR"), "/../io/bpf/windlass.bpf.o");
    let put = [
        "link",
        "set",
        "dev",
        "m1",
        "xdpgeneric",
        "obj",
        object,
        "sec",
        "xdp.frags",
    ];
    let output = lab.command("m", "ip").args(put).output().unwrap();
    if !output.status.success() {
        eprintln!("skipped: ip cannot put an XDP program on an interface");
        return;
    }
    let said = refusal(&lab, &PLACE);
    assert!(said.contains("m1 has an XDP program already: "), "{said}");
    assert!(!said.contains("os error"), "{said}");
    let (_, fix) = said.split_once("mend it with: ").unwrap();
    let mut mend = lab.command("m", "sh");
    assert!(
        mend.args(["-c", fix.trim()]).status().unwrap().success(),
        "{fix}"
    );
    let daemon = Daemon::start(&lab, &PLACE);
    governs(&lab, &daemon, 8001);
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
}

#[test]
fn doctor_says_one_thing_of_a_port_without_a_bridge() {
    let Some(lab) = lab() else { return };
    let doctor = || {
        let mut command = lab.command("m", PROGRAM);
        let output = command.arg("doctor").args(PLACE).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let both = doctor();
    assert_eq!(
        both.matches("(windlass run makes one)").count(),
        2,
        "{both}"
    );
    lab.middle(&["link", "add", "br7", "type", "bridge"]);
    lab.middle(&["link", "set", "m0", "master", "br7"]);
    let one = doctor();
    assert!(!one.contains("windlass run makes one"), "{one}");
    assert!(
        one.contains("m0 is a port of br7 and m1 of no bridge"),
        "{one}"
    );
    assert!(
        one.contains("mend it with: ip link set m1 master br7"),
        "{one}"
    );
    lab.middle(&["link", "add", "windlass1", "type", "bridge"]);
    lab.middle(&["link", "set", "m1", "master", "windlass1"]);
    let two = doctor();
    assert!(
        two.contains("m0 is a port of br7 and m1 one of windlass1"),
        "{two}"
    );
}

/// The guest was made again while nobody looked.
#[test]
fn a_start_puts_an_interface_back_into_the_bridge_that_waits_for_it() {
    let Some(lab) = lab() else { return };
    let daemon = Daemon::start(&lab, &PLACE);
    assert_eq!(daemon.end(Signal::SIGKILL), None);
    lab.middle(&["link", "del", "m1"]);
    make_outside_again(&lab);
    let mut command = lab.command("m", PROGRAM);
    let doctor = command.arg("doctor").args(PLACE).output().unwrap();
    let said = String::from_utf8(doctor.stdout).unwrap();
    assert!(
        said.contains("(windlass run puts it into windlass0)"),
        "{said}"
    );
    let daemon = Daemon::start(&lab, &PLACE);
    assert_eq!(daemon.json(&["status", "-j"])["bridge"], "windlass0");
    governs(&lab, &daemon, 8001);
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
}

#[test]
fn flows_are_left_alone_while_the_mode_is_off() {
    let Some(lab) = lab() else { return };
    let file = lab.folder.path().join("windlass.toml");
    fs::write(&file, "version = 1\n[default]\nmode = \"off\"\n").unwrap();
    let daemon = Daemon::start(
        &lab,
        &[&PLACE[..], &["--config", file.to_str().unwrap()]].concat(),
    );
    let alone = Transfer::start(&lab, 8001);
    alone.wait_for(2 * MEGABYTE);
    assert_eq!(
        daemon.json(&["flow", "show", "-j"]),
        Value::Array(Vec::new())
    );
    assert!(daemon.counter("engine", "passed_policy") > 0);
    assert_eq!(daemon.counter("engine", "flows_governed"), 0);
    fs::write(&file, "version = 1\n").unwrap();
    daemon.ask(&["policy", "apply", file.to_str().unwrap()]);
    governs(&lab, &daemon, 8002);
    alone.finish();
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
}

/// Neither what passes while the box is opened counts as bypassed, nor what is closed as idle.
#[test]
fn counters_say_what_happened() {
    let Some(lab) = lab() else { return };
    lab.middle(&["link", "add", "br0", "type", "bridge"]);
    lab.middle(&["link", "set", "br0", "up"]);
    for port in ["m0", "m1"] {
        lab.middle(&["link", "set", port, "master", "br0"]);
    }
    let running = Transfer::start(&lab, 8001);
    running.wait_for(MEGABYTE);
    let daemon = Daemon::start(&lab, &PLACE);
    governs(&lab, &daemon, 8002);
    running.wait_for(MEGABYTE);
    assert_eq!(daemon.counter("xdp", "passed_bypass"), 0);
    assert_eq!(daemon.counter("engine", "passed_bypass"), 0);
    assert!(daemon.counter("xdp", "passed_not_followed") > 0);
    running.finish();
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
}
