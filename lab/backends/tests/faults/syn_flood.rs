//! Spoofed SYNs beside transfers and honest new connections.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::bars;
use crate::bed::{Bed, CLEAN, Middle, wait_until};
use crate::either;
use crate::flood::{Flood, Plan, Sent};
use crate::frames::Kind;
use crate::outcome::{Meter, Outcome};
use crate::report::{Bar, Report, Weight};
use crate::transfer::{Transfer, Way};

const DOWNLOADS: usize = 10;
/// Until transfers have their speed, and then to measure it.
const SETTLE: Duration = Duration::from_millis(1_500);
/// An honest new connection every so often, and what it carries.
const NEW_INTERVAL: Duration = Duration::from_millis(50);
const NEW_BYTES: u64 = 20_000;
/// How long honest connections may take in all.
const NEW_LIMIT: Duration = Duration::from_secs(15);
const AFTER_COUNT: usize = 10;
const AFTER_BYTES: u64 = 200_000;
/// After it a transfer that still runs is taken for dead. Ten BBR flows keep the queue full: a newcomer that loses two
/// packets of five takes that for a policer and keeps to a small rate for 48 round trips, as Linux's BBR does. Most take
/// 1 s, one in fifty 5 s, and one in some hundred more than 10 s.
const AFTER_LIMIT: Duration = Duration::from_secs(30);
/// Those that take longer are looked at.
const AFTER_SLOW: Duration = Duration::from_secs(2);
/// The bridge, which keeps nothing, is not flooded for longer.
const BRIDGE_LIMIT: Duration = Duration::from_secs(20);
/// When memory is to be back.
const REST: Duration = Duration::from_secs(5);
const SHORT_REST: Duration = Duration::from_secs(1);
const MEGA: f64 = 1e6;

/// A flood of so many frames.
#[derive(Clone, Copy)]
pub struct Shape {
    pub kind: Kind,
    pub rate: Option<u64>,
    pub frames: u64,
}

struct Round {
    sent: Sent,
    before: f64,
    /// Mbit/s of each second of the flood.
    during: Vec<f64>,
    long: Outcome,
    new: Outcome,
    after: Outcome,
    governed_again: Option<Duration>,
    /// MB before, at most, and at the end.
    memory: [f64; 3],
}

impl Round {
    fn mean(&self) -> f64 {
        self.during.iter().sum::<f64>() / self.during.len().max(1) as f64
    }

