//! Packet memory that counts how often it is asked: what a call of the engine costs.

use std::cell::Cell;

use windlass_engine::{Pkt, Pool};
use windlass_sim::HeapPool;
use windlass_wire::Segment;

/// Calls of the pool that one call of the engine may make, and so many more for each frame that it
/// sends and each that it lets go.
const CALLS: u64 = 64;
const CALLS_PER_FRAME: u64 = 24;

/// Packet memory that counts how often it is asked.
#[derive(Default)]
pub struct Counted {
    pub pool: HeapPool,
    calls: Cell<u64>,
    freed: u64,
}

impl Counted {
    fn count(&self) {
        self.calls.set(self.calls.get() + 1);
    }

    /// A call of the engine is over: what it has cost is in proportion to what it has brought.
    pub fn check_work(&mut self, sent: u64) {
        let (calls, freed) = self.take_counts();
        let most = CALLS + CALLS_PER_FRAME * (sent + freed);
        assert!(
            calls <= most,
            "{calls} calls for {sent} sent, {freed} freed"
        );
    }

    /// What has been counted does not count.
    pub fn take_counts(&mut self) -> (u64, u64) {
        (self.calls.take(), std::mem::take(&mut self.freed))
    }
}

impl Pool for Counted {
    fn head(&self, pkt: Pkt) -> &[u8] {
        self.count();
        self.pool.head(pkt)
    }

    fn head_mut(&mut self, pkt: Pkt) -> &mut [u8] {
        self.count();
        self.pool.head_mut(pkt)
    }

    fn verify(&self, pkt: Pkt, segment: &Segment) -> bool {
        self.count();
        self.pool.verify(pkt, segment)
    }

    fn len(&self, pkt: Pkt) -> u32 {
        self.count();
        self.pool.len(pkt)
    }

    fn alloc(&mut self, len: u32) -> Option<Pkt> {
        self.count();
        self.pool.alloc(len)
    }

    fn resize(&mut self, pkt: Pkt, len: u32) -> bool {
        self.count();
        self.pool.resize(pkt, len)
    }

    fn share(&mut self, pkt: Pkt) -> Pkt {
        self.count();
        self.pool.share(pkt)
    }

    fn free(&mut self, pkt: Pkt) {
        self.count();
        self.freed += 1;
        self.pool.free(pkt);
    }
}
