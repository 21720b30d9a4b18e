//! `windlass-transfer send` and `windlass-transfer recv` against each other, and against what goes wrong.

mod ends;
mod network;

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use ends::{Ends, names, stdout_json, write_file};
use serde_json::Value;

/// The other end is taken for gone after ten seconds.
const SILENCE: Duration = Duration::from_secs(16);

#[test]
fn files_arrive_whole_with_any_kind_of_algorithm() {
    let ends = Ends::here();
    let recv = ends.recv(&[]);
    for algorithm in ["cubic", "bbr", "compound:infocom,beta=0.4", "copa"] {
        let name = format!("file-{}", algorithm.split(':').next().unwrap());
        let hash = write_file(&ends.outbox().join(&name), 3_000_000);
        let file = ends.outbox().join(&name);
        let sent = ends.send(
            &recv,
            &[file.to_str().unwrap(), "--algorithm", algorithm, "-j"],
        );
        assert!(sent.status.success(), "{algorithm}: {sent:?}");
        let told = stdout_json(&sent);
        assert_eq!(told["sha256"], Value::from(hash.clone()), "{algorithm}");
        assert_eq!(told["bytes"], 3_000_000);
        assert_eq!(ends.hash_of_received(&name), hash, "{algorithm}");
    }
    assert_eq!(names(&ends.inbox()).len(), 4, "no part is left");
    let told = recv.interrupt();
    assert_eq!(told.iter().filter(|e| e["event"] == "received").count(), 4);
}

#[test]
fn filling_is_counted_by_bytes_and_by_time() {
    let ends = Ends::here();
    let recv = ends.recv(&[]);
    let sent = stdout_json(&ends.send(&recv, &["--bytes", "5M", "-j"]));
    assert_eq!(sent["bytes"], 5_000_000);
    let sent = stdout_json(&ends.send(&recv, &["--seconds", "0.5", "-j"]));
    let seconds = sent["seconds"].as_f64().unwrap();
    assert!((0.5..2.0).contains(&seconds), "{sent}");
    assert!(sent["bytes"].as_u64().unwrap() > 1_000_000, "{sent}");
    assert!(names(&ends.inbox()).is_empty());
}

#[test]
fn the_window_over_time_is_written() {
    let ends = Ends::here();
    let recv = ends.recv(&[]);
    let (csv, qlog) = (ends.outbox().join("csv"), ends.outbox().join("qlog"));
    let files = [
        "--csv",
        csv.to_str().unwrap(),
        "--qlog",
        qlog.to_str().unwrap(),
    ];
    let sent = ends.send(&recv, &[&["--bytes", "20M"][..], &files].concat());
    assert!(sent.status.success(), "{sent:?}");
    let csv = fs::read_to_string(csv).unwrap();
    let lines: Vec<Vec<&str>> = csv.lines().map(|l| l.split(',').collect()).collect();
    assert!(lines.len() > 3 && lines.iter().all(|l| l.len() == lines[0].len()));
    let window = lines[0].iter().position(|c| *c == "window_bytes").unwrap();
    let windows: Vec<u64> = lines[1..]
        .iter()
        .map(|l| l[window].parse().unwrap())
        .collect();
    assert!(windows.iter().max() > windows.first(), "{windows:?}");
    let qlog = fs::read_to_string(qlog).unwrap();
    let records: Vec<Value> = qlog
        .split('\u{1e}')
        .skip(1)
        .map(|r| serde_json::from_str(r).unwrap())
        .collect();
    assert_eq!(
        records[0]["serialization_format"],
        "application/qlog+json-seq"
    );
    let metrics = |r: &&Value| r["name"] == "quic:recovery_metrics_updated";
    assert_eq!(records.iter().filter(metrics).count(), windows.len());
}

#[test]
fn another_receiver_is_not_taken() {
    let ends = Ends::here();
    let recv = ends.recv(&[]);
    let file = ends.outbox().join("file");
    write_file(&file, 1000);
    let other = "0".repeat(64);
    let sent = ends.send_to(
        &recv.address,
        &[file.to_str().unwrap(), "--fingerprint", &other],
    );
    assert_eq!(sent.status.code(), Some(1));
    let said = String::from_utf8_lossy(&sent.stderr).into_owned();
    assert!(
        said.contains(&recv.fingerprint) && said.contains(&other),
        "{said}"
    );
    assert!(names(&ends.inbox()).is_empty());
    // The right one is.
    assert!(ends.send(&recv, &[file.to_str().unwrap()]).status.success());
}

#[test]
fn nobody_there_is_told() {
    let ends = Ends::here();
    let began = Instant::now();
    let sent = ends.send_to("127.0.0.1:9", &["--bytes", "1k", "--insecure", "-j"]);
    assert_eq!(sent.status.code(), Some(1));
    let told = stdout_json(&sent);
    let error = told["error"].as_str().unwrap();
    assert!(error.contains("does not answer"), "{error}");
    assert!(began.elapsed() < SILENCE);
}

#[test]
fn what_is_there_stays_unless_asked() {
    let ends = Ends::here();
    fs::write(ends.inbox().join("file"), "mine").unwrap();
    let file = ends.outbox().join("file");
    let hash = write_file(&file, 1000);
    let recv = ends.recv(&["--once"]);
    let sent = ends.send(&recv, &[file.to_str().unwrap()]);
    assert_eq!(sent.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&sent.stderr).contains("it exists already"));
    assert_eq!(recv.wait().0, Some(1));
    assert_eq!(fs::read(ends.inbox().join("file")).unwrap(), b"mine");
    let recv = ends.recv(&["--once", "--overwrite"]);
    assert!(ends.send(&recv, &[file.to_str().unwrap()]).status.success());
    assert_eq!(recv.wait().0, Some(0));
    assert_eq!(ends.hash_of_received("file"), hash);
}

