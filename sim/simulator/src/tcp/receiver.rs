//! The receiving half: reassembly, ACK policy, SACK and DSACK blocks, the window.
//!
//! Offsets count from the first byte of the peer's stream; its FIN takes one.

use std::collections::BTreeMap;

use windlass_cc::{MILLISECOND, Nanos, SECOND};

use super::config::{EndConfig, ReceiveBuffer};

/// Segments acknowledged at once at the start and after trouble (Linux `TCP_MAX_QUICKACKS`).
const QUICK_ACKS: u32 = 16;
/// ACK delay while data keeps coming (Linux `TCP_ATO_MIN`).
const MIN_ACK_DELAY: Nanos = 40 * MILLISECOND;
/// Ranges whose order of arrival is remembered for SACK.
const RECENT_RANGES: usize = 4;

/// What became of a segment's payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Payload bytes that were not there before.
    pub new_bytes: u64,
    /// Some of it lies beyond the window shown.
    pub beyond_window: bool,
}

/// The buffer, and the application that empties it.
#[derive(Clone, Copy, Debug)]
struct Reading {
    buffer: u64,
    max_buffer: u64,
    read: u64,
    last_read: Nanos,
    rate: Option<u64>,
    round_start: Nanos,
    round_read: u64,
    /// Most bytes taken in one round trip, at first those of an initial window.
    most_taken: u64,
}

/// The receiving half of a connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// Next offset expected.
    pub nxt: u64,
    /// `nxt` when the last ACK left (`rcv_wup`).
    pub acked: u64,
    /// Largest payload seen, for "two full segments".
    segment_bytes: u32,
    /// Out of order, start → end.
    pending: BTreeMap<u64, u64>,
    /// Starts of pending ranges by the time of their last growth, newest first.
    recent: Vec<u64>,
    /// Ranges that have begun since the last ACK: none has told of them.
    untold: usize,
    dsack: Option<(u64, u64)>,
    fin_at: Option<u64>,
    /// Right edge shown to the peer.
    edge: u64,
    reading: Reading,
    shift: u8,
    quick_acks: u32,
    ack_delay: Nanos,
    ack_now: bool,
    ack_at: Option<Nanos>,
    /// CE was seen and not answered by CWR yet.
    pub echo_ce: bool,
}

impl Receiver {
    /// Nothing received.
    pub fn new(config: &EndConfig) -> Self {
        let (buffer, max_buffer) = match config.receive_buffer {
            ReceiveBuffer::Fixed(bytes) => (bytes, bytes),
            ReceiveBuffer::Autotuned { initial, max } => (initial, max),
        };
        Receiver {
            nxt: 0,
            acked: 0,
            segment_bytes: 536,
            pending: BTreeMap::new(),
            recent: Vec::new(),
            untold: 0,
            dsack: None,
            fin_at: None,
            edge: 0,
            reading: Reading {
                buffer: u64::from(buffer),
                max_buffer: u64::from(max_buffer),
                read: 0,
                last_read: 0,
                rate: config.read_bytes_per_s,
                round_start: 0,
                round_read: 0,
                most_taken: 10 * 1448,
            },
            shift: 0,
            quick_acks: QUICK_ACKS,
            ack_delay: config.delayed_ack.min(MIN_ACK_DELAY),
            ack_now: false,
            ack_at: None,
            echo_ce: false,
        }
    }

    /// Window scaling has been agreed on. A buffer that cannot be expressed in its units grows.
    pub fn set_shift(&mut self, shift: u8) {
        self.shift = shift;
        self.reading.buffer = self.reading.buffer.max(2 << shift);
    }

    /// The peer's FIN has arrived in order.
    pub fn finished(&self) -> bool {
        self.fin_at.is_some_and(|fin| self.nxt > fin)
    }

    /// Payload bytes received in order.
    pub fn received(&self) -> u64 {
        self.fin_at.map_or(self.nxt, |fin| self.nxt.min(fin))
    }

    /// Right edge shown so far.
    pub fn edge(&self) -> u64 {
        self.edge
    }

