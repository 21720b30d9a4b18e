//! For a sender whose own TCP samples the delivery rate, as Linux does below its congestion control (`tcp_rate.c`).

use super::{Ack, Host};
use crate::{Nanos, RateSample, SendEvent};

impl Host {
    /// `bytes` leave, of which the sender has taken the sample; `inflight` with them.
    pub fn told_sent(
        &mut self,
        now: Nanos,
        bytes: u64,
        inflight: u64,
        retransmission: bool,
        app_limited: bool,
    ) {
        self.path.inflight = inflight;
        let event = SendEvent {
            now,
            bytes,
            inflight,
            retransmission,
            app_limited,
        };
        self.controller.on_sent(&event, &self.path);
    }

    /// Takes the sample of an ACK in, and the RTT of the data that it delivers.
    pub fn told_sample(&mut self, ack: &mut Ack, delivered: u64, rate: Option<RateSample>) {
        ack.delivered = delivered;
        ack.rate = rate;
        if let Some(rtt) = ack.rtt {
            self.rtt(rtt, ack.at);
        }
        if let Some(rate) = &rate {
            self.path.on_rate(rate, ack.at);
        }
    }

    /// [`Host::settle`] with the sender's own counts: bytes delivered and lost in all, and in flight.
    pub fn settle_as(&mut self, delivered: u64, lost: u64, inflight: u64) {
        self.sampler.delivered = delivered;
        self.sampler.lost = lost;
        self.settle(inflight);
    }
}
