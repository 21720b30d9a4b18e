//! One direction of a link: loss, a drop-tail queue with ECN marking, a serialisation rate, a
//! propagation delay, jitter, reordering, duplication, damage. Knows nothing of packets but their size.
//!
//! Whether the n-th packet is lost, reordered, duplicated or damaged depends on the seed and on n alone, so
//! that contestants which send the same number of packets meet the same pattern. Cross traffic
//! counts and draws apart from that.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use windlass_cc::{Nanos, SECOND};

use crate::chances::Chances;
pub use crate::link_config::{Delivery, Fate, LinkConfig, LinkStats, Loss, Policer, Slots};
use crate::rng::Rng;

mod policing;
mod recording;
mod slots;

pub use recording::Recording;

use policing::Tokens;
use recording::Used;
use slots::SlotEnds;

/// The stream of the seed that says where a recording is entered.
const RECORDING_STREAM: u64 = 9;

/// Whose packet it is: each kind has chances and counts of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Flow,
    Cross,
}

struct Queued<T> {
    item: T,
    kind: Kind,
    bytes: u32,
    marked_ce: bool,
    /// Jitter, 0 to 1.
    jitter: f64,
    late: bool,
    damage: Option<u64>,
}

struct InFlight<T> {
    order: u64,
    kind: Kind,
    bytes: u32,
    delivery: Delivery<T>,
}

impl<T> PartialEq for InFlight<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for InFlight<T> {}

impl<T> PartialOrd for InFlight<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for InFlight<T> {
    /// The earliest is the greatest, for the heap.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.delivery.at, other.order).cmp(&(self.delivery.at, self.order))
    }
}

/// One direction of a link, in whatever time the caller counts.
pub struct Link<T> {
    config: LinkConfig,
    /// By [`Kind`].
    chances: [Chances; 2],
    queue: VecDeque<Queued<T>>,
    queue_bytes: u64,
    /// When the head of the queue has left it.
    head_done: Nanos,
    in_flight: BinaryHeap<InFlight<T>>,
    order: u64,
    /// Packets that keep their order do not arrive before this.
    last_arrival: Nanos,
    slot_ends: SlotEnds,
    /// Where a recording is entered, as a part of it.
    entered_at: f64,
    tokens: Tokens,
    used: Used,
    /// By [`Kind`].
    stats: [LinkStats; 2],
}

impl<T: Clone> Link<T> {
    /// An empty link.
    pub fn new(config: LinkConfig, seed: u64) -> Self {
        Link {
            config,
            chances: [Chances::new(seed, 1), Chances::new(seed, 5)],
            queue: VecDeque::new(),
            queue_bytes: 0,
            head_done: 0,
            in_flight: BinaryHeap::new(),
            order: 0,
            last_arrival: 0,
            slot_ends: SlotEnds::new(seed),
            entered_at: Rng::new(seed, RECORDING_STREAM).unit(),
            tokens: Tokens::default(),
            used: Used::default(),
            stats: Default::default(),
        }
    }

    /// The run begins: a recording is played from now on, from a place in it that the seed decides.
    pub fn start(&mut self, now: Nanos) {
        if let Some(recording) = &self.config.recording {
            self.used.start(now, recording, self.entered_at);
        }
    }

    /// Offers a packet of `bytes` to the link. `ect`: it may be marked instead of queued in
    /// silence. `now` must not go back.
    pub fn send(&mut self, now: Nanos, bytes: u32, ect: bool, item: T) -> Fate {
        self.offer(now, Kind::Flow, bytes, ect, item)
    }

    /// Offers a packet of cross traffic, without ECN: it competes for the rate and the queue, and
    /// leaves the fates of all other packets as they are.
    pub fn send_cross(&mut self, now: Nanos, bytes: u32, item: T) -> Fate {
        self.offer(now, Kind::Cross, bytes, false, item)
    }

    /// Offers a packet that may be marked, and counts as cross traffic.
    pub(crate) fn send_probe(&mut self, now: Nanos, bytes: u32, item: T) -> Fate {
        self.offer(now, Kind::Cross, bytes, true, item)
    }

    fn offer(&mut self, now: Nanos, kind: Kind, bytes: u32, ect: bool, item: T) -> Fate {
        self.advance(now);
        let stats = &mut self.stats[kind as usize];
        stats.offered += 1;
        stats.offered_bytes += u64::from(bytes);
        let draw = self.chances[kind as usize].draw(&self.config);
        if draw.lost {
            stats.lost += 1;
            return Fate::Lost;
        }
        if let Some(policer) = self.config.policer
            && !self.tokens.take(now, u64::from(bytes), &policer)
        {
            self.stats[kind as usize].dropped += 1;
            return Fate::Dropped;
        }
        let mark = self.config.ecn_mark_bytes;
        let meets_queue = mark.is_some_and(|at| self.queue_bytes >= at);
        if meets_queue && !ect && self.config.drops_not_ect {
            self.stats[kind as usize].dropped += 1;
            return Fate::Dropped;
        }
        let marked_ce = ect && meets_queue;
        let copy = draw.twice.then(|| item.clone());
        let queued = |item| Queued {
            item,
            kind,
            bytes,
            marked_ce,
            jitter: draw.jitter,
            late: draw.late,
            damage: draw.damage,
        };
        if !self.enqueue(now, queued(item)) {
            self.stats[kind as usize].dropped += 1;
            return Fate::Dropped;
        }
        let copied = copy.is_some_and(|copy| self.enqueue(now, queued(copy)));
        let stats = &mut self.stats[kind as usize];
        stats.marked += u64::from(marked_ce);
        stats.reordered += u64::from(draw.late);
        stats.duplicated += u64::from(copied);
        stats.damaged += u64::from(draw.damage.is_some());
        Fate::Queued
    }

