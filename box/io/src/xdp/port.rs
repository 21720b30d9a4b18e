//! One interface: packets out of and into the rings of its socket.

use std::collections::VecDeque;
use std::io;

use serde::{Deserialize, Serialize};
use windlass_engine::{Pkt, Pool, Tx};

use super::frames::{Frames, Part};
use super::offload::prepare_checksum;
use super::socket::Socket;
use crate::driver::{Shares, SideStats};

/// A socket with what waits for it.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) socket: Socket,
    stats: SideStats,
    backlog: VecDeque<Tx>,
    backlog_max: usize,
    /// Frames to keep in the fill ring.
    fill_frames: u32,
    /// The kernel completes checksums that are asked for with tx metadata.
    metadata: bool,
    /// Descriptors given to the kernel and not completed.
    in_flight: u32,
}

/// What another process has to know of a port.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PortState {
    backlog: Vec<Tx>,
    in_flight: u32,
}

impl Port {
    pub(crate) fn new(socket: Socket, metadata: bool, shares: Shares) -> Port {
        Port {
            socket,
            stats: SideStats::default(),
            backlog: VecDeque::new(),
            // What is held may be let go of all at once.
            backlog_max: shares.live_max() as usize,
            fill_frames: shares.fill,
            metadata,
            in_flight: 0,
        }
    }

    /// Goes on where another process has stopped.
    pub(crate) fn go_on(&mut self, state: PortState) {
        self.socket.go_on();
        self.backlog = state.backlog.into();
        self.in_flight = state.in_flight;
    }

    /// What waits, and what is under way.
    pub(crate) fn export(&self) -> PortState {
        PortState {
            backlog: self.backlog.iter().copied().collect(),
            in_flight: self.in_flight,
        }
    }

    /// Appends up to `max` complete packets; one that the kernel has not finished stays in the ring.
    pub(crate) fn receive(
        &mut self,
        frames: &mut Frames,
        max: usize,
        into: &mut Vec<Pkt>,
    ) -> usize {
        let rx = &mut self.socket.rx;
        let available = rx.available();
        let (mut taken, mut count) = (0, 0);
        while count < max {
            let goes_on = |i: &u32| rx.peek(*i).options & libc::XDP_PKT_CONTD != 0;
            let Some(last) = (taken..available).find(|i| !goes_on(i)) else {
                break;
            };
            let parts = (taken..=last).map(|i| {
                let desc = rx.peek(i);
                Part {
                    addr: desc.addr,
                    len: desc.len,
                }
            });
            if let Some(pkt) = frames.adopt(parts) {
                self.stats.rx_bytes += u64::from(frames.len(pkt));
                into.push(pkt);
                count += 1;
            }
            taken = last + 1;
        }
        if taken > 0 {
            rx.release(taken);
        }
        self.stats.rx_packets += count as u64;
        count
    }

    /// Gives free frames to the kernel; false if there were too few.
    pub(crate) fn refill(&mut self, frames: &mut Frames) -> bool {
        let fill = &mut self.socket.fill;
        let missing = self.fill_frames.saturating_sub(fill.pending());
        let mut given = 0;
        while given < missing
            && let Some(addr) = frames.lend()
        {
            fill.push(addr);
            given += 1;
        }
        if given > 0 {
            fill.submit();
            self.socket.wake_reception();
        }
        given == missing
    }

    /// Takes back what the kernel has transmitted.
    pub(crate) fn reap(&mut self, frames: &mut Frames) {
        let completion = &mut self.socket.completion;
        let done = completion.available();
        for i in 0..done {
            frames.complete(completion.peek(i));
        }
        if done > 0 {
            completion.release(done);
            self.in_flight -= done;
        }
    }

    /// Into the ring, or behind what already waits; what nobody holds is dropped where it would cost reception frames.
    pub(crate) fn transmit(&mut self, frames: &mut Frames, tx: Tx) {
        if frames.is_crowded() && frames.is_sole_reference(tx.pkt) {
            return self.drop_packet(frames, tx.pkt);
        }
        if self.backlog.is_empty() && self.enqueue(frames, tx) {
            return;
        }
        if self.backlog.len() < self.backlog_max {
            self.backlog.push_back(tx);
        } else {
            self.drop_packet(frames, tx.pkt);
        }
    }

    /// Moves on what waits, and has the kernel transmit.
    pub(crate) fn flush(&mut self, frames: &mut Frames) -> io::Result<()> {
        loop {
            while let Some(&tx) = self.backlog.front()
                && self.enqueue(frames, tx)
            {
                self.backlog.pop_front();
            }
            self.socket.tx.submit();
            let before = self.socket.tx.pending();
            self.socket.kick()?;
            if self.backlog.is_empty() || self.socket.tx.pending() == before {
                return Ok(());
            }
        }
    }

    /// True if the kernel could not take everything.
    pub(crate) fn is_waiting(&mut self) -> bool {
        !self.backlog.is_empty() || (self.socket.tx.pending() > 0 && self.socket.tx.needs_wakeup())
    }

    /// Packets that wait, and descriptors under way.
    pub(crate) fn queued(&self) -> u32 {
        self.backlog.len() as u32 + self.in_flight
    }

    pub(crate) fn stats(&self) -> SideStats {
        SideStats {
            rx_dropped: self.socket.rx_dropped(),
            ..self.stats
        }
    }

    fn drop_packet(&mut self, frames: &mut Frames, pkt: Pkt) {
        frames.free(pkt);
        self.stats.tx_dropped += 1;
    }

    /// All descriptors of the packet into the ring; false if they do not fit now.
    fn enqueue(&mut self, frames: &mut Frames, tx: Tx) -> bool {
        let count = frames.parts(tx.pkt).count() as u32;
        let len = frames.len(tx.pkt);
        if !self.socket.tx.has_room(count) {
            return false;
        }
        if len == 0 {
            self.drop_packet(frames, tx.pkt);
            return true;
        }
        let Some((pkt, options)) = prepare_checksum(frames, tx, self.metadata) else {
            self.drop_packet(frames, tx.pkt);
            return true;
        };
        for (i, part) in (1..).zip(frames.parts(pkt)) {
            let first = if i == 1 { options } else { 0 };
            let more = if i < count { libc::XDP_PKT_CONTD } else { 0 };
            self.socket.tx.push(libc::xdp_desc {
                addr: part.addr,
                len: part.len,
                options: first | more,
            });
        }
        frames.reference_descriptors(pkt, count);
        self.in_flight += count;
        self.stats.tx_packets += 1;
        self.stats.tx_bytes += u64::from(len);
        true
    }
}