    /// Takes `[start, end)` of the stream in, `fin` included in `end`. `srtt` paces the growth of
    /// the buffer.
    pub fn on_data(&mut self, now: Nanos, start: u64, end: u64, fin: bool, srtt: Nanos) -> Arrival {
        let beyond_window = end - u64::from(fin) > self.edge;
        if fin {
            self.fin_at = Some(end - 1);
        }
        self.segment_bytes = self.segment_bytes.max((end - start) as u32);
        if end <= self.nxt || self.holds(start, end) {
            self.dsack = Some((start, end));
            self.quick_acks = QUICK_ACKS;
            self.ack_now = true;
            return Arrival {
                new_bytes: 0,
                beyond_window,
            };
        }
        if start < self.nxt {
            self.dsack = Some((start, self.nxt));
        }
        let in_order = start <= self.nxt;
        let new_bytes = self.merge(start.max(self.nxt), end);
        self.take_in_order();
        if !in_order || !self.pending.is_empty() || fin {
            self.ack_now = true;
        } else {
            self.schedule_ack(now);
        }
        self.read_out(now, srtt);
        Arrival {
            new_bytes,
            beyond_window,
        }
    }

    /// What waits for its ACK must be told before `[start, end)` comes: one ACK has room for `room` blocks, and none is lost (Linux
    /// `tcp_sack_new_ofo_skb`, `tcp_input.c` 6.12).
    pub fn must_tell(&self, start: u64, end: u64, room: usize) -> bool {
        let known = end <= self.nxt || self.holds(start, end);
        let begins = start > self.nxt && !known;
        let blocks = self.untold + usize::from(self.dsack.is_some());
        self.ack_now && (known && self.dsack.is_some() || begins && blocks >= room)
    }

    fn holds(&self, start: u64, end: u64) -> bool {
        let below = self.pending.range(..=start).next_back();
        below.is_some_and(|(_, &range_end)| range_end >= end)
    }

    /// How many bytes of it are new.
    fn merge(&mut self, start: u64, end: u64) -> u64 {
        let (mut start, mut end) = (start, end);
        let mut known = 0;
        if let Some((&s, &e)) = self.pending.range(..=start).next_back()
            && e >= start
        {
            start = s;
            end = end.max(e);
            known = e - s;
            self.pending.remove(&s);
            self.recent.retain(|&r| r != s);
        }
        while let Some((&s, &e)) = self.pending.range(start..=end).next() {
            end = end.max(e);
            known += e - s;
            self.pending.remove(&s);
            self.recent.retain(|&r| r != s);
        }
        self.untold += usize::from(known == 0 && start > self.nxt);
        self.pending.insert(start, end);
        self.recent.insert(0, start);
        end - start - known
    }

    fn take_in_order(&mut self) {
        if let Some((&start, &end)) = self.pending.first_key_value()
            && start <= self.nxt
        {
            self.nxt = self.nxt.max(end);
            self.pending.remove(&start);
            self.recent.retain(|&r| r != start);
        }
        self.recent.truncate(RECENT_RANGES);
    }

    fn schedule_ack(&mut self, now: Nanos) {
        let unacked = self.nxt - self.acked;
        if self.quick_acks > 0 || unacked > u64::from(self.segment_bytes) || self.ack_delay == 0 {
            self.ack_now = true;
        } else {
            self.ack_at.get_or_insert(now + self.ack_delay);
        }
    }

    /// The application reads; an autotuned buffer grows once per round trip.
    fn read_out(&mut self, now: Nanos, srtt: Nanos) {
        let received = self.received();
        match self.reading.rate {
            None => self.reading.read = received,
            Some(rate) => {
                let elapsed = now - self.reading.last_read;
                let could = u128::from(elapsed) * u128::from(rate) / u128::from(SECOND);
                self.reading.read = received.min(self.reading.read + could as u64);
            }
        }
        self.reading.last_read = now;
        if srtt == 0 || now - self.reading.round_start < srtt {
            return;
        }
        let taken = self.reading.read - self.reading.round_read;
        if taken > self.reading.most_taken {
            // Twice the round's bytes and, as a sender in slow start goes on growing, more.
            let wanted = 2 * taken + 16 * u64::from(self.segment_bytes);
            let growth = wanted * (taken - self.reading.most_taken) / self.reading.most_taken;
            self.reading.buffer = self
                .reading
                .buffer
                .max((wanted + 2 * growth).min(self.reading.max_buffer));
            self.reading.most_taken = taken;
        }
        self.reading.round_start = now;
        self.reading.round_read = self.reading.read;
    }

