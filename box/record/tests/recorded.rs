//! What a box records by itself: a capture that other programs read, a verdict on it, and qlog.

mod captures;

use std::process::Command;

use captures::{Recorder, Tapped, broken, lossy_scenario};
use serde_json::Value;
use windlass_record::pcapng::{self, Capture, Direction};
use windlass_record::verdict::{Outcome, Rule, judge};
use windlass_record::{HEADERS_MAX_BYTES, Recording, What, qlog};
use windlass_sim::{Side, run};

const MEGABYTE: usize = 1 << 20;
const MINUTE: u64 = 60_000_000_000;

fn run_recorded(bytes: u64, memory: usize) -> Tapped<Recorder> {
    let mut tapped = Tapped {
        inner: Recorder::new(memory, MINUTE),
        frames: Vec::new(),
    };
    let outcome = run(&lossy_scenario(bytes), &mut tapped);
    assert!(outcome.intact);
    tapped
}

fn written(recording: &Recording) -> Vec<u8> {
    let mut file = Vec::new();
    pcapng::write(recording, &mut file).expect("memory");
    file
}

#[test]
fn a_recording_has_every_packet_of_both_sides_and_no_payload() {
    let tapped = run_recorded(300_000, 8 * MEGABYTE);
    let recording = tapped.inner.recording();
    let stats = tapped.inner.tape.stats();
    assert_eq!(stats.recorded, tapped.frames.len() as u64);
    assert_eq!((stats.overwritten_early, stats.too_long), (0, 0));
    assert_eq!(recording.entries.len(), tapped.frames.len());
    let file = written(&recording);
    let capture = Capture::read(&file).expect("a capture");
    assert_eq!(capture.packets.len(), tapped.frames.len());
    for side in [Side::Inside, Side::Outside] {
        let seen = tapped.frames.iter().filter(|frame| frame.side == side);
        let kept = capture
            .packets
            .iter()
            .filter(|p| p.interface == side as u32);
        for (frame, packet) in seen.zip(kept) {
            assert_eq!(packet.length as usize, frame.bytes.len());
            assert_eq!(packet.direction == Some(Direction::Out), frame.leaves);
            assert_eq!(packet.data, &frame.bytes[..packet.data.len()]);
            let segment = windlass_wire::parse(packet.data, packet.length).expect("headers");
            assert_eq!(packet.data.len(), usize::from(segment.at.payload));
            assert!(packet.data.len() <= HEADERS_MAX_BYTES);
        }
    }
    let verdict = judge(&capture, [None, None], Rule::ALL).expect("two sides");
    assert_eq!(verdict.outcome(), Outcome::Kept, "{verdict}");
    assert!(verdict.connections[0].compared_by_sums > 200, "{verdict}");
}

#[test]
fn a_small_memory_keeps_the_newest_and_counts_what_is_gone() {
    let tapped = run_recorded(600_000, 64 << 10);
    let recording = tapped.inner.recording();
    let stats = tapped.inner.tape.stats();
    assert!(stats.overwritten_early > 500, "{stats:?}");
    let kept = recording.entries.len() as u64;
    assert!(
        kept > 300 && kept + stats.overwritten_early <= stats.recorded,
        "{kept} {stats:?}"
    );
    let last = tapped.frames.last().expect("some");
    assert_eq!(recording.entries.last().expect("some").time, last.time);
    let file = written(&recording);
    let capture = Capture::read(&file).expect("a capture");
    let verdict = judge(&capture, [None, None], Rule::ALL).expect("two sides");
    assert_eq!(
        (verdict.outcome(), broken(&verdict)),
        (Outcome::Unknown, vec![]),
        "{verdict}"
    );
}

