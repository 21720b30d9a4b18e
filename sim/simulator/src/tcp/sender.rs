//! The sending half, as Linux 6.1 does it: its state, and what leaves when. What an ACK means is in
//! `ack.rs`, timers are in `timers.rs`, the use of the window in `usage.rs`.
//!
//! Offsets count from the first byte of the stream; the FIN takes one behind the last.

use windlass_cc::{Nanos, RateSampler, RateSnapshot};

use super::config::{EndConfig, EndStats};
use super::native::Native;
use super::rtt::RttEstimator;
use super::sent::Scoreboard;
use super::server_cc::ServerCc;

/// Congestion states (`ss` shows them as `ca_state`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum CaState {
    Open,
    Disorder,
    Cwr,
    Recovery,
    Loss,
}

/// Which of the three uses the one retransmission timer has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Timer {
    Retransmission,
    TailProbe,
    Reordering,
}

/// A segment to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmission {
    /// First offset; one before `una` for a zero-window probe.
    pub start: i64,
    /// Payload bytes.
    pub bytes: u32,
    /// It ends the stream.
    pub fin: bool,
    /// First transmission of data: may be ECN-capable.
    pub new_data: bool,
    /// Tells the receiver that the window was reduced (RFC 3168).
    pub cwr: bool,
}

/// Sent in disregard of the congestion window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Forced {
    NewData,
    Tail,
    WindowProbe,
}

/// Newest delivered transmission (RFC 8985).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rack {
    pub at: Nanos,
    pub end: u64,
    pub rtt: Nanos,
    pub valid: bool,
    pub reordering_seen: bool,
    pub window_steps: u32,
}

/// What is needed to take a reduction back.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// `una` at the beginning, while undoing is possible.
    pub marker: Option<u64>,
    /// Retransmissions not yet known to be needless; -1 before the first.
    pub retransmissions: i64,
    pub cwnd: u32,
    pub ssthresh: u32,
    /// TS clock at the first retransmission.
    pub stamp: Option<u32>,
}

/// The sending half of a connection.
#[derive(Clone, Debug)]
pub struct Sender {
    /// Congestion control.
    pub cc: ServerCc,
    /// RTT and RTO.
    pub rtt: RttEstimator,
    /// First offset not acknowledged.
    pub una: u64,
    /// Next offset to be sent.
    pub nxt: u64,
    /// Counts.
    pub stats: EndStats,
    pub(super) native: Option<Box<Native>>,
    pub(super) sampler: RateSampler,
    pub(super) board: Scoreboard,
    pub(super) sack: bool,
    pub(super) ecn: bool,
    pub(super) state: CaState,
    pub(super) high: u64,
    pub(super) undo: Undo,
    pub(super) prr_delivered: u32,
    pub(super) prr_out: u32,
    pub(super) prior_cwnd: u32,
    pub(super) rack: Rack,
    pub(super) highest_sacked: u64,
    pub(super) probe_high: Option<u64>,
    pub(super) probe_retransmitted: bool,
    pub(super) frto: bool,
    pub(super) cwr_pending: bool,
    pub(super) cwnd_limited: bool,
    pub(super) max_packets_out: usize,
    pub(super) usage_seq: u64,
    pub(super) window: u64,
    pub(super) window_from: i64,
    pub(super) timeouts: u32,
    pub(super) initial_cwnd: u32,
    pub(super) goes_beyond_edge: u64,
    pub(super) tail_probe: bool,
    pub(super) detects_black_holes: bool,
    pub(super) mss: u32,
    pub(super) max_window: u64,
    pub(super) written: u64,
    pub(super) closed: bool,
    pub(super) backoff: u32,
    pub(super) timer: Option<(Nanos, Timer)>,
    pub(super) window_probe: Option<Nanos>,
    pub(super) forced: Option<Forced>,
    pub(super) last_sent: Nanos,
    pub(super) used_packets: u32,
    pub(super) used_stamp: Nanos,
    /// When the last transmission left; with pacing: when the next may.
    pub(super) departed: Nanos,
    /// Pacing holds something back until then.
    pub(super) pacing_until: Option<Nanos>,
    /// The super-segment under way ends here.
    pub(super) burst_end: u64,
    /// It waits for the window to have room for a super-segment.
    pub(super) deferred_by_cwnd: bool,
    /// End of the last segment shorter than the others (`snd_sml`).
    pub(super) short_end: u64,
    /// Where the portions begin in which the application's data is kept.
    pub(super) portion_start: u64,
}

