//! The sending half, as Linux 6.1 does it: its state, and what leaves when. What an ACK means is in
//! `ack.rs`, timers are in `timers.rs`, the use of the window in `usage.rs`.
//!
//! Offsets count from the first byte of the stream; the FIN takes one behind the last.

use windlass_cc::{Nanos, RateSampler, RateSnapshot};

use super::config::{EndConfig, EndStats};
use super::congestion::{CongestionOps, ServerAlgorithm, Window, until_established};
use super::rtt::RttEstimator;
use super::sent::Scoreboard;

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

/// The congestion state, and the reduction under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recovery {
    pub state: CaState,
    /// It ends when this is acknowledged.
    pub high: u64,
    pub undo: Undo,
    /// The time-out may have been needless (RFC 5682).
    pub frto: bool,
    /// The next data says that the window was reduced.
    pub cwr_pending: bool,
    /// Of PRR (RFC 9937).
    pub delivered: u32,
    pub out: u32,
    pub prior_cwnd: u32,
}

/// The window that the peer has shown.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PeerWindow {
    pub bytes: u64,
    /// Sequence number of the segment that said so.
    pub from: i64,
    pub largest: u64,
}

/// The tail probe that is out (RFC 8985 §7).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TailProbe {
    pub high: Option<u64>,
    pub retransmitted: bool,
}

/// How much of the window is used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowUse {
    pub cwnd_limited: bool,
    pub max_packets_out: usize,
    pub seq: u64,
    pub used_packets: u32,
    pub used_stamp: Nanos,
}

/// What it does as it was set up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Habits {
    pub algorithm: ServerAlgorithm,
    pub initial_cwnd: u32,
    pub goes_beyond_edge: u64,
    pub tail_probe: bool,
    pub detects_black_holes: bool,
}

/// What the handshake has settled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settled {
    pub sack: bool,
    pub ecn: bool,
    pub mss: u32,
}

/// When the next packet may leave.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    /// When the last transmission left; with pacing: when the next may.
    pub departed: Nanos,
    /// Pacing holds something back until then.
    pub until: Option<Nanos>,
    /// The super-segment under way ends here.
    pub burst_end: u64,
    /// It waits for the window to have room for a super-segment.
    pub deferred_by_cwnd: bool,
}

/// The timers, and what they have brought about.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Timers {
    pub timeouts: u32,
    pub backoff: u32,
    pub timer: Option<(Nanos, Timer)>,
    pub window_probe: Option<Nanos>,
    pub forced: Option<Forced>,
}

/// What the application has written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Source {
    pub written: u64,
    pub closed: bool,
    /// End of the last segment shorter than the others (`snd_sml`).
    pub short_end: u64,
    /// Where the portions begin in which the application's data is kept.
    pub portion_start: u64,
}

/// The sending half of a connection.
#[derive(Debug)]
pub struct Sender {
    /// Congestion window and threshold.
    pub window: Window,
    pub(super) cc: Box<dyn CongestionOps>,
    /// RTT and RTO.
    pub rtt: RttEstimator,
    /// First offset not acknowledged.
    pub una: u64,
    /// Next offset to be sent.
    pub nxt: u64,
    /// Counts.
    pub stats: EndStats,
    pub(super) sampler: RateSampler,
    pub(super) board: Scoreboard,
    pub(super) rack: Rack,
    pub(super) highest_sacked: u64,
    pub(super) last_sent: Nanos,
    pub(super) recovery: Recovery,
    pub(super) peer_window: PeerWindow,
    pub(super) probe: TailProbe,
    pub(super) usage: WindowUse,
    pub(super) habits: Habits,
    pub(super) agreed: Settled,
    pub(super) pace: Pace,
    pub(super) timers: Timers,
    pub(super) source: Source,
}

impl Sender {
    /// Nothing sent; to be completed by [`Sender::negotiated`].
    pub fn new(config: &EndConfig) -> Self {
        Sender {
            window: Window::new(config.initial_cwnd_packets),
            cc: until_established(config.algorithm),
            rtt: RttEstimator::new(config.min_rto),
            una: 0,
            nxt: 0,
            stats: EndStats::default(),
            sampler: RateSampler::default(),
            board: Scoreboard::default(),
            rack: Rack::default(),
            highest_sacked: 0,
            last_sent: 0,
            recovery: Recovery {
                state: CaState::Open,
                high: 0,
                undo: Undo::default(),
                frto: false,
                cwr_pending: false,
                delivered: 0,
                out: 0,
                prior_cwnd: 0,
            },
            peer_window: PeerWindow::default(),
            probe: TailProbe::default(),
            usage: WindowUse::default(),
            habits: Habits {
                algorithm: config.algorithm,
                initial_cwnd: config.initial_cwnd_packets,
                goes_beyond_edge: config.goes_beyond_edge,
                tail_probe: config.tail_probe,
                detects_black_holes: config.detects_black_holes,
            },
            agreed: Settled {
                sack: false,
                ecn: false,
                mss: 536,
            },
            pace: Pace::default(),
            timers: Timers::default(),
            source: Source::default(),
        }
    }

    /// The handshake is over: what both agreed on. `mss` is without options.
    pub fn negotiated(&mut self, mss: u32, sack: bool, ecn: bool, window: u64, window_from: i64) {
        self.agreed.mss = mss;
        self.agreed.sack = sack;
        self.agreed.ecn = ecn;
        self.peer_window.bytes = window;
        self.peer_window.from = window_from;
        self.peer_window.largest = window;
        self.rack.window_steps = 1;
    }

