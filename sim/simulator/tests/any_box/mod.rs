//! What the box of a seed does.

use windlass_engine::{AlgorithmId, Redundancy, Verdict};

/// Any algorithm, with and without copies and SACK insertion.
pub fn verdict(seed: u64) -> Verdict {
    let algorithms = AlgorithmId::ALL;
    let redundancy = [Redundancy::OFF, Redundancy::REPAIRS, Redundancy::EARLY];
    Verdict {
        redundancy: redundancy[(seed / 7 % 3) as usize],
        insert_sack: !seed.is_multiple_of(5),
        ..Verdict::enforce(algorithms[(seed % algorithms.len() as u64) as usize])
    }
}
