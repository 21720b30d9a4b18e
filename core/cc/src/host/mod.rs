//! The host of an algorithm: everything between a sender's scoreboard and the algorithm.
//!
//! A sender says what happens to its packets: [`Host::sent`], [`Host::delivered`], [`Host::lost`], [`Host::marked`],
//! [`Host::finish_ack`]. The host measures the path, keeps rounds and recovery episodes, and builds every event that
//! the algorithm sees. The engine, its forecast, the simulator's senders and QUIC are the four senders.
//!
//! Positions are the sender's own: stream offsets for TCP, packet numbers for QUIC. The host only compares them.

mod ack;
mod episode;
mod measured;
mod pacing;
mod usage;

pub use ack::{Ack, Delivery, Standing};
use episode::MaybeEpisode;
pub use episode::{Episode, Marks};
pub use pacing::{rate_by_window, wanted_rate};
pub use usage::Usage;

use serde::{Deserialize, Serialize};

use crate::{
    AckEvent, CongestionEvent, Control, Controller, Nanos, Path, RateSampler, RateSnapshot,
    SendEvent, Settings, Signal, Spare,
};

/// An algorithm in charge of one flow, with all that it is told. Times in ns of any one clock, sizes in bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Host {
    /// Only its catalog can read it back: [`Host::install`].
    #[serde(skip, default = "Controller::to_be_imported")]
    controller: Controller,
    #[serde(with = "format_5")]
    path: Path,
    sampler: RateSampler,
    usage: Usage,
    episode: MaybeEpisode,
    /// Most paths never mark.
    marks: Spare<Option<Marks>>,
}

/// Data that leaves for the network.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// When.
    pub now: Nanos,
    /// How much.
    pub bytes: u64,
    /// Bytes in flight with it.
    pub inflight: u64,
    /// Bytes in flight that its rate sample remembers.
    pub sampled_inflight: u64,
    /// Nothing else is in flight.
    pub first: bool,
    /// It has been sent before.
    pub retransmission: bool,
}

/// A path with what a switch of the algorithm once had to say beside it: two flags, which were not set in what was written.
mod format_5 {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::Path;

    pub(super) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        (path, false, false).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Path, D::Error> {
        <(Path, bool, bool)>::deserialize(from).map(|(path, ..)| path)
    }
}

impl Host {
    /// Starts an algorithm, with defaults or as set, on a path known as far as `path` says; `seed` is all its randomness.
    pub fn new(settings: impl Into<Settings>, path: Path, seed: u64) -> Host {
        Host {
            controller: Controller::new(settings, &path, seed),
            path,
            sampler: RateSampler::default(),
            usage: Usage::default(),
            episode: MaybeEpisode::default(),
            marks: Spare::default(),
        }
    }

    /// What has been measured of the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The same for a sender whose stack measures by itself. Counts and the bandwidth stay the host's.
    pub fn path_mut(&mut self) -> &mut Path {
        &mut self.path
    }

    /// The algorithm, to show its state.
    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    /// What the algorithm wants now.
    #[inline]
    pub fn control(&self) -> Control {
        self.controller.control()
    }

    /// Whether the window is what limits the sender, by round trip.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// The same, to be kept by the sender, who alone knows what has kept it from sending.
    pub fn usage_mut(&mut self) -> &mut Usage {
        &mut self.usage
    }

    /// Bytes delivered and bytes marked lost since the flow began.
    pub fn counts(&self) -> (u64, u64) {
        (self.sampler.delivered, self.sampler.lost)
    }

    /// A plugin has failed since this was last asked, and its fallback is in charge.
    pub fn take_failed(&mut self) -> bool {
        self.controller.take_failed().is_some()
    }

    /// Puts another algorithm in charge of the running flow ([`Controller::switch`]).
    pub fn switch(&mut self, settings: Settings, inflight: u64, seed: u64) {
        self.path.inflight = inflight;
        self.controller.switch(settings, &self.path, seed);
    }

    /// Puts back the algorithm that was in charge where this host was written ([`Controller::export`]).
    pub fn install(&mut self, controller: Controller) {
        self.controller = controller;
    }

    /// Starts all over with another algorithm or another segment size. What has been measured stays.
    pub fn restart(&mut self, settings: Settings, seed: u64) {
        self.controller = Controller::new(settings, &self.path, seed);
    }

