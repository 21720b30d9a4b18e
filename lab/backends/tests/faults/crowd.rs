//! Thousands of flows over a long way, with cores to themselves and without.

use std::time::{Duration, Instant};

use windlass_lab::emulator::Path;

use crate::bars;
use crate::bed::{Bed, Middle};
use crate::outcome::Outcome;
use crate::report::{Bar, Report, Weight};
use crate::starve::Spinners;
use crate::transfer::Way;

const PATH: Path = Path {
    // More than the machine carries: all that the senders' windows allow is under way at once.
    rate_bits_per_s: 1_000_000_000,
    rtt: 600_000_000,
    loss_ratio: 0.0,
    ack_loss_ratio: 0.0,
    queue_bdp: 1.0,
};
const BYTES: u64 = 100_000;
/// They begin in groups: so many at once, so far apart.
const GROUP: usize = 50;
const GROUP_INTERVAL: Duration = Duration::from_millis(50);
/// When those that are complete are counted.
const LIMIT: Duration = Duration::from_secs(24);
const END_LIMIT: Duration = Duration::from_secs(60);

pub fn compare(flows: usize, spinners: usize) {
    let name = match spinners {
        0 => format!("{flows} flows, 600 ms"),
        _ => format!("{flows} flows, 600 ms, {spinners} spinning processes"),
    };
    let mut report = Report::new(&name);
    let [bridge, windlass] = [Middle::Bridge, Middle::Box].map(|m| run(m, flows, spinners));
    let in_time = [&bridge, &windlass].map(|r| r.in_time.complete as f64);
    let (bar, weight) = bars::CROWD_COMPLETE;
    report.compare("complete after 24 s", in_time, bar, weight);
    let all = [&bridge, &windlass].map(|r| &r.at_last);
    for (figure, share) in [("median time, s", 0.5), ("p99 time, s", 0.99)] {
        let times = all.map(|o| o.time(share));
        report.compare(figure, times, Bar::None, Weight::Aim);
    }
    Outcome::tell(&mut report, "in the end", all);
    let (bar, weight) = bars::DROPS;
    for (name, count) in windlass.drops {
        report.tell(name, count as f64, bar, weight);
    }
    report.check();
}

const DROPS: [&str; 3] = ["inside_rx_dropped", "outside_rx_dropped", "rx_starved"];

struct Round {
    in_time: Outcome,
    at_last: Outcome,
    drops: [(&'static str, u64); 3],
}

fn run(middle: Middle, flows: usize, spinners: usize) -> Round {
    let bed = Bed::make(middle, &PATH, 3).expect("a bed");
    let starved = Spinners::start(spinners);
    let begin = Instant::now();
    let mut transfers = Vec::new();
    while transfers.len() < flows {
        let count = GROUP.min(flows - transfers.len());
        transfers.extend(bed.load.begin_many(count, Way::Down, Some(BYTES)));
        std::thread::sleep(GROUP_INTERVAL);
    }
    let in_time = Outcome::wait(&transfers, LIMIT.saturating_sub(begin.elapsed()));
    let drops = DROPS.map(|name| (name, bed.counter("driver", name)));
    bed.tell_counters();
    drop(starved);
    Round {
        in_time,
        at_last: Outcome::wait(&transfers, END_LIMIT),
        drops,
    }
}
