//! Transfers and the latency of others while other processes want the cores.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use windlass_experiment::setup::server_address;
use windlass_lab::emulator::Path;

use crate::bars;
use crate::bed::{Bed, CLEAN, Middle};
use crate::outcome::{Outcome, median};
use crate::report::{Bar, Report, Weight};
use crate::starve::Spinners;
use crate::transfer::Way;
use crate::witness;

const PATH: Path = Path {
    queue_bdp: 2.0,
    ..CLEAN
};
const END_LIMIT: Duration = Duration::from_secs(120);
const PING_INTERVAL_S: &str = "0.02";

/// Transfers of so many bytes, half of them each way, beside spinning processes.
#[derive(Clone, Copy)]
pub struct Shape {
    pub transfers: usize,
    pub bytes: u64,
    pub spinners: usize,
    /// Of the bridge and of the box in turn; the medians count.
    pub rounds: usize,
}

pub fn compare(shape: Shape) {
    let mut report = Report::new(&format!(
        "{} spinning processes, {} transfers",
        shape.spinners, shape.transfers
    ));
    let mut rounds = [Vec::new(), Vec::new()];
    for number in 0..shape.rounds {
        for (of, middle) in rounds.iter_mut().zip([Middle::Bridge, Middle::Box]) {
            let round = run(middle, shape, number as u64);
            println!(
                "{middle:?}: {:.2} s, ping p50 {:.1} p99 {:.1} ms, stall {:.2?}",
                round.took, round.ping[0], round.ping[1], round.all.longest_stall
            );
            of.push(round);
        }
    }
    let medians = |of: fn(&Round) -> f64| rounds.each_ref().map(|r| median(r.iter().map(of)));
    let (bar, weight) = bars::STARVED_TIME;
    report.compare("time of all, s", medians(|r| r.took), bar, weight);
    let (bar, weight) = bars::STARVED_PING;
    report.compare("ping p99, ms", medians(|r| r.ping[1]), bar, weight);
    let stalls = medians(|r| r.all.longest_stall.as_secs_f64());
    report.compare("longest stall, s", stalls, Bar::None, Weight::Aim);
    let sum = |r: &Vec<Round>| Outcome::sum(r.iter().map(|r| &r.all));
    let [bridge, windlass] = rounds.each_ref().map(sum);
    Outcome::tell(&mut report, "transfers", [&bridge, &windlass]);
    report.check();
}

struct Round {
    took: f64,
    /// p50 and p99, ms.
    ping: [f64; 2],
    all: Outcome,
}

fn run(middle: Middle, shape: Shape, seed: u64) -> Round {
    let bed = Bed::make(middle, &PATH, seed).expect("a bed");
    let ping = Ping::start(&bed);
    let starved = Spinners::start(shape.spinners);
    let begin = Instant::now();
    let all = witness::beside(&bed.lab, &bed.load, || {
        let mut transfers = Vec::new();
        for way in [Way::Down, Way::Up] {
            let each_way = shape.transfers / 2;
            transfers.extend(bed.load.begin_many(each_way, way, Some(shape.bytes)));
        }
        Outcome::wait(&transfers, END_LIMIT)
    });
    let took = begin.elapsed().as_secs_f64();
    let ping = ping.finish();
    drop(starved);
    bed.tell_counters();
    Round { took, ping, all }
}

/// What others feel of it.
struct Ping(Child);

impl Ping {
    fn start(bed: &Bed) -> Ping {
        let mut ping = bed.lab.topology.clients[0].command("ping");
        ping.args(["-i", PING_INTERVAL_S, "-W", "5"]);
        ping.arg(server_address(0).to_string());
        ping.stdin(Stdio::null()).stdout(Stdio::piped());
        Ping(ping.spawn().expect("ping"))
    }

    /// p50 and p99, ms.
    fn finish(self) -> [f64; 2] {
        let interrupt = format!("-INT {}", self.0.id());
        let _ = Command::new("kill").args(interrupt.split(' ')).status();
        let said = self.0.wait_with_output().expect("ping");
        let said = String::from_utf8_lossy(&said.stdout);
        let time = |line: &str| line.split("time=").nth(1)?.split(' ').next()?.parse().ok();
        let mut times: Vec<f64> = said.lines().filter_map(time).collect();
        times.sort_by(f64::total_cmp);
        [0.5, 0.99].map(|share| {
            let rank = (share * times.len() as f64).ceil() as usize;
            times.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
        })
    }
}
