//! Frames from one interface through the network to another, at their time.

use std::io::PipeReader;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};
use windlass_engine::TxChecksum;
use windlass_experiment::Setup;
use windlass_experiment::setup::{Change, Direction};
use windlass_io::packet::{Offload, Taken};
use windlass_io::{monotonic_ns, thread_cpu_ns};
use windlass_sim::damage::Damage;
use windlass_sim::network::{Arrival, Network};

use crate::backend::sim::network::{links_observed, network_of, probes_observed};
use windlass_wire::{Ecn, Editor, complete_checksum, parse};

use super::Record;
use super::ports::{Ends, Ports, is_ecn_capable};

/// Two VLAN tags.
const TAGS_BYTES: usize = 8;
/// Frames taken before what is due has its turn.
const BATCH_PACKETS: usize = 64;
/// Longest time that frames may wait in the ring, which holds 10 Gbit/s for so long, ns.
const REST_MAX_NS: u64 = 5_000_000;
/// A shorter rest is not worth it, ns.
const REST_MIN_NS: u64 = 200_000;

/// Buffers that are kept for the next frames.
const SPARE_BUFFERS: usize = 1024;

#[derive(Clone)]
struct Frame {
    bytes: Vec<u8>,
    offload: Offload,
}

impl Frame {
    /// Completes a checksum that the kernel has left for later, as a network card does before the wire. On a wire that damages it has
    /// to be there before: whoever completed it behind the wire would heal the damage.
    fn complete_checksum(&mut self) {
        if let TxChecksum::Partial { start, offset } = self.offload.checksum {
            complete_checksum(&mut self.bytes, start.into(), offset.into());
            self.offload.checksum = TxChecksum::Done;
        }
    }
}

impl Damage for Frame {
    fn damage(&mut self, choice: u64) {
        self.complete_checksum();
        self.bytes.damage(choice);
    }
}

/// How an emulator is told to end: the flag while it rests, the pipe while it waits for frames.
pub(super) struct Stop<'a> {
    pub flag: &'a AtomicBool,
    pub pipe: &'a PipeReader,
}

/// All links, between all interfaces.
pub(super) struct Forwarder {
    ends: Ends,
    ports: Ports,
    network: Network<Frame>,
    /// A full frame with its tags, bytes; longer ones are segments that an offload joined.
    max_frame_bytes: usize,
    /// No packet crosses the network faster than this, ns. While one is on its way, frames that
    /// come may wait so long to be read: the kernel has noted when they came.
    rest_ns: u64,
    /// The links damage packets, so that all have whole checksums there, as on a wire.
    damages: bool,
    spare: Vec<Vec<u8>>,
    record: Record,
}

impl Forwarder {
    pub(super) fn new(ends: Ends, ports: Ports, setup: &Setup, real_time: bool) -> Forwarder {
        let mut network = Network::new(&network_of(setup));
        let start_ns = monotonic_ns();
        network.start(start_ns);
        Forwarder {
            ends,
            ports,
            network,
            max_frame_bytes: setup.mtu.frame_bytes() as usize + TAGS_BYTES,
            rest_ns: match least_delay(setup).min(REST_MAX_NS) {
                short if short < REST_MIN_NS => 0,
                long => long,
            },
            damages: damages(setup),
            spare: Vec::new(),
            record: Record {
                start_ns,
                real_time,
                ..Record::default()
            },
        }
    }

    pub(super) fn start_ns(&self) -> u64 {
        self.record.start_ns
    }

    /// Until it is told to end.
    pub(super) fn run(mut self, stop: &Stop<'_>) -> Result<(Record, Ends)> {
        loop {
            let now = monotonic_ns();
            while self.take()? == BATCH_PACKETS {}
            if self.deliver(now)? {
                continue;
            }
            if self.wait(now, stop)? {
                return Ok(self.finish());
            }
        }
    }