#[test]
fn qlog_has_transmissions_acknowledgements_losses_and_the_path() {
    let recording = run_recorded(300_000, 8 * MEGABYTE).inner.recording();
    let mut text = Vec::new();
    qlog::write(&recording, &mut text).expect("memory");
    // qvis looks for these in the first bytes.
    assert!(text.starts_with(b"{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON\""));
    let json: Value = serde_json::from_slice(&text).expect("JSON");
    let traces = json["traces"].as_array().expect("traces");
    let size = |trace: &&Value| trace["events"].as_array().map_or(0, Vec::len);
    let trace = traces.iter().max_by_key(size).expect("the download");
    let events = trace["events"].as_array().expect("events");
    let named = |name: &'static str| events.iter().filter(move |event| event["name"] == name);
    let sent = named("transport:packet_sent").count();
    let repairs = recording.entries.iter().filter(
        |entry| matches!(entry.what, What::Left(why) if why == windlass_engine::Why::Repair),
    );
    assert!(sent > 200, "{sent}");
    assert_eq!(named("recovery:packet_lost").count(), repairs.count());
    assert!(named("recovery:packet_lost").count() > 2);
    let mut acked = std::collections::BTreeSet::new();
    for event in named("transport:packet_received") {
        for range in event["data"]["frames"][0]["acked_ranges"]
            .as_array()
            .expect("ranges")
        {
            let [from, to] = [0, 1].map(|at| range[at].as_u64().expect("a number"));
            acked.extend(from..=to);
        }
    }
    assert_eq!(acked.len(), sent, "each transmission is covered in the end");
    let windows = named("recovery:metrics_updated")
        .filter(|e| e["data"]["congestion_window"].as_u64() > Some(0));
    assert!(windows.count() > 50);
    let times: Vec<f64> = events
        .iter()
        .filter_map(|event| event["time"].as_f64())
        .collect();
    assert!(times.is_sorted() && times.len() == events.len());
}

/// What a program of Debian says of the file; `None`, with the reason, where it is not installed.
fn ask(program: &str, arguments: &[&str], file: &std::path::Path) -> Option<String> {
    let mut command = Command::new(program);
    let Ok(output) = command.args(arguments).arg(file).output() else {
        eprintln!("skipped: {program} is not installed");
        return None;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {said}");
    assert!(
        !said.contains("damaged") && !said.contains("truncated"),
        "{program}: {said}"
    );
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn tcpdump_tshark_and_capinfos_read_it() {
    let recording = run_recorded(300_000, 8 * MEGABYTE).inner.recording();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("flow.pcapng");
    std::fs::write(&file, written(&recording)).expect("written");
    let count = recording.entries.len();
    if let Some(text) = ask("tcpdump", &["-nn", "-r"], &file) {
        assert_eq!(text.lines().count(), count);
        assert!(
            text.contains("Flags [S.]") && text.contains("length 1448"),
            "{text}"
        );
    }
    if let Some(text) = ask("capinfos", &["-M"], &file) {
        assert!(text.contains("Number of interfaces in file: 2"), "{text}");
        assert!(
            text.contains(&format!("Number of packets:   {count}")),
            "{text}"
        );
        assert!(
            text.contains("Packet size limit:   inferred") || text.contains("128"),
            "{text}"
        );
    }
    let fields = [
        "-T",
        "fields",
        "-e",
        "frame.number",
        "-e",
        "frame.interface_name",
        "-e",
        "frame.comment",
        "-e",
        "frame.len",
        "-r",
    ];
    if let Some(text) = ask("tshark", &fields, &file) {
        assert_eq!(text.lines().count(), count);
        for expected in [
            "\teth1\twindlass: ",
            "\teth2\twindlass: ",
            "repair: Data that is taken for lost",
            "cwnd:",
            "ms after it last came",
        ] {
            assert!(text.contains(expected), "{expected}");
        }
    }
}

#[test]
fn the_engine_tells_what_it_decides_about_each_packet() {
    use windlass_engine::{Fate, Why};
    let recording = run_recorded(300_000, 8 * MEGABYTE).inner.recording();
    let (mut fates, mut whys) = (Vec::new(), Vec::new());
    let mut first = std::collections::HashSet::new();
    for entry in &recording.entries {
        let segment = entry.segment().expect("headers");
        match &entry.what {
            What::Came { fate, standing, .. } => {
                fates.push(*fate);
                let data = segment.payload_len > 1000;
                let kept = matches!(
                    fate,
                    Fate::Held | Fate::RepeatAbsorbed | Fate::RepeatAnswered
                );
                assert!(!data || kept, "{entry:?}");
                let Some(standing) = standing else { continue };
                assert!(!data && standing.cwnd > 0, "{entry:?}");
                assert_eq!(
                    standing.sender,
                    entry.side.other(),
                    "of what it acknowledges"
                );
            }
            What::Left(why) => {
                whys.push(*why);
                let bulk = entry.side == Side::Outside && segment.payload_len > 1000;
                let is_new = first.insert((segment.key, segment.seq));
                assert!(!bulk || is_new == (*why == Why::First), "{entry:?}");
            }
            What::Mark(_) => panic!("marks are no packets"),
        }
    }
    for fate in [Fate::Sent, Fate::Held, Fate::AckHidden, Fate::AckWaits] {
        assert!(fates.contains(&fate), "{fate:?}");
    }
    for why in [
        Why::Forwarded,
        Why::First,
        Why::Repair,
        Why::AckShown,
        Why::AckMade,
    ] {
        assert!(whys.contains(&why), "{why:?}");
    }
}
