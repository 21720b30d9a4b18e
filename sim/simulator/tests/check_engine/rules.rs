//! What holds in any run, whoever drives it.

use windlass_engine::Engine;
use windlass_sim::HeapPool;

/// Every packet is held for repair, an ACK that waits (one for each direction), or the copy of
/// a SYN-ACK.
pub fn check_memory(engine: &Engine, live: usize) {
    let (live, held) = (live as u64, engine.held_packets());
    let most = held + 3 * engine.connections() as u64;
    assert!((held..=most).contains(&live), "{live} live, {held} held");
    assert_eq!(held == 0, engine.held_bytes() == 0);
}

/// When the engine has let go of everything.
pub fn check_nothing_left(engine: &Engine, pool: &HeapPool) {
    assert_eq!(engine.held_packets(), 0);
    assert_eq!(engine.held_bytes(), 0);
    assert_eq!(pool.live(), 0, "packets leak");
}
