//! A box that stands still at random moments, and goes on.

use std::time::{Duration, Instant};

use windlass_lab::emulator::Path;
use windlass_sim::Rng;

use crate::bars;
use crate::bed::{Bed, CLEAN, Middle, counter, wait_until};
use crate::daemon::Daemon;
use crate::outcome::{Meter, Outcome};
use crate::report::{Bar, Report, Weight};
use crate::transfer::Way;
use crate::witness;

const PATH: Path = Path {
    queue_bdp: 2.0,
    ..CLEAN
};
const EACH_WAY: usize = 20;
const SETTLE: Duration = Duration::from_secs(3);
/// Between going on and the next stop, ms.
const PAUSE_MS: (u64, u64) = (500, 2_000);
const AGAIN_LIMIT: Duration = Duration::from_secs(10);
const END_LIMIT: Duration = Duration::from_secs(30);
/// The bridge is never stopped: it is watched for as long as so many stops take.
const BRIDGE_STOPS: usize = 3;
const SEED: u64 = 2;

/// So many stops of so long.
#[derive(Clone, Copy)]
pub struct Stops {
    pub count: usize,
    pub time: Duration,
}

struct Round {
    all: Outcome,
    mbits: f64,
    /// Until everything was governed again, for each stop.
    again: Vec<Duration>,
    missed: u64,
    /// Downloads, before the first stop and after the last.
    governed: [usize; 2],
}

pub fn compare(stops: Stops) {
    let [bridge, windlass] = [Middle::Bridge, Middle::Box].map(|middle| run(middle, stops));
    println!("governed again after {:.3?}", windlass.again);
    let mut report = Report::new(&format!(
        "SIGSTOP, {} times {:?}, {EACH_WAY} transfers each way",
        stops.count, stops.time
    ));
    Outcome::tell(&mut report, "transfers", [&bridge.all, &windlass.all]);
    let mbits = [bridge.mbits, windlass.mbits];
    report.compare("Mbit/s down", mbits, Bar::None, Weight::Aim);
    let stalls = [&bridge, &windlass].map(|r| r.all.longest_stall.as_secs_f64());
    let (bar, weight) = bars::STOPPED_STALL_S;
    report.compare("longest stall, s", stalls, bar, weight);
    let again = windlass.again.iter().max().expect("there were stops");
    let (bar, weight) = bars::GOVERNED_AGAIN_S;
    report.tell("governed again after, s", again.as_secs_f64(), bar, weight);
    let governed = windlass.governed.map(|n| n as f64);
    let (bar, weight) = bars::STILL_GOVERNED;
    report.compare(
        "governed at the end (beside: at first)",
        governed,
        bar,
        weight,
    );
    let missed = windlass.missed as f64;
    report.tell(
        "packets forwarded meanwhile",
        missed,
        Bar::AtLeast(1.0),
        Weight::Held,
    );
    report.check();
}

fn run(middle: Middle, stops: Stops) -> Round {
    let bed = Bed::make(middle, &PATH, SEED).expect("a bed");
    let mut transfers = bed.load.begin_many(EACH_WAY, Way::Down, None);
    transfers.extend(bed.load.begin_many(EACH_WAY, Way::Up, None));
    std::thread::sleep(SETTLE);
    // How they share the link when they all begin is another matter.
    transfers.iter().for_each(|t| t.forget_stalls());
    let mut meter = Meter::start(&transfers[..EACH_WAY]);
    let mut random = Rng::new(SEED, 0);
    let mut again = Vec::new();
    let before = bed.governed_downloads();
    let count = match middle {
        Middle::Bridge => stops.count.min(BRIDGE_STOPS),
        Middle::Box => stops.count,
    };
    witness::beside(&bed.lab, &bed.load, || {
        for number in 0..count {
            let pause = random.between(PAUSE_MS.0, PAUSE_MS.1);
            std::thread::sleep(Duration::from_millis(pause));
            match &bed.daemon {
                Some(daemon) => again.push(stop(daemon, stops.time, number)),
                None => std::thread::sleep(stops.time),
            }
        }
    });
    let mbits = meter.mbits();
    std::thread::sleep(Duration::from_millis(PAUSE_MS.1));
    let after = bed.governed_downloads();
    let missed = bed.counter("xdp", "passed_unread");
    bed.tell_counters();
    Round {
        all: Outcome::finish(&transfers, END_LIMIT),
        mbits,
        again,
        missed,
        governed: [before, after],
    }
}

/// One stop, and how long after it everything is followed again.
fn stop(daemon: &Daemon, time: Duration, number: usize) -> Duration {
    println!("stop {number}");
    let sight = || {
        let counters = daemon.counters();
        ["sight_lost", "sight_regained"].map(|name| counter(&counters, "engine", name))
    };
    let [lost_before, _] = sight();
    daemon.stop_for(time);
    println!("goes on");
    let begin = Instant::now();
    let again = wait_until(AGAIN_LIMIT, || {
        let [lost, regained] = sight();
        lost > lost_before && lost == regained
    });
    if again.is_none() {
        println!("stop {number}: not governed again: {}", daemon.counters());
        println!("{}", daemon.ask(&["flow", "show"]));
    }
    begin.elapsed()
}
