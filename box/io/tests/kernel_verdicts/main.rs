//! The engine and a real kernel look at the same segments.
//!
//! The engine lets a segment mean something only if the end it is for accepts it: by its sequence
//! number (RFC 9293 §3.10.7.4), against blind resets, SYNs and data (RFC 5961 §3 to §5), by its
//! timestamps (RFC 7323 §5), by its checksum. Here the end is this machine's kernel, in a network
//! namespace, and we are its peer with hand-made frames. Whatever the kernel drops unheard (it says
//! why: the tracepoint `skb:kfree_skb`) the engine must not have believed.
//!
//! `WINDLASS_SEGMENTS` is the number of segments in each state, `WINDLASS_SEED` another seed;
//! `WINDLASS_PRINT` has every segment printed with the kernel's verdict. Needs root and tracefs;
//! skipped with the reason without.

mod bench;
mod conn;
mod drops;
mod fate;
mod generate;
#[allow(dead_code)]
#[path = "../veth/lab.rs"]
mod lab;
mod random;
mod repair;
mod report;
mod setup;
mod talk;

use windlass_wire::Flags;

use bench::{Bench, Counted};
use fate::{Fate, fate, is_own};
use generate::generate;
use report::Report;
use setup::{State, open, profile};

/// In each state, where nothing else is asked for.
const SEGMENTS: u32 = 10_000;
/// So many segments that are refused go over one connection, at most.
const SEGMENTS_PER_CONNECTION: u32 = 8;

fn number(name: &str, default: u32) -> u32 {
    let given = std::env::var(name).ok();
    given.map_or(default, |text| text.parse().expect("a number"))
}

/// Segments on one connection, until one was taken: the state is another one then.
fn look(bench: &mut Bench, state: State, timestamps: bool, report: &mut Report) {
    let profile = profile(bench, state, timestamps);
    let mut conn = open(bench, state, profile);
    report.connections += 1;
    let print_all = std::env::var_os("WINDLASS_PRINT").is_some();
    for _ in 0..SEGMENTS_PER_CONNECTION {
        let segment = generate(bench, state, &conn);
        let before = Counted::now();
        let outcome = conn.send(bench, &segment.frame);
        let fate = fate(state, &conn, &outcome, before);
        let doubtful =
            matches!(fate, Fate::Unclear(_)) || outcome.believed && fate.refusal().is_some();
        if doubtful && !is_own(&conn, bench, &outcome) {
            report.disturbed += 1;
            break;
        }
        if print_all {
            println!("{state:?}: {:?} {}: {fate:?}", segment.odd, segment.about);
        }
        report.add(&segment, &fate, outcome.believed);
        let reset = outcome.replies.iter().any(|r| r.flags.has(Flags::RST));
        let refused = matches!(fate, Fate::Refused(_)) && conn.alive();
        // Linux keeps the timestamp of some in-order segments that it drops for their ACK number.
        let stamped = segment.odd.iter().any(|odd| odd.starts_with("ack "));
        // The box may have let go of the connection, though it does not take it for closed.
        let reset = reset || segment.odd.iter().any(|odd| odd.starts_with("flags RST"));
        // It takes the echo of its SYN-ACK, and not of what it has answered since.
        let answered = state == State::SynReceived && !outcome.replies.is_empty();
        if !refused || outcome.believed || reset || stamped || answered {
            break;
        }
    }
    conn.close(bench);
}

fn compare(state: State) {
    let segments = number("WINDLASS_SEGMENTS", SEGMENTS);
    let seed = u64::from(number("WINDLASS_SEED", 1)) << 8 | state as u64;
    let report = Bench::with(seed, move |bench| {
        let mut report = Report::default();
        while report.segments < segments {
            let timestamps = report.connections % 2 == 0;
            look(bench, state, timestamps, &mut report);
        }
        report
    });
    let Some(report) = report else { return };
    let text = report.text(state);
    println!("{text}");
    assert!(report.is_right(), "{text}");
}

#[test]
fn syn_sent() {
    compare(State::SynSent);
}

#[test]
fn syn_received() {
    compare(State::SynReceived);
}

#[test]
fn established_idle() {
    compare(State::Idle);
}

#[test]
fn established_with_data_in_flight() {
    compare(State::InFlight);
}

#[test]
fn closing() {
    compare(State::Closing);
}

#[test]
fn last_ack() {
    compare(State::LastAck);
}

#[test]
fn established_with_a_hole() {
    compare(State::Hole);
}

#[test]
fn established_with_a_closed_window() {
    compare(State::ZeroWindow);
}

#[test]
fn fin_wait_1() {
    compare(State::FinWait1);
}

#[test]
fn fin_wait_2() {
    compare(State::FinWait2);
}

#[test]
fn close_wait() {
    compare(State::CloseWait);
}
