//! Packet memory on the heap.

use windlass_engine::{Nanos, Pkt, Pool, Room};

#[derive(Default)]
struct Slot {
    bytes: Vec<u8>,
    references: u32,
    arrived_at: Option<Nanos>,
}

/// A [`Pool`] of vectors. Freed slots are used again, with the memory that they have.
#[derive(Default)]
pub struct HeapPool {
    slots: Vec<Slot>,
    free: Vec<u32>,
    limit: Option<usize>,
}

/// The longest frame that [`HeapPool::alloc`] hands out, bytes: a 64 KiB IP packet in Ethernet with
/// two VLAN tags.
pub const MAX_FRAME_BYTES: u32 = 65_535 + 22;

impl HeapPool {
    /// An empty pool without a limit.
    pub fn new() -> Self {
        Self::default()
    }

    /// A pool that runs out of memory at `packets` live packets; three quarters of them may be held.
    pub fn with_limit(packets: usize) -> Self {
        HeapPool {
            limit: Some(packets),
            ..Self::default()
        }
    }

    /// Takes a frame in; `None` at the limit.
    pub fn insert(&mut self, frame: &[u8]) -> Option<Pkt> {
        let pkt = self.take_slot()?;
        self.slot(pkt).bytes.extend_from_slice(frame);
        Some(pkt)
    }

    /// Takes a frame in that came at a time that is known; `None` at the limit.
    pub fn insert_of(&mut self, frame: &[u8], arrived_at: Nanos) -> Option<Pkt> {
        let pkt = self.insert(frame)?;
        self.slot(pkt).arrived_at = Some(arrived_at);
        Some(pkt)
    }

    /// The whole packet.
    pub fn bytes(&self, pkt: Pkt) -> &[u8] {
        self.head(pkt)
    }

    /// A copy of the packet, whose reference is given back.
    pub fn take(&mut self, pkt: Pkt) -> Vec<u8> {
        let bytes = if self.slot(pkt).references == 1 {
            std::mem::take(&mut self.slot(pkt).bytes)
        } else {
            self.head(pkt).to_vec()
        };
        self.free(pkt);
        bytes
    }

    /// Packets somebody has a reference to. 0 when all is over, or there is a leak.
    pub fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    fn take_slot(&mut self) -> Option<Pkt> {
        if self.limit.is_some_and(|limit| self.live() >= limit) {
            return None;
        }
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            (self.slots.len() - 1) as u32
        });
        let slot = &mut self.slots[index as usize];
        slot.references = 1;
        slot.arrived_at = None;
        slot.bytes.clear();
        Some(Pkt(index))
    }

    fn slot(&mut self, pkt: Pkt) -> &mut Slot {
        let slot = &mut self.slots[pkt.0 as usize];
        assert!(slot.references > 0, "packet {} is not live", pkt.0);
        slot
    }
}

impl Pool for HeapPool {
    fn head(&self, pkt: Pkt) -> &[u8] {
        let slot = &self.slots[pkt.0 as usize];
        assert!(slot.references > 0, "packet {} is not live", pkt.0);
        &slot.bytes
    }

    fn head_mut(&mut self, pkt: Pkt) -> &mut [u8] {
        &mut self.slot(pkt).bytes
    }

    fn len(&self, pkt: Pkt) -> u32 {
        self.head(pkt).len() as u32
    }

    fn alloc(&mut self, len: u32) -> Option<Pkt> {
        if len > MAX_FRAME_BYTES {
            return None;
        }
        let pkt = self.take_slot()?;
        self.slot(pkt).bytes.resize(len as usize, 0);
        Some(pkt)
    }

    fn resize(&mut self, pkt: Pkt, len: u32) -> bool {
        if len > MAX_FRAME_BYTES {
            return false;
        }
        self.slot(pkt).bytes.resize(len as usize, 0);
        true
    }

    fn arrived_at(&self, pkt: Pkt, _now: Nanos) -> Option<Nanos> {
        self.slots[pkt.0 as usize].arrived_at
    }

    fn room(&self) -> Room {
        let (live, limit) = (self.live(), self.limit.unwrap_or(usize::MAX));
        match () {
            () if live >= limit / 4 * 3 => Room::None,
            () if live >= limit / 2 => Room::Little,
            () => Room::Enough,
        }
    }

    fn share(&mut self, pkt: Pkt) -> Pkt {
        self.slot(pkt).references += 1;
        pkt
    }

    fn free(&mut self, pkt: Pkt) {
        let slot = self.slot(pkt);
        slot.references -= 1;
        if slot.references == 0 {
            self.free.push(pkt.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_packet_lives_until_its_last_reference_is_gone() {
        let mut pool = HeapPool::new();
        let a = pool.insert(b"abc").expect("no limit");
        let b = pool.share(a);
        pool.free(a);
        assert_eq!(pool.head(b), b"abc");
        assert_eq!(pool.live(), 1);
        pool.free(b);
        assert_eq!(pool.live(), 0);
    }

    #[test]
    fn memory_is_used_again_and_comes_back_zeroed() {
        let mut pool = HeapPool::with_limit(1);
        let a = pool.insert(&[0xff; 64]).expect("room for one");
        assert_eq!(pool.alloc(1), None, "the limit is one packet");
        pool.free(a);
        let b = pool.alloc(64).expect("room again");
        assert_eq!(pool.head(b), [0; 64]);
        assert_eq!(pool.alloc(MAX_FRAME_BYTES + 1), None);
    }

    #[test]
    fn taking_a_shared_packet_leaves_the_other_reference_its_bytes() {
        let mut pool = HeapPool::new();
        let a = pool.insert(b"abc").expect("no limit");
        let b = pool.share(a);
        assert_eq!(pool.take(a), b"abc");
        assert_eq!(pool.take(b), b"abc");
        assert_eq!(pool.live(), 0);
    }

    #[test]
    #[should_panic(expected = "not live")]
    fn a_stale_handle_is_noticed() {
        let mut pool = HeapPool::new();
        let a = pool.insert(b"abc").expect("no limit");
        pool.free(a);
        pool.free(a);
    }
}
