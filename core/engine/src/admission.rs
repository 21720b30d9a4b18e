//! Who may have a place in the table: connections and handshakes under way, in all and of one prefix, and
//! which handshake goes first.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use slab::Slab;
use windlass_cc::Nanos;
use windlass_wire::Addr;

use crate::conn::Conn;
use crate::{Limits, PassReason};

/// Prefixes are told apart by a hash of so many values: two that meet share a share.
pub(crate) const BUCKETS: usize = 4096;
/// Who asks is known by so much of an IPv6 address (a site, RFC 6177), or of an IPv4-mapped one (a /24).
const V6_PREFIX_BITS: u32 = 48;
const V4_PREFIX_BITS: u32 = 96 + 24;

/// More than one in this many of the handshakes that may be under way are: somebody floods, and most of them will never
/// complete. It is over when there are half as many.
const PRESSED_FRACTION: usize = 4;

/// The part of the books that a connection belongs to.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Bucket(u16);

impl Bucket {
    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// What those of one prefix have.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    connections: u32,
    half_open: u32,
}

/// The books of an engine.
#[derive(Debug)]
pub(crate) struct Admission {
    /// Handshakes that take as much as a connection: its slab index, and when it began. Some are open by now, or gone.
    queue: VecDeque<(u32, Nanos)>,
    half_open: usize,
    pressed: bool,
    by_prefix: Vec<Share>,
    seed: u64,
}

impl Admission {
    pub(crate) fn new(seed: u64) -> Self {
        Admission {
            queue: VecDeque::new(),
            half_open: 0,
            pressed: false,
            by_prefix: vec![Share::default(); BUCKETS],
            seed,
        }
    }

    /// What keeps others from choosing their bucket.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// The books of these connections, by their number, and of those that have only begun.
    pub(crate) fn restore(
        &mut self,
        seed: u64,
        conns: &Slab<Conn>,
        half_open: impl Iterator<Item = Bucket>,
    ) {
        *self = Admission::new(seed);
        half_open.for_each(|bucket| self.begin(bucket));
        let mut under_way: Vec<(u32, Nanos)> = Vec::new();
        for (index, conn) in conns {
            let bucket = conn.books.bucket;
            if conn.books.half_open {
                self.begin(bucket);
                under_way.push((index as u32, conn.began));
            } else {
                self.add(bucket);
            }
        }
        under_way.sort_by_key(|&(_, began)| began);
        self.queue.extend(under_way);
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

    /// Whether there is a place for one more of them, or why not.
    pub(crate) fn admits(&self, bucket: Bucket, limits: &Limits) -> Result<(), PassReason> {
        let share = self.by_prefix[bucket.index()];
        if share.half_open as usize >= limits.half_open_per_prefix {
            return Err(PassReason::HandshakeLimit);
        }
        if share.connections as usize >= limits.flows_per_prefix {
            return Err(PassReason::FlowLimit);
        }
        Ok(())
    }

    /// As many handshakes as may be are under way.
    pub(crate) fn is_full(&self, limits: &Limits) -> bool {
        self.half_open >= limits.half_open
    }

    /// So many handshakes are under way that most of them will never complete.
    pub(crate) fn is_pressed(&mut self, limits: &Limits) -> bool {
        let fraction = PRESSED_FRACTION * if self.pressed { 2 } else { 1 };
        self.pressed = self.half_open > limits.half_open / fraction;
        self.pressed
    }

    /// A connection begins, with its handshake.
    pub(crate) fn begin(&mut self, bucket: Bucket) {
        self.half_open += 1;
        let share = &mut self.by_prefix[bucket.index()];
        share.half_open += 1;
        share.connections += 1;
    }

    /// A handshake that takes as much memory as a connection, by its place in the slab.
    pub(crate) fn note_whole(&mut self, index: u32, began: Nanos) {
        self.queue.push_back((index, began));
    }

    /// One more, which is open already.
    pub(crate) fn add(&mut self, bucket: Bucket) {
        self.by_prefix[bucket.index()].connections += 1;
    }

    /// Its handshake is not under way any more.
    pub(crate) fn end_handshake(&mut self, bucket: Bucket) {
        let share = &mut self.by_prefix[bucket.index()];
        debug_assert!(self.half_open > 0 && share.half_open > 0);
        self.half_open = self.half_open.saturating_sub(1);
        share.half_open = share.half_open.saturating_sub(1);
    }

    /// It is forgotten.
    pub(crate) fn end(&mut self, bucket: Bucket) {
        let share = &mut self.by_prefix[bucket.index()];
        debug_assert!(share.connections > 0);
        share.connections = share.connections.saturating_sub(1);
    }

    /// The first of those that take as much as a connection and are still under way, and when it began. `is_half_open` says so
    /// of a connection and its beginning.
    pub(crate) fn oldest(
        &mut self,
        mut is_half_open: impl FnMut(u32, Nanos) -> bool,
    ) -> Option<(u32, Nanos)> {
        while let Some(&(index, began)) = self.queue.front() {
            if is_half_open(index, began) {
                return Some((index, began));
            }
            self.queue.pop_front();
        }
        None
    }

    /// Forgets those that are not under way any more, once they are the most.
    pub(crate) fn tidy(&mut self, mut is_half_open: impl FnMut(u32, Nanos) -> bool) {
        if self.queue.len() > 2 * self.half_open + BUCKETS {
            self.queue
                .retain(|&(index, began)| is_half_open(index, began));
        }
    }
}
