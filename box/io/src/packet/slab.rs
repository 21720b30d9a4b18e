//! The packet pool of the AF_PACKET driver: small frames, and large ones for offload segments.

use windlass_engine::{Pkt, Pool, Room};
use windlass_wire::{Segment, verify_tcp};

use super::MAX_PACKET_BYTES;
use super::offload::Offload;

const LARGE_MIN: u32 = 64;

#[derive(Clone, Copy, Debug)]
struct Slot {
    /// References; 0 when free.
    refs: u32,
    len: u32,
    /// What its sender left to be done.
    offload: Offload,
}

const FREE: Slot = Slot {
    refs: 0,
    len: 0,
    offload: Offload::NONE,
};

/// Small frames first, then large ones, in one allocation that the system backs when used.
#[derive(Debug)]
pub(super) struct Slab {
    memory: Vec<u8>,
    small_size: u32,
    small_count: u32,
    slots: Vec<Slot>,
    free_small: Vec<u32>,
    free_large: Vec<u32>,
}

impl Slab {
    /// Half of `count` frames of `small_size` bytes; the other half's memory as large frames.
    pub(super) fn new(count: u32, small_size: u32) -> Slab {
        let small = count.div_ceil(2);
        let large = u64::from(count / 2) * u64::from(small_size) / u64::from(MAX_PACKET_BYTES);
        let large = (large as u32).max(LARGE_MIN);
        let bytes = u64::from(small) * u64::from(small_size)
            + u64::from(large) * u64::from(MAX_PACKET_BYTES);
        Slab {
            memory: vec![0; bytes as usize],
            small_size,
            small_count: small,
            slots: vec![FREE; (small + large) as usize],
            free_small: (0..small).rev().collect(),
            free_large: (small..small + large).rev().collect(),
        }
    }

    /// True if a frame of any length can be stored.
    pub(super) fn has_room(&self) -> bool {
        !self.free_small.is_empty() && !self.free_large.is_empty()
    }

    /// A new packet with these bytes.
    pub(super) fn store(&mut self, bytes: &[u8], offload: Offload) -> Option<Pkt> {
        let pkt = self.take(bytes.len() as u32)?;
        self.slots[pkt.0 as usize].offload = offload;
        self.head_mut(pkt).copy_from_slice(bytes);
        Some(pkt)
    }

    pub(super) fn offload(&self, pkt: Pkt) -> Offload {
        self.live(pkt).offload
    }

    pub(super) fn free_count(&self) -> u32 {
        (self.free_small.len() + self.free_large.len()) as u32
    }

    pub(super) fn held_count(&self) -> u32 {
        self.slots.len() as u32 - self.free_count()
    }

    fn take(&mut self, len: u32) -> Option<Pkt> {
        let free = match len {
            _ if len <= self.small_size => &mut self.free_small,
            _ if len <= MAX_PACKET_BYTES => &mut self.free_large,
            _ => return None,
        };
        let index = free.pop()?;
        self.slots[index as usize] = Slot {
            refs: 1,
            len,
            ..FREE
        };
        Some(Pkt(index))
    }

    /// Where the frame begins, and its size.
    fn place(&self, pkt: Pkt) -> (usize, u32) {
        let small = self.small_size as usize;
        match pkt.0.checked_sub(self.small_count) {
            None => (pkt.0 as usize * small, self.small_size),
            Some(large) => (
                self.small_count as usize * small + large as usize * MAX_PACKET_BYTES as usize,
                MAX_PACKET_BYTES,
            ),
        }
    }

    fn live(&self, pkt: Pkt) -> &Slot {
        let slot = &self.slots[pkt.0 as usize];
        assert!(slot.refs > 0, "packet {} is not live", pkt.0);
        slot
    }
}

impl Pool for Slab {
    fn head(&self, pkt: Pkt) -> &[u8] {
        let (at, len) = (self.place(pkt).0, self.live(pkt).len as usize);
        &self.memory[at..at + len]
    }

