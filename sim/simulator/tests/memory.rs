//! Memory does not grow with what is carried. In a process of its own: the allocator counts for all.

#[path = "check_engine/ends.rs"]
#[allow(dead_code)]
mod ends;

use std::sync::{Mutex, MutexGuard, PoisonError};

use ends::{Bench, MS, MSS, SECOND, bbr};
use windlass_engine::{Limits, Side};
use windlass_wire::{Addr, Flags};

/// What is kept about a flow does not grow with what it has carried, SACK or not.
#[test]
fn memory_does_not_grow_with_the_bytes_carried() {
    let _alone = alone();
    for sack in [true, false] {
        let mut bench = Bench::new(bbr());
        bench.sack = sack;
        bench.handshake();
        let mut at = 1;
        let mut run = |bench: &mut Bench, rounds: u32| {
            for _ in 0..rounds {
                bench.server_data(at, 4);
                bench.pass(10 * MS);
                at += 4 * MSS;
                bench.client_ack(at);
                bench.out.clear();
            }
        };
        run(&mut bench, 2000);
        let region = stats_alloc::Region::new(&ALLOCATOR);
        run(&mut bench, 20_000);
        let change = region.change();
        let grown = change.bytes_allocated as i64 - change.bytes_deallocated as i64;
        assert!(grown < 100_000, "SACK {sack}: grown by {grown} bytes");
    }
}

/// The allocator counts for all threads: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[global_allocator]
static ALLOCATOR: stats_alloc::StatsAlloc<std::alloc::System> = stats_alloc::StatsAlloc::system();

/// Memory of a handshake under way, bytes, its places in the tables included.
fn bytes_a_handshake(answered: bool) -> i64 {
    const HANDSHAKES: u32 = 1 << 14;
    let limits = Limits {
        half_open_per_prefix: HANDSHAKES as usize,
        ..Limits::default()
    };
    let mut bench = Bench::with_limits(bbr(), limits);
    let region = stats_alloc::Region::new(&ALLOCATOR);
    for client in 0..HANDSHAKES {
        let mut syn = bench.spec(Side::Outside, Flags::SYN, 0, 0, 0);
        syn.options.clear();
        syn.key.src = Addr(0xffff_0a00_0000 + u128::from(client));
        bench.put_frame(Side::Outside, &syn.build());
        if answered {
            let flags = Flags::SYN.with(Flags::ACK);
            let mut answer = bench.spec(Side::Inside, flags, 0, 1, 0);
            answer.options.clear();
            answer.key.dst = syn.key.src;
            bench.put_frame(Side::Inside, &answer.build());
        }
        bench.out.clear();
        bench.engine.take_follows(|_, _| ());
    }
    bench.out.shrink_to_fit();
    assert_eq!(bench.engine.connections(), HANDSHAKES as usize);
    let change = region.change();
    let bytes = change.bytes_allocated as i64 - change.bytes_deallocated as i64;
    drop(bench);
    bytes / i64::from(HANDSHAKES)
}

/// A flood of handshakes that are never completed costs so much of each.
#[test]
fn memory_of_a_flood() {
    let _alone = alone();
    let (asked, answered) = (bytes_a_handshake(false), bytes_a_handshake(true));
    println!("{asked} bytes a SYN, {answered} with its answer");
    assert!(asked <= 150 && answered <= 150, "{asked}, {answered} bytes");
}

/// What a flood has taken is given back once its handshakes are forgotten.
#[test]
fn memory_comes_back_after_a_flood() {
    let _alone = alone();
    let mut bench = Bench::new(bbr());
    let region = stats_alloc::Region::new(&ALLOCATOR);
    for client in 0..1 << 14 {
        let mut syn = bench.spec(Side::Outside, Flags::SYN, 0, 0, 0);
        syn.key.src = Addr(0xffff_0a00_0000 + (client << 4));
        bench.put_frame(Side::Outside, &syn.build());
        bench.out.clear();
    }
    assert_eq!(bench.engine.connections(), 1 << 14);
    bench.pass(80 * SECOND);
    assert_eq!(bench.engine.connections(), 0);
    bench.engine.take_follows(|_, _| ());
    bench.handshake();
    let change = region.change();
    let left = change.bytes_allocated as i64 - change.bytes_deallocated as i64;
    println!("{left} bytes are left of it");
    // Lists that are used again keep what they had.
    assert!(left < 300_000, "{left} bytes");
}