    /// The application writes.
    pub fn write(&mut self, bytes: u64) {
        let waiting = self.source.written - self.nxt;
        let in_flight = self.board.in_flight();
        let room = in_flight < self.window.cwnd as usize;
        if waiting < u64::from(self.agreed.mss)
            && room
            && self.board.lost_out <= self.board.retrans_out
        {
            self.sampler.mark_app_limited(self.bytes_of(in_flight));
        }
        self.begin_portion();
        self.source.written += bytes;
    }

    /// What the application has written ends there.
    pub fn is_all_written(&self, end: u64) -> bool {
        end == self.source.written
    }

    /// The application closes: a FIN follows what was written.
    pub fn close(&mut self) {
        self.source.closed = true;
    }

    /// Everything, the FIN included, has been acknowledged.
    pub fn finished(&self) -> bool {
        self.source.closed && self.una == self.limit()
    }

    fn limit(&self) -> u64 {
        self.source.written + u64::from(self.source.closed)
    }

    /// Segment size: never more than half the largest window, so that small windows hold two.
    pub(super) fn segment_bytes(&self) -> u64 {
        let cut = if self.peer_window.largest > 536 {
            self.peer_window.largest / 2
        } else {
            self.peer_window.largest
        };
        u64::from(self.agreed.mss).min(cut.max(28))
    }

    pub(super) fn set_window(&mut self, window: u64) {
        self.peer_window.bytes = window;
        self.peer_window.largest = self.peer_window.largest.max(window);
    }

    /// Segments thought to be in the network.
    pub fn packets_in_flight(&self) -> u32 {
        self.board.in_flight() as u32
    }

    /// Right edge that the peer has shown, or what the sender makes of it.
    pub fn edge(&self) -> u64 {
        self.una + self.peer_window.bytes + self.habits.goes_beyond_edge
    }

    pub(super) fn next_segment(&self) -> Option<(u64, u64)> {
        let limit = self.limit();
        if self.nxt >= limit {
            return None;
        }
        let data_end = (self.nxt + self.segment_bytes()).min(self.source.written.max(self.nxt));
        // The FIN rides on the last data.
        let end = if data_end == self.source.written {
            limit
        } else {
            data_end
        };
        Some((self.nxt, end))
    }

    /// What may leave now; call until `None`.
    pub fn next(&mut self, now: Nanos, ts_now: u32) -> Option<Transmission> {
        self.pace.until = None;
        if let Some(forced) = self.timers.forced.take() {
            return self.send_forced(now, forced);
        }
        let room = self.board.in_flight() < self.window.cwnd as usize;
        if room && let Some(index) = self.board.next_lost() {
            let fits = index == 0 || self.board.get(index).end <= self.edge();
            let may = fits && self.paced(now);
            return may.then(|| self.retransmit(now, index, ts_now));
        }
        self.restart_after_idle(now);
        if self.nxt >= self.pace.burst_end {
            self.pace.burst_end = self.begin_burst(now)?;
        }
        let (start, end) = self.next_segment()?;
        Some(self.send_new(now, start, end.min(self.pace.burst_end)))
    }

    fn snapshot(&mut self, now: Nanos, in_flight: usize) -> RateSnapshot {
        let first = self.board.packets_out() == 0;
        let in_flight = self.bytes_of(in_flight + 1);
        self.sampler.lost = self.bytes_of(self.board.marked_lost);
        self.sampler.on_sent(now, first, in_flight)
    }

    /// A FIN alone may go one beyond the edge, as it takes no buffer.
    pub(super) fn edge_for(&self, end: u64) -> u64 {
        self.edge() + u64::from(end == self.source.written + 1)
    }

    fn send_new(&mut self, now: Nanos, start: u64, end: u64) -> Transmission {
        let first = self.board.packets_out() == 0;
        let snapshot = self.snapshot(now, self.board.in_flight());
        self.board.push(start, end, now, snapshot);
        self.nxt = end;
        self.last_sent = now;
        if matches!(self.recovery.state, CaState::Cwr | CaState::Recovery) {
            self.recovery.out += 1;
        }
        let first_timer = first || matches!(self.timers.timer, Some((_, Timer::TailProbe)) | None);
        if first_timer {
            self.arm_rto(now);
        }
        self.timers.window_probe = None;
        let fin = end > self.source.written;
        self.tell_sent(now, end - start, false);
        Transmission {
            start: start as i64,
            bytes: (end - start) as u32 - u32::from(fin),
            fin,
            new_data: true,
            cwr: self.agreed.ecn && std::mem::take(&mut self.recovery.cwr_pending),
        }
    }

    fn retransmit(&mut self, now: Nanos, index: usize, ts_now: u32) -> Transmission {
        self.recovery.undo.stamp.get_or_insert(ts_now);
        self.recovery.undo.retransmissions = self.recovery.undo.retransmissions.max(0) + 1;
        if self.recovery.state == CaState::Recovery {
            self.stats.fast_retransmits += 1;
        }
        if matches!(self.recovery.state, CaState::Cwr | CaState::Recovery) {
            self.recovery.out += 1;
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
        let fin = end > self.source.written;
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
                self.probe.high = self.probe.high.map(|_| self.nxt);
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
                self.stats.probes.window += 1;
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
