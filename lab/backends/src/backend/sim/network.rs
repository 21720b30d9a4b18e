//! A setup's links in the simulator's terms, and what they tell in the laboratory's.

use std::sync::Arc;

use windlass_experiment::observed::{LinkObserved, ProbesObserved};
use windlass_experiment::setup::{self, Direction, Setup};
use windlass_sim::link::{LinkConfig, LinkStats, Loss, Policer, Recording, Slots};
use windlass_sim::network_spec::{
    Bottleneck, Change, CrossTraffic, NetworkSpec, Probe, ProbeStats, Way,
};
use windlass_sim::stalls::StallConfig;

/// The links of `setup`. Its indices must be valid, its changes in order of time.
pub(crate) fn network_of(setup: &Setup) -> NetworkSpec {
    NetworkSpec {
        seed: setup.seed,
        bottlenecks: setup
            .bottlenecks
            .iter()
            .map(|b| bottleneck(setup, b))
            .collect(),
        ways: setup.pairs.iter().map(way).collect(),
        cross_traffic: setup.cross_traffic.iter().map(cross_traffic).collect(),
        probes: setup.probes.iter().map(probe).collect(),
        measure_from: setup.measure.from_ns,
    }
}

fn bottleneck(setup: &Setup, bottleneck: &setup::Bottleneck) -> Bottleneck {
    let link = |direction: &Direction| link(setup, direction);
    let change = |change: &setup::Change| Change {
        at: change.at_ns,
        down: link(&change.down),
        up: link(&change.up),
    };
    Bottleneck {
        down: link(&bottleneck.down),
        up: link(&bottleneck.up),
        changes: bottleneck.changes.iter().map(change).collect(),
        repeat: bottleneck.repeat_ns,
    }
}

fn way(pair: &setup::Pair) -> Way {
    Way {
        route: pair.route.clone(),
        extra_delay: pair.extra_delay_ns,
    }
}

fn cross_traffic(traffic: &setup::CrossTraffic) -> CrossTraffic {
    CrossTraffic {
        bottleneck: traffic.bottleneck,
        rate_bits_per_s: traffic.rate_bits_per_s,
        packet_bytes: traffic.packet_bytes,
        start: traffic.start_ns,
        on: traffic.on_ns,
        off: traffic.off_ns,
    }
}

/// When a box stands still.
pub(crate) fn stall_config(stalls: setup::Stalls) -> StallConfig {
    StallConfig {
        every: stalls.every_ns,
        least: stalls.least_ns,
        most: stalls.most_ns,
    }
}

fn probe(probe: &setup::Probe) -> Probe {
    Probe {
        pair: probe.pair,
        interval: probe.interval_ns,
        packet_bytes: probe.packet_bytes,
    }
}

/// The direction of a link in the simulator's terms.
pub(crate) fn link(setup: &Setup, direction: &Direction) -> LinkConfig {
    let recording = direction.recording.and_then(|i| setup.recordings.get(i));
    let rate = direction.rate_bits_per_s;
    LinkConfig {
        rate_bytes_per_s: (rate > 0).then(|| (rate / 8).max(1)),
        recording: recording.map(|recording| {
            Arc::new(Recording {
                at_ms: recording.at_ms.clone(),
                delay_ms: recording.delay_ms.clone(),
            })
        }),
        delay: direction.delay_ns,
        jitter: direction.jitter_ns,
        jitter_reorders: direction.jitter_reorders,
        slots: direction
            .slots_ns
            .map(|(least, most)| Slots { least, most }),
        policer: direction.policer.map(|policer| Policer {
            rate_bytes_per_s: (policer.rate_bits_per_s / 8).max(1),
            burst_bytes: policer.burst_bytes,
        }),
        loss: loss(direction.loss),
        reorder_ratio: direction.reorder_ratio,
        reorder_extra: direction.reorder_extra_ns,
        duplicate_ratio: direction.duplicate_ratio,
        damage_ratio: direction.damage_ratio,
        queue_bytes: direction.queue_bytes,
        ecn_mark_bytes: direction.ecn_mark_bytes,
        drops_not_ect: direction.drops_not_ect,
    }
}

fn loss(loss: setup::Loss) -> Loss {
    match loss {
        setup::Loss::None => Loss::None,
        setup::Loss::Independent { ratio } => Loss::Bernoulli { ratio },
        setup::Loss::GilbertElliott {
            good_to_bad,
            bad_to_good,
            loss_good,
            loss_bad,
        } => Loss::GilbertElliott {
            good_to_bad,
            bad_to_good,
            loss_good,
            loss_bad,
        },
    }
}

/// What links have counted.
pub(crate) fn links_observed(stats: &[LinkStats]) -> Vec<LinkObserved> {
    let observed = |stats: &LinkStats| LinkObserved {
        offered_packets: stats.offered,
        lost_packets: stats.lost,
        dropped_packets: stats.dropped,
        marked_packets: stats.marked,
        damaged_packets: stats.damaged,
        delivered_packets: stats.delivered,
        delivered_bytes: stats.delivered_bytes,
        max_queue_bytes: stats.max_queue_bytes,
    };
    stats.iter().map(observed).collect()
}

/// What probes have measured.
pub(crate) fn probes_observed(stats: ProbeStats) -> ProbesObserved {
    let ms = |ns: u64| ns as f64 / 1e6;
    ProbesObserved {
        sent: stats.sent,
        lost: stats.lost,
        median_ms: ms(stats.median),
        p99_ms: ms(stats.p99),
        p999_ms: ms(stats.p999),
    }
}