    /// From the interfaces into the network.
    fn take(&mut self) -> Result<usize> {
        let Forwarder {
            ends,
            ports,
            network,
            max_frame_bytes,
            damages,
            spare,
            record,
            ..
        } = self;
        let mut too_long = None;
        let count = ends.trunk.receive(BATCH_PACKETS, |taken: Taken<'_>| {
            if taken.len > *max_frame_bytes {
                too_long = Some(taken.len);
                return;
            }
            let Some((pair, toward)) = ports.pair(taken.interface, taken.bytes) else {
                record.strays += 1;
                return;
            };
            let mut bytes = spare
                .pop()
                .unwrap_or_else(|| Vec::with_capacity(*max_frame_bytes));
            bytes.extend_from_slice(taken.bytes);
            let offload = taken.offload;
            let mut frame = Frame { bytes, offload };
            if *damages {
                frame.complete_checksum();
            }
            let ect = is_ecn_capable(taken.bytes);
            network.send(taken.at, pair, toward, taken.len as u32, ect, frame);
        });
        if let Some(len) = too_long {
            bail!("a frame of {len} bytes reached the links: an offload is on");
        }
        Ok(count)
    }

    /// From the network to the interfaces what is due. Whether there was any.
    fn deliver(&mut self, now: u64) -> Result<bool> {
        let mut any = false;
        while let Some(arrival) = self.network.receive(now) {
            any = true;
            let at = monotonic_ns();
            let late_ns = at.saturating_sub(arrival.due);
            self.record.lateness_us.push((late_ns / 1_000) as u32);
            self.emit(arrival)?;
        }
        Ok(any)
    }

    fn emit(&mut self, arrival: Arrival<Frame>) -> Result<()> {
        let Frame { mut bytes, offload } = arrival.item;
        if arrival.marked_ce {
            mark(&mut bytes);
        }
        let interface = self.ports.exit(arrival.pair, arrival.toward);
        let sent = self.ends.trunk.send(interface, &bytes, &offload)?;
        self.record.mishaps += u64::from(!sent);
        if bytes.capacity() >= self.max_frame_bytes && self.spare.len() < SPARE_BUFFERS {
            bytes.clear();
            self.spare.push(bytes);
        }
        Ok(())
    }

    /// Sleeps until there is something to do; true: to end. What came after `now` may wait.
    fn wait(&self, now: u64, stop: &Stop<'_>) -> Result<bool> {
        let due = self.network.poll_at();
        if let Some(due) = due.filter(|_| self.rest_ns > 0) {
            // An interrupted sleep is a short one.
            let until = timespec(due.min(now + self.rest_ns));
            let absolute = ClockNanosleepFlags::TIMER_ABSTIME;
            let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, absolute, &until);
            return Ok(stop.flag.load(Ordering::Relaxed));
        }
        let timeout = due.map(|at| timespec(at.saturating_sub(monotonic_ns())));
        let mut polled = [stop.pipe.as_fd(), self.ends.trunk.as_fd()]
            .map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        match ppoll(&mut polled, timeout, None) {
            Ok(_) | Err(Errno::EINTR) => Ok(polled[0].any() == Some(true)),
            Err(e) => Err(e.into()),
        }
    }

    fn finish(mut self) -> (Record, Ends) {
        self.record.mishaps += self.ends.trunk.take_dropped();
        let (down, up) = self.network.observed();
        (self.record.down, self.record.up) = (links_observed(&down), links_observed(&up));
        self.record.probes = self.network.probes_observed().map(probes_observed);
        self.record.lateness_us.sort_unstable();
        self.record.cpu_ns = thread_cpu_ns();
        (self.record, self.ends)
    }
}

fn timespec(ns: u64) -> TimeSpec {
    TimeSpec::new((ns / 1_000_000_000) as i64, (ns % 1_000_000_000) as i64)
}

/// Whether any link damages packets, at any time of the run.
fn damages(setup: &Setup) -> bool {
    let bottlenecks = setup.bottlenecks.iter();
    let mut directions = bottlenecks.flat_map(|bottleneck| {
        let later = bottleneck.changes.iter();
        let later = later.flat_map(|Change { down, up, .. }| [down, up]);
        [&bottleneck.down, &bottleneck.up].into_iter().chain(later)
    });
    directions.any(|direction| direction.damage_ratio > 0.0)
}

/// The shortest time that a packet takes from end to end, at any time of the run, ns.
fn least_delay(setup: &Setup) -> u64 {
    let least = |index: usize, side: fn(&Direction, &Direction) -> u64| {
        let bottleneck = &setup.bottlenecks[index];
        let later = bottleneck.changes.iter();
        let later = later.map(|Change { down, up, .. }| side(down, up));
        later.fold(side(&bottleneck.down, &bottleneck.up), u64::min)
    };
    let ways = setup.pairs.iter().flat_map(|pair| {
        let down: u64 = pair
            .route
            .iter()
            .map(|i| least(*i, |down, _| down.delay_ns))
            .sum();
        let up: u64 = pair
            .route
            .iter()
            .map(|i| least(*i, |_, up| up.delay_ns))
            .sum();
        [down + pair.extra_delay_ns, up + pair.extra_delay_ns]
    });
    ways.min().unwrap_or(0)
}

/// Congestion experienced (RFC 3168 §5). What is not TCP stays as it is.
fn mark(frame: &mut [u8]) {
    if let Ok(segment) = parse(frame, frame.len() as u32) {
        Editor::new(frame, &segment).set_ecn(Ecn::Ce);
    }
}

