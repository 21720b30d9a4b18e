//! Figures by the keys that they are shown with, summed over the workers.

use std::collections::BTreeMap;

use windlass_engine::{Counters, FlowFigures, Side};
use windlass_io::{FrameStats, SideStats, XdpCounters};
use windlass_metric::{Metric, Reading};

use crate::command::Status;
use crate::report::side_name;

type Named = BTreeMap<String, u64>;

/// Every figure that Windlass shows, under the heading where `windlass counters` and `windlass flow show -j` show it.
/// Of those by side and by label, the table has one row for all.
pub const METRICS: [(&str, &[Metric]); 5] = [
    ("engine", Counters::METRICS),
    ("driver", FrameStats::METRICS),
    ("driver, by side (inside_, outside_)", SideStats::METRICS),
    ("xdp", XdpCounters::METRICS),
    ("flow", FlowFigures::METRICS),
];

pub(super) fn of_engines(all: &[Status]) -> Named {
    let mut sum = Counters::default();
    for status in all {
        sum.add(&status.counters);
    }
    named("", sum.each())
}

pub(super) fn of_drivers(all: &[Status]) -> Named {
    let mut frames = FrameStats::default();
    let mut sides = [SideStats::default(); 2];
    for status in all {
        frames.add(&status.driver.frames);
        for (sum, side) in sides.iter_mut().zip(&status.driver.sides) {
            sum.add(side);
        }
    }
    let mut all = named("", frames.each());
    for side in [Side::Inside, Side::Outside] {
        let prefix = format!("{}_", side_name(side));
        all.extend(named(&prefix, sides[side.index()].each()));
    }
    all
}

pub(super) fn of_xdp(xdp: &XdpCounters) -> Named {
    named("", xdp.each())
}

fn named(prefix: &str, readings: impl Iterator<Item = Reading>) -> Named {
    let numbered = readings.filter_map(|r| Some((format!("{prefix}{}", r.key()), r.number?)));
    numbered.collect()
}
