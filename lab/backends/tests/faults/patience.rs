//! What `bypass_after_ms` is worth: how long a stop stalls transfers, and how often a busy machine is taken for a stop.

use std::sync::Arc;
use std::time::Duration;

use windlass_lab::emulator::Path;

use crate::bars;
use crate::bed::{Bed, CLEAN, Middle};
use crate::outcome::Outcome;
use crate::report::{Bar, Report, Weight};
use crate::starve::Spinners;
use crate::transfer::{Transfer, Way};

const PATH: Path = Path {
    queue_bdp: 2.0,
    ..CLEAN
};
const EACH_WAY: usize = 10;
const SETTLE: Duration = Duration::from_secs(2);
const STOPS: usize = 5;
const STOP: Duration = Duration::from_millis(1_000);
const PAUSE: Duration = Duration::from_millis(1_500);
const END_LIMIT: Duration = Duration::from_secs(30);
const SEED: u64 = 8;

/// The same for each of these values, ms: beside so many processes that want to run for so long, and stopped in peace.
pub fn tell(values: &[u64], spinners: usize, time: Duration) {
    for value in values {
        let mut report = Report::new(&format!("bypass_after_ms = {value}"));
        let config = format!("[box]\nbypass_after_ms = {value}\n");
        let bed = Bed::configured(Middle::Box, &PATH, SEED, &config).expect("a bed");
        let mut transfers = bed.load.begin_many(EACH_WAY, Way::Down, None);
        transfers.extend(bed.load.begin_many(EACH_WAY, Way::Up, None));
        std::thread::sleep(SETTLE);
        let mut tell = |figure: &str, n: f64| report.tell(figure, n, Bar::None, Weight::Aim);

        let before = Passed::of(&bed);
        let beside = Spinners::start(spinners);
        std::thread::sleep(time);
        let passed = Passed::of(&bed).since(&before);
        drop(beside);
        let noise = format!("beside {spinners} spinning processes");
        let share = passed.unread as f64 / (passed.unread + passed.taken).max(1) as f64;
        tell(&format!("{noise}: forwarded unread, %"), 100.0 * share);
        let sights = passed.sights as f64 / time.as_secs_f64();
        tell(&format!("{noise}: flows out of sight, a second"), sights);

        std::thread::sleep(SETTLE);
        let stalls = stalls(&bed, &transfers);
        tell("stops of a second: median stall, s", stalls[STOPS / 2]);
        tell("stops of a second: longest stall, s", stalls[STOPS - 1]);
        let all = Outcome::finish(&transfers, END_LIMIT);
        let (bar, weight) = bars::NONE_FAILS;
        let failed = all.not_complete() + all.corrupt();
        report.tell(
            "transfers not complete or corrupt",
            failed as f64,
            bar,
            weight,
        );
        report.check();
    }
}

/// The longest stall of any transfer at each stop, s, sorted.
fn stalls(bed: &Bed, transfers: &[Arc<Transfer>]) -> Vec<f64> {
    let daemon = bed.daemon.as_ref().expect("one that runs");
    let mut stalls: Vec<f64> = (0..STOPS)
        .map(|_| {
            transfers.iter().for_each(|t| t.forget_stalls());
            daemon.stop_for(STOP);
            std::thread::sleep(PAUSE);
            let stalls = transfers.iter().map(|t| t.longest_stall().as_secs_f64());
            stalls.fold(0.0, f64::max)
        })
        .collect();
    stalls.sort_by(f64::total_cmp);
    stalls
}

/// What has become of packets.
struct Passed {
    taken: u64,
    unread: u64,
    /// Connections that the box had to look for again.
    sights: u64,
}

impl Passed {
    fn of(bed: &Bed) -> Passed {
        Passed {
            taken: bed.counter("xdp", "taken"),
            unread: bed.counter("xdp", "passed_unread"),
            sights: bed.counter("engine", "sight_lost"),
        }
    }

    fn since(&self, before: &Passed) -> Passed {
        Passed {
            taken: self.taken - before.taken,
            unread: self.unread - before.unread,
            sights: self.sights - before.sights,
        }
    }
}
