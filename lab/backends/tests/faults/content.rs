//! What transfers carry: bytes of which each place in each stream has its own, so that a byte that
//! is missing, doubled or taken from another stream shows.

use windlass_sim::Rng;

/// A prime: no displacement by a power of two, or by segments, comes out even.
const PERIOD_BYTES: usize = 1_048_573;
/// The largest piece that is asked for.
pub const PIECE_BYTES: usize = 1 << 16;
/// Between the beginnings of two streams.
const STREAM_STEP: usize = 7_919;
const SEED: u64 = 0x66_61_75_6c;

/// The bytes of all streams.
pub struct Content(Vec<u8>);

impl Content {
    pub fn new() -> Content {
        let mut random = Rng::new(SEED, 0);
        let mut bytes = Vec::with_capacity(PERIOD_BYTES + PIECE_BYTES);
        while bytes.len() < PERIOD_BYTES {
            bytes.extend(random.bits().to_le_bytes());
        }
        bytes.truncate(PERIOD_BYTES);
        bytes.extend_from_within(..PIECE_BYTES);
        Content(bytes)
    }

    /// Up to [`PIECE_BYTES`] of a stream from this place on.
    pub fn piece(&self, stream: u64, at: u64, length: usize) -> &[u8] {
        let start = stream.wrapping_mul(STREAM_STEP as u64).wrapping_add(at) % PERIOD_BYTES as u64;
        &self.0[start as usize..][..length.min(PIECE_BYTES)]
    }
}

#[test]
fn places_and_streams_differ() {
    let content = Content::new();
    let first = content.piece(0, 0, 64).to_vec();
    assert_eq!(first, content.piece(0, PERIOD_BYTES as u64, 64));
    for (stream, at) in [(0, 1448), (0, 1 << 20), (1, 0), (7, 65_536)] {
        assert_ne!(first, content.piece(stream, at, 64), "{stream} {at}");
    }
}
