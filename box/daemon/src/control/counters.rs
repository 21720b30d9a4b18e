//! Figures by the keys that they are shown with, summed over the workers.

use std::collections::BTreeMap;

use windlass_engine::{Counters, FlowFigures, Histograms, Side};
use windlass_io::{FrameStats, SideStats, XdpCounters};
use windlass_metric::{Metric, Reading};
use windlass_record::RecorderStats;

use crate::command::{Status, WorkerHistograms};
use crate::metrics::{BoxFigures, EventFigures, GuardFigures, PluginFigures};
use crate::report::side_name;

type Named = BTreeMap<String, u64>;

/// Every figure that Windlass shows, under the heading where `windlass counters` and `windlass flow show -j` show it.
/// Of those by side and by label, the table has one row for all.
pub const METRICS: [(&str, &[Metric]); 12] = [
    ("engine", Counters::METRICS),
    ("driver", FrameStats::METRICS),
    ("driver, by side (inside_, outside_)", SideStats::METRICS),
    ("xdp", XdpCounters::METRICS),
    ("recorder", RecorderStats::METRICS),
    ("flow", FlowFigures::METRICS),
    ("box (metrics only)", BoxFigures::METRICS),
    ("plugin (metrics only)", PluginFigures::METRICS),
    ("guard (metrics only)", GuardFigures::METRICS),
    ("event (metrics only)", EventFigures::METRICS),
    ("engine (metrics only)", Histograms::METRICS),
    ("worker (metrics only)", WorkerHistograms::METRICS),
];

/// The figures of all workers together.
#[derive(Default)]
pub(crate) struct Sums {
    pub counters: Counters,
    pub frames: FrameStats,
    pub sides: [SideStats; 2],
    pub engine: Histograms,
    pub worker: WorkerHistograms,
    pub recorder: RecorderStats,
}

impl Sums {
    pub(crate) fn of(all: &[Status]) -> Sums {
        let mut sums = Sums::default();
        for status in all {
            sums.counters.add(&status.counters);
            sums.frames.add(&status.driver.frames);
            for (sum, side) in sums.sides.iter_mut().zip(&status.driver.sides) {
                sum.add(side);
            }
            sums.engine.add(&status.histograms);
            sums.worker.add(&status.worker);
            sums.recorder.add(&status.recorder);
        }
        sums
    }

    pub(super) fn of_engines(&self) -> Named {
        named("", self.counters.each())
    }

    /// Nothing where there is no recorder.
    pub(super) fn of_recorder(&self) -> Named {
        match self.recorder.memory_bytes {
            0 => Named::new(),
            _ => named("", self.recorder.each()),
        }
    }

    pub(super) fn of_drivers(&self) -> Named {
        let mut all = named("", self.frames.each());
        for side in [Side::Inside, Side::Outside] {
            let prefix = format!("{}_", side_name(side));
            all.extend(named(&prefix, self.sides[side.index()].each()));
        }
        all
    }
}

pub(super) fn of_xdp(xdp: &XdpCounters) -> Named {
    named("", xdp.each())
}

fn named(prefix: &str, readings: impl Iterator<Item = Reading>) -> Named {
    let numbered = readings.filter_map(|r| Some((format!("{prefix}{}", r.key()), r.number?)));
    numbered.collect()
}