impl Sender {
    /// Nothing sent; to be completed by [`Sender::negotiated`].
    pub fn new(config: &EndConfig) -> Self {
        Sender {
            cc: ServerCc::new(config.algorithm, config.initial_cwnd_packets),
            rtt: RttEstimator::new(config.min_rto),
            una: 0,
            nxt: 0,
            stats: EndStats::default(),
            native: None,
            sampler: RateSampler::default(),
            board: Scoreboard::default(),
            sack: false,
            ecn: false,
            state: CaState::Open,
            high: 0,
            undo: Undo::default(),
            prr_delivered: 0,
            prr_out: 0,
            prior_cwnd: 0,
            rack: Rack::default(),
            highest_sacked: 0,
            probe_high: None,
            probe_retransmitted: false,
            frto: false,
            cwr_pending: false,
            cwnd_limited: false,
            max_packets_out: 0,
            usage_seq: 0,
            window: 0,
            window_from: 0,
            timeouts: 0,
            initial_cwnd: config.initial_cwnd_packets,
            goes_beyond_edge: config.goes_beyond_edge,
            tail_probe: config.tail_probe,
            detects_black_holes: config.detects_black_holes,
            mss: 536,
            max_window: 0,
            written: 0,
            closed: false,
            backoff: 0,
            timer: None,
            window_probe: None,
            forced: None,
            last_sent: 0,
            used_packets: 0,
            used_stamp: 0,
            departed: 0,
            pacing_until: None,
            burst_end: 0,
            deferred_by_cwnd: false,
            short_end: 0,
            portion_start: 0,
        }
    }

    /// The handshake is over: what both agreed on. `mss` is without options.
    pub fn negotiated(&mut self, mss: u32, sack: bool, ecn: bool, window: u64, window_from: i64) {
        self.mss = mss;
        self.sack = sack;
        self.ecn = ecn;
        self.window = window;
        self.window_from = window_from;
        self.max_window = window;
        self.rack.window_steps = 1;
    }

    /// The application writes.
    pub fn write(&mut self, bytes: u64) {
        let waiting = self.written - self.nxt;
        let in_flight = self.board.in_flight();
        let room = in_flight < self.cc.cwnd as usize;
        if waiting < u64::from(self.mss) && room && self.board.lost_out <= self.board.retrans_out {
            self.sampler.mark_app_limited(self.bytes_of(in_flight));
        }
        self.begin_portion();
        self.written += bytes;
    }

    /// The application closes: a FIN follows what was written.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Everything, the FIN included, has been acknowledged.
    pub fn finished(&self) -> bool {
        self.closed && self.una == self.limit()
    }

    fn limit(&self) -> u64 {
        self.written + u64::from(self.closed)
    }

    /// Segment size: never more than half the largest window, so that small windows hold two.
    pub(super) fn segment_bytes(&self) -> u64 {
        let cut = if self.max_window > 536 {
            self.max_window / 2
        } else {
            self.max_window
        };
        u64::from(self.mss).min(cut.max(28))
    }

    pub(super) fn set_window(&mut self, window: u64) {
        self.window = window;
        self.max_window = self.max_window.max(window);
    }

    /// Segments thought to be in the network.
    pub fn packets_in_flight(&self) -> u32 {
        self.board.in_flight() as u32
    }

    /// Right edge that the peer has shown, or what the sender makes of it.
    pub fn edge(&self) -> u64 {
        self.una + self.window + self.goes_beyond_edge
    }

    pub(super) fn next_segment(&self) -> Option<(u64, u64)> {
        let limit = self.limit();
        if self.nxt >= limit {
            return None;
        }
        let data_end = (self.nxt + self.segment_bytes()).min(self.written.max(self.nxt));
        // The FIN rides on the last data.
        let end = if data_end == self.written {
            limit
        } else {
            data_end
        };
        Some((self.nxt, end))
    }

