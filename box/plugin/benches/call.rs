//! What an ACK costs with a plugin in charge, beside the algorithm of Windlass' own that it is written after.

#[path = "../tests/modules/mod.rs"]
mod modules;

use criterion::{Criterion, criterion_group, criterion_main};
use windlass_cc::{
    AckEvent, AlgorithmId, Catalog, Controller, MILLISECOND, Nanos, Path, RateSample, SECOND,
};
use windlass_plugin::add;

const MSS: u64 = 1448;
const RTT: Nanos = 40 * MILLISECOND;

fn on_ack(c: &mut Criterion, name: &str, id: AlgorithmId) {
    let mut path = Path::new(MSS as u32);
    path.on_rtt(RTT);
    path.max_bw = 6_250_000;
    path.inflight = 100 * MSS;
    let mut controller = Controller::new(id, &path, 1);
    let mut now = SECOND;
    c.bench_function(&format!("plugin/{name}"), |b| {
        b.iter(|| {
            now += 232_000;
            path.delivered += MSS;
            path.on_rtt(RTT);
            let event = AckEvent {
                now,
                acked: MSS,
                delivered: MSS,
                inflight_before: 100 * MSS,
                inflight: 99 * MSS,
                rtt: Some(RTT),
                rate: Some(RateSample {
                    delivered: 100 * MSS,
                    interval: RTT,
                    rate: 3_620_000,
                    prior_delivered: path.delivered - 100 * MSS,
                    ..RateSample::default()
                }),
                cwnd_limited: true,
                ..AckEvent::default()
            };
            controller.on_ack(&event, &path);
        });
    });
    assert_eq!(controller.id(), id, "it failed");
}

fn calls(c: &mut Criterion) {
    let nothing = modules::wat(&modules::about("nothing", 0), "", "");
    let mut catalog = Catalog::new();
    let nothing = add(&mut catalog, nothing.as_bytes()).expect("a plugin").id;
    on_ack(c, "least: one function of the host, no state", nothing);
    on_ack(c, "reno", AlgorithmId::Reno);
    if let Some(module) = modules::reno_c() {
        on_ack(
            c,
            "reno_c",
            add(&mut catalog, &module).expect("a plugin").id,
        );
    }
    on_ack(c, "mystique_bbr", AlgorithmId::MystiqueBbr);
    if let Some(module) = modules::mystique_rust() {
        on_ack(
            c,
            "mystique_plugin",
            add(&mut catalog, &module).expect("a plugin").id,
        );
    }
}

criterion_group!(benches, calls);
criterion_main!(benches);
