//! The flight recorder of the whole box: a download over a lossy link is recorded, asked for after it has ended, read by
//! other programs, and judged. So is what tcpdump has captured at both ends.

// Shared with other tests, which use more of it.
#[allow(dead_code)]
mod netns;
mod program;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use windlass_record::pcapng::{Capture, Direction};

use netns::{Daemon, Lab, MEGABYTE, PLACE, Transfer, lab};
use program::{stderr, stdout, windlass};

const PORT: u16 = 8001;
const RECORDS: &str = "version = 1\n[recorder]\nseconds = 30\nmemory_mb = 32\n[[rule]]\nname = \"web\"\nports = [8001]\n\
                       [[rule]]\nname = \"rest\"\n";

/// Whole checksums and single segments, as on a wire; and a client that loses two packets of a hundred. False, with the
/// reason, where that cannot be had.
fn lossy(lab: &Lab) -> bool {
    for (place, interface) in [("a", "a0"), ("b", "b0")] {
        let off = [
            "-K", interface, "tx", "off", "gro", "off", "gso", "off", "tso", "off",
        ];
        let done = lab.command(place, "ethtool").args(off).output();
        if !done.is_ok_and(|output| output.status.success()) {
            eprintln!("skipped: ethtool cannot turn offloads off");
            return false;
        }
    }
    let drop = "-A INPUT -p tcp -m statistic --mode random --probability 0.02 -j DROP";
    let done = lab.command("b", "iptables").args(drop.split(' ')).output();
    let lossy = done.is_ok_and(|output| output.status.success());
    if !lossy {
        eprintln!("skipped: iptables cannot drop packets at random");
    }
    lossy
}

fn start(lab: &Lab, config: &str) -> Daemon {
    let file = lab.folder.path().join("w.toml");
    fs::write(&file, config).unwrap();
    Daemon::start(
        lab,
        &[&PLACE[..], &["--config", file.to_str().unwrap()]].concat(),
    )
}

/// tcpdump at one end.
struct Dump {
    child: Child,
    file: PathBuf,
}

impl Dump {
    /// None where there is no tcpdump.
    fn start(lab: &Lab, place: &str, interface: &str) -> Option<Dump> {
        let file = lab.folder.path().join(format!("{interface}.pcap"));
        let mut tcpdump = lab.command(place, "tcpdump");
        tcpdump
            .args([
                "-i",
                interface,
                "--immediate-mode",
                "-U",
                "-B",
                "65536",
                "-Z",
                "root",
                "-w",
            ])
            .arg(&file)
            .arg("tcp");
        let child = tcpdump.stderr(Stdio::null()).spawn().ok()?;
        let deadline = Instant::now() + Duration::from_secs(10);
        while fs::metadata(&file).map_or(0, |m| m.len()) == 0 {
            if Instant::now() > deadline {
                eprintln!("skipped: tcpdump does not capture (is it installed?)");
                return None;
            }
            thread::sleep(Duration::from_millis(10));
        }
        Some(Dump { child, file })
    }

    fn end(mut self) -> PathBuf {
        thread::sleep(Duration::from_millis(300));
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGINT).unwrap();
        self.child.wait().unwrap();
        self.file.clone()
    }
}