    fn least(&self) -> f64 {
        self.during.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn new_share(&self) -> f64 {
        let all = self.new.complete + self.new.not_complete();
        self.new.complete as f64 / all.max(1) as f64
    }
}

/// The same flood at both of them, and the figures. One without a rate comes at the box as fast as at the bridge, which
/// slows its generator down.
pub fn compare(name: &str, shape: Shape) {
    let bridge = run_and_tell(Middle::Bridge, shape);
    let rate = shape.rate.or(Some(bridge.sent.per_second() as u64));
    let windlass = run_and_tell(Middle::Box, Shape { rate, ..shape });
    let mut report = Report::new(name);
    let mut compare = |figure: &str, of: fn(&Round) -> f64, (bar, weight): (Bar, Weight)| {
        report.compare(figure, [of(&bridge), of(&windlass)], bar, weight);
    };
    let shown = (Bar::None, Weight::Aim);
    compare("frames a second", |r| r.sent.per_second(), shown);
    compare("Mbit/s before", |r| r.before, shown);
    compare("Mbit/s during", Round::mean, bars::FLOOD_SPEED);
    compare("Mbit/s, worst second", Round::least, shown);
    compare(
        "longest stall, s",
        |r| r.long.longest_stall.as_secs_f64(),
        shown,
    );
    compare(
        "new connections complete, share",
        Round::new_share,
        bars::FLOOD_NEW,
    );
    compare("new connections, p90, s", |r| r.new.time(0.9), shown);
    compare("after it: slowest, s", |r| r.after.time(1.0), shown);
    Outcome::tell(&mut report, "downloads", [&bridge.long, &windlass.long]);
    Outcome::tell(&mut report, "after it", [&bridge.after, &windlass.after]);
    let again = windlass.governed_again.unwrap_or(AFTER_LIMIT);
    let (bar, weight) = bars::GOVERNED_AGAIN_S;
    report.tell(
        "new ones governed after, s",
        again.as_secs_f64(),
        bar,
        weight,
    );
    let [before, most, end] = windlass.memory;
    let (bar, weight) = bars::FLOOD_MEMORY_MB;
    report.tell("memory at most, MB", most, bar, weight);
    let (bar, weight) = bars::FLOOD_KEPT_MB;
    report.tell("memory kept, MB", end - before, bar, weight);
    report.check();
}

fn run_and_tell(middle: Middle, shape: Shape) -> Round {
    let round = run(middle, shape);
    println!(
        "{middle:?}: {} frames, {:.0}/s; Mbit/s before {:.0}, then {:.0?}; memory {:.0?} MB",
        round.sent.frames,
        round.sent.per_second(),
        round.before,
        round.during,
        round.memory
    );
    round
}

fn run(middle: Middle, shape: Shape) -> Round {
    let bed = Bed::make(middle, &CLEAN, 1).expect("a bed");
    let downloads = bed.load.begin_many(DOWNLOADS, Way::Down, None);
    std::thread::sleep(SETTLE);
    let mut meter = Meter::start(&downloads);
    std::thread::sleep(SETTLE);
    let before = meter.mbits();
    let memory_before = megabytes(&bed);
    let Beside {
        sent,
        during,
        new,
        memory,
    } = flood_beside(&bed, shape, &mut meter);
    let governed_before = bed.counter_or_zero("flows_governed");
    let after = bed
        .load
        .begin_many(AFTER_COUNT, Way::Down, Some(AFTER_BYTES));
    let governed_again = bed.daemon.as_ref().and_then(|_| {
        wait_until(AFTER_LIMIT, || {
            bed.counter_or_zero("flows_governed") >= governed_before + AFTER_COUNT as u64
        })
    });
    Outcome::wait(&after, AFTER_SLOW);
    for transfer in after.iter().filter(|t| t.end().is_none()) {
        bed.tell_flow(transfer.port());
    }
    let after = Outcome::wait(&after, AFTER_LIMIT);
    let new = Outcome::wait(&new, NEW_LIMIT);
    bed.tell_counters();
    let long = Outcome::finish(&downloads, NEW_LIMIT);
    std::thread::sleep(either(REST, SHORT_REST));
    Round {
        sent,
        before,
        during,
        long,
        new,
        after,
        governed_again,
        memory: [memory_before, memory, megabytes(&bed)],
    }
}

struct Beside {
    sent: Sent,
    during: Vec<f64>,
    new: Vec<Arc<Transfer>>,
    memory: f64,
}

/// The flood, and honest connections all the while.
fn flood_beside(bed: &Bed, shape: Shape, meter: &mut Meter<'_>) -> Beside {
    let plan = Plan {
        kind: shape.kind,
        rate: shape.rate,
        frames: shape.frames,
        port: bed.load.port,
        seed: 1,
    };
    let flood = Flood::start(&bed.lab, plan).expect("a flood");
    meter.mbits();
    let (mut during, mut new, mut memory) = (Vec::new(), Vec::new(), 0_f64);
    let mut second = Instant::now();
    let begin = Instant::now();
    let enough = || bed.middle == Middle::Bridge && begin.elapsed() > BRIDGE_LIMIT;
    while !flood.is_over() && !enough() {
        std::thread::sleep(NEW_INTERVAL);
        new.push(bed.load.begin(Way::Down, Some(NEW_BYTES)));
        memory = memory.max(megabytes(bed));
        if second.elapsed() >= Duration::from_secs(1) {
            second = Instant::now();
            during.push(meter.mbits());
        }
    }
    if during.is_empty() {
        during.push(meter.mbits());
    }
    Beside {
        sent: flood.stop().expect("a flood"),
        during,
        new,
        memory,
    }
}

fn megabytes(bed: &Bed) -> f64 {
    bed.resident_bytes() as f64 / MEGA
}
