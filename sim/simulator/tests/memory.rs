//! Memory does not grow with what is carried. In a process of its own: the allocator counts for all.

#[path = "check_engine/ends.rs"]
#[allow(dead_code)]
mod ends;

use ends::{Bench, MS, MSS, bbr};

/// What is kept about a flow does not grow with what it has carried, SACK or not.
#[test]
fn memory_does_not_grow_with_the_bytes_carried() {
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

#[global_allocator]
static ALLOCATOR: stats_alloc::StatsAlloc<std::alloc::System> = stats_alloc::StatsAlloc::system();
