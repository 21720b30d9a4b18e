//! The packet pool of the AF_XDP driver: reference-counted UMEM frames.
//!
//! A packet is a chain of frames, named by its first. All references are counted at the first
//! frame, those of descriptors under way in the transmit rings included: a completion for any
//! frame of the chain returns one.

use std::io;
use std::os::fd::OwnedFd;

use serde::{Deserialize, Serialize};
use windlass_engine::{Nanos, Pkt, Pool, Room};
use windlass_wire::{Segment, verify_tcp, verify_tcp_parts};

use super::socket::FRAME_RING_ENTRIES;
use crate::driver::Shares;
use crate::memory::Mapping;
use crate::sys;

/// Frames kept ready for reception, at most.
pub(crate) const FILL_FRAMES_MAX: u32 = FRAME_RING_ENTRIES / 2;
/// Free bytes in front of a packet made here: room for the tx metadata, and a cache line.
pub(crate) const HEADROOM_BYTES: u32 = 64;
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Frame {
    /// References to the packet (first frame only); 0 when not part of a packet.
    refs: u32,
    /// First frame of the packet.
    head: u32,
    /// Next frame of the packet.
    next: u32,
    /// Length of the packet (first frame only).
    total: u32,
    /// Where the bytes begin in the frame.
    start: u16,
    /// Bytes in the frame.
    len: u16,
}

const FREE: Frame = Frame {
    refs: 0,
    head: NONE,
    next: NONE,
    total: 0,
    start: 0,
    len: 0,
};

/// `struct arrival` of the program, in front of a packet: its mark, and when the packet came, ns.
const ARRIVAL_BYTES: usize = 16;
/// What came longer ago is not believed, ns: the frame may have it from an earlier packet.
const ARRIVAL_MAX_AGE_NS: u64 = 10_000_000_000;

/// One contiguous piece of a packet: UMEM address and length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    pub(crate) addr: u64,
    pub(crate) len: u32,
}

/// First and last frame of a packet being built.
#[derive(Default)]
struct Chain {
    ends: Option<(u32, u32)>,
}

/// What is known of the frames. Those that are in neither list are lent to the kernel.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FramesState {
    /// In packets, by number.
    used: Vec<(u32, Frame)>,
    free: Vec<u32>,
}

/// In front of packets whose arrival is told, by the program of this seed.
fn mark(seed: u32) -> u64 {
    u64::from(seed) << 32 | u64::from(seed)
}

/// The frames of one UMEM.
#[derive(Debug)]
pub(crate) struct Frames {
    memory: Mapping,
    /// What `memory` maps, for another process.
    file: OwnedFd,
    frame_size: u32,
    shares: Shares,
    /// In front of packets whose arrival is told.
    mark: u64,
    /// How far the clock of this process is ahead of the program's, ns.
    ahead_ns: i64,
    frames: Vec<Frame>,
    free: Vec<u32>,
    held: u32,
}

impl Frames {
    /// `count` frames of `frame_size` bytes (a power of two, at most 4096). `seed` is the program's.
    pub(crate) fn new(count: u32, frame_size: u32, seed: u32) -> io::Result<Self> {
        let (memory, file) = Mapping::file(count as usize * frame_size as usize)?;
        Ok(Frames {
            memory,
            file,
            frame_size,
            shares: Shares::of(count, FILL_FRAMES_MAX),
            mark: mark(seed),
            ahead_ns: sys::monotonic_ahead_ns(),
            frames: vec![FREE; count as usize],
            free: (0..count).rev().collect(),
            held: 0,
        })
    }

    /// The frames of another process, mapped here, with all that it knows of them. `None`: that cannot be.
    pub(crate) fn inherit(
        (memory, file): (Mapping, OwnedFd),
        (count, frame_size, seed): (u32, u32, u32),
        state: FramesState,
    ) -> Option<Self> {
        let mut frames = vec![FREE; count as usize];
        for (index, frame) in &state.used {
            *frames.get_mut(*index as usize)? = *frame;
        }
        let inside = |frame: &u32| *frame < count;
        (state.free.iter().all(inside) && state.used.len() + state.free.len() <= frames.len())
            .then_some(())?;
        Some(Frames {
            memory,
            file,
            frame_size,
            shares: Shares::of(count, FILL_FRAMES_MAX),
            mark: mark(seed),
            ahead_ns: sys::monotonic_ahead_ns(),
            frames,
            held: state.used.len() as u32,
            free: state.free,
        })
    }