    /// Something must be answered at once, whatever it was.
    pub fn demand_ack(&mut self) {
        self.ack_now = true;
    }

    /// CE arrived on data: echo it at once, and acknowledge quickly (as Linux does).
    pub fn on_ce(&mut self) {
        self.echo_ce = true;
        self.quick_acks = self.quick_acks.max(2);
    }

    /// Data has been received whose ACK waits for more.
    pub fn ack_is_delayed(&self) -> bool {
        self.ack_at.is_some()
    }

    /// Whether an ACK is due.
    pub fn ack_due(&self, now: Nanos) -> bool {
        self.ack_now || self.ack_at.is_some_and(|at| at <= now)
    }

    /// When a delayed ACK, or a window update for a slow reader, is due.
    pub fn poll_at(&self) -> Option<Nanos> {
        let update = self.window_update_at();
        self.ack_at.into_iter().chain(update).min()
    }

    /// A slow reader that has made enough room announces it.
    pub fn on_timer(&mut self, now: Nanos, srtt: Nanos) {
        if self.window_update_at().is_some_and(|at| at <= now) {
            self.read_out(now, srtt);
            self.ack_now = true;
        }
    }

    /// When a slow reader will have made room for a segment, or half the buffer, since the edge.
    fn window_update_at(&self) -> Option<Nanos> {
        let rate = self.reading.rate?;
        let unread = self.received() - self.reading.read;
        let worth = self.window_step();
        if unread == 0 || self.edge >= self.nxt + worth {
            return None;
        }
        let occupied = self.nxt - self.reading.read;
        let free = self.reading.buffer.saturating_sub(occupied);
        let missing = (self.edge + worth).saturating_sub(self.nxt + free);
        let need = missing.clamp(1, unread);
        let wait = (u128::from(need) * u128::from(SECOND)).div_ceil(u128::from(rate.max(1)));
        Some(self.reading.last_read + wait as Nanos)
    }

    fn window_step(&self) -> u64 {
        let step = u64::from(self.segment_bytes).min(self.reading.buffer / 2);
        step.max(1 << self.shift)
    }

    /// The window field of a SYN, which is never scaled (RFC 7323 §2.2).
    pub fn syn_window(&mut self) -> u16 {
        let field = self.reading.buffer.min(u64::from(u16::MAX));
        self.edge = self.edge.max(field);
        field as u16
    }

    /// The window field for an ACK that leaves now. Moves the edge.
    pub fn window_field(&mut self, now: Nanos, srtt: Nanos) -> u16 {
        let shift = self.shift;
        self.read_out(now, srtt);
        let unread = self.received() - self.reading.read;
        let mut wanted = self.nxt + self.reading.buffer.saturating_sub(unread);
        // Silly window avoidance (RFC 9293 §3.8.6.2.2): small steps are not shown.
        if wanted < self.edge + self.window_step() {
            wanted = wanted.min(self.edge);
        }
        // Never left of what was shown, rounding included (RFC 7323 §2.4).
        let kept = (self.edge.saturating_sub(self.nxt)).div_ceil(1 << shift);
        let room = wanted.saturating_sub(self.nxt) >> shift;
        let field = room.max(kept).min(u64::from(u16::MAX));
        self.edge = self.edge.max(self.nxt + (field << shift));
        field as u16
    }

