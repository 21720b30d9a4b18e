//! The wall clock of the box is set, as an operator or NTP sets it after a start with a dead battery.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::bars;
use crate::bed::{Bed, CLEAN, Middle};
use crate::daemon::Daemon;
use crate::outcome::Outcome;
use crate::report::{Bar, Report, Weight};
use crate::transfer::Way;
use crate::witness;

const DAY_S: i64 = 86_400;
/// Seconds that the clock is ahead: a day and less than none, to 2041 and to 1986.
pub const STEPS_S: [i64; 6] = [DAY_S, -DAY_S, 1, 15 * 365 * DAY_S, -40 * 365 * DAY_S, 0];
const DOWNLOADS: usize = 6;
const BYTES: u64 = 300_000;
const SETTLE: Duration = Duration::from_secs(1);
const END_LIMIT: Duration = Duration::from_secs(20);

/// The clock of one process.
pub struct Clock {
    shim: PathBuf,
    step: PathBuf,
}

impl Clock {
    /// With its files in this folder. None, with the reason printed, where there is no C compiler.
    pub fn make(folder: &Path) -> Option<Clock> {
        let file = |name: &str| folder.join(name);
        let (source, shim, step) = (file("clock.c"), file("clock.so"), file("clock.step"));
        fs::write(&source, include_str!("clock.c")).expect("written");
        fs::write(&step, 0i64.to_ne_bytes()).expect("written");
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O2", "-o"]);
        let made = compiler.arg(&shim).arg(&source).status();
        if !made.is_ok_and(|status| status.success()) {
            println!("   nobody sets the clock: needs a C compiler");
            return None;
        }
        Some(Clock { shim, step })
    }

    /// What a program needs in its environment to have it.
    pub fn variables(&self) -> [(&'static str, &Path); 2] {
        [("LD_PRELOAD", &self.shim), ("CLOCK_STEP", &self.step)]
    }

    /// So far from the machine's.
    pub fn set(&self, seconds: i64) {
        let file = fs::File::options().write(true).open(&self.step);
        let written = file.and_then(|file| file.write_all_at(&seconds.to_ne_bytes(), 0));
        written.expect("a clock");
    }
}

/// Transfers while the clock is set to and fro. Nothing but the time of events may change.
pub fn compare() {
    let mut bed = Bed::make(Middle::Bridge, &CLEAN, 9).expect("a bed");
    let Some(clock) = Clock::make(bed.lab.folder.path()) else {
        return;
    };
    let file = bed.lab.folder.path().join("guard.json");
    let config = format!("[guard]\nfirst_share = 0.02\nfile = {file:?}\n");
    let daemon = Daemon::start_under(&bed.lab, &config, &[], &clock.variables());
    bed.daemon = Some(daemon);
    let downloads = bed.load.begin_many(DOWNLOADS, Way::Down, None);
    std::thread::sleep(SETTLE);
    let governed = bed.governed_of(&downloads);
    let (mut short, mut times) = (Vec::new(), Vec::new());
    witness::beside(&bed.lab, &bed.load, || {
        for seconds in STEPS_S {
            clock.set(seconds);
            let begin = Instant::now();
            short.extend(bed.load.begin_many(4, Way::Down, Some(BYTES)));
            std::thread::sleep(SETTLE.saturating_sub(begin.elapsed()));
            let daemon = bed.daemon.as_ref().expect("one that runs");
            daemon.write_config(&config);
            daemon.ask(&["policy", "apply", &daemon.config()]);
            for question in [&["guard", "show"][..], &["status"], &["counters"]] {
                daemon.ask(question);
            }
            times.push(newest_event_ms(daemon));
        }
    });
    let still = bed.governed_of(&downloads);
    let long = Outcome::finish(&downloads, END_LIMIT);
    let short = Outcome::wait(&short, END_LIMIT);

    let mut report = Report::new("the clock is set");
    let (bar, weight) = bars::NONE_FAILS;
    for (name, all) in [("long", &long), ("short", &short)] {
        let not_complete = all.not_complete() as f64;
        report.tell(&format!("{name}: not complete"), not_complete, bar, weight);
        report.tell(
            &format!("{name}: corrupt"),
            all.corrupt() as f64,
            bar,
            weight,
        );
    }
    let stall = long.longest_stall.as_secs_f64();
    report.tell("longest stall, s", stall, Bar::None, Weight::Aim);
    let numbers = [governed, still].map(|n| n as f64);
    let (governed_bar, governed_weight) = bars::STILL_GOVERNED;
    report.compare(
        "governed after (beside: before)",
        numbers,
        governed_bar,
        governed_weight,
    );
    let wrong = wrong_steps(&times) as f64;
    report.tell(
        "events with another time than the clock's",
        wrong,
        bar,
        weight,
    );
    report.check();
}

/// When the newest event was, ms since 1970.
fn newest_event_ms(daemon: &Daemon) -> i64 {
    let text = daemon.ask(&["events", "-j"]);
    let last: Value = serde_json::from_str(text.lines().last().expect("an event")).expect("JSON");
    last["time_ms"].as_i64().expect("a time")
}

/// How many of these times are not as far from the first one as the clock was set, to a minute.
fn wrong_steps(times: &[i64]) -> usize {
    let expected = STEPS_S.map(|seconds| (seconds - STEPS_S[0]) * 1_000);
    let pairs = times.iter().zip(expected);
    pairs
        .filter(|(time, expected)| ((*time - times[0]) - expected).abs() > 60_000)
        .count()
}
