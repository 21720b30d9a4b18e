//! What the server's kernel says of its sockets: `ss -tin`, several times a second.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use windlass_io::monotonic_ns;

use crate::command::run;
use crate::leftovers::check_interrupted;
use crate::netns::Namespace;

/// Between two samples.
const INTERVAL: Duration = Duration::from_millis(100);
/// Until there is a first one.
const FIRST_INTERVAL: Duration = Duration::from_millis(20);

/// A socket at one moment; the names are those of `ss -ti`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SocketSample {
    /// `CLOCK_MONOTONIC`, ns.
    pub at_ns: u64,
    /// Port of the other end.
    pub peer_port: u16,
    /// The congestion control that the socket uses.
    pub algorithm: String,
    /// Congestion window, segments.
    pub cwnd: u64,
    /// Segment size, bytes.
    pub mss: u64,
    /// Segments in flight: `unacked` without those known to have arrived or to be lost, and those
    /// sent again.
    pub inflight: u64,
    /// Smoothed round-trip time, ms.
    pub srtt_ms: f64,
    /// Bytes acknowledged.
    pub bytes_acked: u64,
    /// Segments sent again so far.
    pub retrans: u64,
    /// Delivery rate, bit/s.
    pub delivery_rate: Option<f64>,
}

/// A thread that samples the established sockets of a server.
#[derive(Debug)]
pub struct Sampler {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Vec<SocketSample>>>>,
}

impl Sampler {
    /// Samples the sockets of `port` until [`Sampler::stop`].
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn start(namespace: &Namespace, port: u16) -> Result<Sampler> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let filter = format!("sport = :{port}");
        let mut ss = Command::new("ss");
        ss.args([
            "-N",
            namespace.name(),
            "-tinHO",
            "state",
            "established",
            &filter,
        ]);
        let thread = std::thread::Builder::new()
            .name("sampler".to_owned())
            .spawn(move || collect(&mut ss, &stopped))?;
        Ok(Sampler {
            stop,
            thread: Some(thread),
        })
    }

    /// Ends it.
    ///
    /// # Errors
    /// When `ss` failed.
    pub fn stop(mut self) -> Result<Vec<SocketSample>> {
        self.end().context("the sampler has ended before")?
    }

    fn end(&mut self) -> Option<Result<Vec<SocketSample>>> {
        let thread = self.thread.take()?;
        self.stop.store(true, Ordering::Relaxed);
        thread.thread().unpark();
        let ended = thread.join();
        Some(ended.unwrap_or_else(|_| Err(anyhow!("the sampler panicked"))))
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.end();
    }
}

fn collect(ss: &mut Command, stopped: &AtomicBool) -> Result<Vec<SocketSample>> {
    let mut samples = Vec::new();
    while !stopped.load(Ordering::Relaxed) {
        let shown = run(ss)?;
        let at_ns = monotonic_ns();
        samples.extend(shown.lines().filter_map(|line| {
            Some(SocketSample {
                at_ns,
                ..parse(line)?
            })
        }));
        std::thread::park_timeout(if samples.is_empty() {
            FIRST_INTERVAL
        } else {
            INTERVAL
        });
    }
    Ok(samples)
}

/// Waits until a server has no connections any more, but no longer than `timeout`: what they still
/// send would be counted in the next measurement.
///
/// # Errors
/// When `ss` fails.
pub fn wait_until_idle(namespace: &Namespace, timeout: Duration) -> Result<()> {
    let states = ["-tanH", "state", "connected", "exclude", "time-wait"];
    let deadline = Instant::now() + timeout;
    let mut ss = Command::new("ss");
    ss.args(["-N", namespace.name()]).args(states);
    while !run(&mut ss)?.trim().is_empty() && Instant::now() < deadline {
        check_interrupted()?;
        std::thread::sleep(FIRST_INTERVAL);
    }
    Ok(())
}

/// The one congestion control that all samples show.
///
/// # Errors
/// When there is no sample, or another algorithm than `expected` in one.
pub fn check_algorithm(samples: &[SocketSample], expected: &str) -> Result<()> {
    let seen: BTreeSet<&str> = samples.iter().map(|s| s.algorithm.as_str()).collect();
    let first = *seen
        .first()
        .context("`ss` never showed the server's socket")?;
    if seen.len() > 1 || first != expected {
        bail!("the server's socket used {seen:?}, not {expected}");
    }
    Ok(())
}

