//! What an ACK says, taken into the scoreboard: window, SACK and DSACK, RTT samples; by the rules of
//! Linux 6.1. What follows from it is in `recovery.rs` and `reduction.rs`.

use windlass_cc::{MILLISECOND, Nanos, Newest};

use super::congestion::RttEvent;
use super::sender::Sender;
use super::sent::Sent;

/// An ACK, in offsets of the stream that it acknowledges.
#[derive(Clone, Debug)]
pub struct Ack {
    /// Arrival.
    pub now: Nanos,
    /// TS clock at arrival, ms.
    pub ts_now: u32,
    /// Cumulative acknowledgement, at most what was sent.
    pub number: u64,
    /// Its own place in the opposite stream.
    pub from: i64,
    /// Window, scaled.
    pub window: u64,
    /// SACK blocks.
    pub sack: Vec<(u64, u64)>,
    /// It carries data, SYN or FIN.
    pub has_data: bool,
    /// ECE is set.
    pub ece: bool,
    /// TSecr.
    pub echo: Option<u32>,
}

/// What one ACK brought.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    pub advanced: bool,
    pub acked: usize,
    pub acked_bytes: u64,
    pub delivered: u32,
    pub dsack: bool,
    pub dsack_of_probe: bool,
    /// Something never retransmitted arrived, from before the RTO.
    pub original: bool,
    pub retransmitted: bool,
    pub newly_sacked: bool,
    pub dup: bool,
    pub lost: usize,
    /// Of the newest segment delivered that was sent once, or by the timestamps.
    pub rtt: Option<Nanos>,
    /// For the delivery rate.
    pub newest: Newest,
    /// When the first and the last never-retransmitted segment delivered was sent.
    pub first_acked: Option<Nanos>,
    pub last_acked: Option<Nanos>,
    pub first_sacked: Option<Nanos>,
    pub last_sacked: Option<Nanos>,
}

impl Sender {
    /// Takes an ACK in.
    pub fn on_ack(&mut self, ack: &Ack) {
        let prior_una = self.una;
        self.note_before();
        let mut p = Progress::default();
        if ack.number < self.una {
            self.take_sack(ack, prior_una, &mut p);
            if p.newly_sacked || p.dsack {
                self.alert(ack, &mut p);
            }
            return;
        }
        p.advanced = ack.number > self.una;
        p.acked_bytes = ack.number - self.una;
        let updated = self.update_window(ack);
        self.una = ack.number;
        if p.advanced {
            self.reset_backoff();
        }
        // What the cumulative ACK covers has been overtaken only by what had been SACKed before: the
        // ACK of what waited for its delayed ACK may bring the first block with it (`prior_fack`).
        let prior_fack = self.highest_sacked;
        self.take_sack(ack, prior_una, &mut p);
        self.take_cumulative(ack, prior_fack, &mut p);
        p.dup = !p.advanced && !ack.has_data && !updated && self.board.packets_out() > 0;
        self.sample_rtt(ack, &mut p);
        self.end_tail_probe(ack, &p);
        self.alert(ack, &mut p);
        self.control(ack, &p);
        if p.advanced {
            self.restart_timer(ack.now);
        }
    }

    /// `tcp_ack_update_window()`: which ACKs may change the window.
    fn update_window(&mut self, ack: &Ack) -> bool {
        let may = ack.number > self.una
            || ack.from > self.peer_window.from
            || ack.from == self.peer_window.from
                && (ack.window > self.peer_window.bytes || ack.window == 0);
        if !may {
            return false;
        }
        self.peer_window.from = ack.from;
        let changed = self.peer_window.bytes != ack.window;
        self.set_window(ack.window);
        changed
    }

    fn take_sack(&mut self, ack: &Ack, prior_una: u64, p: &mut Progress) {
        if !self.agreed.sack {
            return;
        }
        let Some(&(first_start, first_end)) = ack.sack.first() else {
            return;
        };
        let inside = ack
            .sack
            .get(1)
            .is_some_and(|&(s, e)| first_start >= s && first_end <= e);
        let mut blocks = &ack.sack[..];
        if first_start < ack.number || inside {
            blocks = &blocks[1..];
            self.take_dsack(first_start, first_end, prior_una, p);
        }
        for &(start, end) in blocks {
            if start < end && start >= self.una && end <= self.nxt {
                self.take_block(ack.now, start, end, p);
            }
        }
    }

