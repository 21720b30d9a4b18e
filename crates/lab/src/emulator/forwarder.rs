//! Frames from one interface through a link to the other, at their time.

use std::io::PipeReader;
use std::os::fd::AsFd;

use anyhow::{Result, bail};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use windlass_io::monotonic_ns;
use windlass_io::packet::{Interface, MAX_PACKET_BYTES, Offload};
use windlass_sim::link::{Link, LinkStats};

use super::{BIN_NS, Bin, FRAME_BYTES, Path, Record};

/// Longest time that is recorded in bins, ns.
const MAX_RECORDED_NS: u64 = 3_600_000_000_000;
/// A full frame with two VLAN tags; longer ones are segments that an offload joined.
const MAX_FRAME_BYTES: usize = FRAME_BYTES as usize + 8;
/// Room for one frame, or for what an offload joined.
const BUFFER_BYTES: usize = MAX_PACKET_BYTES as usize;
/// Frames taken from one side before the other has its turn.
const BATCH_PACKETS: usize = 64;

#[derive(Clone)]
struct Frame {
    bytes: Box<[u8]>,
    offload: Offload,
}

/// Both directions of a path, between two interfaces.
pub(super) struct Forwarder {
    /// Towards the server, towards the client.
    ends: [Interface; 2],
    /// By the end that a frame came in at: to the client, to the server.
    links: [Link<Frame>; 2],
    buffer: Vec<u8>,
    record: Record,
}

impl Forwarder {
    pub(super) fn new(ends: [Interface; 2], path: Path, seed: u64, real_time: bool) -> Forwarder {
        Forwarder {
            ends,
            links: [
                Link::new(path.direction(path.loss_ratio), seed),
                Link::new(path.direction(0.0), seed),
            ],
            buffer: vec![0; BUFFER_BYTES],
            record: Record {
                start_ns: monotonic_ns(),
                bins: Vec::new(),
                down: LinkStats::default(),
                up: LinkStats::default(),
                lateness_us: Vec::new(),
                mishaps: 0,
                real_time,
            },
        }
    }

    /// Until the other end of the pipe is closed.
    pub(super) fn run(mut self, stopped: &PipeReader) -> Result<Record> {
        loop {
            self.take()?;
            self.deliver()?;
            let due = self.links.iter().filter_map(Link::poll_at).min();
            let timeout = due.map(|at| {
                let ns = at.saturating_sub(monotonic_ns());
                TimeSpec::new((ns / 1_000_000_000) as i64, (ns % 1_000_000_000) as i64)
            });
            let [a, b] = &self.ends;
            let mut polled = [stopped.as_fd(), a.as_fd(), b.as_fd()]
                .map(|fd| PollFd::new(fd, PollFlags::POLLIN));
            match ppoll(&mut polled, timeout, None) {
                Ok(_) | Err(nix::errno::Errno::EINTR) => {}
                Err(e) => return Err(e.into()),
            }
            if polled[0].any() == Some(true) {
                return Ok(self.finish());
            }
        }
    }

    /// From the interfaces onto the links.
    fn take(&mut self) -> Result<()> {
        for (from, link) in self.links.iter_mut().enumerate() {
            for _ in 0..BATCH_PACKETS {
                let Some(got) = self.ends[from].recv(&mut self.buffer)? else {
                    break;
                };
                if got.len > MAX_FRAME_BYTES {
                    bail!(
                        "a frame of {} bytes reached the link: an offload is on",
                        got.len
                    );
                }
                let frame = Frame {
                    bytes: self.buffer[..got.len].into(),
                    offload: got.offload,
                };
                link.send(monotonic_ns(), got.len as u32, false, frame);
            }
        }
        let queued = self.links[0].queued_bytes();
        if let Some(bin) = bin(&mut self.record) {
            bin.queue_bytes = bin.queue_bytes.max(queued);
        }
        Ok(())
    }

    /// From the links to the interfaces what is due.
    fn deliver(&mut self) -> Result<()> {
        for (from, link) in self.links.iter_mut().enumerate() {
            while let Some(due) = link.poll_at() {
                let now = monotonic_ns();
                if due > now {
                    break;
                }
                let Some(arrived) = link.receive(now) else {
                    break;
                };
                let frame = arrived.item;
                let sent = self.ends[1 - from].send_offloaded(&frame.bytes, &frame.offload)?;
                self.record.mishaps += u64::from(!sent);
                self.record.lateness_us.push(((now - due) / 1_000) as u32);
                if from == 0
                    && let Some(bin) = bin(&mut self.record)
                {
                    bin.delivered_bytes += frame.bytes.len() as u64;
                }
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Record {
        let dropped: u64 = self.ends.iter_mut().map(Interface::take_dropped).sum();
        self.record.mishaps += dropped;
        self.record.down = self.links[0].stats();
        self.record.up = self.links[1].stats();
        self.record.lateness_us.sort_unstable();
        self.record
    }
}

/// The bin of now.
fn bin(record: &mut Record) -> Option<&mut Bin> {
    let since = monotonic_ns().saturating_sub(record.start_ns);
    let index = (since.min(MAX_RECORDED_NS) / BIN_NS) as usize;
    if index >= record.bins.len() {
        record.bins.resize(index + 1, Bin::default());
    }
    record.bins.get_mut(index)
}
