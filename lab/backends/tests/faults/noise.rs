//! Packets that belong to nobody, and damaged copies of real ones.

use std::time::{Duration, Instant};

use crate::bars;
use crate::bed::{Bed, CLEAN, Middle};
use crate::flood::{Flood, Plan, Sent};
use crate::frames::Kind;
use crate::outcome::{Meter, Outcome};
use crate::report::{Bar, Report, Weight};
use crate::transfer::Way;

const DOWNLOADS: usize = 10;
const UPLOADS: usize = 5;
const SETTLE: Duration = Duration::from_secs(2);
/// How long the downloads are watched afterwards. BBR drains its queue for a fifth of a second once in ten (ProbeRTT), and ten
/// flows that began together do so together: two seconds in which that falls have a tenth less.
const AFTER: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// No more of it, however many are still to come.
const LIMIT: Duration = Duration::from_secs(8);
const END_LIMIT: Duration = Duration::from_secs(20);

struct Round {
    sent: Sent,
    mbits: f64,
    mbits_after: f64,
    all: Outcome,
    governed: [usize; 2],
}

/// So many packets of this kind beside transfers each way. Those without a rate come at the box as fast as at the bridge,
/// which slows its generator down.
pub fn compare(kind: Kind, rate: Option<u64>, frames: u64) {
    let mut report = Report::new(&format!("{kind:?} packets"));
    let bridge = run(Middle::Bridge, kind, rate, frames);
    let rate = rate.or(Some(bridge.sent.per_second() as u64));
    let windlass = run(Middle::Box, kind, rate, frames);
    let mut compare = |figure: &str, of: fn(&Round) -> f64, (bar, weight): (Bar, Weight)| {
        report.compare(figure, [of(&bridge), of(&windlass)], bar, weight);
    };
    let shown = (Bar::None, Weight::Aim);
    compare("packets a second", |r| r.sent.per_second(), shown);
    compare("Mbit/s during", |r| r.mbits, bars::FLOOD_SPEED);
    compare("Mbit/s after", |r| r.mbits_after, bars::FLOOD_SPEED);
    let shown_failures = |r: &Round| r.all.not_complete() as f64;
    compare("transfers not complete", shown_failures, bars::NOISE_FAILS);
    compare("corrupt", |r| r.all.corrupt() as f64, bars::NONE_FAILS);
    let [before, after] = windlass.governed.map(|n| n as f64);
    report.tell("governed before", before, Bar::None, Weight::Aim);
    let (bar, weight) = bars::NOISE_GOVERNED;
    report.compare(
        "governed after (beside: before)",
        [before, after],
        bar,
        weight,
    );
    report.check();
}

fn run(middle: Middle, kind: Kind, rate: Option<u64>, frames: u64) -> Round {
    let bed = Bed::make(middle, &CLEAN, 5).expect("a bed");
    let mut transfers = bed.load.begin_many(DOWNLOADS, Way::Down, None);
    transfers.extend(bed.load.begin_many(UPLOADS, Way::Up, None));
    std::thread::sleep(SETTLE);
    let before = bed.governed_downloads();
    let plan = Plan {
        kind,
        rate,
        frames,
        port: bed.load.port,
        seed: 1,
    };
    let flood = Flood::start(&bed.lab, plan).expect("a flood");
    let mut meter = Meter::start(&transfers[..DOWNLOADS]);
    let begin = Instant::now();
    while !flood.is_over() && begin.elapsed() < LIMIT {
        std::thread::sleep(POLL_INTERVAL);
    }
    let mbits = meter.mbits();
    let sent = flood.stop().expect("a flood");
    std::thread::sleep(AFTER);
    let mbits_after = meter.mbits();
    let after = bed.governed_downloads();
    bed.tell_counters();
    Round {
        sent,
        mbits,
        mbits_after,
        all: Outcome::finish(&transfers, END_LIMIT),
        governed: [before, after],
    }
}
