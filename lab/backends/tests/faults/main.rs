//! Floods and faults, with the plain bridge beside the box: the same load, the same links, one after
//! the other. Needs root.
//!
//! Without a word more it takes two minutes. `WINDLASS_FAULTS=full` takes ten, `WINDLASS_FAULTS_S=3600`
//! runs `soak` for an hour. Tables go to `WINDLASS_FAULTS_REPORT` (a folder); docs/faults.md has the last one.

mod bars;
mod bed;
mod blackout;
mod clock;
mod connection;
mod content;
mod crowd;
#[path = "../inline/daemon.rs"]
mod daemon;
mod flood;
mod frames;
mod harm;
mod killed;
#[path = "../inline/lab.rs"]
mod lab;
mod load;
mod newcomer;
mod noise;
mod outcome;
mod patience;
#[path = "../program/mod.rs"]
mod program;
mod report;
mod soak;
mod squeeze;
mod starve;
mod starved;
mod stopped;
mod syn_flood;
mod transfer;
mod witness;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use windlass_lab::command::{IP, check_host};

use frames::Kind;

/// Times are measured: one scenario at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Leave to run alone; none where it cannot run.
fn alone() -> Option<MutexGuard<'static, ()>> {
    match check_host(&[IP, ("ping", "iputils-ping")]) {
        Ok(()) => Some(ALONE.lock().unwrap_or_else(PoisonError::into_inner)),
        Err(reason) => {
            println!("skipped: {reason}");
            None
        }
    }
}

/// The same for what takes part in the full run alone.
fn alone_in_full() -> Option<MutexGuard<'static, ()>> {
    if full() {
        return alone();
    }
    println!("skipped: in full only (WINDLASS_FAULTS=full)");
    None
}

/// All of it, or the part of `make test`.
fn full() -> bool {
    std::env::var("WINDLASS_FAULTS").is_ok_and(|mode| mode == "full")
}

/// The first in full, the second otherwise.
fn either<T>(in_full: T, in_short: T) -> T {
    if full() { in_full } else { in_short }
}

#[test]
fn syns_at_a_rate() {
    let Some(_alone) = alone() else { return };
    let frames = number("WINDLASS_FAULTS_SYNS").unwrap_or(either(10_000_000, 200_000));
    let rate = number("WINDLASS_FAULTS_SYNS_PER_S").unwrap_or(80_000);
    syn_flood::compare(
        &format!("{rate} SYNs a second"),
        syn_flood::Shape {
            kind: Kind::Syn,
            rate: Some(rate),
            frames,
        },
    );
}

#[test]
fn syns_at_the_highest_rate() {
    let Some(_alone) = alone_in_full() else {
        return;
    };
    let frames = 10_000_000;
    let (kind, rate) = (Kind::Syn, None);
    syn_flood::compare(
        "SYNs, highest rate",
        syn_flood::Shape { kind, rate, frames },
    );
}

#[test]
fn stopped_and_continued() {
    let Some(_alone) = alone() else { return };
    let (count, time) = either((20, 5), (3, 1));
    let time = Duration::from_secs(time);
    stopped::compare(stopped::Stops { count, time });
}

#[test]
fn patience_with_a_worker() {
    let Some(_alone) = alone_in_full() else {
        return;
    };
    patience::tell(&[5, 10, 20, 50, 100, 200], 8, Duration::from_secs(8));
}

#[test]
fn a_crowd() {
    let Some(_alone) = alone_in_full() else {
        return;
    };
    crowd::compare(2_000, 0);
}

#[test]
fn a_crowd_on_starved_cores() {
    let Some(_alone) = alone() else { return };
    crowd::compare(either(2_000, 400), 4);
}

#[test]
fn transfers_beside_spinning_processes() {
    let Some(_alone) = alone_in_full() else {
        return;
    };
    starved::compare(starved::Shape {
        transfers: 120,
        bytes: 1_000_000,
        spinners: number("WINDLASS_FAULTS_SPINNERS").unwrap_or(4) as usize,
        rounds: 2,
    });
}

#[test]
fn killed_every_second() {
    let Some(_alone) = alone() else { return };
    let (time, rounds) = either((15, 5), (5, 1));
    killed::compare(Duration::from_secs(time), rounds);
}

/// For an hour with `WINDLASS_FAULTS_PRESSED_S=3600`.
#[test]
fn transfers_among_many_processes() {
    let Some(_alone) = alone() else { return };
    let time = number("WINDLASS_FAULTS_PRESSED_S").unwrap_or(either(20, 3));
    killed::compare_pressed(20, Duration::from_secs(time));
}

/// Copies of real packets, beside those.
const COPIES_PER_S: Option<u64> = Some(20_000);

/// Only where there is time for all of it.
fn noise_in_full(kind: Kind, per_s: Option<u64>, frames: u64) {
    let Some(_alone) = alone_in_full() else {
        return;
    };
    noise::compare(kind, per_s, frames);
}

#[test]
fn acks_of_nobody() {
    noise_in_full(Kind::Ack, None, 2_000_000);
}

#[test]
fn udp_of_nobody() {
    noise_in_full(Kind::Udp, None, 1_000_000);
}

#[test]
fn fragments_of_nobody() {
    noise_in_full(Kind::Fragment, None, 1_000_000);
}

#[test]
fn damaged_copies() {
    let Some(_alone) = alone() else { return };
    noise::compare(Kind::Damaged, COPIES_PER_S, either(400_000, 40_000));
}

#[test]
fn forged_copies() {
    noise_in_full(Kind::Forged, COPIES_PER_S, 400_000);
}

#[test]
fn newcomers() {
    let Some(_alone) = alone() else { return };
    newcomer::compare(either(5, 1));
}

#[test]
fn the_clock_is_set() {
    let Some(_alone) = alone() else { return };
    clock::compare();
}

#[test]
fn the_wire_at_a_kill() {
    let Some(_alone) = alone() else { return };
    blackout::tell(either(8, 3));
}

/// For `WINDLASS_FAULTS_S` seconds, with `WINDLASS_FAULTS_SEED`; not at all if nobody says how long.
#[test]
fn random_faults() {
    let Some(time) = number("WINDLASS_FAULTS_S") else {
        println!("skipped: WINDLASS_FAULTS_S says for how many seconds");
        return;
    };
    let Some(_alone) = alone() else { return };
    let seed = number("WINDLASS_FAULTS_SEED").unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.expect("after 1970").as_secs()
    });
    soak::run(Duration::from_secs(time), seed);
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is no number: {text}")),
    )
}
