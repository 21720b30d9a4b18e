//! A process that is not stopped leaves its last events where an operator finds them: in the log of the next one, and in a core
//! dump, if there is one.

#[allow(dead_code, unused_imports)]
mod netns;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use netns::{Daemon, MEGABYTE, PLACE, Transfer, lab};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const PATIENCE: Duration = Duration::from_secs(20);

fn file_of_events(daemon: &Daemon) -> PathBuf {
    let mut path = daemon.control.clone().into_os_string();
    path.push(".events");
    path.into()
}

/// What is an event of its own, and what an operator has ordered.
fn do_something(daemon: &Daemon) {
    daemon.ask(&["bypass", "on"]);
    daemon.ask(&["bypass", "off"]);
    // Events come over a thread of their own.
    daemon.wait_said("bypass is off: connections are governed again");
}

/// Rust's own handler takes the first SIGSEGV that is sent, and not caused, for nothing, and is gone then.
fn end(daemon: &mut Daemon, signal: Signal) {
    let deadline = Instant::now() + PATIENCE;
    while daemon.child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "{signal} does not end it");
        let _ = kill(Pid::from_raw(daemon.child.id() as i32), signal);
        thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn the_next_process_tells_the_last_events_of_one_that_was_not_stopped() {
    let Some(lab) = lab() else { return };
    let mut daemon = Daemon::start(&lab, &PLACE);
    for signal in [Signal::SIGKILL, Signal::SIGSEGV, Signal::SIGBUS] {
        let transfer = Transfer::start(&lab, 8001);
        transfer.wait_for(MEGABYTE);
        do_something(&daemon);
        let process = daemon.child.id();
        end(&mut daemon, signal);
        assert!(file_of_events(&daemon).exists(), "{signal}");
        daemon = Daemon::start(&lab, &PLACE);
        let said = daemon.said();
        let ended = format!(
            "windlass: process {process} has ended without a stop, by a crash or SIGKILL; its last "
        );
        assert!(said.contains(&ended), "{signal}: {said}");
        for event in [
            "order: bypass on\n",
            "bypass is off: connections are governed again\n",
        ] {
            let told = format!(" s before the last: {event}");
            assert!(said.contains(&told), "{signal}, {event}: {said}");
        }
        transfer.wait_for(MEGABYTE);
        transfer.finish();
    }
    // One that has told them itself leaves nothing, and one that is stopped neither.
    for signal in [Signal::SIGABRT, Signal::SIGTERM] {
        let kept = file_of_events(&daemon);
        assert!(kept.exists());
        end(&mut daemon, signal);
        assert!(!kept.exists(), "{signal}");
        daemon = Daemon::start(&lab, &PLACE);
        assert!(!daemon.said().contains("has ended without a stop"));
    }
}

/// The process that goes on keeps its own events.
#[test]
fn an_upgrade_is_no_crash() {
    let Some(lab) = lab() else { return };
    let daemon = Daemon::start(&lab, &PLACE);
    let first = daemon.child.id();
    daemon.ask(&["upgrade"]);
    let next = daemon.wait_status("answering", |status| status["pid"].is_u64());
    let next = next["pid"].as_u64().unwrap();
    assert_ne!(next, u64::from(first));
    do_something(&daemon);
    let kept = fs::read_to_string(file_of_events(&daemon)).unwrap();
    assert!(kept.starts_with(&format!("process {next}\n")), "{kept}");
    assert!(kept.contains(" order: bypass on\n"), "{kept}");
    assert!(!daemon.said().contains("has ended without a stop"));
    kill(Pid::from_raw(next as i32), Signal::SIGTERM).unwrap();
    let deadline = Instant::now() + PATIENCE;
    while file_of_events(&daemon).exists() {
        assert!(Instant::now() < deadline, "it does not end");
        thread::sleep(Duration::from_millis(20));
    }
}

/// What the kernel has been asked to do with a core dump: a file in the folder of the process, or none.
fn core_dumps_are_files() -> bool {
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    let is_so = !pattern.trim().is_empty() && !pattern.contains(['|', '/']);
    if !is_so {
        eprintln!("skipped: kernel.core_pattern is {}", pattern.trim());
    }
    is_so
}

fn core_in(folder: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut cores = files.filter(|path| {
        path.file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with("core")
    });
    cores.next()
}

#[test]
fn a_core_dump_has_the_last_events_and_no_packets() {
    let Some(lab) = lab().filter(|_| core_dumps_are_files()) else {
        return;
    };
    let mut daemon = Daemon::start(&lab, &PLACE);
    let process = daemon.child.id().to_string();
    let raised = Command::new("prlimit")
        .args(["--core=unlimited:unlimited", "--pid", &process])
        .status();
    if !raised.is_ok_and(|status| status.success()) {
        return eprintln!("skipped: prlimit cannot raise the limit of core dumps here");
    }
    let transfer = Transfer::start(&lab, 8001);
    transfer.wait_for(MEGABYTE);
    do_something(&daemon);
    let maps = fs::read_to_string(format!("/proc/{process}/smaps")).unwrap();
    let frames = maps
        .split_once("windlass frames")
        .expect("the memory of the packets")
        .1;
    let flags = frames
        .lines()
        .find(|line| line.starts_with("VmFlags:"))
        .unwrap();
    assert!(
        flags.split(' ').any(|flag| flag == "dd"),
        "not in core dumps: {flags}"
    );
    end(&mut daemon, Signal::SIGSEGV);
    let core = core_in(lab.folder.path()).expect("a core dump");
    let bytes = fs::read(&core).unwrap();
    println!("{}: {} bytes", core.display(), bytes.len());
    for event in [
        &b"order: bypass on"[..],
        b"bypass is off: connections are governed again",
    ] {
        assert!(bytes.windows(event.len()).any(|window| window == event));
    }
    transfer.wait_for(MEGABYTE);
    transfer.finish();
}