    fn take_dsack(&mut self, start: u64, end: u64, prior_una: u64, p: &mut Progress) {
        self.stats.dsacks_received += 1;
        p.dsack = true;
        p.dsack_of_probe = self.probe.retransmitted && self.probe.high == Some(end);
        self.rack.window_steps = (self.rack.window_steps + 1).min(255);
        let marked = self.recovery.undo.marker.is_some_and(|marker| end > marker);
        if marked && end <= prior_una.max(self.una) && self.recovery.undo.retransmissions > 0 {
            let segments = (end - start).div_ceil(1460).max(1);
            let left = self.recovery.undo.retransmissions - segments as i64;
            self.recovery.undo.retransmissions = left.max(0);
        }
    }

    fn take_block(&mut self, now: Nanos, start: u64, end: u64, p: &mut Progress) {
        let mut board = std::mem::take(&mut self.board);
        board.select(start, end, |segment| {
            p.newly_sacked = true;
            p.delivered += 1;
            self.deliver(now, &segment, self.highest_sacked, p);
            if segment.retransmissions == 0 {
                let first = p.first_sacked.get_or_insert(segment.at);
                *first = (*first).min(segment.at);
                p.last_sacked = p.last_sacked.max(Some(segment.at));
            }
            self.highest_sacked = self.highest_sacked.max(segment.end);
        });
        self.board = board;
    }

    fn take_cumulative(&mut self, ack: &Ack, prior_fack: u64, p: &mut Progress) {
        let mut board = std::mem::take(&mut self.board);
        let sack = self.agreed.sack;
        board.acknowledge(self.una, sack, |segment| {
            p.acked += 1;
            p.retransmitted |= segment.retransmissions > 0;
            if segment.sacked {
                return;
            }
            p.delivered += 1;
            self.deliver(ack.now, &segment, prior_fack, p);
            if segment.retransmissions == 0 {
                p.first_acked.get_or_insert(segment.at);
                p.last_acked = Some(segment.at);
            }
        });
        self.board = board;
        if !sack {
            // One ACKed the hole; the others had been counted as duplicate ACKs.
            let filled = p.acked.saturating_sub(1);
            self.board.sacked_out = self.board.sacked_out.saturating_sub(filled);
            p.original &= !p.retransmitted;
        }
    }

    /// A segment is known to have arrived: RACK's clock, reordering, F-RTO's evidence. `fack` is the end
    /// of what has overtaken it at most.
    fn deliver(&mut self, now: Nanos, segment: &Sent, fack: u64, p: &mut Progress) {
        if segment.retransmissions == 0 {
            p.original |= segment.end <= self.recovery.high;
            self.rack.reordering_seen |= segment.end < fack;
        }
        let bytes = u64::from(self.agreed.mss);
        self.sampler.on_delivered(
            &mut p.newest,
            bytes,
            segment.at,
            segment.end,
            &segment.snapshot,
        );
        let rtt = now - segment.at;
        if segment.retransmissions > 0 && rtt < self.rtt.min_rtt {
            return;
        }
        let rack = &mut self.rack;
        if !rack.valid || (segment.at, segment.end) > (rack.at, rack.end) {
            (rack.at, rack.end, rack.rtt, rack.valid) = (segment.at, segment.end, rtt, true);
        }
    }

    fn sample_rtt(&mut self, ack: &Ack, p: &mut Progress) {
        let sequence = p.first_acked.filter(|_| !p.retransmitted);
        let stamped = || {
            let echo = ack.echo.filter(|&e| e != 0 && p.advanced)?;
            let ms = ack.ts_now.wrapping_sub(echo);
            (ms < 120_000).then(|| Nanos::from(ms) * MILLISECOND)
        };
        let since = |at: Nanos| ack.now - at;
        let measured = sequence.or(p.first_sacked).map(since);
        let by_stamp = measured.is_none().then(stamped).flatten();
        if let Some(rtt) = measured.or(by_stamp) {
            self.rtt.sample(rtt);
        }
        let newest = p
            .last_sacked
            .or(p.last_acked.filter(|_| !p.retransmitted))
            .map(since);
        p.rtt = newest.or(by_stamp);
        if let Some(rtt) = newest {
            let event = RttEvent {
                now: ack.now,
                rtt,
                una: self.una,
                nxt: self.nxt,
                srtt: self.rtt.srtt,
            };
            self.cc.on_rtt(&event, &mut self.window);
        }
    }
}
