//! What the kernel says of a process and of a namespace (proc(5)).

use anyhow::{Context, Result};
use windlass_experiment::observed::Usage;
use windlass_guest::processor_time_s;
use windlass_io::monotonic_ns;

use crate::netns::Namespace;

/// The use of a process, from now on.
#[derive(Debug)]
pub(super) struct Meter {
    pid: u32,
    since_ns: u64,
    cpu_s: f64,
}

impl Meter {
    pub(super) fn start(pid: u32) -> Result<Meter> {
        Ok(Meter {
            pid,
            since_ns: monotonic_ns(),
            cpu_s: processor_time_s(pid)?,
        })
    }

    pub(super) fn read(&self) -> Result<Usage> {
        Ok(Usage {
            cpu_s: processor_time_s(self.pid)? - self.cpu_s,
            span_s: (monotonic_ns() - self.since_ns) as f64 / 1e9,
            max_rss_bytes: max_rss_bytes(self.pid)?,
        })
    }
}

fn max_rss_bytes(pid: u32) -> Result<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kib = line.and_then(|l| l.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    Ok(kib.context("no VmHWM in status")? * 1024)
}

/// Retransmission time-outs of all connections of a namespace so far, those of its SYN-ACKs
/// included (`TCPTimeouts`).
pub(super) fn timeouts(namespace: &Namespace) -> Result<u64> {
    let text =
        namespace.inside(|| Ok(std::fs::read_to_string("/proc/thread-self/net/netstat")?))?;
    counter(&text, "TCPTimeouts").context("the kernel does not count TCPTimeouts")
}

/// Frames that the interfaces of a namespace have dropped so far, in either direction.
pub(super) fn dropped_frames(namespace: &Namespace) -> Result<u64> {
    let text = namespace.inside(|| Ok(std::fs::read_to_string("/proc/thread-self/net/dev")?))?;
    Ok(text.lines().filter_map(dropped).sum())
}

/// `eth0: bytes packets errs drop fifo frame compressed multicast bytes packets errs drop …`
fn dropped(line: &str) -> Option<u64> {
    let (_, counts) = line.split_once(':')?;
    let counts: Vec<u64> = counts.split_whitespace().flat_map(str::parse).collect();
    Some(counts.get(3)? + counts.get(11)?)
}

/// A line of names, and a line of values, both with the same first word.
fn counter(text: &str, name: &str) -> Option<u64> {
    let lines: Vec<&str> = text.lines().collect();
    lines.chunks_exact(2).find_map(|pair| {
        let at = pair[0].split_whitespace().position(|n| n == name)?;
        pair[1].split_whitespace().nth(at)?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_used_something() {
        let begun_ns = monotonic_ns();
        let meter = Meter::start(std::process::id()).expect("a meter");
        let mut sum = 0u64;
        // Ticks count all threads, those of other tests included: they say nothing of the time.
        while meter.read().expect("figures").cpu_s < 0.02 {
            sum = sum.wrapping_add(std::hint::black_box(monotonic_ns()));
        }
        let usage = meter.read().expect("figures");
        let at_most_s = (monotonic_ns() - begun_ns) as f64 / 1e9;
        assert!(
            usage.span_s > 0.0 && usage.span_s <= at_most_s && usage.max_rss_bytes > 1 << 20,
            "{usage:?} {at_most_s} {sum}"
        );
        assert!(Meter::start(0).is_err());
    }

    #[test]
    fn counters_stand_below_their_names() {
        let text = "TcpExt: A B TCPTimeouts\nTcpExt: 1 2 3\nIpExt: C\nIpExt: 4\n";
        assert_eq!(counter(text, "TCPTimeouts"), Some(3));
        assert_eq!(counter(text, "C"), Some(4));
        assert_eq!(counter(text, "D"), None);
    }

    #[test]
    fn drops_of_an_interface() {
        let line = "  out0: 100 2 0 5 0 0 0 0 200 3 0 6 0 0 0 0";
        assert_eq!(dropped(line), Some(11));
        assert_eq!(dropped(" face |bytes    packets"), None);
    }
}