    /// What may leave now; call until `None`.
    pub fn next(&mut self, now: Nanos, ts_now: u32) -> Option<Transmission> {
        self.pacing_until = None;
        if let Some(forced) = self.forced.take() {
            return self.send_forced(now, forced);
        }
        let room = self.board.in_flight() < self.cc.cwnd as usize;
        if room && let Some(index) = self.board.next_lost() {
            let fits = index == 0 || self.board.get(index).end <= self.edge();
            let may = fits && self.paced(now);
            return may.then(|| self.retransmit(now, index, ts_now));
        }
        self.restart_after_idle(now);
        if self.nxt >= self.burst_end {
            self.burst_end = self.begin_burst(now)?;
        }
        let (start, end) = self.next_segment()?;
        Some(self.send_new(now, start, end.min(self.burst_end)))
    }

    fn snapshot(&mut self, now: Nanos, in_flight: usize) -> RateSnapshot {
        let first = self.board.packets_out() == 0;
        let in_flight = self.bytes_of(in_flight + 1);
        self.sampler.lost = self.bytes_of(self.board.marked_lost);
        self.sampler.on_sent(now, first, in_flight)
    }

    /// A FIN alone may go one beyond the edge, as it takes no buffer.
    pub(super) fn edge_for(&self, end: u64) -> u64 {
        self.edge() + u64::from(end == self.written + 1)
    }

    fn send_new(&mut self, now: Nanos, start: u64, end: u64) -> Transmission {
        let first = self.board.packets_out() == 0;
        let snapshot = self.snapshot(now, self.board.in_flight());
        self.board.push(start, end, now, snapshot);
        self.nxt = end;
        self.last_sent = now;
        if matches!(self.state, CaState::Cwr | CaState::Recovery) {
            self.prr_out += 1;
        }
        let first_timer = first || matches!(self.timer, Some((_, Timer::TailProbe)) | None);
        if first_timer {
            self.arm_rto(now);
        }
        self.window_probe = None;
        let fin = end > self.written;
        self.tell_sent(now, end - start, false);
        Transmission {
            start: start as i64,
            bytes: (end - start) as u32 - u32::from(fin),
            fin,
            new_data: true,
            cwr: self.ecn && std::mem::take(&mut self.cwr_pending),
        }
    }

    fn retransmit(&mut self, now: Nanos, index: usize, ts_now: u32) -> Transmission {
        self.undo.stamp.get_or_insert(ts_now);
        self.undo.retransmissions = self.undo.retransmissions.max(0) + 1;
        if self.state == CaState::Recovery {
            self.stats.fast_retransmits += 1;
        }
        if matches!(self.state, CaState::Cwr | CaState::Recovery) {
            self.prr_out += 1;
        }
        if index == 0 {
            self.arm_rto(now);
        }
        let snapshot = self.snapshot(now, self.board.in_flight());
        let sent = self.board.retransmit(index, now, snapshot);
        self.last_sent = now;
        self.charge(now, sent.end - sent.start);
        self.tell_sent(now, sent.end - sent.start, true);
        self.again(sent.start, sent.end)
    }

    fn again(&mut self, start: u64, end: u64) -> Transmission {
        let fin = end > self.written;
        let bytes = (end - start) as u32 - u32::from(fin);
        self.stats.bytes_retransmitted += u64::from(bytes);
        self.stats.segments_retransmitted += 1;
        Transmission {
            start: start as i64,
            bytes,
            fin,
            new_data: false,
            cwr: false,
        }
    }

    fn send_forced(&mut self, now: Nanos, forced: Forced) -> Option<Transmission> {
        match forced {
            Forced::NewData => {
                let (start, end) = self.next_segment()?;
                let end = end.min(self.edge_for(end));
                let sent = self.send_new(now, start, end);
                self.probe_high = self.probe_high.map(|_| self.nxt);
                self.arm_rto(now);
                Some(sent)
            }
            Forced::Tail => {
                let tail = *self.board.tail()?;
                let snapshot = self.snapshot(now, self.board.in_flight());
                self.board.touch_tail(now, snapshot);
                Some(self.again(tail.start, tail.end))
            }
            Forced::WindowProbe => {
                self.stats.window_probes += 1;
                Some(Transmission {
                    start: self.una as i64 - 1,
                    bytes: 0,
                    fin: false,
                    new_data: false,
                    cwr: false,
                })
            }
        }
    }
}
