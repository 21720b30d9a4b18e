//! Handshakes under way: how many there may be, of whom, and which one goes first.

use std::collections::VecDeque;

use windlass_cc::Nanos;
use windlass_wire::Addr;

/// Prefixes are told apart by a hash of so many values: two that meet share a share.
const BUCKETS: usize = 4096;
/// Who asks is known by so much of an IPv6 address (a site, RFC 6177), or of an IPv4-mapped one (a /24).
const V6_PREFIX_BITS: u32 = 48;
const V4_PREFIX_BITS: u32 = 96 + 24;

/// The part of the books that a connection belongs to while its handshake is under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bucket(u16);

/// The books of an engine.
#[derive(Debug)]
pub(crate) struct HalfOpen {
    /// Oldest first: slab index of the connection, and when it began. Some are open by now, or gone.
    queue: VecDeque<(u32, Nanos)>,
    count: usize,
    by_prefix: Vec<u32>,
    seed: u64,
}

impl HalfOpen {
    pub(crate) fn new(seed: u64) -> Self {
        HalfOpen {
            queue: VecDeque::new(),
            count: 0,
            by_prefix: vec![0; BUCKETS],
            seed,
        }
    }

    /// Handshakes under way.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Where the one who sends a SYN from `source` is counted. The seed keeps others from choosing.
    pub(crate) fn bucket(&self, source: Addr) -> Bucket {
        let bits = match source.ip().is_ipv4() {
            true => V4_PREFIX_BITS,
            false => V6_PREFIX_BITS,
        };
        let prefix = source.0 >> (128 - bits);
        let mut key =
            (prefix as u64 ^ (prefix >> 64) as u64 ^ self.seed).wrapping_add(u64::from(bits));
        key = (key ^ key >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        key = (key ^ key >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        Bucket(((key ^ key >> 31) % BUCKETS as u64) as u16)
    }

    /// Handshakes of the same prefix.
    pub(crate) fn of_prefix(&self, bucket: Bucket) -> usize {
        self.by_prefix[usize::from(bucket.0)] as usize
    }

    /// A handshake begins.
    pub(crate) fn begin(&mut self, index: u32, now: Nanos, bucket: Bucket) {
        self.queue.push_back((index, now));
        self.count += 1;
        self.by_prefix[usize::from(bucket.0)] += 1;
    }

    /// It is complete, or forgotten.
    pub(crate) fn end(&mut self, bucket: Bucket) {
        let of_prefix = &mut self.by_prefix[usize::from(bucket.0)];
        debug_assert!(self.count > 0 && *of_prefix > 0);
        self.count = self.count.saturating_sub(1);
        *of_prefix = of_prefix.saturating_sub(1);
    }

    /// The oldest that is still under way. `is_half_open` says so of a connection and its beginning.
    pub(crate) fn oldest(
        &mut self,
        mut is_half_open: impl FnMut(u32, Nanos) -> bool,
    ) -> Option<u32> {
        while let Some((index, began)) = self.queue.pop_front() {
            if is_half_open(index, began) {
                return Some(index);
            }
        }
        None
    }

    /// Forgets those that are not under way any more, once they are the most.
    pub(crate) fn tidy(&mut self, mut is_half_open: impl FnMut(u32, Nanos) -> bool) {
        if self.queue.len() > 2 * self.count + BUCKETS {
            self.queue
                .retain(|&(index, began)| is_half_open(index, began));
        }
    }
}
