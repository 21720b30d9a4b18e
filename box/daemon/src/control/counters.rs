//! Counters by the names that they are shown with, summed over the workers.

use std::collections::BTreeMap;

use windlass_engine::Counters;
use windlass_io::{DriverStats, XdpCounters};

use crate::command::Status;

pub(super) fn of_engines(all: &[Status]) -> BTreeMap<String, u64> {
    let mut sum = Counters::default();
    for status in all {
        sum.add(&status.counters);
    }
    let mut named = BTreeMap::new();
    sum.each(|name, reason, value| {
        let name = match reason {
            None => name.to_owned(),
            Some(reason) => format!("{name}_{}", reason.name()),
        };
        named.insert(name, value);
    });
    named
}

pub(super) fn of_drivers(all: &[Status]) -> BTreeMap<String, u64> {
    let mut named = BTreeMap::new();
    let mut add = |name: &str, value: u64| *named.entry(name.to_owned()).or_default() += value;
    for DriverStats {
        sides,
        rx_starved,
        not_followed,
        frames_free,
        frames_held,
        tx_queued,
    } in all.iter().map(|s| s.driver)
    {
        for (side, stats) in ["inside", "outside"].iter().zip(sides) {
            add(&format!("{side}_rx_packets"), stats.rx_packets);
            add(&format!("{side}_rx_bytes"), stats.rx_bytes);
            add(&format!("{side}_rx_dropped"), stats.rx_dropped);
            add(&format!("{side}_tx_packets"), stats.tx_packets);
            add(&format!("{side}_tx_bytes"), stats.tx_bytes);
            add(&format!("{side}_tx_dropped"), stats.tx_dropped);
        }
        add("rx_starved", rx_starved);
        add("not_followed", not_followed);
        add("frames_free", u64::from(frames_free));
        add("frames_held", u64::from(frames_held));
        add("tx_queued", u64::from(tx_queued));
    }
    named
}

pub(super) fn of_xdp(xdp: &XdpCounters) -> BTreeMap<String, u64> {
    let named = xdp.each();
    named
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}