    /// What is known of them.
    pub(crate) fn export(&self) -> FramesState {
        let frames = (0..).zip(&self.frames);
        FramesState {
            used: frames
                .filter(|(_, frame)| frame.head != NONE)
                .map(|(index, frame)| (index, *frame))
                .collect(),
            free: self.free.clone(),
        }
    }

    /// Their memory, for another process.
    pub(crate) fn file(&self) -> &OwnedFd {
        &self.file
    }

    pub(crate) fn memory(&self) -> &Mapping {
        &self.memory
    }

    pub(crate) fn shares(&self) -> Shares {
        self.shares
    }

    /// More frames are in packets than may be: what only waits to be sent must go.
    pub(crate) fn is_crowded(&self) -> bool {
        self.held > self.shares.live_max()
    }

    pub(crate) fn free_count(&self) -> u32 {
        self.free.len() as u32
    }

    /// Frames that are part of packets.
    pub(crate) fn held_count(&self) -> u32 {
        self.held
    }

    /// A frame for the kernel to receive into, unless only the reserve is left.
    pub(crate) fn lend(&mut self) -> Option<u64> {
        if self.free_count() <= self.shares.reserve {
            return None;
        }
        let frame = self.free.pop()?;
        Some(u64::from(frame) * u64::from(self.frame_size))
    }

    /// Makes a packet, with one reference, of pieces that the kernel filled.
    pub(crate) fn adopt(&mut self, parts: impl Iterator<Item = Part>) -> Option<Pkt> {
        let mut chain = Chain::default();
        for part in parts {
            let start = (part.addr % u64::from(self.frame_size)) as u16;
            self.append(&mut chain, self.index(part.addr), start, part.len as u16);
        }
        chain.ends.map(|(head, _)| Pkt(head))
    }

    /// Adds a frame to the packet being built; the first one gets the packet's first reference.
    fn append(&mut self, chain: &mut Chain, frame: u32, start: u16, len: u16) {
        let head = match chain.ends {
            None => frame,
            Some((head, last)) => {
                self.frames[last as usize].next = frame;
                head
            }
        };
        self.frames[frame as usize] = Frame {
            refs: u32::from(frame == head),
            head,
            start,
            len,
            ..FREE
        };
        self.frames[head as usize].total += u32::from(len);
        self.held += 1;
        chain.ends = Some((head, frame));
    }

    /// The pieces of a packet, in order.
    pub(crate) fn parts(&self, pkt: Pkt) -> impl Iterator<Item = Part> + '_ {
        let first = self.live(pkt).head;
        std::iter::successors(Some(first), |&f| match self.frames[f as usize].next {
            NONE => None,
            next => Some(next),
        })
        .map(|f| {
            let frame = &self.frames[f as usize];
            Part {
                addr: u64::from(f) * u64::from(self.frame_size) + u64::from(frame.start),
                len: u32::from(frame.len),
            }
        })
    }

    /// The bytes of a piece.
    pub(crate) fn bytes(&self, part: Part) -> &[u8] {
        self.memory.bytes(part.addr as usize, part.len as usize)
    }

    /// The bytes of a piece, to be written.
    pub(crate) fn bytes_mut(&mut self, part: Part) -> &mut [u8] {
        self.memory.bytes_mut(part.addr as usize, part.len as usize)
    }

    /// Free bytes in front of the packet.
    pub(crate) fn headroom(&self, pkt: Pkt) -> u32 {
        u32::from(self.live(pkt).start)
    }

    /// True when nobody else has a reference.
    pub(crate) fn is_sole_reference(&self, pkt: Pkt) -> bool {
        self.live(pkt).refs == 1
    }

    /// Turns the caller's one reference into one for each of the packet's `parts` descriptors.
    pub(crate) fn reference_descriptors(&mut self, pkt: Pkt, parts: u32) {
        self.live_mut(pkt).refs += parts - 1;
    }

    /// The kernel is done with a descriptor: one reference less.
    pub(crate) fn complete(&mut self, addr: u64) {
        let head = self.frames[self.index(addr) as usize].head;
        self.free(Pkt(head));
    }

    /// The same bytes in frames of their own; `None` when memory is out.
    pub(crate) fn copy(&mut self, pkt: Pkt) -> Option<Pkt> {
        if self.free.len() < self.parts(pkt).count() {
            return None;
        }
        let mut chain = Chain::default();
        let mut source = self.live(pkt).head;
        while source != NONE {
            let from = self.frames[source as usize];
            let to = self.free.pop()?;
            let start = usize::from(from.start);
            let (read, write) = (self.offset(source) + start, self.offset(to) + start);
            self.memory.copy(read, write, usize::from(from.len));
            self.append(&mut chain, to, from.start, from.len);
            source = from.next;
        }
        chain.ends.map(|(head, _)| Pkt(head))
    }

    fn offset(&self, frame: u32) -> usize {
        frame as usize * self.frame_size as usize
    }

    fn index(&self, addr: u64) -> u32 {
        (addr / u64::from(self.frame_size)) as u32
    }

    fn live(&self, pkt: Pkt) -> &Frame {
        let frame = &self.frames[pkt.0 as usize];
        assert!(frame.refs > 0, "packet {} is not live", pkt.0);
        frame
    }

    fn live_mut(&mut self, pkt: Pkt) -> &mut Frame {
        let frame = &mut self.frames[pkt.0 as usize];
        assert!(frame.refs > 0, "packet {} is not live", pkt.0);
        frame
    }
}

