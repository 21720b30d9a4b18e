//! The links between box and clients in real time: the simulator's network model, driven by the
//! clock. For kernels without netem.

mod forwarder;
mod ports;

use std::io::PipeWriter;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use anyhow::{Context, Result, anyhow, bail};
use windlass_experiment::Setup;
use windlass_experiment::observed::{LinkObserved, ProbesObserved};
use windlass_experiment::setup::{Bottleneck, Direction, Loss};
use windlass_sim::Nanos;

use self::forwarder::{Forwarder, Stop};
pub use self::ports::Ends;
use self::ports::Ports;

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
    /// Share of the packets from client to server that are lost, 0 to 1.
    pub ack_loss_ratio: f64,
    /// Length of the queue of either direction, in bandwidth-delay products.
    pub queue_bdp: f64,
}

impl Path {
    /// Length of the queue of either direction: at least 100 full packets, bytes.
    pub fn queue_bytes(&self) -> u64 {
        let bdp = self.rate_bits_per_s as f64 / 8.0 * self.rtt as f64 / 1e9;
        ((bdp * self.queue_bdp) as u64).max(MIN_QUEUE_PACKETS * FRAME_BYTES)
    }

    /// A network of this path alone, between the first server and the first client.
    pub fn setup(&self, seed: u64) -> Setup {
        let bottleneck = Bottleneck {
            down: self.direction(self.loss_ratio),
            up: self.direction(self.ack_loss_ratio),
            ..Bottleneck::default()
        };
        Setup {
            seed,
            ..Setup::line(bottleneck, Vec::new())
        }
    }

    fn direction(&self, loss_ratio: f64) -> Direction {
        Direction {
            rate_bits_per_s: self.rate_bits_per_s,
            delay_ns: self.rtt / 2,
            loss: match loss_ratio {
                0.0 => Loss::None,
                ratio => Loss::Independent { ratio },
            },
            queue_bytes: self.queue_bytes(),
            ..Direction::default()
        }
    }
}

/// What an emulator did from its start to its end.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// `CLOCK_MONOTONIC` at the start, ns.
    pub start_ns: u64,
    /// Counts of the way to the clients, by bottleneck.
    pub down: Vec<LinkObserved>,
    /// Counts of the way to the servers, by bottleneck.
    pub up: Vec<LinkObserved>,
    /// What probes have measured, if there were any.
    pub probes: Option<ProbesObserved>,
    /// How much later than due packets left, sorted, µs: the emulator's own jitter.
    pub lateness_us: Vec<u32>,
    /// Packets lost between kernel and emulator, which no link model asked for.
    pub mishaps: u64,
    /// Packets between hosts that are no pair.
    pub strays: u64,
    /// Processor time of the thread, what the kernel does on delivery included, ns.
    pub cpu_ns: u64,
    /// Whether the thread had real-time priority.
    pub real_time: bool,
}

impl Record {
    /// # Errors
    /// When the emulation was not what it promised: see [`Record::mishaps`].
    pub fn check(&self) -> Result<()> {
        match self.mishaps {
            0 => Ok(()),
            lost => bail!("the link emulator lost {lost} packets of its own"),
        }
    }

    /// [`Record::lateness_us`] that `share` of the packets do not exceed, µs.
    pub fn lateness(&self, share: f64) -> u32 {
        percentile(&self.lateness_us, share).unwrap_or(0)
    }
}

/// A running emulator.
#[derive(Debug)]
pub struct Emulator {
    start_ns: u64,
    flag: Arc<AtomicBool>,
    pipe: PipeWriter,
    thread: JoinHandle<Result<(Record, Ends)>>,
}

impl Emulator {
    /// Connects box and clients by the bottlenecks of `setup`. The same seed loses the same packets,
    /// by their number. Returns when it is forwarding; changes and cross traffic count from then.
    ///
    /// # Errors
    /// When two pairs are of the same hosts.
    pub fn start(mut ends: Ends, setup: &Setup) -> Result<Emulator> {
        let (reader, pipe) = std::io::pipe()?;
        let flag = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&flag);
        let (ready, wait) = mpsc::channel();
        let ports = Ports::new(setup, &ends)?;
        let setup = setup.clone();
        let thread = std::thread::Builder::new()
            .name("links".to_owned())
            .spawn(move || {
                let real_time = prepare_thread();
                ends.discard();
                let forwarder = Forwarder::new(ends, ports, &setup, real_time);
                ready.send(forwarder.start_ns())?;
                forwarder.run(&Stop {
                    flag: &stopped,
                    pipe: &reader,
                })
            })?;
        let start_ns = wait.recv().context("the link emulator did not start")?;
        Ok(Emulator {
            start_ns,
            flag,
            pipe,
            thread,
        })
    }

    /// `CLOCK_MONOTONIC` when it began, ns.
    pub fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// Ends it, and gives its ends back. What is on the links is lost.
    ///
    /// # Errors
    /// When it has failed before: an interface was gone, or frames came that an offload had joined.
    pub fn stop(self) -> Result<(Record, Ends)> {
        self.flag.store(true, Ordering::Relaxed);
        drop(self.pipe);
        let ended = self.thread.join();
        ended.map_err(|_| anyhow!("the link emulator panicked"))?
    }
}

/// Whether the thread runs with real-time priority now. Without, it is only less exact.
fn prepare_thread() -> bool {
    let _ = nix::sys::prctl::set_timerslack(TIMER_SLACK_NS);
    windlass_io::run_first_in_first_out(PRIORITY).is_ok()
}

/// The value that `share` (0 to 1) of the sorted numbers do not exceed (nearest rank); `None` of
/// none.
fn percentile(sorted: &[u32], share: f64) -> Option<u32> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: Path = Path {
        rate_bits_per_s: 50_000_000,
        rtt: 100_000_000,
        loss_ratio: 0.01,
        ack_loss_ratio: 0.0,
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
        let setup = PATH.setup(7);
        let Bottleneck { down, up, .. } = setup.bottlenecks[0];
        assert_eq!((down.delay_ns, up.delay_ns), (50_000_000, 50_000_000));
        assert_eq!(down.rate_bits_per_s, 50_000_000);
        assert_eq!(down.loss, Loss::Independent { ratio: 0.01 });
        assert_eq!((up.loss, setup.seed), (Loss::None, 7));
    }

    #[test]
    fn percentiles() {
        let numbers: Vec<u32> = (1..=100).collect();
        assert_eq!(percentile(&numbers, 0.5), Some(50));
        assert_eq!(percentile(&numbers, 0.99), Some(99));
        assert_eq!(percentile(&numbers, 1.0), Some(100));
        assert_eq!(percentile(&numbers, 0.0), Some(1));
        assert_eq!(percentile(&[], 0.5), None);
    }
}