/// The receiver is killed with most of the file to come: the sender says what is missing, nothing
/// has the final name, and the next transfer goes on where this one ended.
#[test]
fn a_killed_receiver_is_told_and_the_rest_follows_later() {
    const SIZE: u64 = 400_000_000;
    let ends = Ends::here();
    let file = ends.outbox().join("file");
    let hash = write_file(&file, SIZE);
    let recv = ends.recv(&[]);
    let sender = ends.start_send(&recv, &[file.to_str().unwrap()]);
    ends.wait_for_part(20_000_000);
    recv.kill();
    let began = Instant::now();
    let sent = sender.wait_with_output().unwrap();
    assert!(began.elapsed() < SILENCE, "{:?}", began.elapsed());
    assert_eq!(sent.status.code(), Some(1), "{sent:?}");
    let said = String::from_utf8_lossy(&sent.stderr).into_owned();
    assert!(said.contains("nothing was heard for 10 s"), "{said}");
    assert!(
        said.contains(&format!("of {SIZE} bytes have arrived")),
        "{said}"
    );
    assert_eq!(names(&ends.inbox()), [".file.windlass-part"]);

    let recv = ends.recv(&["--once"]);
    let sent = ends.send(&recv, &[file.to_str().unwrap(), "-j"]);
    assert!(sent.status.success(), "{sent:?}");
    let told = stdout_json(&sent);
    let resumed = told["resumed_from"].as_u64().unwrap();
    assert!(resumed >= 20_000_000, "{told}");
    assert_eq!(told["bytes"].as_u64(), Some(SIZE - resumed));
    assert_eq!(recv.wait().0, Some(0));
    assert_eq!(ends.hash_of_received("file"), hash);
    assert_eq!(names(&ends.inbox()), ["file"]);
}

/// What is there of another file of that name is replaced.
#[test]
fn a_part_of_something_else_is_not_gone_on_with() {
    let ends = Ends::here();
    let file = ends.outbox().join("file");
    let hash = write_file(&file, 1_000_000);
    fs::write(ends.inbox().join(".file.windlass-part"), vec![7; 500_000]).unwrap();
    let recv = ends.recv(&[]);
    let sent = stdout_json(&ends.send(&recv, &[file.to_str().unwrap(), "-j"]));
    assert_eq!(
        (&sent["resumed_from"], &sent["bytes"]),
        (&0.into(), &1_000_000.into())
    );
    assert_eq!(ends.hash_of_received("file"), hash);
}

#[test]
fn an_interrupted_end_tells_the_other() {
    let ends = Ends::here();
    // It may be heard of on either of two streams, as chance will have it.
    for _ in 0..4 {
        let recv = ends.recv(&["--once"]);
        let sender = ends.start_send(&recv, &["--seconds", "60"]);
        recv.wait_for("began");
        let pid = nix::unistd::Pid::from_raw(sender.id().cast_signed());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
        assert_eq!(sender.wait_with_output().unwrap().status.code(), Some(1));
        let (code, said) = recv.wait();
        assert_eq!(code, Some(1));
        assert!(said.contains("interrupted there"), "{said}");
    }

    let began = Instant::now();
    let recv = ends.recv(&[]);
    let sender = ends.start_send(&recv, &["--seconds", "60"]);
    recv.wait_for("began");
    recv.interrupt();
    let sent = sender.wait_with_output().unwrap();
    assert_eq!(sent.status.code(), Some(1));
    let said = String::from_utf8_lossy(&sent.stderr).into_owned();
    assert!(said.contains("interrupted there"), "{said}");
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
}

/// The folder is gone when the file is whole: the receiver cannot go on, and says so.
#[test]
fn a_receiver_that_cannot_go_on_says_why() {
    const SIZE: u64 = 200_000_000;
    let ends = Ends::here();
    let file = ends.outbox().join("file");
    write_file(&file, SIZE);
    let recv = ends.recv(&["--once"]);
    let sender = ends.start_send(&recv, &[file.to_str().unwrap()]);
    ends.wait_for_part(5_000_000);
    fs::remove_dir_all(ends.inbox()).unwrap();
    let sent = sender.wait_with_output().unwrap();
    assert_eq!(sent.status.code(), Some(1), "{sent:?}");
    let said = String::from_utf8_lossy(&sent.stderr).into_owned();
    assert!(said.contains("could not go on: cannot write"), "{said}");
    let (code, said) = recv.wait();
    assert_eq!(code, Some(1));
    assert!(said.contains("No such file or directory"), "{said}");
}

#[test]
fn wrong_usage_exits_with_2() {
    for (arguments, said) in [
        (&["send", "host", "--bytes", "1k"][..], "--fingerprint"),
        (&["send", "host", "--insecure"], "--bytes <N>"),
        (
            &["send", "host", "--insecure", "--bytes", "1k", "file"],
            "cannot be used with",
        ),
        (
            &["send", "host", "file", "--fingerprint", "beef"],
            "64 hexadecimal digits",
        ),
        (
            &["send", "host", "f", "--insecure", "--algorithm", "cubic:x"],
            "cubic has no preset \"x\"; it has: abe linux",
        ),
        (&["recv", "--listen", "nowhere"], "ADDRESS:PORT"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass-transfer"));
        let output = command.args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains(said), "{arguments:?}: {told}");
    }
}
