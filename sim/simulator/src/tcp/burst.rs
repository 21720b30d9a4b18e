//! In what portions a sender lets go of new data, by the rules of Linux 6.1: super-segments of
//! about a millisecond at its pacing rate (`tcp_tso_autosize`), which it waits for room for
//! (`tcp_tso_should_defer`), and Minshall's form of Nagle's algorithm (draft-minshall-nagle-01).
//! All of it also where no device segments.

use windlass_cc::{MILLISECOND, Nanos, SECOND};

use super::sender::{CaState, Sender};

/// The largest super-segment, bytes: 64 KiB less room for headers.
const MAX_BYTES: u64 = 65_215;
/// A super-segment is what the pacing rate sends in a second, divided by this (`sk_pacing_shift`).
const PER_SECOND: u64 = 1 << 10;
/// On short paths it is larger: halved with each so much of the least RTT (`tcp_tso_rtt_log`), ns.
const RTT_STEP: Nanos = 512_000;
/// `tcp_min_tso_segs`.
const MIN_SEGMENTS: u64 = 2;
/// BBR sends single segments below this rate, bytes/s (1.2 Mbit/s).
const SINGLE_SEGMENT_RATE: u64 = 150_000;
/// It waits only so soon after its last transmission, ns.
const MAX_PAUSE: Nanos = MILLISECOND;
/// It does not wait for more than this share of the window (`tcp_tso_win_divisor`).
const WINDOW_DIVISOR: u64 = 3;
/// Segments that leave before pacing begins.
const UNPACED_SEGMENTS: u64 = 10;

/// What waits to be sent as one super-segment, or the rest of it.
struct Waiting {
    /// Payload bytes.
    bytes: u64,
    /// More may be appended to it.
    last: bool,
    /// It carries the FIN.
    fin: bool,
}

impl Sender {
    /// The application's data is kept in portions of a full super-segment from here on.
    pub(super) fn begin_portion(&mut self) {
        if self.nxt == self.source.written {
            self.source.portion_start = self.nxt;
        }
    }

    fn waiting(&self, mss: u64) -> Waiting {
        let portion = (MAX_BYTES / mss * mss).max(mss);
        let rest = portion - (self.nxt - self.source.portion_start) % portion;
        let unsent = self.source.written - self.nxt;
        let last = unsent <= rest;
        Waiting {
            bytes: unsent.min(rest),
            last,
            fin: last && self.source.closed,
        }
    }

    /// Where the super-segment ends that may leave now.
    pub(super) fn begin_burst(&mut self, now: Nanos) -> Option<u64> {
        let in_flight = self.board.in_flight() as u64;
        let cwnd = u64::from(self.window.cwnd);
        let (start, first) = self.next_segment()?;
        if in_flight >= cwnd || first > self.edge_for(first) || !self.paced(now) {
            return None;
        }
        let mss = self.segment_bytes();
        let waiting = self.waiting(mss);
        let bytes = if waiting.bytes > mss {
            let longest = self.longest_burst(mss);
            if self.defers(now, &waiting, longest * mss, mss) {
                return None;
            }
            // At least two are to be under way.
            let quota = (cwnd / 2).max(1).min(cwnd - in_flight);
            self.split_point(&waiting, quota.min(longest) * mss, mss)
        } else {
            let short = waiting.bytes < mss;
            if short && waiting.last && !waiting.fin && self.short_outstanding() {
                return None;
            }
            waiting.bytes
        };
        let end = start + bytes + u64::from(waiting.fin && bytes == waiting.bytes);
        if !bytes.is_multiple_of(mss) {
            self.source.short_end = end;
        }
        self.charge(now, bytes);
        Some(end)
    }

    /// How much of what waits leaves (`tcp_mss_split_point`): the window is filled with a short
    /// segment unless one is out already.
    fn split_point(&self, waiting: &Waiting, longest: u64, mss: u64) -> u64 {
        let window = self.edge() - self.nxt;
        let most = waiting.bytes.min(window);
        if longest <= most {
            return longest;
        }
        let partial = most % mss;
        if partial > 0 && self.short_outstanding() {
            most - partial
        } else {
            most
        }
    }