    /// When [`Link::receive`] will next have something, if nothing else is sent.
    pub fn poll_at(&self) -> Option<Nanos> {
        let arriving = self.in_flight.peek().map(|f| f.delivery.at);
        let leaving = self.queue.front().map(|q| self.arrival(q, self.head_done));
        let next = arriving.into_iter().chain(leaving).min()?;
        (next != Nanos::MAX).then_some(next)
    }

    /// A packet that has arrived by `now`. Call until `None`.
    pub fn receive(&mut self, now: Nanos) -> Option<Delivery<T>> {
        self.advance(now);
        if self.in_flight.peek()?.delivery.at > now {
            return None;
        }
        let arrived = self.in_flight.pop()?;
        let stats = &mut self.stats[arrived.kind as usize];
        stats.delivered += 1;
        stats.delivered_bytes += u64::from(arrived.bytes);
        Some(arrived.delivery)
    }

    /// Changes the link under way: the queue stays, its head goes on at the new rate, packets
    /// already propagating keep their time.
    pub fn set_config(&mut self, now: Nanos, config: LinkConfig) {
        self.advance(now);
        let left_bytes = match (self.queue.front(), self.config.rate_bytes_per_s) {
            (Some(head), _) if self.head_done == Nanos::MAX => f64::from(head.bytes),
            (Some(_), Some(rate)) => (self.head_done - now) as f64 * rate as f64 / SECOND as f64,
            _ => 0.0,
        };
        self.config = config;
        if !self.queue.is_empty() {
            self.head_done = self.done(now, left_bytes);
            self.advance(now);
        }
    }

    /// What the link is.
    pub fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// Bytes in the queue, the packet under transmission included.
    pub fn queued_bytes(&self) -> u64 {
        self.queue_bytes
    }

    /// Counts so far, of all but cross traffic; the longest queue is that of both.
    pub fn stats(&self) -> LinkStats {
        let [flows, cross] = self.stats;
        LinkStats {
            max_queue_bytes: flows.max_queue_bytes.max(cross.max_queue_bytes),
            ..flows
        }
    }

    /// Counts of the cross traffic so far.
    pub fn cross_stats(&self) -> LinkStats {
        LinkStats {
            max_queue_bytes: self.stats().max_queue_bytes,
            ..self.stats[Kind::Cross as usize]
        }
    }

    fn enqueue(&mut self, now: Nanos, queued: Queued<T>) -> bool {
        let length = self.queue_bytes + u64::from(queued.bytes);
        if length > self.config.queue_bytes && !self.queue.is_empty() {
            return false;
        }
        self.queue_bytes = length;
        let stats = &mut self.stats[queued.kind as usize];
        stats.max_queue_bytes = stats.max_queue_bytes.max(length);
        if self.queue.is_empty() {
            self.head_done = self.done(now, f64::from(queued.bytes));
        }
        self.queue.push_back(queued);
        self.advance(now);
        true
    }

    /// Moves what has left the queue by `now` onto the wire.
    fn advance(&mut self, now: Nanos) {
        while self.head_done <= now
            && let Some(head) = self.queue.pop_front()
        {
            let left = self.head_done;
            let at = self.arrival(&head, left);
            if !head.late && !self.config.jitter_reorders {
                self.last_arrival = at;
            }
            self.queue_bytes -= u64::from(head.bytes);
            self.order += 1;
            self.in_flight.push(InFlight {
                order: self.order,
                kind: head.kind,
                bytes: head.bytes,
                delivery: Delivery {
                    at,
                    item: head.item,
                    marked_ce: head.marked_ce,
                    damage: head.damage,
                },
            });
            if let Some(next) = self.queue.front() {
                let bytes = f64::from(next.bytes);
                self.head_done = self.done(left, bytes);
            }
        }
    }

    fn arrival(&self, packet: &Queued<T>, left: Nanos) -> Nanos {
        let jitter = (packet.jitter * self.config.jitter as f64) as Nanos;
        let recording = self.config.recording.as_ref();
        let extra = recording.map_or(0, |r| r.extra_delay(self.used.played(left)));
        let mut at = left.saturating_add(self.config.delay + jitter + extra);
        if packet.late {
            at = at.saturating_add(self.config.reorder_extra);
        } else if !self.config.jitter_reorders {
            at = at.max(self.last_arrival);
        }
        match self.config.slots {
            Some(slots) if at < Nanos::MAX => self.slot_ends.after(at, slots),
            _ => at,
        }
    }

    /// When so many bytes have left, of which the first may leave at `from`.
    fn done(&mut self, from: Nanos, bytes: f64) -> Nanos {
        match &self.config.recording {
            Some(recording) => self.used.leave(from, bytes.ceil() as u64, recording),
            None => from.saturating_add(self.transmission(bytes)),
        }
    }

    fn transmission(&self, bytes: f64) -> Nanos {
        match self.config.rate_bytes_per_s {
            None => 0,
            Some(0) => Nanos::MAX,
            Some(rate) => (bytes * SECOND as f64 / rate as f64).ceil() as Nanos,
        }
    }
}

#[cfg(test)]
mod tests;
