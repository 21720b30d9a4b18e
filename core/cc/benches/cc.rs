//! Time per `on_ack`, in the steady state and in start-up, for every algorithm.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use windlass_cc::{
    AckEvent, AlgorithmId, CongestionEvent, Controller, MILLISECOND, Path, RateSample, SECOND,
    Signal,
};

const MSS: u64 = 1448;
const RTT: u64 = 40 * MILLISECOND;
const RATE: u64 = 6_250_000;
const WINDOW: u64 = 180 * MSS;

/// A flow at a steady 50 Mbit/s and 40 ms.
struct Steady {
    controller: Controller,
    path: Path,
    now: u64,
}

impl Steady {
    fn new(id: AlgorithmId) -> Self {
        let path = Path::new(MSS as u32);
        let mut steady = Steady {
            controller: Controller::new(id, &path, 1),
            path,
            now: SECOND,
        };
        for _ in 0..2000 {
            steady.ack();
        }
        let loss = CongestionEvent {
            now: steady.now,
            signal: Signal::Loss,
            inflight_before: WINDOW,
            lost: MSS,
        };
        steady.controller.on_congestion(&loss, &steady.path);
        steady.controller.on_recovery_exit(steady.now, &steady.path);
        for _ in 0..2000 {
            steady.ack();
        }
        steady
    }

    fn ack(&mut self) {
        self.now += MSS * SECOND / RATE;
        self.path.delivered += MSS;
        self.path.inflight = WINDOW;
        self.path.on_rtt(RTT);
        let event = AckEvent {
            now: self.now,
            acked: MSS,
            delivered: MSS,
            inflight_before: WINDOW,
            inflight: WINDOW - MSS,
            rtt: Some(RTT),
            rate: Some(RateSample {
                delivered: WINDOW,
                interval: RTT,
                rate: RATE,
                prior_delivered: self.path.delivered.saturating_sub(WINDOW),
                tx_in_flight: WINDOW,
                lost: 0,
                app_limited: false,
            }),
            cwnd_limited: true,
            ..AckEvent::default()
        };
        self.controller.on_ack(black_box(&event), &self.path);
    }
}

fn on_ack(c: &mut Criterion) {
    for id in AlgorithmId::ALL {
        let mut steady = Steady::new(*id);
        c.bench_function(&format!("on_ack/{id}"), |b| {
            b.iter(|| {
                steady.ack();
                black_box(steady.controller.control())
            })
        });
    }
}

criterion_group!(benches, on_ack);
criterion_main!(benches);