impl Drop for Dump {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn verdict(file: &Path, more: &[&str]) -> Output {
    windlass(&[&["verdict", file.to_str().unwrap()], more].concat())
}

#[test]
fn a_download_over_a_lossy_link_is_recorded_and_found_to_have_kept_the_rules() {
    let Some(lab) = lab() else { return };
    if !lossy(&lab) {
        return;
    }
    let daemon = start(&lab, RECORDS);
    let dumps = (Dump::start(&lab, "a", "a0"), Dump::start(&lab, "b", "b0"));
    let (first, second) = (Transfer::start(&lab, PORT), Transfer::start(&lab, 8002));
    first.wait_for(4 * MEGABYTE);
    let key = daemon.flow(PORT)["flow"].as_str().unwrap().to_owned();
    second.wait_for(MEGABYTE);
    first.finish();
    second.finish();
    assert!(daemon.counter("engine", "repaired") > 10);
    let dumped = (dumps.0.map(Dump::end), dumps.1.map(Dump::end));

    // After both have ended.
    let name = |name: &str| lab.folder.path().join(name);
    let (out, qlog) = (name("flow.pcapng"), name("flow.qlog"));
    let [out_name, qlog_name] = [&out, &qlog].map(|path| path.to_str().unwrap());
    let said = daemon.ask(&[
        "record", "flow", &key, "--out", out_name, "--qlog", qlog_name,
    ]);
    assert!(said.contains("of 1 connection(s)"), "{said}");
    let json: Value = serde_json::from_slice(&fs::read(&qlog).unwrap()).unwrap();
    let titles = json["traces"]
        .as_array()
        .unwrap()
        .iter()
        .map(|trace| &trace["title"]);
    assert!(titles.into_iter().any(|title| title == &key), "{key}");
    let judged = verdict(&out, &[]);
    let text = stdout(&judged);
    // A segment that its sender has cut otherwise the second time cannot be compared by its sum.
    let cut = text.starts_with(&format!("{key}: cannot tell; payload cannot be told"));
    let kept = text.starts_with(&format!("{key}: ok; kept: data payload ack"));
    let code = if cut { 2 } else { 0 };
    assert_eq!(
        judged.status.code(),
        Some(code),
        "{text}{}",
        stderr(&judged)
    );
    assert!(cut || kept, "{text}");
    reads_elsewhere(&out);

    // By rule, and as JSON.
    let by_rule = name("rule.pcapng");
    let said = daemon.ask(&[
        "record",
        "flow",
        "--rule",
        "web",
        "--out",
        by_rule.to_str().unwrap(),
    ]);
    assert!(said.contains("of 1 connection(s)"), "{said}");
    let json: Value = serde_json::from_str(&stdout(&verdict(&by_rule, &["-j"]))).unwrap();
    assert_eq!(json["connections"][0]["connection"], key);
    assert!(
        json["connections"][0]["compared_by_sums"].as_u64() > Some(1000),
        "{json}"
    );

    refusals(&daemon, &lab);
    forged(&out, code);
    merged(dumped, &key, &name("both.pcapng"));
    let recorded = daemon.counter("recorder", "recorded");
    assert!(recorded > 10_000 && daemon.counter("recorder", "overwritten_early") == 0);
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
}

fn refusals(daemon: &Daemon, lab: &Lab) {
    let out = lab.folder.path().join("none.pcapng");
    let out = out.to_str().unwrap();
    let said = daemon.refused(&["record", "flow", "10.77.0.1:1>10.77.0.2:2", "--out", out]);
    assert!(
        said.contains("nothing is recorded of 10.77.0.1:1>10.77.0.2:2"),
        "{said}"
    );
    let said = daemon.refused(&["record", "flow", "--rule", "nobody", "--out", out]);
    assert!(said.contains("no rule is called \"nobody\""), "{said}");
    let said = daemon.refused(&[
        "record",
        "flow",
        "--rule",
        "web",
        "--out",
        "/nowhere/x.pcapng",
    ]);
    assert!(said.contains("/nowhere/x.pcapng"), "{said}");
    assert!(!Path::new(out).exists());
}

/// A recording in which an acknowledgement shown to the server is another. Of its other rules the verdict is `untouched`.
fn forged(file: &Path, untouched: i32) {
    let mut bytes = fs::read(file).unwrap();
    let capture = Capture::read(&bytes).unwrap();
    let mut shown = capture.packets.iter().filter(|packet| {
        let segment = windlass_wire::parse(packet.data, packet.length).unwrap();
        packet.interface == 0
            && packet.direction == Some(Direction::Out)
            && segment.payload_len == 0
    });
    let packet = shown.nth(100).unwrap();
    let segment = windlass_wire::parse(packet.data, packet.length).unwrap();
    let begin = packet.data.as_ptr() as usize - bytes.as_ptr() as usize;
    let (at, number) = (begin + usize::from(segment.at.tcp) + 8, packet.number);
    let ack = segment.ack.wrapping_add(1_000_000);
    bytes[at..at + 4].copy_from_slice(&ack.to_be_bytes());
    let damaged = file.with_extension("damaged");
    fs::write(&damaged, &bytes).unwrap();
    let judged = verdict(&damaged, &[]);
    let text = stdout(&judged);
    assert_eq!(judged.status.code(), Some(1), "{text}");
    assert!(
        text.contains(&format!("BROKEN; ack at packet {number} (")),
        "{text}"
    );
    // Cut off, it proves nothing; and nothing of one rule is asked by another.
    fs::write(&damaged, &bytes[..bytes.len() / 2 + 1]).unwrap();
    let judged = verdict(&damaged, &[]);
    assert_eq!(judged.status.code(), Some(2));
    assert!(
        stderr(&judged).contains("cut off after packet"),
        "{}",
        stderr(&judged)
    );
    fs::write(&damaged, &bytes).unwrap();
    let judged = verdict(&damaged, &["--rules", "payload,handshake"]);
    assert_eq!(judged.status.code(), Some(untouched), "{}", stdout(&judged));
    fs::remove_file(&damaged).unwrap();
}

/// Other programs find two interfaces, comments, and the headers.
fn reads_elsewhere(file: &Path) {
    let run = |program: &str, arguments: &[&str]| {
        let output = Command::new(program)
            .args(arguments)
            .arg(file)
            .output()
            .ok()?;
        assert!(output.status.success(), "{program}: {}", stderr(&output));
        Some(stdout(&output))
    };
    match run("capinfos", &["-M"]) {
        Some(text) => assert!(text.contains("Number of interfaces in file: 2"), "{text}"),
        None => eprintln!("skipped: capinfos is not installed"),
    }
    let fields = "-T fields -e frame.interface_name -e frame.comment -c 200 -r";
    match run("tshark", &fields.split(' ').collect::<Vec<_>>()) {
        Some(text) => assert!(
            text.contains("m0\twindlass: ") && text.contains("m1\twindlass: "),
            "{text}"
        ),
        None => eprintln!("skipped: tshark is not installed"),
    }
    match run("tcpdump", &["-nn", "-c", "50", "-r"]) {
        Some(text) => assert_eq!(text.lines().count(), 50),
        None => eprintln!("skipped: tcpdump is not installed"),
    }
}

/// What somebody else has captured at both ends, with all payload.
fn merged(dumped: (Option<PathBuf>, Option<PathBuf>), key: &str, both: &Path) {
    let (Some(inside), Some(outside)) = dumped else {
        return;
    };
    // Of one side alone nothing can be told.
    let judged = verdict(&inside, &[]);
    assert_eq!(judged.status.code(), Some(2));
    assert!(
        stderr(&judged).contains("mergecap -I none"),
        "{}",
        stderr(&judged)
    );
    let mut mergecap = Command::new("mergecap");
    mergecap
        .args(["-I", "none", "-w"])
        .arg(both)
        .arg(&inside)
        .arg(&outside);
    let Ok(output) = mergecap.output() else {
        return eprintln!("skipped: mergecap is not installed");
    };
    assert!(output.status.success(), "{}", stderr(&output));
    let judged = verdict(both, &[]);
    let text = stdout(&judged);
    assert_eq!(judged.status.code(), Some(0), "{text}{}", stderr(&judged));
    let line = text
        .lines()
        .find(|line| line.starts_with(key))
        .expect("the connection");
    assert!(
        line.contains(": ok; kept: data payload") && line.contains("compared byte for byte"),
        "{line}"
    );
}

#[test]
fn without_a_recorder_it_says_what_to_write() {
    let Some(lab) = lab() else { return };
    let daemon = start(&lab, "version = 1\n");
    let said = daemon.refused(&["record", "flow", "--rule", "x", "--out", "/nowhere"]);
    assert!(
        said.contains("write [recorder] into the configuration"),
        "{said}"
    );
    assert_eq!(
        daemon.json(&["counters", "-j"])["recorder"],
        Value::Object(Default::default())
    );
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
}