impl Pool for Frames {
    fn head(&self, pkt: Pkt) -> &[u8] {
        let frame = self.live(pkt);
        let at = self.offset(pkt.0) + usize::from(frame.start);
        self.memory.bytes(at, usize::from(frame.len))
    }

    fn head_mut(&mut self, pkt: Pkt) -> &mut [u8] {
        let frame = *self.live(pkt);
        let at = self.offset(pkt.0) + usize::from(frame.start);
        self.memory.bytes_mut(at, usize::from(frame.len))
    }

    fn verify(&self, pkt: Pkt, segment: &Segment) -> bool {
        match self.live(pkt).next {
            NONE => verify_tcp(self.head(pkt), segment),
            _ => verify_tcp_parts(self.parts(pkt).map(|part| self.bytes(part)), segment),
        }
    }

    fn len(&self, pkt: Pkt) -> u32 {
        self.live(pkt).total
    }

    fn alloc(&mut self, len: u32) -> Option<Pkt> {
        if len > self.frame_size - HEADROOM_BYTES {
            return None;
        }
        let frame = self.free.pop()?;
        let mut chain = Chain::default();
        self.append(&mut chain, frame, HEADROOM_BYTES as u16, len as u16);
        self.head_mut(Pkt(frame)).fill(0);
        Some(Pkt(frame))
    }

    fn resize(&mut self, pkt: Pkt, len: u32) -> bool {
        let frame_size = self.frame_size;
        let frame = self.live_mut(pkt);
        let before = usize::from(frame.len);
        if frame.next != NONE || len > frame_size - u32::from(frame.start) {
            return false;
        }
        frame.len = len as u16;
        frame.total = len;
        if let Some(added) = self.head_mut(pkt).get_mut(before..) {
            added.fill(0);
        }
        true
    }

    fn arrived_at(&self, pkt: Pkt, now: Nanos) -> Option<Nanos> {
        let before = usize::from(self.live(pkt).start).checked_sub(ARRIVAL_BYTES)?;
        let told = self
            .memory
            .bytes(self.offset(pkt.0) + before, ARRIVAL_BYTES);
        let word = |at: usize| told[at..at + 8].try_into().map(u64::from_ne_bytes);
        let (mark, at) = (
            word(0).ok()?,
            word(8).ok()?.checked_add_signed(self.ahead_ns)?,
        );
        let age = now.checked_sub(at)?;
        (mark == self.mark && age < ARRIVAL_MAX_AGE_NS).then_some(at)
    }

    fn room(&self) -> Room {
        self.shares.room(self.held)
    }

    fn share(&mut self, pkt: Pkt) -> Pkt {
        self.live_mut(pkt).refs += 1;
        pkt
    }

    fn free(&mut self, pkt: Pkt) {
        let frame = self.live_mut(pkt);
        frame.refs -= 1;
        if frame.refs > 0 {
            return;
        }
        let mut next = pkt.0;
        while next != NONE {
            let frame = next;
            next = self.frames[frame as usize].next;
            self.frames[frame as usize] = FREE;
            self.free.push(frame);
            self.held -= 1;
        }
    }
}

#[cfg(test)]
mod tests;
