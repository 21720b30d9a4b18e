//! The RTT of the handshake: what it is for, and what it is kept from.

use windlass_cc::{MILLISECOND, Nanos, Path, SECOND};

const SHORT: Nanos = 20 * MILLISECOND;
const QUEUED: Nanos = 60 * MILLISECOND;

/// A flow whose data have waited in a queue of others from the beginning on.
fn queued() -> Path {
    let mut path = Path::new(1448);
    path.on_handshake_rtt(SHORT, SECOND);
    path.on_rtt(QUEUED);
    path.recent.on_rtt(QUEUED, SECOND + QUEUED);
    path
}

#[test]
fn the_handshake_shows_a_queue_that_stands_from_the_beginning() {
    let path = queued();
    assert_eq!(path.recent_min_rtt(), SHORT);
    // What measures the queue of its own data does so among data.
    assert_eq!(path.min_rtt, QUEUED);
}

/// A path that became longer after the handshake has no queue for ever. Nor does the handshake of a connection that was opened long before
/// its first data say anything of the present.
#[test]
fn the_handshake_is_forgotten_after_ten_seconds() {
    let mut path = queued();
    for seconds in 2..14 {
        path.on_rtt(QUEUED);
        path.recent.on_rtt(QUEUED, seconds * SECOND);
    }
    assert_eq!(path.recent_min_rtt(), QUEUED);
    let mut idle = Path::new(1448);
    idle.on_handshake_rtt(SHORT, SECOND);
    idle.on_rtt(QUEUED);
    idle.recent.on_rtt(QUEUED, 60 * SECOND);
    assert_eq!(idle.recent_min_rtt(), QUEUED);
}

/// Who goes on with a path goes on with what its data have measured.
#[test]
fn the_next_algorithm_does_not_measure_its_queue_against_the_handshake() {
    let mut path = queued();
    assert_eq!(path.recent_data_rtt(), QUEUED);
    for seconds in 2..14 {
        path.on_rtt(2 * QUEUED);
        path.recent.on_rtt(2 * QUEUED, seconds * SECOND);
    }
    // It has become longer, which `min_rtt` does not say.
    assert_eq!((path.min_rtt, path.recent_data_rtt()), (QUEUED, 2 * QUEUED));
}

/// No clock has seen it take any time: windows of nothing would follow.
#[test]
fn a_handshake_takes_some_time() {
    let mut path = Path::new(1448);
    path.on_handshake_rtt(0, SECOND);
    assert!(path.recent_min_rtt() > 0);
}
