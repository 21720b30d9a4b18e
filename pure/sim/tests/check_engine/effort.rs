//! What the engine does not do: spin on its timers, or believe frames from the wrong side.

use windlass_engine::{PassReason, Side};
use windlass_wire::Flags;

use super::ends::{Bench, MS, MSS, SECOND, bbr, early};

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
        .map(|f| (f.queued, f.limited_by))
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