    fn head_mut(&mut self, pkt: Pkt) -> &mut [u8] {
        let (at, len) = (self.place(pkt).0, self.live(pkt).len as usize);
        &mut self.memory[at..at + len]
    }

    fn verify(&self, pkt: Pkt, segment: &Segment) -> bool {
        self.live(pkt).offload.verified || verify_tcp(self.head(pkt), segment)
    }

    fn len(&self, pkt: Pkt) -> u32 {
        self.live(pkt).len
    }

    /// A quarter of either kind is left for what is not held.
    fn room(&self) -> Room {
        let small = self.small_count as usize;
        let kinds = [
            (self.free_small.len(), small),
            (self.free_large.len(), self.slots.len() - small),
        ];
        let less_than = |eighths| kinds.iter().any(|(free, all)| free * 8 < all * eighths);
        match () {
            () if less_than(2) => Room::None,
            () if less_than(3) => Room::Little,
            () => Room::Enough,
        }
    }

    fn alloc(&mut self, len: u32) -> Option<Pkt> {
        let pkt = self.take(len)?;
        self.head_mut(pkt).fill(0);
        Some(pkt)
    }

    fn resize(&mut self, pkt: Pkt, len: u32) -> bool {
        let before = self.live(pkt).len as usize;
        if len > self.place(pkt).1 {
            return false;
        }
        self.slots[pkt.0 as usize].len = len;
        if let Some(added) = self.head_mut(pkt).get_mut(before..) {
            added.fill(0);
        }
        true
    }

    fn share(&mut self, pkt: Pkt) -> Pkt {
        self.live(pkt);
        self.slots[pkt.0 as usize].refs += 1;
        pkt
    }

    fn free(&mut self, pkt: Pkt) {
        self.live(pkt);
        let slot = &mut self.slots[pkt.0 as usize];
        slot.refs -= 1;
        if slot.refs == 0 && pkt.0 < self.small_count {
            self.free_small.push(pkt.0);
        } else if slot.refs == 0 {
            self.free_large.push(pkt.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_that_was_verified_on_reception_is_not_verified_again() {
        let mut frame = windlass_wire::FrameSpec::default().build();
        let segment = windlass_wire::parse(&frame, frame.len() as u32).expect("a segment");
        frame[usize::from(segment.at.tcp) + 4] ^= 1;
        let mut slab = Slab::new(8, 2048);
        for verified in [false, true] {
            let offload = Offload {
                verified,
                ..Offload::NONE
            };
            let pkt = slab.store(&frame, offload).expect("room");
            assert_eq!(slab.verify(pkt, &segment), verified);
        }
    }

    #[test]
    fn small_and_large_frames_do_not_overlap() {
        let mut slab = Slab::new(8, 2048);
        let total = slab.free_count();
        let mut packets = Vec::new();
        for (i, len) in [2048, 65_792, 2048, 65_792].into_iter().enumerate() {
            let p = slab
                .store(&vec![i as u8; len], Offload::NONE)
                .expect("room");
            packets.push(p);
        }
        for (i, &p) in packets.iter().enumerate() {
            assert!(slab.head(p).iter().all(|&b| b == i as u8));
        }
        assert_eq!(slab.held_count(), 4);
        for p in packets {
            slab.free(p);
        }
        assert_eq!(slab.free_count(), total);
    }

    #[test]
    fn references_and_sizes() {
        let mut slab = Slab::new(2, 2048);
        let p = slab.alloc(60).expect("room");
        assert!(slab.alloc(60).is_none());
        assert!(slab.resize(p, 2048) && !slab.resize(p, 2049));
        let q = slab.share(p);
        slab.free(p);
        assert_eq!(slab.len(q), 2048);
        slab.free(q);
        assert!(slab.alloc(MAX_PACKET_BYTES + 1).is_none());
        assert!(slab.alloc(60).is_some());
    }
}
