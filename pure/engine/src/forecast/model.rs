//! A path as far as it has been measured, and an algorithm at work on it in virtual time: one bottleneck
//! with a drop-tail queue, a round trip, packets lost by chance. Every packet is acknowledged; one is
//! lost when another sent three later has arrived, or when nothing else is on its way. What is lost goes
//! again first. Time-outs do not happen.

use std::collections::VecDeque;

use windlass_cc::{
    ByteRate, Controller, Nanos, Path, Phase, RateSample, RateSampler, RateSnapshot, Seeded,
    SendEvent, Settings, rate_over,
};

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

/// The recovery episode that is open.
#[derive(Clone, Copy)]
pub(super) struct Episode {
    /// What was sent before it began lies below this segment.
    pub point: u64,
    /// So many of those have not arrived.
    pub missing: u64,
}

/// A sender of data on a path.
pub(super) struct Model {
    pub(super) link: PathModel,
    pub(super) cc: Controller,
    pub(super) path: Path,
    pub(super) sampler: RateSampler,
    pub(super) now: Nanos,
    /// In order of transmission; the lost are taken out when their loss is noticed.
    pub(super) flying: VecDeque<Packet>,
    pub(super) to_repair: VecDeque<u64>,
    pub(super) episode: Option<Episode>,
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
    /// By round trip: whether the window was the limit, and most in flight.
    pub(super) round_end: u64,
    pub(super) limited: bool,
    pub(super) max_inflight: u64,
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
        let cc = Controller::new(settings, &path, seed);
        path.inflight = 0;
        Model {
            link,
            cc,
            path,
            sampler: RateSampler::default(),
            // Time 0 means never in some places.
            now: windlass_cc::SECOND,
            flying: VecDeque::new(),
            to_repair: VecDeque::new(),
            episode: None,
            holes: 0,
            segments,
            next_segment: 0,
            arrived: 0,
            transmissions: 0,
            next_send: 0,
            bottleneck_free: 0,
            dice: Seeded::new(seed),
            round_end: 0,
            limited: false,
            max_inflight: 0,
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
                    self.limited = true;
                }
                self.now = at;
                self.acknowledge();
            }
            _ => self.probe(),
        }
    }

    pub(super) fn mss(&self) -> u64 {
        u64::from(self.path.mss)
    }

    fn has_data(&self) -> bool {
        !self.to_repair.is_empty() || self.next_segment < self.segments
    }

    fn window_is_open(&self) -> bool {
        let cwnd = self.cc.control().cwnd;
        self.path.inflight == 0 || self.path.inflight + self.mss() <= cwnd
    }

    /// As the engine paces algorithms that ask for no rate.
    fn pacing_rate(&self) -> Option<ByteRate> {
        let control = self.cc.control();
        let percent = match control.phase {
            Phase::SlowStart | Phase::ConservativeSlowStart => 200,
            _ => 120,
        };
        let by_window = || rate_over(control.cwnd * percent / 100, self.path.srtt);
        (self.path.srtt > 0).then(|| control.pacing_rate.unwrap_or_else(by_window).max(1))
    }

    fn send(&mut self) {
        let repair = self.to_repair.pop_front();
        let segment = repair.unwrap_or_else(|| {
            self.next_segment += 1;
            self.next_segment - 1
        });
        let mss = self.mss();
        let first = self.path.inflight == 0;
        self.path.inflight += mss;
        self.max_inflight = self.max_inflight.max(self.path.inflight);
        if let Some(rate) = self.pacing_rate() {
            self.next_send = self.now + windlass_cc::mul_div(mss, windlass_cc::SECOND, rate);
        }
        let snapshot = self.sampler.on_sent(self.now, first, self.path.inflight);
        let acked_at = self.cross();
        self.flying.push_back(Packet {
            number: self.transmissions,
            segment,
            sent_at: self.now,
            snapshot,
            acked_at,
            again: repair.is_some(),
        });
        self.transmissions += 1;
        let event = SendEvent {
            now: self.now,
            bytes: mss,
            inflight: self.path.inflight,
            retransmission: repair.is_some(),
            app_limited: false,
        };
        self.cc.on_sent(&event, &self.path);
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
