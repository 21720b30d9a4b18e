//! How busy the machine is (proc(5)).

use anyhow::{Context, Result};
use windlass_io::monotonic_ns;

/// `/proc/stat` counts in these (`USER_HZ`).
const TICKS_PER_S: f64 = 100.0;

/// How busy the machine is, from now on.
#[derive(Debug)]
pub struct Load {
    since_ns: u64,
    idle_s: f64,
    processors: f64,
}

impl Load {
    /// Begins to look.
    ///
    /// # Errors
    /// `/proc/stat` cannot be read.
    pub fn start() -> Result<Load> {
        let (idle_s, processors) = idle()?;
        Ok(Load {
            since_ns: monotonic_ns(),
            idle_s,
            processors,
        })
    }

    /// Share of the processors that was not idle, 0 to 1.
    ///
    /// # Errors
    /// `/proc/stat` cannot be read.
    pub fn busy_share(&self) -> Result<f64> {
        let (busy_s, whole_s) = self.busy_of()?;
        Ok((busy_s / whole_s).clamp(0.0, 1.0))
    }

    /// Time that the processors together were not idle, s.
    ///
    /// # Errors
    /// `/proc/stat` cannot be read.
    pub fn busy_s(&self) -> Result<f64> {
        Ok(self.busy_of()?.0)
    }

    /// Time that they were not idle, and all that there was, s.
    fn busy_of(&self) -> Result<(f64, f64)> {
        let span_s = (monotonic_ns() - self.since_ns) as f64 / 1e9;
        let whole_s = span_s * self.processors;
        Ok((whole_s - (idle()?.0 - self.idle_s), whole_s))
    }
}

/// Idle time of all processors so far, s, and how many they are.
fn idle() -> Result<(f64, f64)> {
    let text = std::fs::read_to_string("/proc/stat")?;
    let all = text.strip_prefix("cpu ").context("no cpu in /proc/stat")?;
    let ticks: Vec<u64> = all
        .split_whitespace()
        .map_while(|t| t.parse().ok())
        .collect();
    // The fourth waits for work, the fifth for a disk.
    let idle: u64 = ticks
        .get(3..5)
        .context("no idle time in /proc/stat")?
        .iter()
        .sum();
    let processors = text.lines().filter(|l| l.starts_with("cpu")).count() - 1;
    Ok((idle as f64 / TICKS_PER_S, processors.max(1) as f64))
}