    /// An ACK leaves: nothing is due any more. Returns its SACK blocks, at most `max`.
    pub fn on_ack_sent(&mut self, sack: bool, max: usize) -> Vec<(u64, u64)> {
        self.quick_acks = self.quick_acks.saturating_sub(1);
        self.ack_now = false;
        self.ack_at = None;
        self.acked = self.nxt;
        self.untold = 0;
        let dsack = self.dsack.take();
        if !sack {
            return Vec::new();
        }
        let ranges = self.recent.iter().map(|s| (*s, self.pending[s]));
        dsack.into_iter().chain(ranges).take(max).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receiver(buffer: u32) -> Receiver {
        let mut r = Receiver::new(&EndConfig {
            receive_buffer: ReceiveBuffer::Fixed(buffer),
            ..EndConfig::default()
        });
        r.window_field(0, 0);
        r
    }

    #[test]
    fn newest_range_is_the_first_block_and_a_duplicate_comes_before_all() {
        let mut r = receiver(60_000);
        r.on_data(0, 1000, 2000, false, 0);
        r.on_data(0, 5000, 6000, false, 0);
        r.on_data(0, 3000, 4000, false, 0);
        assert_eq!(
            r.on_ack_sent(true, 4),
            [(3000, 4000), (5000, 6000), (1000, 2000)]
        );
        r.on_data(0, 5000, 6000, false, 0);
        assert_eq!(r.on_ack_sent(true, 2), [(5000, 6000), (3000, 4000)]);
        r.on_data(0, 0, 1000, false, 0);
        assert_eq!(r.nxt, 2000);
        assert_eq!(r.on_ack_sent(true, 4), [(3000, 4000), (5000, 6000)]);
    }

    /// Every second segment of a batch is missing. No block is lost, though one ACK has room for three.
    #[test]
    fn what_a_batch_brings_is_told_whole() {
        let mut r = receiver(60_000);
        let mut told = Vec::new();
        for start in (1000..15_000).step_by(2000) {
            if r.must_tell(start, start + 1000, 3) {
                told.extend(r.on_ack_sent(true, 3));
            }
            r.on_data(0, start, start + 1000, false, 0);
        }
        told.extend(r.on_ack_sent(true, 3));
        for start in (1000..15_000).step_by(2000) {
            assert!(told.contains(&(start, start + 1000)), "{start}: {told:?}");
        }
    }

    #[test]
    fn after_the_quick_acks_every_second_segment_is_acknowledged() {
        let mut r = receiver(60_000);
        let mut acks = Vec::new();
        for i in 0..24u64 {
            r.on_data(i, i * 1000, (i + 1) * 1000, false, 0);
            if r.ack_due(i) {
                acks.push(i);
                r.on_ack_sent(true, 3);
            }
        }
        let quick: Vec<u64> = (0..16).collect();
        assert_eq!(acks[..16], quick);
        assert_eq!(acks[16..], [17, 19, 21, 23]);
        r.on_data(24, 24_000, 25_000, false, 0);
        assert_eq!(r.poll_at(), Some(24 + MIN_ACK_DELAY));
    }

    #[test]
    fn the_edge_survives_rounding() {
        let mut r = receiver(10_001);
        r.set_shift(7);
        let mut edge = r.edge();
        for i in 0..9u64 {
            r.on_data(i, i * 1000, (i + 1) * 1000, false, 0);
            let field = r.window_field(i, 0);
            let shown = r.nxt + (u64::from(field) << 7);
            assert!(shown >= edge, "{shown} after {edge}");
            edge = shown;
        }
    }

    #[test]
    fn a_slow_reader_closes_the_window_and_announces_room_later() {
        let mut r = Receiver::new(&EndConfig {
            receive_buffer: ReceiveBuffer::Fixed(4000),
            read_bytes_per_s: Some(1000),
            ..EndConfig::default()
        });
        assert_eq!(r.window_field(0, 0), 4000);
        for i in 0..4u64 {
            r.on_data(0, i * 1000, (i + 1) * 1000, false, 0);
        }
        assert_eq!(r.window_field(0, 0), 0);
        r.on_ack_sent(true, 3);
        assert_eq!(r.poll_at(), Some(SECOND));
        r.on_timer(SECOND, 0);
        assert!(r.ack_due(SECOND));
        assert_eq!(r.window_field(SECOND, 0), 1000);
    }
}
