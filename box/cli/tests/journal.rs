//! The log of a box whose service manager has connected it with the journal: events with their fields, or lines with their
//! priorities where the journal cannot be reached.

#[allow(dead_code)]
mod netns;

use std::fs;
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use netns::{Lab, PLACE, PROGRAM, lab};

const PATIENCE: Duration = Duration::from_secs(20);

/// What a box writes as lines that starts, is told to go into bypass and out of it, and stops, with the journal at `socket`.
fn lines_of_a_life(lab: &Lab, socket: &Path) -> String {
    let (mut log, stderr) = UnixStream::pair().unwrap();
    let about = fs::metadata(format!("/proc/self/fd/{}", stderr.as_raw_fd())).unwrap();
    let control = lab.folder.path().join("w.sock");
    let mut command = lab.command("m", PROGRAM);
    command
        .arg("run")
        .args(PLACE)
        .arg("--control")
        .arg(&control)
        .env("JOURNAL_STREAM", format!("{}:{}", about.dev(), about.ino()))
        .env("WINDLASS_JOURNAL", socket)
        .stdout(Stdio::null())
        .stderr(OwnedFd::from(stderr));
    let mut child = command.spawn().unwrap();
    drop(command);
    let deadline = Instant::now() + PATIENCE;
    let ask = |arguments: &[&str]| {
        let mut command = Command::new(PROGRAM);
        let command = command.args(arguments).arg("--control").arg(&control);
        command.output().unwrap().status.success()
    };
    while !ask(&["bypass", "on"]) {
        assert!(Instant::now() < deadline, "windlass is not ready");
        thread::sleep(Duration::from_millis(50));
    }
    assert!(ask(&["bypass", "off"]));
    kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).unwrap();
    assert!(child.wait().unwrap().success());
    let mut text = String::new();
    log.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn lines_have_priorities_where_the_journal_cannot_be_reached() {
    let Some(lab) = lab() else { return };
    let text = lines_of_a_life(&lab, &lab.folder.path().join("nobody"));
    for line in [
        "<4>windlass: bypass is on: ",
        "<5>windlass: bypass is off: ",
        "<6>windlass: the bridge carries",
    ] {
        assert!(text.contains(line), "{line} in:\n{text}");
    }
}

#[test]
fn the_journal_gets_each_event_once_with_its_fields() {
    let Some(lab) = lab() else { return };
    let path = lab.folder.path().join("journal");
    let journal = UnixDatagram::bind(&path).unwrap();
    journal.set_nonblocking(true).unwrap();
    let (entries, heard) = std::sync::mpsc::channel();
    let stop = entries.clone();
    let reader = thread::spawn(move || {
        let mut buffer = [0; 65_536];
        loop {
            match journal.recv(&mut buffer) {
                Ok(n) if buffer[..n] == *b"end" => return,
                Ok(n) => entries
                    .send(String::from_utf8(buffer[..n].to_vec()).unwrap())
                    .unwrap(),
                Err(_) => thread::sleep(Duration::from_millis(5)),
            }
        }
    });
    let text = lines_of_a_life(&lab, &path);
    UnixDatagram::unbound()
        .unwrap()
        .send_to(b"end", &path)
        .unwrap();
    reader.join().unwrap();
    drop(stop);
    let all: Vec<String> = heard.iter().collect();
    for (kind, priority, message) in [
        ("started", 6, "m0 > m1: new flows are governed"),
        ("bypass_on", 4, "bypass is on: every flow passes untouched"),
        ("stopped", 6, "the bridge carries every flow from here on"),
    ] {
        let is_kind = |entry: &&String| entry.contains(&format!("\nWINDLASS_EVENT={kind}\n"));
        let entries: Vec<&String> = all.iter().filter(is_kind).collect();
        let [entry] = entries[..] else {
            panic!("{kind}: {all:?}");
        };
        let priority = format!("PRIORITY={priority}");
        let message_line = format!("MESSAGE={message}");
        for line in [&*message_line, &priority, "SYSLOG_IDENTIFIER=windlass"] {
            assert!(entry.lines().any(|l| l == line), "{line} in {entry}");
        }
        assert!(!text.contains(message), "{message} twice:\n{text}");
    }
    // Orders are no events, and stay lines with their priority.
    assert!(text.contains("<5>windlass: order: bypass on"), "{text}");
}
