//! Setups to run.

use windlass_experiment::Setup;
use windlass_experiment::setup::{Bottleneck, Direction, FlowGroup, Loss, Pair};

pub const MS: u64 = 1_000_000;
pub const MBIT: u64 = 1_000_000;

/// The same both ways, with a queue of one bandwidth-delay product.
pub fn bottleneck(rate_bits_per_s: u64, rtt_ns: u64) -> Bottleneck {
    let bdp_bytes = rate_bits_per_s / 8 * (rtt_ns / MS) / 1000;
    let direction = Direction {
        rate_bits_per_s,
        delay_ns: rtt_ns / 2,
        queue_bytes: bdp_bytes.max(151_400),
        ..Direction::default()
    };
    Bottleneck {
        down: direction,
        up: direction,
        ..Bottleneck::default()
    }
}

pub fn lossy(mut bottleneck: Bottleneck, ratio: f64) -> Bottleneck {
    bottleneck.down.loss = Loss::Independent { ratio };
    bottleneck
}

pub fn pair(server: usize, client: usize, route: &[usize]) -> Pair {
    Pair {
        server,
        client,
        route: route.to_vec(),
        extra_delay_ns: 0,
    }
}

pub fn flows(name: &str, pair: usize, count: u32, bytes: u64) -> FlowGroup {
    FlowGroup {
        name: name.to_owned(),
        pair,
        count,
        bytes,
        ..FlowGroup::default()
    }
}

/// One server, one client, one bottleneck.
pub fn line(bottleneck: Bottleneck, flows: FlowGroup) -> Setup {
    Setup {
        seed: 1,
        limit_ns: 30_000 * MS,
        ..Setup::line(bottleneck, vec![flows])
    }
}
