//! A flow whose events a test writes down, for the laws of windows.

use crate::window::windowed::{Law, Windowed};
use crate::{
    AckEvent, CongestionControl, CongestionEvent, MILLISECOND, Nanos, Path, SECOND, Signal,
};

pub(crate) struct Scripted<L: Law> {
    pub(crate) cc: Windowed<L>,
    pub(crate) path: Path,
    pub(crate) now: Nanos,
}

impl<L: Law> Scripted<L> {
    /// A flow with a window of `cwnd` and a threshold of `ssthresh` bytes, of whose path nothing is
    /// known but the segment size.
    pub(crate) fn new(mss: u32, cwnd: u64, ssthresh: u64, parameters: L::Parameters) -> Self {
        let path = Path::new(mss);
        let mut cc = Windowed::new(&crate::Beginning::new(&path, 0), &parameters);
        cc.window.cwnd = cwnd;
        cc.window.ssthresh = ssthresh;
        let now = SECOND;
        Scripted { cc, path, now }
    }

    /// In congestion avoidance at `segments`.
    pub(crate) fn avoiding(mss: u32, segments: u64, parameters: L::Parameters) -> Self {
        let cwnd = segments * u64::from(mss);
        Scripted::new(mss, cwnd, cwnd, parameters)
    }

    /// An ACK for so many segments, a millisecond after the last, with the newest RTT, if any.
    pub(crate) fn ack(&mut self, segments: u64) {
        let bytes = segments * u64::from(self.path.mss);
        self.now += MILLISECOND;
        self.path.delivered += bytes;
        let event = AckEvent {
            now: self.now,
            acked: bytes,
            delivered: bytes,
            inflight: self.path.inflight,
            rtt: (self.path.latest_rtt > 0).then_some(self.path.latest_rtt),
            cwnd_limited: true,
            ..AckEvent::default()
        };
        self.cc.on_ack(&event, &self.path);
    }

    /// So many ACKs of a segment each.
    pub(crate) fn acks(&mut self, count: u64) {
        (0..count).for_each(|_| self.ack(1));
    }

    /// A loss; the window that it leaves, in bytes.
    pub(crate) fn lose(&mut self) -> u64 {
        self.congestion(Signal::Loss)
    }

    /// Loss or mark; the window that it leaves, in bytes.
    pub(crate) fn congestion(&mut self, signal: Signal) -> u64 {
        let event = CongestionEvent {
            now: self.now,
            signal,
            inflight_before: self.cc.window.cwnd,
            lost: u64::from(self.path.mss),
        };
        self.cc.on_congestion(&event, &self.path);
        self.cwnd()
    }

    pub(crate) fn cwnd(&self) -> u64 {
        self.cc.control().cwnd
    }

    /// The window in whole segments.
    pub(crate) fn segments(&self) -> u64 {
        self.cwnd() / u64::from(self.path.mss)
    }
}
