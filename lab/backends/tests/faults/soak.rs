//! Random faults under random transfers, for as long as somebody wants.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use windlass_lab::emulator::Path;
use windlass_sim::Rng;

use crate::bars;
use crate::bed::{Bed, Middle};
use crate::harm::{Fault, Harm};
use crate::load::Load;
use crate::outcome::Outcome;
use crate::report::{Bar, Report, Weight};
use crate::transfer::{End, Transfer, Way};

const PATH: Path = Path {
    rate_bits_per_s: 100_000_000,
    rtt: 30_000_000,
    loss_ratio: 0.002,
    ack_loss_ratio: 0.002,
    queue_bdp: 1.0,
};
/// A transfer begins so often: 10,000 an hour.
const BEGIN_INTERVAL: Duration = Duration::from_millis(350);
const BYTES: (f64, f64) = (1e4, 4e6);
/// Between two faults, ms.
const PAUSE_MS: (u64, u64) = (1_000, 5_000);
const END_LIMIT: Duration = Duration::from_secs(120);
/// When everything is to be given back.
const REST: Duration = Duration::from_secs(20);
const MEGA: f64 = 1e6;

/// Faults and transfers of this seed, for so long.
pub fn run(time: Duration, seed: u64) {
    println!("seed {seed}: WINDLASS_FAULTS_SEED={seed} repeats the order of faults and transfers");
    let bed = Bed::make(Middle::Bridge, &PATH, seed).expect("a bed");
    let mut harm = Harm::new(bed).expect("a box");
    let memory = harm.resident_bytes();
    let files = harm.open_files();
    let began = Instant::now();
    let deadline = began + time;
    let mut random = Rng::new(seed, 1);
    let mut counts = BTreeMap::new();
    let load = harm.load();
    let over = Arc::new(AtomicBool::new(false));
    let begin = {
        let (load, over) = (Arc::clone(&load), Arc::clone(&over));
        std::thread::spawn(move || begin_until(&load, &over, seed))
    };
    while Instant::now() < deadline {
        let pause = random.between(PAUSE_MS.0, PAUSE_MS.1);
        std::thread::sleep(Duration::from_millis(pause));
        let fault = Fault::ALL[random.between(0, Fault::ALL.len() as u64 - 1) as usize];
        *counts.entry(format!("{fault:?}")).or_insert(0) += 1;
        let from = began.elapsed();
        harm.inflict(fault, &mut random);
        println!("   {from:.1?} to {:.1?}: {fault:?}", began.elapsed());
    }
    over.store(true, Ordering::Release);
    let transfers = begin.join().expect("no panic");
    let outcome = Outcome::wait(&transfers, END_LIMIT);
    println!("{counts:?}; the box ended by itself {} times", harm.ended);
    std::thread::sleep(REST);
    let kept = harm.resident_bytes() as f64 - memory as f64;
    let files_kept = harm.open_files() as f64 - files as f64;

    let mut report = Report::new("random faults");
    let (bar, weight) = bars::NONE_FAILS;
    let failed = |t: &&Arc<Transfer>| matches!(t.end(), Some(End::Failed(_)));
    for transfer in transfers.iter().filter(failed).take(10) {
        println!(
            "   begun after {:.1?}: {}",
            transfer.begun_after(began),
            transfer.so_far()
        );
    }
    let complete = outcome.complete as f64;
    report.tell("transfers complete", complete, Bar::None, Weight::Aim);
    report.tell(
        "transfers not complete",
        outcome.not_complete() as f64,
        bar,
        weight,
    );
    report.tell("transfers corrupt", outcome.corrupt() as f64, bar, weight);
    let stall = outcome.longest_stall.as_secs_f64();
    report.tell("longest stall, s", stall, Bar::None, Weight::Aim);
    let (bar, weight) = bars::SOAK_ENDS;
    report.tell("the box ended by itself", harm.ended as f64, bar, weight);
    let (bar, weight) = bars::SOAK_KEPT_MB;
    report.tell("memory kept, MB", kept / MEGA, bar, weight);
    let (bar, weight) = bars::SOAK_KEPT_FILES;
    report.tell("files kept open", files_kept, bar, weight);
    report.check();
}

/// Transfers each way, of random sizes.
fn begin_until(load: &Load, over: &AtomicBool, seed: u64) -> Vec<Arc<Transfer>> {
    let mut random = Rng::new(seed, 2);
    let mut transfers = Vec::new();
    while !over.load(Ordering::Acquire) {
        let way = if random.chance(0.5) {
            Way::Down
        } else {
            Way::Up
        };
        let bytes = random.log_between(BYTES.0, BYTES.1) as u64;
        transfers.push(load.begin(way, Some(bytes)));
        std::thread::sleep(BEGIN_INTERVAL);
    }
    transfers
}
