//! Senders that run one of the algorithms of `windlass-cc`, as Linux runs one with
//! `cong_control`: window and rate are what the algorithm says, in recovery too.

use windlass_cc::host::{Ack as Heard, Host, Standing};
use windlass_cc::{Nanos, Path, Settings, Signal};

use super::ack::{Ack, Progress};
use super::sender::{CaState, Sender};
use super::server_cc::ServerAlgorithm;

/// An algorithm, and what it is told of the path.
#[derive(Clone, Debug)]
pub(super) struct Native {
    host: Host,
    /// As it was before the ACK at hand.
    before: Before,
    /// A recovery has ended of which the algorithm has not been told.
    left: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Before {
    in_flight: u64,
    marked_lost: u64,
    marked_ranges: u32,
}

impl Native {
    fn new(settings: Settings, mss: u32, rtt: Nanos, seed: u64) -> Self {
        let mut measured = Path::new(mss);
        if rtt > 0 {
            measured.on_rtt(rtt);
        }
        // The handshake's RTT is that of small packets. In Linux BBR begins with it (`tcp_min_rtt`), and
        // the modules that look for a queue never see it: theirs are the RTTs of data (`pkts_acked`).
        let path = Path {
            min_rtt: Nanos::MAX,
            max_rtt: 0,
            ..measured
        };
        let mut host = Host::new(settings, path, seed);
        if !host.controller().algorithm().uses_prr() {
            host = Host::new(settings, measured, seed);
            *host.path_mut() = path;
        }
        Native {
            host,
            before: Before::default(),
            left: false,
        }
    }

    /// In bytes per second, if it paces.
    pub(super) fn pacing_rate(&self) -> Option<u64> {
        self.host.control().pacing_rate
    }

    fn tell_left(&mut self, now: Nanos) {
        if std::mem::take(&mut self.left) {
            self.host.recovered(now);
        }
    }
}

impl Sender {
    /// The handshake is over and has measured the RTT. `seed`: of the algorithm's chances.
    pub fn start_algorithm(&mut self, seed: u64) {
        if let ServerAlgorithm::Native(settings) = self.cc.algorithm() {
            let native = Native::new(settings, self.agreed.mss, self.rtt.srtt, seed);
            self.native = Some(Box::new(native));
            self.follow_algorithm();
        }
    }

    /// Bytes, where segments are counted.
    pub(super) fn bytes_of(&self, segments: usize) -> u64 {
        segments as u64 * u64::from(self.agreed.mss)
    }

    /// Runs `tell` with the algorithm, if there is one, and does what that wants from then on.
    fn with_algorithm(&mut self, tell: impl FnOnce(&mut Native)) {
        let in_flight = self.bytes_of(self.board.in_flight());
        let lost = self.bytes_of(self.board.marked_lost);
        let Some(native) = &mut self.native else {
            return;
        };
        native
            .host
            .settle_as(self.sampler.delivered, lost, in_flight);
        tell(native);
        self.follow_algorithm();
    }

    fn follow_algorithm(&mut self) {
        if let Some(native) = &self.native {
            let control = native.host.control();
            let packets =
                |bytes: u64| (bytes / u64::from(self.agreed.mss)).min(u64::from(u32::MAX)) as u32;
            self.cc.cwnd = packets(control.cwnd).max(1);
            self.cc.ssthresh = packets(control.ssthresh);
        }
    }

    /// An ACK or a timer is about to change the scoreboard.
    pub(super) fn note_before(&mut self) {
        let before = Before {
            in_flight: self.bytes_of(self.board.in_flight()),
            marked_lost: self.bytes_of(self.board.marked_lost),
            marked_ranges: self.board.marked_ranges,
        };
        if let Some(native) = &mut self.native {
            native.before = before;
        }
    }

    pub(super) fn tell_sent(&mut self, now: Nanos, bytes: u64, retransmission: bool) {
        let inflight = self.bytes_of(self.board.in_flight());
        let app_limited = self.sampler.is_app_limited();
        self.with_algorithm(|native| {
            native
                .host
                .told_sent(now, bytes, inflight, retransmission, app_limited);
        });
    }

    /// Nothing was out, and something is about to leave.
    pub(super) fn tell_restart(&mut self, now: Nanos, idle: Nanos) {
        if self.sampler.is_app_limited() {
            self.with_algorithm(|native| {
                native.host.idle_restart(now, idle);
            });
        }
    }

    /// A recovery begins, maybe with the very ACK that ended the one before.
    pub(super) fn tell_congestion(&mut self, now: Nanos, signal: Signal) {
        self.with_algorithm(|native| {
            native.tell_left(now);
            let before = native.before.in_flight;
            let lost = native.host.path().lost - native.before.marked_lost;
            // The sender knows when it ends: the episode has no point here.
            native.host.congested(now, signal, u64::MAX, before, lost);
        });
    }

    pub(super) fn tell_timeout(&mut self, now: Nanos) {
        self.with_algorithm(|native| {
            native.tell_left(now);
            native.host.timed_out(now, u64::MAX);
        });
    }

    pub(super) fn tell_spurious(&mut self, now: Nanos) {
        self.with_algorithm(|native| {
            native.left = false;
            native.host.spurious(now);
        });
    }

    /// The recovery is over; the algorithm hears of it after the ACK that ends it.
    pub(super) fn note_left(&mut self) {
        if let Some(native) = &mut self.native {
            native.left = true;
        }
    }

    /// The ACK has been taken in (`cong_control` in Linux).
    pub(super) fn tell_ack(&mut self, ack: &Ack, p: &Progress) {
        self.sampler.lost = self.bytes_of(self.board.marked_lost);
        let rate = self.sampler.take(p.newest, ack.now, self.rtt.min_rtt);
        if let Some(rate) = rate {
            self.stats.now.delivery_rate = rate.rate;
        }
        let delivered = self.bytes_of(p.delivered as usize);
        let inflight = self.bytes_of(self.board.in_flight());
        let ranges = self.board.marked_ranges;
        let cwnd_limited = self.is_cwnd_limited();
        let in_recovery = self.recovery.state >= CaState::Cwr;
        // As Linux `tcp_newly_delivered`: all that an ACK with ECE delivers counts as marked.
        let marked = self.agreed.ecn && ack.ece;
        let ce_bytes = if marked { delivered } else { 0 };
        self.stats.marks.bytes += ce_bytes;
        self.with_algorithm(|native| {
            let mut heard = Heard::new(ack.now, native.before.in_flight);
            heard.set_acked(p.acked_bytes);
            heard.set_rtt(p.rtt);
            heard.set_marked(ce_bytes);
            let lost = native.host.path().lost - native.before.marked_lost;
            heard.add_noticed(lost, ranges - native.before.marked_ranges);
            native.host.told_sample(&mut heard, delivered, rate);
            let standing = Standing {
                inflight,
                cwnd_limited,
                in_recovery,
            };
            native.host.finish_ack(ack.now, &heard, &standing);
            native.tell_left(ack.now);
        });
    }
}
