//! Arbitrary sequences of packets, and those that were found to break something once.

use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;

use super::check::check;

#[test]
fn fuzz_corpus_holds() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/engine_packets");
    let mut seeds = 0;
    for entry in std::fs::read_dir(corpus).expect("the corpus is part of the repository") {
        check(&std::fs::read(entry.expect("a file").path()).expect("readable"));
        seeds += 1;
    }
    assert!(seeds >= 5, "only {seeds} seeds");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn arbitrary_sequences(data in vec(any::<u8>(), 0..400)) {
        check(&data);
    }

    /// The first flow opened, then everything.
    #[test]
    fn sequences_of_an_open_connection(setup: (u8, u8), data in vec(any::<u8>(), 0..600)) {
        let mut bytes = vec![setup.0, setup.1, 0, 0, 16, 0, 32, 0x10];
        bytes.extend(data);
        check(&bytes);
    }
}
