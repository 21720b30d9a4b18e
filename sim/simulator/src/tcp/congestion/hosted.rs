//! Senders that run one of the algorithms of `windlass-cc`, as Linux runs one with
//! `cong_control`: window and rate are what the algorithm says, in recovery too.

use windlass_cc::host::{Ack as Heard, Host, Standing};
use windlass_cc::{Nanos, Path, Settings, Signal};

use super::{AckTaken, CongestionOps, Counts, Window};

/// An algorithm, and what it is told of the path.
#[derive(Clone, Debug)]
pub(super) struct Hosted {
    host: Host,
    /// As it was before the ACK at hand.
    before: Counts,
    /// A recovery has ended of which the algorithm has not been told.
    recovered: bool,
}

impl Hosted {
    pub(super) fn new(settings: Settings, mss: u32, rtt: Nanos, seed: u64) -> Self {
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
        Hosted {
            host,
            before: Counts::default(),
            recovered: false,
        }
    }

    fn settle(&mut self, counts: &Counts) {
        self.host
            .settle_as(counts.delivered, counts.marked_lost, counts.in_flight);
    }

    fn tell_recovered(&mut self, now: Nanos) {
        if std::mem::take(&mut self.recovered) {
            self.host.recovered(now);
        }
    }

    fn newly_lost(&self, counts: &Counts) -> u64 {
        counts.marked_lost - self.before.marked_lost
    }
}

impl CongestionOps for Hosted {
    fn is_hosted(&self) -> bool {
        true
    }

    fn window(&self, mss: u32) -> Option<Window> {
        let control = self.host.control();
        let packets = |bytes: u64| (bytes / u64::from(mss)).min(u64::from(u32::MAX)) as u32;
        Some(Window {
            cwnd: packets(control.cwnd).max(1),
            ssthresh: packets(control.ssthresh),
        })
    }

    fn pacing_rate(&self) -> Option<u64> {
        self.host.control().pacing_rate
    }

    fn on_restart(&mut self, now: Nanos, idle: Nanos, app_limited: bool, counts: &Counts) {
        if app_limited {
            self.settle(counts);
            self.host.idle_restart(now, idle);
        }
    }

    fn note_before(&mut self, counts: &Counts) {
        self.before = *counts;
    }

    fn on_sent(&mut self, now: Nanos, bytes: u64, again: bool, app_limited: bool, counts: &Counts) {
        self.settle(counts);
        self.host
            .told_sent(now, bytes, counts.in_flight, again, app_limited);
    }

    fn on_congestion(&mut self, now: Nanos, signal: Signal, counts: &Counts) {
        self.settle(counts);
        self.tell_recovered(now);
        let (before, lost) = (self.before.in_flight, self.newly_lost(counts));
        // The sender knows when it ends: the episode has no point here.
        self.host.congested(now, signal, u64::MAX, before, lost);
    }

    fn on_timeout(&mut self, now: Nanos, counts: &Counts) {
        self.settle(counts);
        self.tell_recovered(now);
        self.host.timed_out(now, u64::MAX);
    }

    fn on_spurious(&mut self, now: Nanos, counts: &Counts) {
        self.settle(counts);
        self.recovered = false;
        self.host.spurious(now);
    }

    fn note_recovered(&mut self) {
        self.recovered = true;
    }

    fn on_ack(&mut self, ack: &AckTaken, counts: &Counts) {
        self.settle(counts);
        let mut heard = Heard::new(ack.now, self.before.in_flight);
        heard.set_acked(ack.acked);
        heard.set_rtt(ack.rtt);
        heard.set_marked(ack.ce_bytes);
        let ranges = counts.marked_ranges - self.before.marked_ranges;
        heard.add_noticed(self.newly_lost(counts), ranges);
        self.host.told_sample(&mut heard, ack.delivered, ack.rate);
        let standing = Standing {
            inflight: counts.in_flight,
            cwnd_limited: ack.cwnd_limited,
            in_recovery: ack.in_recovery,
        };
        self.host.finish_ack(ack.now, &heard, &standing);
        self.tell_recovered(ack.now);
    }
}
