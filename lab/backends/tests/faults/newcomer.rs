//! Short downloads that begin while long ones keep a queue full. The server beside Windlass has BBR in its own kernel.

use std::time::Duration;

use crate::bars;
use crate::bed::{Bed, CLEAN, Middle};
use crate::outcome::{Outcome, median};
use crate::report::{Bar, Report, Weight};
use crate::transfer::Way;
use crate::witness;

const LONG: usize = 6;
const SHORT_AT_ONCE: usize = 4;
const BYTES: u64 = 300_000;
const INTERVAL: Duration = Duration::from_secs(1);
const TIMES: usize = 6;
const END_LIMIT: Duration = Duration::from_secs(30);
const SEED: u64 = 9;

struct Round {
    short: Outcome,
    long: Outcome,
    long_stall: f64,
}

/// Rounds of both in turn; the medians count.
pub fn compare(rounds: u64) {
    let mut all = [Vec::new(), Vec::new()];
    for number in 0..rounds {
        for (of, middle) in all.iter_mut().zip([Middle::Bridge, Middle::Box]) {
            match run(middle, SEED + number) {
                Ok(round) => of.push(round),
                Err(error) => return println!("skipped: {error:#}"),
            }
        }
    }
    let mut report = Report::new("short downloads beside 6 long ones (bridge: BBR in the server)");
    let medians = |of: fn(&Round) -> f64| all.each_ref().map(|r| median(r.iter().map(of)));
    let shown = (Bar::None, Weight::Aim);
    let mut tell = |figure: &str, of: fn(&Round) -> f64, (bar, weight): (Bar, Weight)| {
        report.compare(figure, medians(of), bar, weight);
    };
    tell("short ones, p50, s", |r| r.short.time(0.5), bars::NEWCOMERS);
    tell("short ones, p90, s", |r| r.short.time(0.9), shown);
    tell("short ones, longest, s", |r| r.short.time(1.0), shown);
    tell("longest stall of a long one, s", |r| r.long_stall, shown);
    for (name, of) in [
        ("short", (|r: &Round| &r.short) as fn(&Round) -> &Outcome),
        ("long", |r| &r.long),
    ] {
        let [bridge, windlass] = all.each_ref().map(|r| Outcome::sum(r.iter().map(of)));
        Outcome::tell(&mut report, name, [&bridge, &windlass]);
    }
    report.check();
}

fn run(middle: Middle, seed: u64) -> anyhow::Result<Round> {
    let bed = match middle {
        Middle::Bridge => Bed::with_server(&CLEAN, seed, "bbr")?,
        Middle::Box => Bed::make(middle, &CLEAN, seed)?,
    };
    let long = bed.load.begin_many(LONG, Way::Down, None);
    std::thread::sleep(INTERVAL);
    let short = witness::beside(&bed.lab, &bed.load, || {
        let mut short = Vec::new();
        for _ in 0..TIMES {
            short.extend(bed.load.begin_many(SHORT_AT_ONCE, Way::Down, Some(BYTES)));
            std::thread::sleep(INTERVAL);
        }
        short
    });
    let stalls = long.iter().map(|t| t.longest_stall().as_secs_f64());
    let long_stall = stalls.fold(0.0, f64::max);
    let short = Outcome::wait(&short, END_LIMIT);
    let long = Outcome::finish(&long, END_LIMIT);
    println!(
        "{middle:?}: short p50 {:.2} p90 {:.2} longest {:.2} s; a long one stood still for {long_stall:.2} s",
        short.time(0.5),
        short.time(0.9),
        short.time(1.0),
    );
    Ok(Round {
        short,
        long,
        long_stall,
    })
}
