//! What the kernel says of a process (proc(5)).

use anyhow::{Context, Result};

/// `/proc/<pid>/stat` counts in these (`USER_HZ`).
const TICKS_PER_S: f64 = 100.0;

/// User and system time of all threads of a process so far, s.
///
/// # Errors
/// There is no such process.
pub fn processor_time_s(pid: u32) -> Result<f64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name, in parentheses, may have spaces in it; utime and stime are 14 and 15.
    let (_, after_name) = text.rsplit_once(')').context("no name in stat")?;
    let fields = after_name.split_whitespace().skip(11).take(2);
    let ticks: u64 = fields.map(|f| f.parse().unwrap_or(0u64)).sum();
    Ok(ticks as f64 / TICKS_PER_S)
}
