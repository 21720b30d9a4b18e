//! A box that is killed every second and started again, under transfers over a link that loses.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use windlass_lab::emulator::Path;

use crate::bars;
use crate::bed::{Bed, Middle, config};
use crate::daemon::Daemon;
use crate::load::Load;
use crate::outcome::{Outcome, median};
use crate::report::{Bar, Report, Weight};
use crate::starve::Spinners;
use crate::transfer::{Transfer, Way};
use crate::witness;

const PATH: Path = Path {
    rate_bits_per_s: 200_000_000,
    rtt: 20_000_000,
    loss_ratio: 0.01,
    ack_loss_ratio: 0.01,
    queue_bdp: 1.0,
};
/// A transfer each way begins so often.
const BEGIN_INTERVAL: Duration = Duration::from_millis(25);
const BYTES: u64 = 400_000;
/// So many at a time: where the cores do not suffice for more, more would only add up.
const MOST_AT_A_TIME: usize = 200;
/// The bridge, whose transfers are there for comparison, among many processes.
const BRIDGE_LIMIT: Duration = Duration::from_secs(300);
const KILL_INTERVAL: Duration = Duration::from_secs(1);
const END_LIMIT: Duration = Duration::from_secs(60);
const SEED: u64 = 4;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Spared,
    Killed,
    /// Beside so many processes that want to run.
    Pressed(usize),
}

/// The bridge, the box in peace, and the box that is killed, under the same load for so long, in turn. The longest stall of one
/// round is a maximum, and as different from that of the next as maxima are: their medians count.
pub fn compare(time: Duration, rounds: u64) {
    let mut all = [Vec::new(), Vec::new(), Vec::new()];
    for round in 0..rounds {
        let of = [
            (Middle::Bridge, Fate::Spared),
            (Middle::Box, Fate::Spared),
            (Middle::Box, Fate::Killed),
        ];
        for (outcomes, (middle, fate)) in all.iter_mut().zip(of) {
            outcomes.push(run(middle, fate, time, SEED + round));
        }
    }
    let stalls = all.each_ref().map(|outcomes| {
        let stalls = outcomes.iter().map(|o| o.longest_stall.as_secs_f64());
        median(stalls)
    });
    let [bridge, spared, killed] = all.each_ref().map(|o| Outcome::sum(o.iter()));
    let mut report = Report::new("kill -9 every second, 1 % loss");
    report.compare(
        "transfers",
        [&bridge, &killed].map(|o| o.complete as f64),
        Bar::None,
        Weight::Aim,
    );
    Outcome::tell(&mut report, "killed", [&bridge, &killed]);
    Outcome::tell(&mut report, "in peace", [&bridge, &spared]);
    let (bar, weight) = bars::KILLED_STALL;
    report.compare(
        "longest stall, s (in place of the bridge's: the box in peace)",
        [stalls[1], stalls[2]],
        bar,
        weight,
    );
    let beside_bridge = [stalls[0], stalls[2]];
    report.compare("longest stall, s", beside_bridge, Bar::None, Weight::Aim);
    for (figure, share) in [("median time, s", 0.5), ("p99 time, s", 0.99)] {
        let times = [bridge.time(share), killed.time(share)];
        report.compare(figure, times, Bar::None, Weight::Aim);
    }
    report.check();
}

/// Bridge and box among so many processes that want to run. Nobody is killed, and nothing may fail.
pub fn compare_pressed(spinners: usize, time: Duration) {
    let fate = Fate::Pressed(spinners);
    let spans = [time.min(BRIDGE_LIMIT), time];
    let bridge = run(Middle::Bridge, fate, spans[0], SEED);
    let windlass = run(Middle::Box, fate, spans[1], SEED);
    let mut report = Report::new(&format!("{spinners} spinning processes, 1 % loss"));
    let complete = [&bridge, &windlass].map(|o| o.complete as f64);
    let per_s = [0, 1].map(|n| complete[n] / spans[n].as_secs_f64());
    report.compare("transfers a second", per_s, Bar::None, Weight::Aim);
    Outcome::tell(&mut report, "transfers", [&bridge, &windlass]);
    for (figure, share) in [("median time, s", 0.5), ("p99 time, s", 0.99)] {
        let times = [bridge.time(share), windlass.time(share)];
        report.compare(figure, times, Bar::None, Weight::Aim);
    }
    report.check();
}

fn run(middle: Middle, fate: Fate, time: Duration, seed: u64) -> Outcome {
    let mut bed = Bed::make(middle, &PATH, seed).expect("a bed");
    let _spinners = match fate {
        Fate::Pressed(count) => Some(Spinners::start(count)),
        _ => None,
    };
    let deadline = Instant::now() + time;
    let (load, lab, daemon) = (&bed.load, &bed.lab, &mut bed.daemon);
    let (transfers, outcome) = witness::beside(lab, load, || {
        let transfers = std::thread::scope(|scope| {
            let begin = scope.spawn(|| begin_until(load, deadline));
            while fate == Fate::Killed && Instant::now() + KILL_INTERVAL < deadline {
                std::thread::sleep(KILL_INTERVAL);
                let mut old = daemon.take().expect("one that runs");
                old.end(Signal::SIGKILL);
                *daemon = Some(Daemon::start(lab, &config()));
            }
            begin.join().expect("no panic")
        });
        let outcome = Outcome::wait(&transfers, END_LIMIT);
        (transfers, outcome)
    });
    println!(
        "{middle:?}: {} complete, longest stall {:.2?}, p99 {:.2} s",
        outcome.complete,
        outcome.longest_stall,
        outcome.time(0.99)
    );
    tell_stalls(&transfers);
    outcome
}

/// Transfers each way, one after the other.
fn begin_until(load: &Load, deadline: Instant) -> Vec<Arc<Transfer>> {
    let mut transfers = Vec::new();
    let mut under_way: Vec<Arc<Transfer>> = Vec::new();
    while Instant::now() < deadline {
        under_way.retain(|transfer| transfer.end().is_none());
        if under_way.len() < MOST_AT_A_TIME {
            let begun = [Way::Down, Way::Up].map(|way| load.begin(way, Some(BYTES)));
            under_way.extend(begun.iter().cloned());
            transfers.extend(begun);
        }
        std::thread::sleep(BEGIN_INTERVAL);
    }
    transfers
}

/// The longest stalls, and what suffered them.
fn tell_stalls(transfers: &[Arc<Transfer>]) {
    let mut all: Vec<_> = transfers.iter().map(|t| (t.longest_stall(), t)).collect();
    all.sort_by_key(|(stall, _)| std::cmp::Reverse(*stall));
    for (stall, transfer) in all.into_iter().take(8) {
        println!(
            "   {:?} {}: {stall:.2?}, connected after {:.2?}",
            transfer.way,
            transfer.number,
            transfer.connected_after().unwrap_or_default()
        );
    }
}