    /// A segment shorter than the others has been sent and not acknowledged.
    fn short_outstanding(&self) -> bool {
        self.board.packets_out() > 0
            && self.source.short_end > self.una
            && self.source.short_end <= self.nxt
    }

    /// Whether it is better to wait for room for more (`tcp_tso_should_defer`).
    fn defers(&mut self, now: Nanos, waiting: &Waiting, longest: u64, mss: u64) -> bool {
        if self.recovery.state >= CaState::Recovery || now > self.pace.departed + MAX_PAUSE {
            return false;
        }
        let window = self.edge() - self.nxt;
        let cwnd = u64::from(self.window.cwnd);
        let room = (cwnd - self.board.in_flight() as u64) * mss;
        let least = window.min(room);
        let share = self.peer_window.bytes.min(cwnd * mss) / WINDOW_DIVISOR;
        if least >= longest || !waiting.last && least >= waiting.bytes || least >= share {
            return false;
        }
        // The next ACK must not be too far away.
        let Some(head) = self.board.head() else {
            return false;
        };
        if now - head.at < self.rtt.srtt / 2 {
            return false;
        }
        let by_cwnd = room < window;
        if least <= waiting.bytes {
            self.pace.deferred_by_cwnd |= by_cwnd;
            return true;
        }
        !waiting.fin
    }

    /// Segments of the largest super-segment now (`tcp_tso_segs`).
    fn longest_burst(&self, mss: u64) -> u64 {
        let rate = self.burst_rate(mss);
        let steps = match self.rtt.min_rtt {
            Nanos::MAX => 63,
            rtt => (rtt / RTT_STEP).min(63),
        };
        let bytes = rate / PER_SECOND + (MAX_BYTES >> steps);
        let least = match self.is_hosted() && rate < SINGLE_SEGMENT_RATE {
            true => 1,
            false => MIN_SEGMENTS,
        };
        (bytes.min(MAX_BYTES) / mss).max(least)
    }

    /// The rate that bursts are measured by, bytes/s: what it is paced at, or would be
    /// (`tcp_update_pacing_rate`: 200 % of window and RTT in slow start, 120 % after it).
    pub(super) fn burst_rate(&self, mss: u64) -> u64 {
        if let Some(rate) = self.pacing_rate() {
            return rate;
        }
        if self.rtt.srtt == 0 {
            return u64::MAX;
        }
        let percent = if self.window.cwnd < self.window.ssthresh / 2 {
            200
        } else {
            120
        };
        let packets = u64::from(self.window.cwnd).max(self.board.packets_out() as u64);
        let per_rtt = u128::from(packets * mss) * percent / 100;
        (per_rtt * u128::from(SECOND) / u128::from(self.rtt.srtt)) as u64
    }

    /// Pacing lets something leave now. If not, the sender will be called when it does.
    pub(super) fn paced(&mut self, now: Nanos) -> bool {
        let wait = self.pacing_rate().is_some() && self.pace.departed > now;
        self.pace.until = wait.then_some(self.pace.departed);
        !wait
    }

    /// `bytes` leave now: the next departure is due when the rate has made up for them. Lateness
    /// counts toward at most half of them.
    pub(super) fn charge(&mut self, now: Nanos, bytes: u64) {
        let before = self.pace.departed;
        self.pace.departed = before.max(now);
        let Some(rate) = self.pacing_rate().filter(|rate| *rate > 0) else {
            return;
        };
        if self.stats.bytes_sent < UNPACED_SEGMENTS * u64::from(self.agreed.mss) {
            return;
        }
        let cost = (u128::from(bytes) * u128::from(SECOND) / u128::from(rate)) as Nanos;
        let late = self.pace.departed - before;
        self.pace.departed += cost - late.min(cost / 2);
    }

    /// What `ss` shows as the pacing rate, bytes/s; `None` before there is an RTT.
    pub(super) fn shown_pacing_rate(&self) -> Option<u64> {
        let rate = self.burst_rate(u64::from(self.agreed.mss));
        (rate != u64::MAX).then_some(rate)
    }

    /// The algorithm whose packets are paced says at what rate, bytes/s.
    pub(super) fn pacing_rate(&self) -> Option<u64> {
        self.cc.pacing_rate()
    }
}

#[cfg(test)]
mod tests;
