//! Transfers in both directions at once, over IPv4 and IPv6, with loss both ways, through the whole
//! box: to their end, and past the end of the box.
//!
//! Each scenario has, for either family, one connection that carries both directions at the same
//! time, one that only the inside sends on, and one that only the outside sends on. SHA-256 must
//! agree at both ends of every stream.
//!
//! Loss inwards is before the box, so only the outside's own host can repair it: those streams are
//! slow whether governed or not. Needs root. `WINDLASS_BIN` names the program (otherwise the one of the same build, as
//! `cargo test --workspace` leaves it), `WINDLASS_SOAK_BYTES` the bytes of each stream.

#[path = "../inline/daemon.rs"]
mod daemon;
#[path = "../inline/lab.rs"]
mod lab;
#[path = "../program/mod.rs"]
mod program;
mod stream;

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use windlass_lab::command::{IP, check_host};
use windlass_lab::emulator::{Emulator, Ends, Path};

use daemon::Daemon;
use lab::Lab;
use stream::{Side, Stream};

/// Bytes of each stream when nobody says otherwise.
const DEFAULT_BYTES: u64 = 10_000_000;
/// Connections of a scenario: three for either family.
const CONNECTIONS: u64 = 6;
/// The outside link loses in both directions.
const PATH: Path = Path {
    rate_bits_per_s: 400_000_000,
    rtt: 10_000_000,
    loss_ratio: 0.01,
    ack_loss_ratio: 0.01,
    queue_bdp: 1.0,
};
const SEED: u64 = 1;
const INSIDE_ONLY: &str = "";
const BOTH: &str = "[[rule]]\nsender = \"both\"\n";
/// Longest wait for the middle of the transfers.
const MIDDLE_TIMEOUT: Duration = Duration::from_secs(600);
/// How long a box stands still, and how soon after it everything is governed again.
const STOP: Duration = Duration::from_millis(500);
const GOVERNED_AGAIN: Duration = Duration::from_secs(3);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

#[test]
fn inside_governed_outside_left_alone() {
    soak(INSIDE_ONLY, None);
}

#[test]
fn both_directions_governed() {
    soak(BOTH, None);
}

#[test]
fn inside_governed_and_killed() {
    soak(INSIDE_ONLY, Some(Event::End(Signal::SIGKILL)));
}

#[test]
fn inside_governed_and_terminated() {
    soak(INSIDE_ONLY, Some(Event::End(Signal::SIGTERM)));
}

#[test]
fn both_directions_governed_and_killed() {
    soak(BOTH, Some(Event::End(Signal::SIGKILL)));
}

#[test]
fn both_directions_governed_and_terminated() {
    soak(BOTH, Some(Event::End(Signal::SIGTERM)));
}

#[test]
fn inside_governed_and_given_other_rules() {
    soak(INSIDE_ONLY, Some(Event::OtherRules));
}

/// As if its process were stopped, starved or stuck: the kernel forwards meanwhile.
#[test]
fn inside_governed_and_stopped() {
    soak(INSIDE_ONLY, Some(Event::Stop));
}

#[test]
fn both_directions_governed_and_stopped() {
    soak(BOTH, Some(Event::Stop));
}

/// What happens to the box when the streams are half done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Event {
    /// It gets a signal that ends it.
    End(Signal),
    /// It gets rules with a mistake, and then others.
    OtherRules,
    /// It stands still for a while.
    Stop,
}

/// One scenario: the streams, the box with the rules of `config`, and what happens to it when they
/// are half done.
fn soak(config: &str, event: Option<Event>) {
    if let Err(reason) = check_host(&[IP]) {
        println!("skipped: {reason}");
        return;
    }
    // Nothing must be over when it goes on.
    let longer = if event == Some(Event::Stop) { 2 } else { 1 };
    let bytes = longer * stream_bytes();
    let lab = Lab::create().expect("namespaces");
    let ends = Ends::open(&lab.topology).expect("interfaces");
    let link = Emulator::start(ends, &PATH.setup(SEED)).expect("a link");
    let mut daemon = Daemon::start(&lab, config);
    let governed = |s: &Stream| s.sender == Side::Inside || config == BOTH;

    let streams = stream::start_all(&lab, bytes).expect("connections");
    if let Some(event) = event {
        wait_for_the_middle(&streams, bytes, governed);
        check(&daemon, config);
        match event {
            Event::End(signal) => daemon.end(signal),
            Event::OtherRules => give_other_rules(&daemon),
            Event::Stop => stop_and_go_on(&daemon, &streams, bytes),
        }
    }
    let mut failures = Vec::new();
    for stream in streams {
        let (name, is_governed) = (stream.name.clone(), governed(&stream));
        let stall = stream.longest_stall();
        match stream.finish() {
            Ok(took) => println!(
                "{name}: {:.2} s, {:.0} Mbit/s, stood still for {stall:?}{}",
                took.as_secs_f64(),
                bytes as f64 * 8e-6 / took.as_secs_f64(),
                if is_governed { ", governed" } else { "" }
            ),
            Err(error) => failures.push(format!("{name}: {error:#}")),
        }
    }
    if !matches!(event, Some(Event::End(_))) {
        if !failures.is_empty() {
            println!("{}", daemon.ask(&["flow", "show", "-j"]));
        }
        check(&daemon, config);
        daemon.end(Signal::SIGTERM);
    }
    let (record, _) = link.stop().expect("a link");
    println!("links: {:?}, {:?}", record.down, record.up);
    if record.mishaps > 0 {
        // A busy machine loses frames before they reach the model. That is loss like any other to
        // the hosts: the transfers have to be intact all the same.
        println!("{} frames lost beside the link's model", record.mishaps);
    }
    assert!(failures.is_empty(), "{failures:#?}");
    for link in [record.down[0], record.up[0]] {
        assert!(link.lost_packets > link.offered_packets / 200, "{link:?}");
    }
}