/// One line of `ss -tinO`. Names and values are joined by a colon or, for rates, by a space; the
/// congestion control is the last bare word before the first pair.
fn parse(line: &str) -> Option<SocketSample> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let first = words
        .iter()
        .position(|w| w.starts_with("wscale:") || w.starts_with("rto:"))?;
    let value = |name: &str| {
        let prefix = format!("{name}:");
        words[first..].iter().find_map(|w| w.strip_prefix(&prefix))
    };
    let number = |name: &str| value(name).and_then(|v| v.parse().ok());
    let after = |name: &str| {
        let at = words.iter().position(|w| *w == name)?;
        words.get(at + 1)?.strip_suffix("bps").map(str::to_owned)
    };
    let count = |name: &str| number(name).unwrap_or(0);
    let (again_now, again) = value("retrans")
        .and_then(|v| v.split_once('/'))
        .unwrap_or(("0", "0"));
    let outstanding = count("unacked") + again_now.parse::<u64>().ok()?;
    Some(SocketSample {
        at_ns: 0,
        peer_port: words.get(3)?.rsplit(':').next()?.parse().ok()?,
        algorithm: (*words.get(first.checked_sub(1)?)?).to_owned(),
        cwnd: number("cwnd")?,
        mss: number("mss")?,
        inflight: outstanding.saturating_sub(count("sacked") + count("lost")),
        srtt_ms: value("rtt")?.split('/').next()?.parse().ok()?,
        bytes_acked: count("bytes_acked"),
        retrans: again.parse().ok()?,
        delivery_rate: after("delivery_rate").and_then(|rate| bits_per_second(&rate)),
    })
}

/// `ss` shortens rates: `49.7M`.
fn bits_per_second(rate: &str) -> Option<f64> {
    let (digits, factor) = match rate.strip_suffix(['K', 'M', 'G']) {
        Some(digits) if rate.ends_with('K') => (digits, 1e3),
        Some(digits) if rate.ends_with('M') => (digits, 1e6),
        Some(digits) => (digits, 1e9),
        None => (rate, 1.0),
    };
    digits.parse::<f64>().ok().map(|n| n * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "0 1042560 198.18.0.1:80 198.18.0.2:45678 ts sack ecn bbr wscale:7,9 \
        rto:304 rtt:101.5/0.8 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:870 ssthresh:420 \
        bytes_sent:5000000 bytes_retrans:2896 bytes_acked:3900001 segs_out:3500 segs_in:1800 \
        data_segs_out:3499 data_segs_in:1 bbr:(bw:49.7Mbps,mrtt:100.2,pacing_gain:1,cwnd_gain:2) \
        send 99.3Mbps lastrcv:2400 pacing_rate 49.2Mbps delivery_rate 48.8Mbps delivered:2700 \
        busy:2300ms unacked:431 retrans:1/37 lost:2 sacked:12 rcv_space:14600 notsent:418472 \
        minrtt:100.1";

    #[test]
    fn a_line_of_ss() {
        let expected = SocketSample {
            at_ns: 0,
            peer_port: 45_678,
            algorithm: "bbr".to_owned(),
            cwnd: 870,
            mss: 1448,
            inflight: 431 + 1 - 12 - 2,
            srtt_ms: 101.5,
            bytes_acked: 3_900_001,
            retrans: 37,
            delivery_rate: Some(48.8e6),
        };
        assert_eq!(parse(LINE), Some(expected));
    }

    #[test]
    fn a_young_socket_has_fewer_figures() {
        let line = "0 0 a:80 b:9 cubic rto:1000 rtt:1/0.5 mss:1448 cwnd:10 send 2Gbps";
        let sample = parse(line).expect("a sample");
        assert_eq!((sample.algorithm.as_str(), sample.retrans), ("cubic", 0));
        assert_eq!((sample.inflight, sample.delivery_rate), (0, None));
        assert_eq!(parse("0 0 a:80 b:9"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn rates() {
        assert_eq!(bits_per_second("912"), Some(912.0));
        assert_eq!(bits_per_second("1.5K"), Some(1500.0));
        assert_eq!(bits_per_second("2G"), Some(2e9));
        assert_eq!(bits_per_second("x"), None);
    }

    #[test]
    fn another_algorithm_is_an_error() {
        let sample = |name: &str| SocketSample {
            algorithm: name.to_owned(),
            ..SocketSample::default()
        };
        assert!(check_algorithm(&[sample("cubic"), sample("cubic")], "cubic").is_ok());
        assert!(check_algorithm(&[sample("cubic"), sample("bbr")], "cubic").is_err());
        assert!(check_algorithm(&[sample("bbr")], "cubic").is_err());
        assert!(check_algorithm(&[], "cubic").is_err());
    }
}
