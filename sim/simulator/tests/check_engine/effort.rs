//! What the engine does not do: spin on its timers, or believe frames from the wrong side.

#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::time::{Duration, Instant};

use windlass_engine::{Mode, PassReason, Side, Verdict};
use windlass_wire::{Flags, OptionWriter};

use super::ends::{Bench, MS, MSS, SECOND, SERVER_ISS, bbr, early};

/// A flow that is let go of while pacing holds a packet back wants no more timers.
#[test]
fn a_released_flow_is_quiet() {
    let mut bench = Bench::new(bbr());
    bench.handshake();
    bench.server_data(1, 10);
    bench.pass(100 * MS);
    bench.client_ack(1 + 10 * MSS);
    bench.server_data(1 + 10 * MSS, 20);
    let queued: Vec<_> = bench
        .engine
        .flows()
        .map(|f| (f.figures.queued_bytes, f.limited_by))
        .collect();
    println!("{queued:?}");
    bench
        .engine
        .set_bypass(true, bench.now, &mut bench.pool, &mut Vec::new());
    bench.timer_calls = 0;
    bench.pass(SECOND);
    assert!(
        bench.timer_calls < 10,
        "{} timer calls in a second",
        bench.timer_calls
    );
}

/// A copy that must wait for the window does not poll for it.
#[test]
fn a_waiting_copy_is_quiet() {
    let mut bench = Bench::new(early());
    bench.handshake();
    bench.server_data(1, 40);
    bench.timer_calls = 0;
    bench.pass(100 * MS);
    assert!(
        bench.timer_calls < 100,
        "{} timer calls in 100 ms",
        bench.timer_calls
    );
}

/// A frame of the server's that comes back from the outside (a loop, a flood) is not the client's.
#[test]
fn frames_from_the_wrong_side_pass() {
    let mut bench = Bench::new(bbr());
    bench.handshake();
    bench.server_data(1, 10);
    let mut spec = bench.spec(Side::Inside, Flags::ACK, 1, 1, 0);
    spec.ack = spec.seq.wrapping_add(77_777);
    bench.put(Side::Outside, &spec);
    let info = bench.engine.flows().next().expect("governed");
    assert_eq!(info.pass, None);
    assert_eq!(
        bench.engine.counters().passed[PassReason::UnseenData as usize],
        0
    );
}

/// How long an ACK takes that enlarges a SACK block over nearly all of `segments` by a byte at both ends.
fn growing_block(segments: u32) -> Duration {
    const BYTES: u32 = 100;
    let mut bench = Bench::new(Verdict {
        mode: Mode::Observe,
        ..bbr()
    });
    bench.scale = 14;
    bench.handshake();
    for i in 0..segments {
        let spec = bench.spec(Side::Inside, Flags::ACK, 1 + i * BYTES, 1, BYTES);
        bench.put(Side::Inside, &spec);
        bench.out.clear();
    }
    bench.pass(MS);
    let (mut left, mut right) = (5_000, 1 + segments * BYTES - 5_000);
    let mut least = Duration::MAX;
    for _ in 0..50 {
        (left, right) = (left - 1, right + 1);
        let mut ack = bench.spec(Side::Outside, Flags::ACK, 1, 1, 0);
        let block = [(SERVER_ISS + left, SERVER_ISS + right)];
        let sack: Vec<u8> = OptionWriter::new().nop().nop().sack(&block).into();
        ack.options.extend(sack);
        let frame = ack.build();
        let start = Instant::now();
        bench.put_frame(Side::Outside, &frame);
        least = least.min(start.elapsed());
        bench.out.clear();
    }
    least
}

/// The first block costs what it covers; each that is a little larger, what it adds.
#[test]
fn a_sack_block_costs_what_it_brings() {
    let (few, many) = (growing_block(1_000), growing_block(100_000));
    assert!(
        many < 10 * few + Duration::from_micros(20),
        "{few:?} with a thousand segments outstanding, {many:?} with a hundred thousand"
    );
}