/// It stands still while the streams run: they go on meanwhile, and are governed again after it. One whose last byte has come in the
/// meantime has nothing more to say, and may stay out of sight.
fn stop_and_go_on(daemon: &Daemon, streams: &[Stream], bytes: u64) {
    let running = |s: &&Stream| s.sender == Side::Inside;
    let before: Vec<u64> = streams
        .iter()
        .filter(running)
        .map(Stream::received)
        .collect();
    daemon.stop_for(STOP);
    let after = streams.iter().filter(running).map(Stream::received);
    for (before, after) in before.into_iter().zip(after) {
        println!("{before} bytes before it stood still, {after} after");
    }
    let begin = Instant::now();
    loop {
        let counters = daemon.counters();
        let engine = |name: &str| counters["engine"][name].as_u64().expect("a counter");
        let unread = counters["xdp"]["passed_unread"]
            .as_u64()
            .expect("a counter");
        let whole = streams.iter().filter(|stream| stream.received() == bytes);
        let still_lost = engine("sight_lost") - engine("sight_regained");
        if engine("sight_lost") > 0 && still_lost <= whole.count() as u64 {
            assert!(unread > 0, "{counters}");
            return println!("all is followed again after {:?}", begin.elapsed());
        }
        assert!(begin.elapsed() < GOVERNED_AGAIN, "{counters}");
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Rules with a mistake change nothing, by the command or by SIGHUP; others reach the flows that run.
fn give_other_rules(daemon: &Daemon) {
    let switched = || daemon.counters()["engine"]["flows_switched"].as_u64();
    let before = switched();
    daemon.write_config("[[rule]]\nalgorithm = \"cubik\"\n");
    let refused = daemon
        .try_ask(&["policy", "apply", &daemon.config()])
        .unwrap_err();
    assert!(
        format!("{refused:#}").contains(":3:13: unknown algorithm"),
        "{refused:#}"
    );
    daemon.hang_up("the rules stay as they were");
    assert_eq!(switched(), before);
    daemon.write_config("[[rule]]\nalgorithm = \"cubic\"\n");
    let applied = daemon.ask(&["policy", "apply", &daemon.config()]);
    assert_eq!(applied, "1 rule(s) in charge\n");
    let flows = daemon.ask(&["flow", "show", "-j"]);
    assert!(flows.contains("\"algorithm\": \"cubic\""), "{flows}");
    // What the command line said when it started holds for the file that it started with.
    daemon.hang_up("is in charge");
    let flows = daemon.ask(&["flow", "show", "-j"]);
    assert!(!flows.contains("\"algorithm\": \"cubic\""), "{flows}");
}

fn stream_bytes() -> u64 {
    match std::env::var("WINDLASS_SOAK_BYTES") {
        Ok(text) => text.parse().expect("WINDLASS_SOAK_BYTES is not a number"),
        Err(_) => DEFAULT_BYTES,
    }
}

/// Until a governed stream is half done.
fn wait_for_the_middle(streams: &[Stream], bytes: u64, governed: impl Fn(&Stream) -> bool) {
    let deadline = Instant::now() + MIDDLE_TIMEOUT;
    let half_done = |s: &Stream| governed(s) && s.received() >= bytes / 2;
    while !streams.iter().any(half_done) {
        assert!(Instant::now() < deadline, "the streams stand still");
        std::thread::sleep(POLL_INTERVAL);
    }
    let over = streams.iter().filter(|s| s.received() == bytes).count();
    assert_eq!(over, 0, "streams were over too soon");
}

/// The daemon governs what it should, holds what it governs, and lets nothing by.
fn check(daemon: &Daemon, config: &str) {
    let counters = daemon.counters();
    println!("counters: {counters}");
    let engine = |name: &str| counters["engine"][name].as_u64().expect("a counter");
    let directions = if config == BOTH { 2 } else { 1 };
    assert_eq!(engine("connections"), CONNECTIONS);
    assert_eq!(engine("flows_governed"), CONNECTIONS * directions);
    assert!(engine("repaired") > 0);
    for name in [
        "unheld",
        "passed_no_syn",
        "passed_malformed",
        "passed_one_way",
        "passed_timed_out",
        "passed_wrong_side",
        "passed_unseen_data",
        "passed_flow_limit",
        "passed_segment_limit",
        "passed_bad_checksum",
    ] {
        assert_eq!(engine(name), 0, "{name}");
    }
    // What the XDP program takes for malformed never reaches the engine.
    assert_eq!(counters["xdp"]["passed_malformed"], 0);
}
