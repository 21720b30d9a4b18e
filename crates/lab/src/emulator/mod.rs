//! A link between two bare interfaces in real time: the simulator's link model, driven by the
//! clock. For kernels without netem.

mod forwarder;

use std::io::PipeWriter;
use std::process::Command;
use std::sync::mpsc;
use std::thread::JoinHandle;

use anyhow::{Context, Result, anyhow, bail};
use windlass_io::packet::Interface;
use windlass_sim::Nanos;
use windlass_sim::link::{LinkConfig, LinkStats, Loss};

use self::forwarder::Forwarder;
use crate::netns::Namespace;
use crate::statistics::percentile;
use crate::topology::{EMULATOR_FAR, EMULATOR_NEAR};

/// Width of a [`Bin`], ns.
pub const BIN_NS: u64 = 20_000_000;
/// A queue is never shorter than this many packets.
const MIN_QUEUE_PACKETS: u64 = 100;
/// A full Ethernet frame without its checksum, bytes.
const FRAME_BYTES: u64 = 1514;
/// How late the kernel may wake the thread to save energy, ns.
const TIMER_SLACK_NS: u64 = 1_000;
/// Real-time priority: above all ordinary processes, or their slices would be seen as jitter.
const PRIORITY: u8 = 10;

/// The path between box and client. Bytes count from the Ethernet header on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Path {
    /// Rate of either direction, bit/s.
    pub rate_bits_per_s: u64,
    /// Delay of both directions together, ns; each has half of it.
    pub rtt: Nanos,
    /// Share of the packets from server to client that are lost, 0 to 1.
    pub loss_ratio: f64,
    /// Length of the queue of either direction, in bandwidth-delay products.
    pub queue_bdp: f64,
}

impl Path {
    /// Length of the queue of either direction: at least 100 full packets, bytes.
    pub fn queue_bytes(&self) -> u64 {
        let bdp = self.rate_bits_per_s as f64 / 8.0 * self.rtt as f64 / 1e9;
        ((bdp * self.queue_bdp) as u64).max(MIN_QUEUE_PACKETS * FRAME_BYTES)
    }

    fn direction(&self, loss_ratio: f64) -> LinkConfig {
        LinkConfig {
            rate_bytes_per_s: Some(self.rate_bits_per_s / 8),
            delay: self.rtt / 2,
            loss: match loss_ratio {
                0.0 => Loss::None,
                ratio => Loss::Bernoulli { ratio },
            },
            queue_bytes: self.queue_bytes(),
            ..LinkConfig::default()
        }
    }
}

/// What happened on the way to the client in one span of [`BIN_NS`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Bin {
    /// Bytes handed to the client.
    pub delivered_bytes: u64,
    /// Longest queue, bytes.
    pub queue_bytes: u64,
}

/// What an emulator did from its start to its end.
#[derive(Clone, Debug)]
pub struct Record {
    /// `CLOCK_MONOTONIC` at the beginning of the first bin, ns.
    pub start_ns: u64,
    /// Way to the client, in spans of [`BIN_NS`].
    pub bins: Vec<Bin>,
    /// Counts of the way to the client.
    pub down: LinkStats,
    /// Counts of the way to the server.
    pub up: LinkStats,
    /// How much later than due packets left, sorted, µs: the emulator's own jitter.
    pub lateness_us: Vec<u32>,
    /// Packets lost between kernel and emulator, which no link model asked for.
    pub mishaps: u64,
    /// Whether the thread had real-time priority.
    pub real_time: bool,
}

impl Record {
    /// [`Record::lateness_us`] that `share` of the packets do not exceed, µs.
    pub fn lateness(&self, share: f64) -> u32 {
        percentile(&self.lateness_us, share).unwrap_or(0)
    }
}

/// A running emulator.
#[derive(Debug)]
pub struct Emulator {
    stop: PipeWriter,
    thread: JoinHandle<Result<Record>>,
}

impl Emulator {
    /// Connects the two emulator ends in `namespace`. The same seed loses the same packets, by
    /// their number. Returns when it is forwarding.
    ///
    /// # Errors
    /// When the interfaces cannot be opened.
    pub fn start(namespace: &Namespace, path: Path, seed: u64) -> Result<Emulator> {
        let (stopped, stop) = std::io::pipe()?;
        let (ready, wait) = mpsc::channel();
        let ends = namespace.inside(|| {
            let open = |name| Interface::open(name).with_context(|| format!("cannot open {name}"));
            Ok([open(EMULATOR_NEAR)?, open(EMULATOR_FAR)?])
        })?;
        let thread = std::thread::Builder::new()
            .name("link".to_owned())
            .spawn(move || {
                let real_time = prepare_thread();
                ready.send(())?;
                Forwarder::new(ends, path, seed, real_time).run(&stopped)
            })?;
        wait.recv().context("the link emulator did not start")?;
        Ok(Emulator { stop, thread })
    }

    /// Ends it. What is on the link is lost.
    ///
    /// # Errors
    /// When the emulation was not what it promised: see [`Record::mishaps`].
    pub fn stop(self) -> Result<Record> {
        drop(self.stop);
        let ended = self.thread.join();
        let record = ended.map_err(|_| anyhow!("the link emulator panicked"))??;
        if record.mishaps > 0 {
            bail!(
                "the link emulator lost {} packets of its own",
                record.mishaps
            );
        }
        Ok(record)
    }
}

/// Whether the thread runs with real-time priority now. Without, it is only less exact.
fn prepare_thread() -> bool {
    let _ = nix::sys::prctl::set_timerslack(TIMER_SLACK_NS);
    let thread = nix::unistd::gettid().to_string();
    let mut chrt = Command::new("chrt");
    chrt.args(["--fifo", "--pid", &PRIORITY.to_string(), &thread]);
    crate::command::run(&mut chrt).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: Path = Path {
        rate_bits_per_s: 50_000_000,
        rtt: 100_000_000,
        loss_ratio: 0.01,
        queue_bdp: 1.0,
    };

    #[test]
    fn queues_are_a_bdp_and_at_least_a_hundred_packets() {
        assert_eq!(PATH.queue_bytes(), 625_000);
        let short = Path {
            rtt: 1_000_000,
            ..PATH
        };
        assert_eq!(short.queue_bytes(), 151_400);
    }

    #[test]
    fn half_of_the_round_trip_goes_each_way() {
        let down = PATH.direction(PATH.loss_ratio);
        assert_eq!(down.delay, 50_000_000);
        assert_eq!(down.rate_bytes_per_s, Some(6_250_000));
        assert_eq!(down.loss, Loss::Bernoulli { ratio: 0.01 });
        assert_eq!(PATH.direction(0.0).loss, Loss::None);
    }
}
