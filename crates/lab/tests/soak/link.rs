//! The outside link: the simulator's link model in real time, with loss in both directions.

use std::io::{PipeReader, PipeWriter};
use std::os::fd::AsFd;
use std::thread::JoinHandle;

use anyhow::{Result, anyhow};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use windlass_io::monotonic_ns;
use windlass_io::packet::{Interface, MAX_PACKET_BYTES, Offload};
use windlass_lab::netns::Namespace;
use windlass_lab::topology::{EMULATOR_FAR, EMULATOR_NEAR};
use windlass_sim::link::{Link as Model, LinkConfig, LinkStats, Loss};

const RATE_BITS_PER_S: u64 = 400_000_000;
const RTT_NS: u64 = 10_000_000;
const LOSS_RATIO: f64 = 0.01;
const SEED: u64 = 1;
const BATCH_PACKETS: usize = 64;

#[derive(Clone)]
struct Frame {
    bytes: Box<[u8]>,
    offload: Offload,
}

/// Both directions, until it is stopped.
pub struct Link {
    stop: PipeWriter,
    thread: JoinHandle<Result<[LinkStats; 2]>>,
}

impl Link {
    pub fn start(namespace: &Namespace) -> Result<Link> {
        let (stopped, stop) = std::io::pipe()?;
        let ends = namespace.inside(|| {
            Ok([
                Interface::open(EMULATOR_NEAR)?,
                Interface::open(EMULATOR_FAR)?,
            ])
        })?;
        let thread = std::thread::spawn(move || forward(ends, &stopped));
        Ok(Link { stop, thread })
    }

    /// What it did: outwards, inwards. An error when the kernel lost frames on its own.
    pub fn stop(self) -> Result<[LinkStats; 2]> {
        drop(self.stop);
        let ended = self.thread.join();
        ended.map_err(|_| anyhow!("the link panicked"))?
    }
}

fn config() -> LinkConfig {
    let bdp = RATE_BITS_PER_S / 8 * RTT_NS / 1_000_000_000;
    LinkConfig {
        rate_bytes_per_s: Some(RATE_BITS_PER_S / 8),
        delay: RTT_NS / 2,
        loss: Loss::Bernoulli { ratio: LOSS_RATIO },
        queue_bytes: bdp,
        ..LinkConfig::default()
    }
}

fn forward(mut ends: [Interface; 2], stopped: &PipeReader) -> Result<[LinkStats; 2]> {
    let mut links = [SEED, SEED + 1].map(|seed| Model::new(config(), seed));
    let mut buffer = vec![0; MAX_PACKET_BYTES as usize];
    let mut mishaps = 0u64;
    loop {
        for (from, link) in links.iter_mut().enumerate() {
            for _ in 0..BATCH_PACKETS {
                let Some(got) = ends[from].recv(&mut buffer)? else {
                    break;
                };
                let bytes = buffer[..got.len].into();
                let offload = got.offload;
                let frame = Frame { bytes, offload };
                link.send(monotonic_ns(), got.len as u32, false, frame);
            }
            while let Some(arrived) = link.receive(monotonic_ns()) {
                let Frame { bytes, offload } = arrived.item;
                let sent = ends[1 - from].send_offloaded(&bytes, &offload)?;
                mishaps += u64::from(!sent);
            }
        }
        let due = links.iter().filter_map(Model::poll_at).min();
        let timeout = due.map(|at| {
            let ns = at.saturating_sub(monotonic_ns()) as i64;
            TimeSpec::new(ns / 1_000_000_000, ns % 1_000_000_000)
        });
        let [a, b] = &ends;
        let mut polled =
            [stopped.as_fd(), a.as_fd(), b.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        match ppoll(&mut polled, timeout, None) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(e) => return Err(e.into()),
        }
        if polled[0].any() == Some(true) {
            mishaps += ends.iter_mut().map(Interface::take_dropped).sum::<u64>();
            if mishaps > 0 {
                // A busy machine loses frames before they reach the model. That is loss like any
                // other to the hosts: the transfers have to be intact all the same.
                println!("the link was not served in time: {mishaps} frames lost beside its model");
            }
            return Ok(links.map(|l| l.stats()));
        }
    }
}
