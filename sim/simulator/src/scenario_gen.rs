//! Adverse networks from a seed.

use windlass_cc::{MILLISECOND, Nanos, SECOND};

use crate::link::{LinkConfig, Loss};
use crate::rng::Rng;
use crate::scenario::{Connection, Scenario};
use crate::tcp::{App, Close, EndConfig, ReceiveBuffer, ServerAlgorithm, Write};

const REQUEST_BYTES: u64 = 200;

impl Scenario {
    /// The adverse network number `seed`: rate 1–200 Mbit/s, RTT 1–400 ms, losses of both kinds and
    /// in both directions, reordering, duplication, jitter, queues too short and too long, ECN;
    /// end points with and without each option, tiny windows, numbers about to wrap, pauses,
    /// data both ways.
    pub fn adverse(seed: u64) -> Scenario {
        let mut rng = Rng::new(seed, 0xad);
        let rate = rng.log_between(1e6 / 8.0, 200e6 / 8.0) as u64;
        let rtt = rng.log_between(1.0, 400.0) * MILLISECOND as f64;
        let (down, up) = (
            outside(&mut rng, Some(rate), rtt as Nanos / 2),
            outside(&mut rng, None, rtt as Nanos / 2),
        );
        let server = end(&mut rng);
        let client = end(&mut rng);
        // A window of one packet moves one packet per round trip (and per delayed ACK).
        let tiny = [&server, &client]
            .iter()
            .any(|e| matches!(e.receive_buffer, ReceiveBuffer::Fixed(b) if b < 20_000));
        let most = if tiny { 60e3 } else { 3e6 };
        let count = if rng.chance(0.15) { 3 } else { 1 };
        let connections = (0..count).map(|i| connection(&mut rng, most, i)).collect();
        Scenario {
            seed,
            v6: rng.chance(0.3),
            down,
            up,
            server,
            client,
            connections,
            limit: 3600 * SECOND,
            ..Scenario::download(0, 1.0, 1.0)
        }
    }
}

fn outside(rng: &mut Rng, rate: Option<u64>, delay: Nanos) -> LinkConfig {
    let bdp = rate.map_or(1e6, |r| r as f64 * 2.0 * delay as f64 / SECOND as f64);
    let queue = (bdp * rng.log_between(0.1, 10.0)).clamp(15_000.0, 4e6) as u64;
    let sometimes = |rng: &mut Rng, share: f64, most: f64| {
        let value = rng.unit() * most;
        if rng.chance(share) { value } else { 0.0 }
    };
    let loss = match rng.between(0, 3) {
        0 => Loss::None,
        1 | 2 => Loss::Bernoulli {
            ratio: rng.log_between(1e-4, 0.1),
        },
        _ => Loss::GilbertElliott {
            good_to_bad: rng.log_between(1e-3, 0.02),
            bad_to_good: rng.log_between(0.1, 0.7),
            loss_good: 0.0,
            loss_bad: rng.log_between(0.2, 1.0),
        },
    };
    LinkConfig {
        rate_bytes_per_s: rate,
        delay,
        jitter: sometimes(rng, 0.3, delay as f64 / 2.0) as Nanos,
        loss,
        reorder_ratio: sometimes(rng, 0.3, 0.05),
        reorder_extra: (rng.unit() * delay as f64) as Nanos,
        duplicate_ratio: sometimes(rng, 0.2, 0.02),
        queue_bytes: queue,
        ecn_mark_bytes: rng.chance(0.3).then_some(queue / 4),
        drops_not_ect: false,
        ..LinkConfig::WIRE
    }
}

fn end(rng: &mut Rng) -> EndConfig {
    let timestamps = rng.chance(0.75);
    let algorithm = match rng.between(0, 3) {
        0 => ServerAlgorithm::Reno,
        1 => ServerAlgorithm::Cubic { hystart: false },
        _ => ServerAlgorithm::Cubic { hystart: true },
    };
    let receive_buffer = match rng.between(0, 9) {
        0 => ReceiveBuffer::Fixed(rng.log_between(600.0, 16_000.0) as u32),
        1 | 2 => ReceiveBuffer::Fixed(rng.log_between(20e3, 4e6) as u32),
        _ => ReceiveBuffer::Autotuned {
            initial: 65_536,
            max: 6 << 20,
        },
    };
    let wide = rng.chance(0.85);
    let shift = rng.between(0, 11) as u8;
    let tiny = matches!(receive_buffer, ReceiveBuffer::Fixed(b) if b < 20_000);
    // Within 200 kB of the wrap in a third of all cases.
    let isn = rng.bits() as u32;
    let near_wrap = 0u32.wrapping_sub(rng.between(0, 200_000) as u32);
    let ts_wraps_soon = 0u32.wrapping_sub(rng.between(0, 3_000) as u32);
    EndConfig {
        sack: rng.chance(0.75),
        timestamps,
        window_scale: wide.then_some(if tiny { shift.min(2) } else { shift }),
        mss: if rng.chance(0.2) { 1220 } else { 1460 },
        ecn: rng.chance(0.3),
        algorithm,
        receive_buffer,
        read_bytes_per_s: rng.chance(0.1).then_some(rng.log_between(50e3, 5e6) as u64),
        delayed_ack: if rng.chance(0.2) { 0 } else { 40 * MILLISECOND },
        isn: if rng.chance(0.33) { near_wrap } else { isn },
        timestamp_origin_ms: if rng.chance(0.2) {
            ts_wraps_soon
        } else {
            isn >> 3
        },
        ..EndConfig::default()
    }
}

fn connection(rng: &mut Rng, most: f64, index: u64) -> Connection {
    let bytes = rng.log_between(1e3, most) as u64;
    let start = index * rng.between(0, SECOND);
    let plain = Connection {
        server: App::response(REQUEST_BYTES, bytes),
        client: App::request(REQUEST_BYTES),
        start,
    };
    match rng.between(0, 9) {
        0 => both_ways(bytes, start),
        1 => with_pauses(rng, bytes, start),
        2 => Connection {
            client: App {
                close: Close::Reset {
                    once_received_bytes: bytes / 2,
                },
                ..plain.client
            },
            ..plain
        },
        _ => plain,
    }
}

fn both_ways(bytes: u64, start: Nanos) -> Connection {
    let app = |bytes| App {
        writes: vec![Write {
            bytes,
            ..Write::default()
        }],
        close: Close::AfterWrites,
    };
    Connection {
        server: app(bytes),
        client: app(bytes / 3 + 1),
        start,
    }
}

/// Requests and answers in turn, with thinking time.
fn with_pauses(rng: &mut Rng, bytes: u64, start: Nanos) -> Connection {
    let turns = rng.between(2, 5);
    let part = bytes / turns + 1;
    let pause = rng.between(0, 2 * SECOND);
    let server = (1..=turns).map(|turn| Write {
        bytes: part,
        once_received_bytes: turn * REQUEST_BYTES,
        pause: pause / 4,
    });
    let client = (0..turns).map(|turn| Write {
        bytes: REQUEST_BYTES,
        once_received_bytes: turn * part,
        pause,
    });
    Connection {
        server: App {
            writes: server.collect(),
            close: Close::AfterWrites,
        },
        client: App {
            writes: client.collect(),
            close: Close::AfterPeer,
        },
        start,
    }
}
