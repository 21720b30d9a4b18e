//! A path as far as it has been measured, and an algorithm at work on it in virtual time: one bottleneck
//! with a drop-tail queue, a round trip, packets lost by chance. Every packet is acknowledged; one is
//! lost when another sent three later has arrived, or when nothing else is on its way. What is lost goes
//! again first. Time-outs do not happen.

use std::collections::VecDeque;

use windlass_cc::host::{Departure, Host, wanted_rate};
use windlass_cc::{ByteRate, Nanos, Path, RateSample, RateSnapshot, Seeded, Settings};

/// A path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PathModel {
    /// Payload that the bottleneck lets through, bytes per second; at least 1.
    pub rate: ByteRate,
    /// Round trip without a queue, ns.
    pub rtt: Nanos,
    /// What waits in front of the bottleneck at most, bytes.
    pub queue: u64,
    /// Share of the packets that is lost whatever the queue, 0 to 1.
    pub loss_ratio: f64,
    /// Payload of a packet, bytes.
    pub mss: u32,
}

impl PathModel {
    /// What is under way without a queue when the bottleneck is busy, bytes.
    pub fn bdp(&self) -> u64 {
        windlass_cc::bytes_over(self.rate, self.rtt)
    }
}

/// A packet under way.
#[derive(Clone, Copy)]
pub(super) struct Packet {
    /// Which transmission.
    pub number: u64,
    /// Which segment of the data.
    pub segment: u64,
    pub sent_at: Nanos,
    pub snapshot: RateSnapshot,
    /// When its ACK comes; `None`: it is lost.
    pub acked_at: Option<Nanos>,
    pub again: bool,
}

/// A sender of data on a path.
pub(super) struct Model {
    pub(super) link: PathModel,
    pub(super) host: Host,
    pub(super) inflight: u64,
    pub(super) now: Nanos,
    /// In order of transmission; the lost are taken out when their loss is noticed.
    pub(super) flying: VecDeque<Packet>,
    pub(super) to_repair: VecDeque<u64>,
    /// Segments that had been sent when the open episode began, and have not arrived.
    pub(super) missing: u64,
    /// Noticed to be lost and not arrived since.
    pub(super) holes: u64,
    /// Segments of the transfer, those sent once, those arrived, and transmissions.
    segments: u64,
    pub(super) next_segment: u64,
    pub(super) arrived: u64,
    pub(super) transmissions: u64,
    pub(super) next_send: Nanos,
    bottleneck_free: Nanos,
    dice: Seeded,
}

impl Model {
    /// A transfer of so many segments; `known`: the flow has filled the path before.
    pub(super) fn new(
        settings: Settings,
        link: PathModel,
        segments: u64,
        known: bool,
        seed: u64,
    ) -> Model {
        let mut path = Path::new(link.mss.max(1));
        if known {
            path.on_rtt(link.rtt);
            let rate = link.rate;
            path.on_rate(
                &RateSample {
                    rate,
                    ..RateSample::default()
                },
                0,
            );
            path.inflight = link.bdp();
        }
        let mut host = Host::new(settings, path, seed);
        host.settle(0);
        Model {
            link,
            host,
            inflight: 0,
            // Time 0 means never in some places.
            now: windlass_cc::SECOND,
            flying: VecDeque::new(),
            to_repair: VecDeque::new(),
            missing: 0,
            holes: 0,
            segments,
            next_segment: 0,
            arrived: 0,
            transmissions: 0,
            next_send: 0,
            bottleneck_free: 0,
            dice: Seeded::new(seed),
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.arrived >= self.segments
    }

    /// Goes on to whatever happens next.
    pub(super) fn step(&mut self) {
        let may_send = self.has_data() && self.window_is_open();
        let send = may_send.then_some(self.next_send.max(self.now));
        let first = self.flying.iter().find_map(|packet| packet.acked_at);
        match (send, first) {
            (Some(at), ack) if ack.is_none_or(|ack| at <= ack) => {
                self.now = at;
                self.send();
            }
            (_, Some(at)) => {
                if self.has_data() && !may_send {
                    self.host.usage_mut().note(true, 0);
                }
                self.now = at;
                self.acknowledge();
            }
            _ => self.probe(),
        }
    }

    pub(super) fn mss(&self) -> u64 {
        u64::from(self.host.path().mss)
    }

    fn has_data(&self) -> bool {
        !self.to_repair.is_empty() || self.next_segment < self.segments
    }

    fn window_is_open(&self) -> bool {
        let cwnd = self.host.control().cwnd;
        self.inflight == 0 || self.inflight + self.mss() <= cwnd
    }

    fn pacing_rate(&self) -> Option<ByteRate> {
        let srtt = self.host.path().srtt;
        (srtt > 0).then(|| wanted_rate(&self.host.control(), srtt).max(1))
    }

    fn send(&mut self) {
        let repair = self.to_repair.pop_front();
        let segment = repair.unwrap_or_else(|| {
            self.next_segment += 1;
            self.next_segment - 1
        });
        let mss = self.mss();
        let first = self.inflight == 0;
        self.inflight += mss;
        self.host.usage_mut().note(false, self.inflight);
        if let Some(rate) = self.pacing_rate() {
            self.next_send = self.now + windlass_cc::mul_div(mss, windlass_cc::SECOND, rate);
        }
        let acked_at = self.cross();
        let snapshot = self.host.sent(&Departure {
            now: self.now,
            bytes: mss,
            inflight: self.inflight,
            sampled_inflight: self.inflight,
            first,
            retransmission: repair.is_some(),
        });
        self.flying.push_back(Packet {
            number: self.transmissions,
            segment,
            sent_at: self.now,
            snapshot,
            acked_at,
            again: repair.is_some(),
        });
        self.transmissions += 1;
    }

    /// When the ACK of a packet that leaves now comes; `None`: never.
    fn cross(&mut self) -> Option<Nanos> {
        let waits = self.bottleneck_free.saturating_sub(self.now);
        let queued = windlass_cc::bytes_over(self.link.rate, waits);
        let unlucky = self.roll() < self.link.loss_ratio;
        if unlucky || queued > self.link.queue {
            return None;
        }
        let takes = windlass_cc::mul_div(self.mss(), windlass_cc::SECOND, self.link.rate);
        self.bottleneck_free = self.bottleneck_free.max(self.now) + takes;
        Some(self.bottleneck_free + self.link.rtt)
    }

    /// 0 to 1.
    fn roll(&mut self) -> f64 {
        (self.dice.draw() >> 11) as f64 / (1u64 << 53) as f64
    }
}
