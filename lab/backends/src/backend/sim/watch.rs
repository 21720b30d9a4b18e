//! What is noted while a run goes on.

use windlass_cc::{MILLISECOND, Nanos};
use windlass_engine::{FlowInfo, Mode, Side};
use windlass_experiment::observed::{Sample, Series};
use windlass_experiment::setup::{PathBox, Setup};

use super::flows::Transfer;
use super::run::seconds;
use crate::backend::box_sample;
use windlass_sim::names::FIRST_CLIENT_PORT;
use windlass_sim::tcp::{EndStats, SSTHRESH_INFINITE};
use windlass_sim::{Middlebox, World};

/// With several transfers, how many packets are held of each is looked up this often.
const HELD_INTERVAL: Nanos = 10 * MILLISECOND;

/// What has been noted of one transfer.
#[derive(Default)]
pub(super) struct Notes {
    pub server: Vec<Sample>,
    pub boxed: Series,
    /// The box only watches.
    pub watched_only: bool,
    pub arrivals: Vec<(f64, u64)>,
    /// What the box said of it last.
    pub info: Option<FlowInfo>,
    pub held_packets_max: u64,
    over: bool,
}

/// Who looks at a run.
pub(super) struct Watch {
    /// By transfer.
    pub notes: Vec<Notes>,
    series_interval: Nanos,
    next_sample: Nanos,
    next_held: Nanos,
    /// There is a box, and one transfer only.
    alone: bool,
}

impl Watch {
    pub fn new(setup: &Setup, transfers: &[Transfer]) -> Self {
        let interval = setup.record.series_interval_ns;
        let boxed = setup.path_box != PathBox::Nothing;
        Watch {
            notes: transfers.iter().map(|_| Notes::default()).collect(),
            series_interval: interval,
            next_sample: if interval > 0 { interval } else { Nanos::MAX },
            next_held: if boxed && transfers.len() > 1 {
                HELD_INTERVAL
            } else {
                Nanos::MAX
            },
            alone: boxed && transfers.len() == 1,
        }
    }

    /// When [`Watch::look`] wants to be called.
    pub fn next_at(&self) -> Nanos {
        self.next_sample.min(self.next_held)
    }

    /// Everything that happens by `now` has happened.
    pub fn look(&mut self, now: Nanos, world: &World, middlebox: &dyn Middlebox) {
        let infos = middlebox.flow_infos();
        if now >= self.next_held {
            self.next_held = now + HELD_INTERVAL;
            self.note_held_by_flow(&infos);
        }
        if now >= self.next_sample {
            self.next_sample = now + self.series_interval;
            self.sample(now, world, &infos);
        }
    }

    /// How much the box holds now: exact where there is one transfer only.
    pub fn note_held(&mut self, middlebox: &dyn Middlebox) {
        if self.alone {
            let most = &mut self.notes[0].held_packets_max;
            *most = (*most).max(middlebox.held_packets() as u64);
        }
    }

    /// The client of transfer `index` has all that it will get.
    pub fn note_over(&mut self, index: usize, world: &World, middlebox: &dyn Middlebox) {
        let key = world.ends(index).0.key();
        let notes = &mut self.notes[index];
        if let Some(info) = middlebox.flow_info(&key) {
            notes.info = Some(info);
        }
        notes.over = true;
        if self.series_interval > 0 {
            let received = world.ends(index).1.received_bytes();
            notes.arrivals.push((seconds(world.now()), received));
        }
    }

    /// The run is over.
    pub fn finish(&mut self, _world: &World, middlebox: &dyn Middlebox) {
        for info in middlebox.flow_infos() {
            if let Some(index) = self.index_of(&info) {
                self.notes[index].info = Some(info);
            }
        }
    }

    fn note_held_by_flow(&mut self, infos: &[FlowInfo]) {
        for info in infos {
            if let Some(index) = self.index_of(info) {
                let most = &mut self.notes[index].held_packets_max;
                *most = (*most).max(info.figures.held_packets);
            }
        }
    }

    fn sample(&mut self, now: Nanos, world: &World, infos: &[FlowInfo]) {
        for (index, notes) in self.notes.iter_mut().enumerate() {
            if notes.over || world.connections()[index].plan.start > now {
                continue;
            }
            let (server, client) = world.ends(index);
            if server.established() {
                let acked = server.acknowledged_bytes();
                notes
                    .server
                    .push(server_sample(now, &server.stats(), acked));
            }
            notes.arrivals.push((seconds(now), client.received_bytes()));
        }
        for info in infos {
            if let Some(index) = self.index_of(info).filter(|index| !self.notes[*index].over) {
                let notes = &mut self.notes[index];
                let sample = box_sample::of_box(seconds(now), &info.figures, info.in_recovery);
                notes.boxed.samples.push(sample);
                let name = info.algorithm.name();
                notes.boxed.note_algorithm(seconds(now), name);
                self.notes[index].watched_only = info.mode != Mode::Enforce;
            }
        }
    }

    /// The transfer whose data `info` is about.
    fn index_of(&self, info: &FlowInfo) -> Option<usize> {
        let index = usize::from(info.key.dst_port.checked_sub(FIRST_CLIENT_PORT)?);
        (info.sender == Side::Inside && index < self.notes.len()).then_some(index)
    }
}

fn server_sample(now: Nanos, stats: &EndStats, acked: u64) -> Sample {
    let threshold = stats.now.ssthresh_packets;
    Sample {
        time_s: seconds(now),
        cwnd_packets: Some(f64::from(stats.now.cwnd_packets)),
        in_recovery: Some(stats.now.in_recovery),
        ssthresh_packets: (threshold != SSTHRESH_INFINITE).then(|| f64::from(threshold)),
        inflight_packets: Some(f64::from(stats.now.packets_in_flight)),
        srtt_ms: milliseconds(stats.now.srtt),
        min_rtt_ms: milliseconds(stats.now.min_rtt),
        pacing_mbit_s: stats.now.pacing_rate.map(mbit_s),
        delivery_mbit_s: (stats.now.delivery_rate > 0).then(|| mbit_s(stats.now.delivery_rate)),
        acked_bytes: Some(acked),
        retransmitted_packets: Some(stats.segments_retransmitted),
        held_packets: None,
        queued_packets: None,
    }
}

/// `None` before the first sample.
fn milliseconds(rtt: Nanos) -> Option<f64> {
    (rtt > 0).then(|| rtt as f64 / 1e6)
}

fn mbit_s(bytes_per_s: u64) -> f64 {
    bytes_per_s as f64 * 8e-6
}
