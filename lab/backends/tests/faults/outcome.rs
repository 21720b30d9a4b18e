//! What became of transfers, in figures.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::bars::NONE_FAILS;
use crate::report::Report;
use crate::transfer::{End, Transfer};

const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// A transfer that takes longer tells why.
const SLOW: Duration = Duration::from_secs(3);
const CORRUPT: &str = "CORRUPT";

/// Of several transfers.
#[derive(Clone, Default, Debug)]
pub struct Outcome {
    pub complete: usize,
    /// What is still under way, in words.
    pub running: Vec<String>,
    pub failures: Vec<String>,
    pub longest_stall: Duration,
    /// Of those that are complete, from connecting to the verdict, sorted.
    pub times: Vec<Duration>,
    /// What of those took longer than [`SLOW`], in words.
    pub slow: Vec<String>,
}

impl Outcome {
    pub fn of(transfers: &[Arc<Transfer>]) -> Outcome {
        let mut outcome = Outcome::default();
        for transfer in transfers {
            outcome.longest_stall = outcome.longest_stall.max(transfer.longest_stall());
            match transfer.end() {
                None => outcome.running.push(transfer.so_far()),
                Some(End::Complete(took)) => {
                    outcome.complete += 1;
                    outcome.times.push(took);
                    if transfer.is_sized() && took > SLOW {
                        outcome.slow.push(transfer.so_far());
                    }
                }
                Some(End::Failed(why)) => outcome.failures.push(why),
            }
        }
        outcome.times.sort();
        outcome
    }

    /// When all have ended, or the time is over.
    pub fn wait(transfers: &[Arc<Transfer>], limit: Duration) -> Outcome {
        let deadline = Instant::now() + limit;
        while transfers.iter().any(|t| t.end().is_none()) && Instant::now() < deadline {
            std::thread::sleep(POLL_INTERVAL);
        }
        Outcome::of(transfers)
    }

    /// Endless transfers come to their end.
    pub fn finish(transfers: &[Arc<Transfer>], limit: Duration) -> Outcome {
        transfers.iter().for_each(|t| t.suffice());
        // One that waits for room notices it when it has written the next piece.
        Outcome::wait(transfers, limit)
    }

    pub fn sum<'a>(all: impl Iterator<Item = &'a Outcome>) -> Outcome {
        let mut sum = Outcome::default();
        for one in all {
            sum.complete += one.complete;
            sum.running.extend_from_slice(&one.running);
            sum.failures.extend_from_slice(&one.failures);
            sum.longest_stall = sum.longest_stall.max(one.longest_stall);
            sum.times.extend(&one.times);
            sum.slow.extend_from_slice(&one.slow);
        }
        sum.times.sort();
        sum
    }

    pub fn not_complete(&self) -> usize {
        self.running.len() + self.failures.len()
    }

    pub fn corrupt(&self) -> usize {
        let is_corrupt = |why: &&String| why.contains(CORRUPT);
        self.failures.iter().filter(is_corrupt).count()
    }

    /// The time that `share` of the complete ones do not exceed; 0 of none.
    pub fn time(&self, share: f64) -> f64 {
        let rank = (share * self.times.len() as f64).ceil() as usize;
        let time = self.times.get(rank.saturating_sub(1));
        time.map_or(0.0, Duration::as_secs_f64)
    }

    /// How many have not come to their end, and how many were falsified.
    pub fn tell(report: &mut Report, what: &str, [bridge, windlass]: [&Outcome; 2]) {
        for (middle, outcome) in [("box", windlass), ("bridge", bridge)] {
            let stories = outcome.failures.iter().chain(&outcome.running);
            let stories = stories.chain(&outcome.slow);
            for story in stories.take(5) {
                println!("   {middle}: {story}");
            }
        }
        let (bar, weight) = NONE_FAILS;
        let counts = [bridge, windlass].map(|o| o.not_complete() as f64);
        report.compare(&format!("{what}: not complete"), counts, bar, weight);
        let counts = [bridge, windlass].map(|o| o.corrupt() as f64);
        report.compare(&format!("{what}: corrupt"), counts, bar, weight);
    }
}

/// Bytes that came, in Mbit/s, since the last look.
pub struct Meter<'a> {
    transfers: &'a [Arc<Transfer>],
    bytes: u64,
    at: Instant,
}

impl<'a> Meter<'a> {
    pub fn start(transfers: &'a [Arc<Transfer>]) -> Meter<'a> {
        Meter {
            transfers,
            bytes: transfers.iter().map(|t| t.received()).sum(),
            at: Instant::now(),
        }
    }

    pub fn mbits(&mut self) -> f64 {
        let next = Meter::start(self.transfers);
        let bytes = next.bytes - self.bytes;
        let span = (next.at - self.at).as_secs_f64();
        *self = next;
        bytes as f64 * 8e-6 / span
    }
}

/// The upper one of two in the middle.
pub fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}