#[cfg(test)]
mod tests {
    use windlass_experiment::setup::{Bottleneck, Pair};
    use windlass_wire::{ChecksumState, verify_tcp};

    use super::*;

    /// A frame of TCP whose checksum the kernel has left for later: the field has the sum of the pseudo-header.
    fn unfinished() -> Frame {
        let mut bytes = vec![0x5a; 14 + 20 + 20 + 100];
        bytes[12..14].copy_from_slice(&[8, 0]);
        let ip = [69, 0, 0, 140, 0, 1, 64, 0, 64, 6, 0, 0];
        bytes[14..26].copy_from_slice(&ip);
        bytes[26..34].copy_from_slice(&[198, 18, 0, 1, 198, 19, 0, 1]);
        bytes[46..48].copy_from_slice(&[0x50, 0x10]);
        // 198.18 twice with 0.1, protocol 6, 120 bytes of TCP.
        let words = [0xc612u32, 1, 0xc613, 1, 6, 120];
        let sum = words.iter().sum::<u32>();
        let folded = (sum & 0xffff) + (sum >> 16);
        bytes[50..52].copy_from_slice(&(folded as u16).to_be_bytes());
        let checksum = TxChecksum::Partial {
            start: 34,
            offset: 16,
        };
        let offload = Offload {
            checksum,
            ..Offload::NONE
        };
        Frame { bytes, offload }
    }

    fn verified(frame: &Frame) -> bool {
        let segment = parse(&frame.bytes, frame.bytes.len() as u32).expect("a segment");
        assert_eq!(segment.checksum, ChecksumState::Full);
        verify_tcp(&frame.bytes, &segment)
    }

    #[test]
    fn what_is_damaged_has_a_whole_checksum_that_nobody_mends() {
        let mut whole = unfinished();
        let partial = parse(&whole.bytes, whole.bytes.len() as u32).expect("a segment");
        assert_eq!(partial.checksum, ChecksumState::Partial);
        whole.complete_checksum();
        assert_eq!(whole.offload, Offload::NONE);
        assert!(verified(&whole));
        let mut again = whole.clone();
        again.complete_checksum();
        assert_eq!(again.bytes, whole.bytes, "once is enough");
        let mut wrong = 0;
        for choice in 0..100 {
            let mut frame = unfinished();
            frame.damage(choice);
            assert_eq!(frame.offload, Offload::NONE);
            let pairs = frame.bytes.iter().zip(&whole.bytes);
            let bits: u32 = pairs.map(|(a, b)| (a ^ b).count_ones()).sum();
            assert_eq!(bits, 1, "the damage alone");
            let tcp = frame.bytes[34..] != whole.bytes[34..];
            let parsed = parse(&frame.bytes, frame.bytes.len() as u32).is_ok();
            if tcp && parsed {
                assert!(!verified(&frame));
                wrong += 1;
            }
        }
        assert!(wrong > 50, "{wrong}");
    }

    #[test]
    fn damage_at_any_time_of_the_run_is_damage() {
        let damaging = Direction {
            damage_ratio: 0.01,
            ..Direction::default()
        };
        let clean = Bottleneck::default();
        let up = Bottleneck {
            up: damaging,
            ..clean.clone()
        };
        let later = Bottleneck {
            changes: vec![Change {
                at_ns: 5,
                down: damaging,
                up: Direction::default(),
            }],
            ..clean.clone()
        };
        for (bottleneck, expected) in [(clean.clone(), false), (up, true), (later, true)] {
            let setup = Setup {
                bottlenecks: vec![clean.clone(), bottleneck],
                ..Setup::default()
            };
            assert_eq!(damages(&setup), expected);
        }
    }

    #[test]
    fn the_least_delay_is_that_of_the_fastest_way_at_any_time() {
        let delayed = |delay_ns| Direction {
            delay_ns,
            ..Direction::default()
        };
        let bottleneck = |down, up, changes| Bottleneck {
            down: delayed(down),
            up: delayed(up),
            changes,
            repeat_ns: 0,
        };
        let change = Change {
            at_ns: 5,
            down: delayed(3),
            up: delayed(40),
        };
        let pair = |route: &[usize], extra_delay_ns| Pair {
            server: 0,
            client: 0,
            route: route.to_vec(),
            extra_delay_ns,
        };
        let setup = Setup {
            bottlenecks: vec![bottleneck(10, 20, vec![change]), bottleneck(30, 30, vec![])],
            pairs: vec![pair(&[0, 1], 1), pair(&[1], 7)],
            ..Setup::default()
        };
        assert_eq!(least_delay(&setup), 30 + 3 + 1);
        assert_eq!(least_delay(&Setup::default()), 0);
    }
}