    /// Data leaves. What its packet has to remember until it is delivered or lost.
    #[inline]
    pub fn sent(&mut self, departure: &Departure) -> RateSnapshot {
        let Departure { now, inflight, .. } = *departure;
        let snapshot = self
            .sampler
            .on_sent(now, departure.first, departure.sampled_inflight);
        self.path.inflight = inflight;
        let event = SendEvent {
            now,
            bytes: departure.bytes,
            inflight,
            retransmission: departure.retransmission,
            app_limited: snapshot.app_limited,
        };
        self.controller.on_sent(&event, &self.path);
        snapshot
    }

    /// A packet leaves that congestion control does not count.
    pub fn sent_uncounted(&mut self, now: Nanos) -> RateSnapshot {
        self.sampler.on_sent(now, false, self.path.inflight)
    }

    /// The sender, not the network, is the limit until the `inflight` bytes that are out are delivered.
    #[inline]
    pub fn app_limited(&mut self, inflight: u64) {
        self.sampler.mark_app_limited(inflight);
    }

    /// What leaves now is limited by the application.
    pub fn is_app_limited(&self) -> bool {
        self.sampler.is_app_limited()
    }

    /// Sending resumes after `idle` ns with nothing in flight.
    pub fn idle_restart(&mut self, now: Nanos, idle: Nanos) {
        self.controller.on_idle_restart(now, idle, &self.path);
    }

    /// Takes an RTT sample in that came at `now`.
    pub fn rtt(&mut self, rtt: Nanos, now: Nanos) {
        self.path.on_rtt(rtt);
        self.path.recent.on_rtt(rtt, now);
    }

    /// A packet has reached the receiver.
    #[inline]
    pub fn delivered(&mut self, ack: &mut Ack, packet: &Delivery) {
        ack.delivered += packet.bytes;
        match packet.snapshot {
            Some(snapshot) => self.sampler.on_delivered(
                &mut ack.newest,
                packet.bytes,
                packet.sent_at,
                packet.position,
                &snapshot,
            ),
            None => self.sampler.delivered += packet.bytes,
        }
    }

    /// A packet is taken for lost. `range`: what was sent before it is not.
    #[inline]
    pub fn lost(&mut self, ack: &mut Ack, bytes: u64, range: bool) {
        self.sampler.lost += bytes;
        ack.lost += bytes;
        ack.lost_ranges += u32::from(range);
    }

    /// How much has been marked lost in all, for a sender that counts it by itself.
    pub fn lost_in_all(&mut self, bytes: u64) {
        self.sampler.lost = bytes;
    }

    /// Everything that the ACK delivers is known: the RTT and the rate are measured.
    #[inline]
    pub fn measure(&mut self, ack: &mut Ack, now: Nanos) {
        if let Some(rtt) = ack.rtt {
            self.rtt(rtt, now);
        }
        self.measure_rate(ack, now);
    }

    /// The same for a sender whose stack has measured the RTT.
    #[inline]
    pub fn measure_rate(&mut self, ack: &mut Ack, now: Nanos) {
        ack.rate = self.sampler.take(ack.newest, ack.at, self.path.min_rtt);
        if let Some(rate) = &ack.rate {
            self.path.on_rate(rate, now);
        }
    }

    /// Everything that the ACK brings is known: the path says so to the algorithm from here on. `inflight`: bytes, after it.
    #[inline]
    pub fn settle(&mut self, inflight: u64) {
        self.path.delivered = self.sampler.delivered;
        self.path.lost = self.sampler.lost;
        self.path.inflight = inflight;
    }

    /// The algorithm hears of the ACK, unless it brings nothing.
    #[inline]
    pub fn finish_ack(&mut self, now: Nanos, ack: &Ack, standing: &Standing) {
        if ack.delivered + ack.lost == 0 && ack.rtt.is_none() {
            return;
        }
        let event = AckEvent {
            now,
            acked: ack.acked,
            delivered: ack.delivered,
            lost: ack.lost,
            inflight_before: ack.before,
            inflight: standing.inflight,
            rtt: ack.rtt,
            rate: ack.rate,
            ce_bytes: ack.marked,
            cwnd_limited: standing.cwnd_limited,
            in_recovery: standing.in_recovery,
            lost_ranges: ack.lost_ranges,
        };
        self.controller.on_ack(&event, &self.path);
    }

    /// In start-up more was sent for a round trip than the path carries: the pipe is full.
    pub fn pipe_full(&mut self, now: Nanos) {
        self.controller.on_pipe_full(now, &self.path);
    }

    fn congestion(&mut self, now: Nanos, signal: Signal, before: u64, lost: u64) {
        let event = CongestionEvent {
            now,
            signal,
            inflight_before: before,
            lost,
        };
        self.controller.on_congestion(&event, &self.path);
    }
}

#[cfg(test)]
mod tests;
